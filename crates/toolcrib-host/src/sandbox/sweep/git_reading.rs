//! Reads from a git folder what makes git run programs: settings, hooks, and the plan of a rebase that has stopped.
//! Nothing is run to find out, and no link is followed out of the root.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, ResolveFlags, statat};
use toolcrib_core::git::{
    GitSetting, REBASE_PLAN, STRATEGY_FILES, is_hook, names_strategy, parse_config, program_lines,
    runs_program,
};

use crate::files::root::{Root, open_below};

/// The most bytes of a file of settings or of a plan, and of a file that leads to a git folder.
const MOST_SETTINGS_BYTES: u64 = 1 << 20;
const MOST_POINTER_BYTES: u64 = 4096;

/// The most files of settings that one repository includes.
const MOST_CONFIG_FILES: usize = 64;

/// The most words of a setting that could be the path of a program.
const MOST_PROGRAM_WORDS: usize = 16;

/// What a file is that counts as a whole.
const HOOK: &str = "a hook";
const HOOKS_UNREAD: &str = "hooks that Toolcrib cannot read";
const SETTINGS_UNREAD: &str = "settings that Toolcrib cannot read";

/// Something that makes git run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GitTrigger {
    /// The file, relative to the root.
    pub(crate) file: PathBuf,
    pub(crate) kind: GitTriggerKind,
    /// The setting that leads git to the file, if one does.
    pub(crate) through: Option<Arc<GitTrigger>>,
}

/// How a file makes git run a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitTriggerKind {
    /// By a setting in it.
    Setting(GitSetting),
    /// By a line of a plan in it.
    PlanLine(String),
    /// As a whole: it is a hook, or Toolcrib cannot tell what git would read there. What it is, in words.
    Whole(&'static str),
}

impl GitTrigger {
    /// Returns the trigger that a whole file is. `what` says what it is.
    pub(super) fn whole(file: &Path, what: &'static str) -> Self {
        Self { file: file.to_owned(), kind: GitTriggerKind::Whole(what), through: None }
    }

    /// Returns the trigger that a link in a git folder is: git writes through it, to files that are no files of git.
    pub(super) fn link(link: &Path) -> Self {
        Self::whole(link, "a symbolic link in a git folder")
    }

    /// Returns what it is, in words that follow the path of the file.
    pub(crate) fn what(&self) -> String {
        match &self.kind {
            GitTriggerKind::Setting(setting) => setting.to_string(),
            GitTriggerKind::PlanLine(line) => line.trim().to_owned(),
            GitTriggerKind::Whole(what) => (*what).to_owned(),
        }
    }
}

/// What a git folder says.
#[derive(Debug, Default)]
pub(crate) struct GitReading {
    /// What makes git run a program.
    pub(crate) triggers: Vec<GitTrigger>,
    /// The places in the root that settings lead to: files of settings, folders of hooks, programs. Some do not
    /// exist.
    pub(crate) places: BTreeSet<PathBuf>,
    /// The files of settings that were read.
    pub(crate) config_files: BTreeSet<PathBuf>,
}

/// Reads the git folder at `git`, relative to the root.
pub(crate) fn read_git_folder(root: &Root, git: &Path) -> GitReading {
    let worktree = match git.file_name() {
        Some(name) if name == ".git" => git.parent().unwrap_or(Path::new("")).to_owned(),
        _ => git.to_owned(),
    };
    let mut reader = GitReader { worktree, ..GitReader::new(root) };
    let common = match reader.pointer(&git.join("commondir")) {
        Some(path) => reader.below(git, path.as_os_str()),
        None => Some(git.to_owned()),
    };
    if let Some(common) = &common {
        reader.config(&common.join("config"));
        reader.hooks(&common.join("hooks"), Hooks::Everything);
    }
    reader.config(&git.join("config.worktree"));
    reader.plan(&git.join(REBASE_PLAN));
    for file in STRATEGY_FILES {
        reader.strategy(git, file);
    }
    reader.check_pointer(&git.join("commondir"), b"");
    reader.found.config_files = reader.config_files;
    reader.found
}

