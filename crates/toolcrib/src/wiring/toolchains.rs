//! Toolchains that are not in the home directory, as their own variables say.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// A variable that says where a toolchain or its cache is.
struct ToolchainVariable {
    name: &'static str,
    /// Where the toolchain is without the variable, below the home directory. The variable counts as far as
    /// `sandbox.toolchains` has folders of this one.
    home: &'static str,
    /// What such a folder holds, so that a variable with another meaning shows nothing.
    marker: &'static str,
}

const fn row(name: &'static str, home: &'static str, marker: &'static str) -> ToolchainVariable {
    ToolchainVariable { name, home, marker }
}

/// The variables that are known. The build caches of go and gradle are not among them: their programs must write
/// there, and use the private home directory without the variable.
const VARIABLES: [ToolchainVariable; 12] = [
    row("CARGO_HOME", ".cargo", "bin"),
    row("RUSTUP_HOME", ".rustup", "toolchains"),
    row("GOROOT", "$GOROOT", "bin/go"),
    row("GOPATH", "go", "pkg"),
    row("GOMODCACHE", "go/pkg/mod", "cache"),
    row("JAVA_HOME", "$JAVA_HOME", "bin/java"),
    row("NVM_DIR", ".nvm", "nvm.sh"),
    row("PNPM_HOME", ".local/share/pnpm", "pnpm"),
    row("npm_config_cache", ".npm", "_cacache"),
    row("NPM_CONFIG_CACHE", ".npm", "_cacache"),
    row("PYENV_ROOT", ".pyenv", "versions"),
    row("PIP_CACHE_DIR", ".cache/pip", "http-v2"),
];

/// Folders that hold more than a toolchain, whatever a variable says.
const NEVER_SHOWN: [&str; 7] = ["/boot", "/etc", "/proc", "/run", "/sys", "/var/lib", "/var/run"];

/// Toolchains elsewhere than in the home directory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct OtherToolchains {
    /// The folders that commands can read.
    pub(super) folders: Vec<PathBuf>,
    /// The variables that lead programs there, as `NAME=value`.
    pub(super) environment: Vec<String>,
}

/// Finds the toolchains that variables name and `allowed`, the value of `sandbox.toolchains`, has. `closed` are folders
/// that no toolchain may contain or be in: the home directory may not be in one, either.
pub(super) fn find(
    environment: &BTreeMap<String, OsString>,
    home: Option<&Path>,
    allowed: &[String],
    closed: &[PathBuf],
) -> OtherToolchains {
    let mut found = OtherToolchains::default();
    for variable in &VARIABLES {
        let Some(value) = environment.get(variable.name).and_then(|value| value.to_str()) else {
            continue;
        };
        let parts: Vec<&Path> =
            allowed.iter().filter_map(|name| below(name, variable.home)).collect();
        // `GOPATH` is a list.
        let places = value.split(':').map(PathBuf::from);
        let places = places.filter(|place| is_toolchain(place, variable.marker, home, closed));
        let folders: Vec<PathBuf> = places
            .flat_map(|place| parts.iter().map(move |part| place.join(part)))
            .map(|folder| folder.components().collect::<PathBuf>())
            .filter(|folder| folder.is_dir())
            .collect();
        if folders.is_empty() {
            continue;
        }
        found.environment.push(format!("{}={value}", variable.name));
        found.folders.extend(folders);
    }
    found
}

/// Returns what follows `base` in the name of a folder, if the folder is that one or in it.
fn below<'n>(name: &'n str, base: &str) -> Option<&'n Path> {
    Path::new(name).strip_prefix(base).ok()
}

/// Returns whether a folder holds a toolchain and nothing that commands must not see.
fn is_toolchain(place: &Path, marker: &str, home: Option<&Path>, closed: &[PathBuf]) -> bool {
    let is_plain =
        place.is_absolute() && place.components().all(|part| !matches!(part, Component::ParentDir));
    // A link could lead somewhere else later.
    let is_real = fs::canonicalize(place).is_ok_and(|real| real == *place);
    let is_closed = closed.iter().any(|it| it.starts_with(place) || place.starts_with(it));
    let is_never_shown = NEVER_SHOWN.iter().any(|it| place.starts_with(it));
    let has_home = home.is_some_and(|home| home.starts_with(place));
    is_plain && is_real && !is_closed && !is_never_shown && !has_home && place.join(marker).exists()
}

/// Returns whether an entry of `sandbox.toolchains` is a variable that is known.
pub(super) fn is_known_variable(entry: &str) -> bool {
    VARIABLES.iter().any(|variable| variable.home.starts_with('$') && variable.home == entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(base: &Path, files: &[&str]) -> PathBuf {
        for file in files {
            let path = base.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        base.to_owned()
    }

    #[test]
    fn a_toolchain_is_found_by_its_variable_and_nothing_else_is() {
        let scratch = tempfile::tempdir().unwrap();
        let base = fs::canonicalize(scratch.path()).unwrap();
        let home = folder_with(&base.join("home"), &[".ssh/id", "pkg/x"]);
        let cargo =
            folder_with(&base.join("opt/cargo"), &["bin/cargo", "registry/x", "credentials.toml"]);
        let java = folder_with(&base.join("opt/java"), &["bin/java"]);
        let work = folder_with(&base.join("work"), &["go/pkg/x"]);
        std::os::unix::fs::symlink(&cargo, base.join("link")).unwrap();
        let allowed =
            [".cargo/bin", ".cargo/registry", ".rustup", "go", "$JAVA_HOME"].map(str::to_owned);
        let found_by = |name: &str, value: &Path, allowed: &[String]| {
            let environment = BTreeMap::from([(name.to_owned(), value.as_os_str().to_owned())]);
            find(&environment, Some(&home), allowed, std::slice::from_ref(&work))
        };
        let found = found_by("CARGO_HOME", &cargo, &allowed);
        assert_eq!(found.folders, [cargo.join("bin"), cargo.join("registry")]);
        assert_eq!(found.environment, [format!("CARGO_HOME={}", cargo.display())]);
        assert_eq!(found_by("JAVA_HOME", &java, &allowed).folders, std::slice::from_ref(&java));

        let nothing = OtherToolchains::default();
        for (name, value, why) in [
            ("RUSTUP_HOME", home.join(".ssh"), "a folder of another kind"),
            ("GOPATH", home.clone(), "the home directory itself"),
            ("GOPATH", work.join("go"), "a folder that commands can change"),
            ("CARGO_HOME", base.join("link"), "a link"),
            ("CARGO_HOME", PathBuf::from("opt/cargo"), "a relative path"),
            ("CARGO_HOME", base.join("missing"), "a missing folder"),
            ("JAVA_HOME", PathBuf::from("/"), "everything"),
            ("HOME", cargo.clone(), "a variable that is not known"),
        ] {
            assert_eq!(found_by(name, &value, &allowed), nothing, "{why}");
        }
        assert_eq!(found_by("CARGO_HOME", &cargo, &[".rustup".to_owned()]), nothing, "not allowed");
    }
}
