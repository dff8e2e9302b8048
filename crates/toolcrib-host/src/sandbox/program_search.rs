//! Where commands find programs: the `PATH` that they get, and the files that are there. No folder that commands can
//! change is on it, because a command could put a program of its own there under the name of another.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use toolcrib_core::FileStamp;
use toolcrib_core::command::{ProgramFile, ProgramPlace};

use super::config::{Operator, SandboxRules};
use crate::program_path::find_program;

/// Folders of the system that commands can read.
pub(super) const SYSTEM_FOLDERS: [&str; 9] =
    ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"];

/// Folders that programs are searched in, after the operator's own.
const PATH_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// Programs whose absence a developer notices first.
const DEVELOPERS_PROGRAMS: [&str; 15] = [
    "cargo", "rustc", "go", "node", "npm", "pnpm", "bun", "deno", "python3", "uv", "java", "mvn",
    "ruby", "dotnet", "zig",
];

/// The folders that commands search for programs.
pub(crate) struct ProgramSearch {
    folders: Vec<String>,
    /// The folders that commands can change, without links.
    writable: Vec<PathBuf>,
    /// The operator's folders that commands can only read.
    toolchains: Vec<PathBuf>,
}

impl ProgramSearch {
    /// Puts the folders together: the operator's own, as far as commands can see and not change them, then the
    /// system's. `roots` are the paths of the roots, without links.
    pub(crate) fn new<'a>(
        rules: &SandboxRules,
        operator: &Operator,
        home: &Path,
        roots: impl Iterator<Item = &'a Path>,
    ) -> Self {
        let caches = rules.caches.iter().map(|name| home.join(name));
        let writable = roots.map(Path::to_owned).chain(caches).collect();
        let mut toolchains = toolchains(rules, home);
        // What is in a folder of the system is seen as it is.
        let is_seen = |it: &&PathBuf| SYSTEM_FOLDERS.iter().any(|system| it.starts_with(system));
        toolchains.extend(operator.toolchains.iter().filter(|it| !is_seen(it)).cloned());
        Self::among(&operator.path, toolchains, writable)
    }

    fn among(path: &str, toolchains: Vec<PathBuf>, writable: Vec<PathBuf>) -> Self {
        let mut search = Self { folders: Vec::new(), writable, toolchains };
        let own = path.split(':').filter(|folder| search.is_visible(Path::new(folder)));
        let system = PATH_FOLDERS.into_iter().filter(|it| !search.is_writable(Path::new(it)));
        let mut folders: Vec<String> = Vec::new();
        for folder in own.chain(system) {
            if !folders.iter().any(|known| known == folder) {
                folders.push(folder.to_owned());
            }
        }
        search.folders = folders;
        search
    }

    /// Returns the `PATH` of commands.
    pub(crate) fn path(&self) -> String {
        self.folders.join(":")
    }

    /// Returns the operator's folders that commands can read.
    pub(crate) fn toolchains(&self) -> &[PathBuf] {
        &self.toolchains
    }

    /// Returns the file that a command runs for this name.
    pub(crate) fn find(&self, name: &str) -> Option<ProgramFile> {
        if name.is_empty() || name.contains('/') {
            return None;
        }
        // A command may name a program of these folders by its path, which counts as the program's name.
        let system = PATH_FOLDERS.iter().map(|folder| Path::new(folder).join(name));
        let changeable = system.filter_map(|file| self.at(&file));
        let changeable = changeable.into_iter().find(|it| it.place == ProgramPlace::Writable);
        changeable.or_else(|| {
            self.folders.iter().find_map(|folder| self.at(&Path::new(folder).join(name)))
        })
    }

    /// Returns the developers' programs that are on the operator's `PATH` and that commands do not find, each with its
    /// folder.
    pub(crate) fn unseen(&self, path: &str) -> Vec<(&'static str, String)> {
        let folder_of = |name: &str| {
            let program = find_program(name, OsStr::new(path))?;
            Some(program.parent()?.display().to_string())
        };
        let unseen = DEVELOPERS_PROGRAMS.into_iter().filter(|name| self.find(name).is_none());
        unseen.filter_map(|name| Some((name, folder_of(name)?))).collect()
    }

    /// Returns the program at a path, if commands can see and execute it.
    fn at(&self, path: &Path) -> Option<ProgramFile> {
        // Most folders of a search do not have the program, and to resolve a path costs a call for each of its parts.
        let meta = fs::metadata(path).ok()?;
        if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
            return None;
        }
        let real = fs::canonicalize(path).ok()?;
        let meta = fs::metadata(&real).ok()?;
        let is_below = |folders: &[PathBuf]| folders.iter().any(|it| real.starts_with(it));
        let place = if is_below(&self.writable) {
            ProgramPlace::Writable
        } else if SYSTEM_FOLDERS.iter().any(|it| real.starts_with(it)) {
            ProgramPlace::System
        } else if is_below(&self.toolchains) {
            ProgramPlace::Toolchain
        } else {
            return None;
        };
        Some(ProgramFile { path: real.display().to_string(), place, stamp: FileStamp::of(&meta) })
    }

    /// Whether commands can see a folder of the operator's `PATH`, and can neither change it nor make it.
    fn is_visible(&self, folder: &Path) -> bool {
        let is_plain = folder.is_absolute()
            && folder.components().all(|part| !matches!(part, Component::ParentDir));
        let is_seen = self.toolchains.iter().any(|toolchain| folder.starts_with(toolchain))
            || SYSTEM_FOLDERS.iter().any(|system| folder.starts_with(system));
        // A folder that is missing could be a link to a folder that a command makes.
        is_plain && is_seen && fs::canonicalize(folder).is_ok() && !self.is_writable(folder)
    }

    /// Whether a folder, or the one that it leads to, is one that commands can change.
    fn is_writable(&self, folder: &Path) -> bool {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        self.writable.iter().any(|it| folder.starts_with(it) || real.starts_with(it))
    }
}