/// Reads a `.git` that is a file or a link. It makes git run programs if it leads where Toolcrib does not look.
pub(crate) fn read_pointer(root: &Root, file: &Path) -> GitReading {
    let mut reader = GitReader::new(root);
    reader.check_pointer(file, b"gitdir: ");
    reader.found
}

/// Returns the git folder that a `.git` file leads to, if it is in the root. Returns `None` also if there is no such
/// file.
pub(crate) fn pointed_to(root: &Root, file: &Path) -> Option<PathBuf> {
    let worktree = file.parent()?.to_owned();
    let reader = GitReader::new(root);
    let text = reader.pointer(file)?;
    let target = text.as_bytes().strip_prefix(b"gitdir:")?.trim_ascii_start();
    reader.below(&worktree, OsStr::from_bytes(target))
}

/// Which files of a folder are hooks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hooks {
    /// Everything but examples: the folder is git's own.
    Everything,
    /// Those with the name of a hook: the folder has other files too.
    Named,
}

struct GitReader<'a> {
    root: &'a Root,
    /// The folder that relative paths of settings start at.
    worktree: PathBuf,
    config_files: BTreeSet<PathBuf>,
    /// The setting that led to what is being read.
    through: Option<Arc<GitTrigger>>,
    found: GitReading,
}

impl<'a> GitReader<'a> {
    fn new(root: &'a Root) -> Self {
        let (config_files, found) = (BTreeSet::new(), GitReading::default());
        Self { root, worktree: PathBuf::new(), config_files, through: None, found }
    }
}