/// Returns the folders of the operator's home that commands can read. One that is missing, or is a link to somewhere
/// else, is not shown.
fn toolchains(rules: &SandboxRules, home: &Path) -> Vec<PathBuf> {
    let paths = rules.toolchains.iter().map(|name| home.join(name));
    paths.filter(|it| fs::symlink_metadata(it).is_ok_and(|meta| !meta.is_symlink())).collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn search(path: &str, toolchains: &[&Path], writable: &[&Path]) -> ProgramSearch {
        let owned = |paths: &[&Path]| paths.iter().map(|it| it.to_path_buf()).collect();
        ProgramSearch::among(path, owned(toolchains), owned(writable))
    }

    #[test]
    fn folders_that_commands_can_change_are_not_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (home, root) = (base.join("home"), base.join("root"));
        fs::create_dir_all(home.join("tools")).unwrap();
        fs::create_dir_all(root.join("bin")).unwrap();
        symlink(root.join("bin"), home.join("link")).unwrap();
        symlink(root.join("missing"), home.join("later")).unwrap();
        let shown = |path: &Path| path.display().to_string();
        let own = [
            shown(&root.join("bin")),
            shown(&home.join("link")),
            shown(&home.join("later")),
            format!("{}/tools/../../root/bin", shown(&home)),
            "bin".to_owned(),
            ".".to_owned(),
            String::new(),
            shown(&home.join("tools")),
        ];
        let found = search(&own.join(":"), &[&home], &[&root]).folders;
        assert_eq!(found[0], shown(&home.join("tools")), "{found:?}");
        assert_eq!(found[1..], PATH_FOLDERS, "{found:?}");
        // The control: in a root that is elsewhere, the links lead nowhere special.
        let found = search(&own.join(":"), &[&home, &root], &[Path::new("/nowhere")]).folders;
        assert_eq!(found[..3], [&own[0], &own[1], &own[7]].map(String::clone), "{found:?}");
        // A root within a folder of the system.
        let found = search("/usr/local/bin", &[], &[Path::new("/usr/local")]).folders;
        assert_eq!(found, ["/usr/sbin", "/usr/bin", "/sbin", "/bin"]);
    }

    #[test]
    fn programs_that_only_the_operator_finds_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        for (name, mode) in [("zig", 0o755), ("deno", 0o644)] {
            fs::write(base.join(name), "").unwrap();
            fs::set_permissions(base.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        let path = base.display().to_string();
        let unseen = search(&path, &[], &[]).unseen(&path);
        assert!(unseen.contains(&("zig", path.clone())), "{unseen:?}");
        assert!(
            !unseen.iter().any(|(name, _)| *name == "deno"),
            "it is not executable: {unseen:?}"
        );
        assert_eq!(search(&path, &[&base], &[]).unseen(&path), [], "the control");
    }

    #[test]
    fn a_program_is_found_with_who_can_change_it() {
        let folder = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(folder.path()).unwrap();
        let (tools, root) = (base.join("tools"), base.join("root"));
        fs::create_dir_all(&tools).unwrap();
        fs::create_dir_all(&root).unwrap();
        for file in [root.join("evil"), tools.join("own"), tools.join("plain")] {
            fs::write(&file, "#!/bin/sh\n").unwrap();
            let mode = if file.ends_with("plain") { 0o644 } else { 0o755 };
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(root.join("evil"), tools.join("ls")).unwrap();
        let path = tools.display().to_string();
        let place = |search: &ProgramSearch, name: &str| search.find(name).map(|it| it.place);
        let found = search(&path, &[&tools], &[&root]);
        assert_eq!(place(&found, "ls"), Some(ProgramPlace::Writable));
        assert_eq!(place(&found, "own"), Some(ProgramPlace::Toolchain));
        assert_eq!(place(&found, "cat"), Some(ProgramPlace::System));
        for name in ["plain", "no-such-program", "./own", ""] {
            assert_eq!(place(&found, name), None, "{name}");
        }
        // The control: without the link, it is the system's.
        fs::remove_file(tools.join("ls")).unwrap();
        assert_eq!(place(&found, "ls"), Some(ProgramPlace::System));
        // A link to where commands cannot see is no program.
        symlink(base.join("elsewhere"), tools.join("ls")).unwrap();
        assert_eq!(place(&found, "ls"), Some(ProgramPlace::System));
        assert_eq!(
            place(&search("", &[], &[Path::new("/usr")]), "cat"),
            Some(ProgramPlace::Writable)
        );
    }
}