impl GitReader<'_> {
    fn add(&mut self, file: &Path, kind: GitTriggerKind) {
        let through = self.through.clone();
        self.found.triggers.push(GitTrigger { file: file.to_owned(), kind, through });
    }

    /// Reads what a link leads to.
    fn through(&mut self, link: &Path, what: &'static str, read: impl FnOnce(&mut Self)) {
        self.behind(link, GitTriggerKind::Whole(what), read);
    }

    /// Reads what git finds only because of a setting or link.
    fn behind(&mut self, file: &Path, kind: GitTriggerKind, read: impl FnOnce(&mut Self)) {
        let through = self.through.clone();
        let trigger = GitTrigger { file: file.to_owned(), kind, through: through.clone() };
        self.through = Some(Arc::new(trigger));
        read(self);
        self.through = through;
    }

    /// Reads a file of settings, and those that it includes, under whatever condition.
    fn config(&mut self, file: &Path) {
        if self.config_files.contains(file) {
            return;
        }
        if self.config_files.len() >= MOST_CONFIG_FILES {
            return self.add(file, GitTriggerKind::Whole("more settings than Toolcrib reads"));
        }
        self.config_files.insert(file.to_owned());
        if let Some(target) = self.link_target(file) {
            self.through(file, SETTINGS_UNREAD, |reader| reader.config(&target));
        }
        let bytes = match self.root.read_small(file, MOST_SETTINGS_BYTES) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return,
            Err(_) if self.is_folder(file) => return,
            Err(_) => {
                return self.add(file, GitTriggerKind::Whole(SETTINGS_UNREAD));
            }
        };
        let Ok(settings) = parse_config(&bytes) else {
            return self.add(file, GitTriggerKind::Whole("settings that Toolcrib cannot parse"));
        };
        for setting in settings {
            if runs_program(&setting).is_some() || self.leads_out(file, &setting) {
                let kind = GitTriggerKind::Setting(setting.clone());
                self.add(file, kind.clone());
                self.behind(file, kind, |reader| reader.follow(file, &setting));
            }
        }
    }

    /// Whether a setting makes git write files in a folder that is not a working tree of this git folder: one whose
    /// `.git` leads back, as that of a submodule does.
    fn leads_out(&self, file: &Path, setting: &GitSetting) -> bool {
        if setting.key != "core.worktree" {
            return false;
        }
        let value = setting.value.as_deref().unwrap_or_default();
        let folder = file.parent().unwrap_or(Path::new(""));
        let worktree =
            self.below(folder, value).filter(|_| self.is_plain(folder, value.as_bytes()));
        let back = worktree.and_then(|worktree| pointed_to(self.root, &worktree.join(".git")));
        back.is_none_or(|back| back != folder)
    }

    /// Whether a path leads, without any link, to something that is in the root now.
    fn is_plain(&self, from: &Path, given: &[u8]) -> bool {
        let given = Path::new(OsStr::from_bytes(given));
        let path = match given.strip_prefix(self.root.path()) {
            Ok(below) => Path::new(".").join(below),
            Err(_) if given.is_absolute() || given.as_os_str().is_empty() => return false,
            Err(_) => from.join(given),
        };
        let resolve = ResolveFlags::NO_SYMLINKS;
        open_below(self.root.handle(), &path, OFlags::PATH, Mode::empty(), resolve).is_ok()
    }

    /// Follows a setting to what it leads to.
    fn follow(&mut self, file: &Path, setting: &GitSetting) {
        let value = setting.value.clone().unwrap_or_default();
        let section = setting.key.split('.').next().unwrap_or_default();
        if matches!(section, "include" | "includeif") {
            let folder = file.parent().unwrap_or(Path::new("")).to_owned();
            if let Some(included) = self.below(&folder, &value) {
                self.found.places.insert(included.clone());
                self.config(&included);
            }
        } else if setting.key == "core.hookspath" {
            if let Some(hooks) = self.below(&self.worktree, &value) {
                self.found.places.insert(hooks.clone());
                self.hooks(&hooks, Hooks::Named);
            }
        } else {
            let words = value.split(|c: char| c.is_whitespace() || "!;&|()\"'".contains(c));
            for word in words.filter(|word| !word.is_empty()).take(MOST_PROGRAM_WORDS) {
                let program = self.below(&self.worktree, word).filter(|it| self.is_file(it));
                if let Some(program) = program {
                    // Another word can be the name of a file by chance.
                    if word.contains('/') {
                        let what = "a program that a git setting names";
                        self.add(&program, GitTriggerKind::Whole(what));
                    }
                    self.found.places.insert(program);
                }
            }
        }
    }

    /// Returns where a link leads, if it is one and that is in the root, and notes the place.
    fn link_target(&mut self, link: &Path) -> Option<PathBuf> {
        let text = rustix::fs::readlinkat(self.root.handle(), link, Vec::new()).ok()?;
        let folder = link.parent().unwrap_or(Path::new(""));
        let target = self.below(folder, OsStr::from_bytes(text.as_bytes()))?;
        self.found.places.insert(target.clone());
        Some(target).filter(|target| target != link)
    }

    fn hooks(&mut self, folder: &Path, which: Hooks) {
        if let Some(target) = self.link_target(folder).filter(|it| self.is_folder(it)) {
            self.through(folder, HOOKS_UNREAD, |reader| reader.hooks(&target, which));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let resolve = ResolveFlags::NO_SYMLINKS;
        let handle = self.root.handle();
        let entries = match open_below(handle, folder, flags, Mode::empty(), resolve) {
            Ok(handle) => Dir::read_from(&handle),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::ACCESS) => {
                return self.add(folder, GitTriggerKind::Whole(HOOKS_UNREAD));
            }
            Err(_) => return,
        };
        let Ok(entries) = entries else { return };
        for entry in entries.flatten() {
            let name = String::from_utf8_lossy(entry.file_name().to_bytes()).into_owned();
            let is_wanted = match which {
                Hooks::Everything => {
                    !matches!(name.as_str(), "." | "..") && !name.ends_with(".sample")
                }
                Hooks::Named => is_hook(&name),
            };
            if is_wanted && entry.file_type() != FileType::Directory {
                let hook = folder.join(OsStr::from_bytes(entry.file_name().to_bytes()));
                self.add(&hook, GitTriggerKind::Whole(HOOK));
                // People keep hooks among the other files, and link to them.
                if let Some(target) = self.link_target(&hook).filter(|it| self.is_file(it)) {
                    self.through(&hook, HOOK, |reader| {
                        reader.add(&target, GitTriggerKind::Whole(HOOK));
                    });
                }
            }
        }
    }

    fn strategy(&mut self, git: &Path, file: &str) {
        match self.root.read_small(&git.join(file), MOST_SETTINGS_BYTES) {
            Ok(Some(content)) if !names_strategy(file, &content) => {}
            Ok(None) => {}
            _ => {
                let what = "a merge strategy that could be any program";
                self.add(&git.join(file), GitTriggerKind::Whole(what));
            }
        }
    }

    /// Finds a file that leads git to another folder in a way that Toolcrib does not follow: through a link, out of the
    /// root, to nothing.
    fn check_pointer(&mut self, file: &Path, before: &[u8]) {
        let folder = file.parent().unwrap_or(Path::new(""));
        let is_plain = match self.kind(file) {
            None | Some(FileType::Directory) => return,
            Some(FileType::RegularFile) => {
                let text = self.pointer(file).map(OsString::into_vec).unwrap_or_default();
                // A folder with this name is that of the repository around it, and of no other.
                let is_own = |target: &&[u8]| {
                    Path::new(OsStr::from_bytes(target)).file_name() != Some(OsStr::new(".git"))
                };
                let target = text.strip_prefix(before).filter(is_own);
                target.is_some_and(|target| self.is_plain(folder, target))
            }
            Some(_) => false,
        };
        if !is_plain {
            self.add(
                file,
                GitTriggerKind::Whole("a pointer to a git folder that Toolcrib does not follow"),
            );
        }
    }

    fn plan(&mut self, file: &Path) {
        match self.root.read_small(file, MOST_SETTINGS_BYTES) {
            Ok(Some(bytes)) => {
                for line in program_lines(&String::from_utf8_lossy(&bytes)) {
                    self.add(file, GitTriggerKind::PlanLine(line.to_owned()));
                }
            }
            Ok(None) => {}
            Err(_) => self
                .add(file, GitTriggerKind::Whole("a rebase todo list that Toolcrib cannot read")),
        }
    }

    /// Reads a file that has nothing but a path. Strips line ends only, because for git a trailing blank is part of the
    /// path.
    fn pointer(&self, file: &Path) -> Option<OsString> {
        let mut bytes = self.root.read_small(file, MOST_POINTER_BYTES).ok()??;
        while bytes.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
            bytes.pop();
        }
        Some(OsString::from_vec(bytes))
    }

    /// Returns where a path of a setting leads, if that is in the root. A path with links is resolved.
    fn below(&self, from: &Path, given: &(impl AsRef<OsStr> + ?Sized)) -> Option<PathBuf> {
        let given = Path::new(given.as_ref());
        let given = match given.strip_prefix(self.root.path()) {
            Ok(below) => below.to_owned(),
            // Another way to the same place, such as the home or a link above the root.
            Err(_) if given.is_absolute() || given.starts_with("~") => {
                let whole = given.strip_prefix("~").ok();
                let home = std::env::var_os("HOME").map(PathBuf::from);
                let whole =
                    whole.zip(home).map_or(given.to_owned(), |(rest, home)| home.join(rest));
                let real = std::fs::canonicalize(whole).ok()?;
                real.strip_prefix(self.root.path()).ok()?.to_owned()
            }
            Err(_) => from.join(given),
        };
        let mut plain = PathBuf::new();
        for part in given.components() {
            match part {
                Component::Normal(name) => plain.push(name),
                Component::ParentDir if !plain.pop() => return None,
                _ => {}
            }
        }
        if plain.as_os_str().is_empty() {
            return None;
        }
        let opened = self.root.open_below(&plain, OFlags::PATH, Mode::empty());
        let real = opened.ok().and_then(|handle| self.root.below(handle.as_fd()));
        Some(real.unwrap_or(plain))
    }

    fn is_file(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileType::RegularFile)
    }

    fn is_folder(&self, path: &Path) -> bool {
        self.kind(path) == Some(FileType::Directory)
    }

    fn kind(&self, path: &Path) -> Option<FileType> {
        let meta = statat(self.root.handle(), path, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(FileType::from_raw_mode(meta.st_mode))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Returns what makes git run programs in a git folder with these files, as `path: what`.
    #[track_caller]
    fn check(git: &str, files: &[(&str, &str)], expect: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match content.strip_prefix("-> ") {
                Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
                None => fs::write(path, content).unwrap(),
            }
        }
        let root = Root::open(folder.path()).unwrap();
        let found = read_git_folder(&root, Path::new(git)).triggers;
        let mut found: Vec<String> =
            found.iter().map(|it| format!("{}: {}", it.file.display(), it.what())).collect();
        found.sort();
        assert_eq!(found, expect, "{files:?}");
    }

    #[test]
    fn settings_hooks_and_plans_that_run_programs_are_found() {
        check(
            ".git",
            &[
                (".git/config", "[core]\nfsmonitor = x y\nbare = false\n"),
                (".git/hooks/pre-commit", ""),
                (".git/hooks/pre-commit.sample", ""),
                (".git/rebase-merge/git-rebase-todo", "pick a\nexec make\n"),
            ],
            &[
                ".git/config: core.fsmonitor = x y",
                ".git/hooks/pre-commit: a hook",
                ".git/rebase-merge/git-rebase-todo: exec make",
            ],
        );
        check("bare", &[("bare/config", "[core]bare = true\n"), ("bare/hooks/a.sample", "")], &[]);
    }

    #[test]
    fn settings_are_followed_to_what_they_lead_to() {
        check(
            "r/.git",
            &[
                ("r/.git/config", "[include]path = ../more\n[core]hooksPath = my/hooks\n"),
                ("r/more", "[alias]x = !y\n"),
                ("r/my/hooks/post-merge", ""),
                ("r/my/hooks/README", ""),
            ],
            &[
                "r/.git/config: core.hookspath = my/hooks",
                "r/.git/config: include.path = ../more",
                "r/more: alias.x = !y",
                "r/my/hooks/post-merge: a hook",
            ],
        );
        check(
            "r/.git",
            &[
                ("r/.git/commondir", "../store \n"),
                ("r/store /config", "[core]editor = x\n"),
                ("r/store/config", "[core]pager = x\n"),
            ],
            &["r/store /config: core.editor = x"],
        );
        check(
            ".git/worktrees/w",
            &[
                (".git/worktrees/w/commondir", "../.."),
                (".git/config", "[core]editor = x\n"),
                (".git/worktrees/w/config.worktree", "[core]pager = x\n"),
            ],
            &[".git/config: core.editor = x", ".git/worktrees/w/config.worktree: core.pager = x"],
        );
    }

    #[test]
    fn what_cannot_be_read_counts_as_a_whole() {
        check(
            ".git",
            &[
                (".git/config", "-> ../evil"),
                ("evil", "[core]pager = x\n"),
                (".git/hooks", "-> ../hooks"),
                (".git/config.worktree", "[broken"),
            ],
            &[
                ".git/config.worktree: settings that Toolcrib cannot parse",
                ".git/config: settings that Toolcrib cannot read",
                ".git/hooks: hooks that Toolcrib cannot read",
                "evil: core.pager = x",
            ],
        );
    }
}
