//! Which files ignore rules hide: ripgrep's order of rule files, read by handle below the root.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, ResolveFlags, openat2, statat};
use toolcrib_core::FileStamp;

use crate::scan::stamp::{is_racy, stamp_of};

/// The most of one rule file that is read.
const MAX_RULE_FILE_BYTES: u64 = 8 << 20;

/// FoundPaths that say something about rules when they stand in a directory.
pub(crate) const RULE_FILES: [&[u8]; 5] =
    [b".rgignore", b".ignore", b".gitignore", b".git", b".jj"];

/// The rules of one directory, on top of those of the directories above it. Directories without
/// rules have no level of their own.
pub(crate) struct Level {
    above: Option<Arc<Level>>,
    /// How many bytes of an absolute path belong to this directory, its slash included.
    prefix: usize,
    rgignore: Gitignore,
    ignore: Gitignore,
    gitignore: Gitignore,
    exclude: Gitignore,
    has_git: bool,
    is_in_git: bool,
}

/// The rules that hold in a tree before any of its own: those of the directories above it, and
/// those of the user.
pub(crate) struct IgnoreRules {
    top: Option<Arc<Level>>,
    global: Gitignore,
    global_prefix: usize,
    /// The directories above, where rules were read from or could come from.
    above: Vec<ParentDirectory>,
    /// Single files elsewhere that rules were read from or could come from.
    sources: Vec<RuleSource>,
}

/// A directory above the tree, and the rule files that it has or could have.
struct ParentDirectory {
    path: PathBuf,
    seen: Option<FileStamp>,
    /// Whether a name could have come since without a change of the directory's time.
    is_racy: bool,
    sources: Vec<RuleSource>,
}

impl ParentDirectory {
    fn look(path: &Path) -> Self {
        let seen = see(path, DirectoryTimes::Counted);
        let sources = RULE_FILES.map(|name| RuleSource::look(path.join(OsStr::from_bytes(name))));
        Self {
            path: path.to_owned(),
            is_racy: seen.as_ref().is_some_and(is_racy),
            seen,
            sources: sources.into(),
        }
    }

    /// Whether every rule file is what it was. Those that were not there can only have come if the
    /// directory has changed.
    fn is_same(&mut self) -> bool {
        let now = see(&self.path, DirectoryTimes::Counted);
        if now == self.seen && !self.is_racy {
            return self.sources.iter().filter(|it| it.seen.is_some()).all(RuleSource::is_same);
        }
        self.is_racy = now.as_ref().is_some_and(is_racy);
        self.seen = now;
        self.sources.iter().all(RuleSource::is_same)
    }
}

/// Whether the times of a directory count, or only that it is there.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectoryTimes {
    Counted,
    Ignored,
}

/// A rule file that no watch sees, as it was when it was read.
#[derive(Clone)]
pub(crate) struct RuleSource {
    path: PathBuf,
    seen: Option<FileStamp>,
    /// What it held, if a change since could have left the same times.
    racy: Option<Vec<u8>>,
}

impl RuleSource {
    pub(crate) fn look(path: PathBuf) -> Self {
        let seen = see(&path, DirectoryTimes::Ignored);
        let racy = seen.as_ref().is_some_and(is_racy).then(|| content(&path).unwrap_or_default());
        Self { path, seen, racy }
    }

    pub(crate) fn is_same(&self) -> bool {
        see(&self.path, DirectoryTimes::Ignored) == self.seen
            && self
                .racy
                .as_ref()
                .is_none_or(|racy| content(&self.path).unwrap_or_default() == *racy)
    }
}

/// Reads a rule file; nothing if it is not there, or is a pipe that would hold us for ever.
fn content(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    bounded(File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?))
}

/// Where git keeps the user's settings, which say where the user's rules are.
fn git_settings() -> impl Iterator<Item = PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join(".gitconfig"));
    own.into_iter().chain(config.map(|config| config.join("git/config")))
}

/// Returns the stamp of what is at a path, if something is.
fn see(path: &Path, times: DirectoryTimes) -> Option<FileStamp> {
    let meta = statat(CWD, path, AtFlags::empty()).ok()?;
    // Of a `.git` directory only its existence counts: its times change with every commit.
    if times == DirectoryTimes::Ignored && FileType::from_raw_mode(meta.st_mode).is_dir() {
        return Some(FileStamp { device: meta.st_dev, ..FileStamp::default() });
    }
    Some(stamp_of(&meta))
}

/// Which rule files a directory was seen to have.
#[derive(Clone, Copy, Default)]
pub(crate) struct RuleFiles {
    has: [bool; RULE_FILES.len()],
    /// Those that are links: what they lead to can change without an event here.
    linked: [bool; RULE_FILES.len()],
}

impl RuleFiles {
    /// Notes a name that was found in a directory.
    pub(crate) fn note(&mut self, directory: &impl AsFd, name: &[u8], kind: FileType) {
        if name.first() == Some(&b'.')
            && let Some(index) = RULE_FILES.iter().position(|known| *known == name)
        {
            self.linked[index] = kind == FileType::Symlink;
            // A link that leads nowhere makes no repository.
            self.has[index] =
                kind != FileType::Symlink || statat(directory, name, AtFlags::empty()).is_ok();
        }
    }

    fn any(self) -> bool {
        self.has.contains(&true) || self.linked.contains(&true)
    }
}

impl IgnoreRules {
    /// Reads the rules that hold at `root`, an absolute path.
    pub(crate) fn read(root: &Path) -> Self {
        let mut sources = Vec::new();
        let mut top: Option<Arc<Level>> = None;
        let mut above: Vec<ParentDirectory> =
            root.ancestors().skip(1).map(ParentDirectory::look).collect();
        above.reverse();
        for known in &above {
            let directory = &known.path;
            let mut files = RuleFiles::default();
            for (has, source) in files.has.iter_mut().zip(&known.sources) {
                *has = source.seen.is_some();
            }
            let read = |name: &str| content(&directory.join(name));
            top = level(top, directory, files, &read, &mut sources);
        }
        let global_path = gitconfig_excludes_path();
        sources.extend(global_path.clone().map(RuleSource::look));
        sources.extend(git_settings().map(RuleSource::look));
        let global = global_path.and_then(|path| content(&path));
        Self { top, global: rules(global), global_prefix: prefix_of(root), above, sources }
    }

    /// The rules above the root.
    pub(crate) fn top(&self) -> Option<Arc<Level>> {
        self.top.clone()
    }

    /// Whether every rule file that no watch sees is what it was.
    pub(crate) fn are_fresh(&mut self) -> bool {
        self.above.iter_mut().all(ParentDirectory::is_same)
            && self.sources.iter().all(RuleSource::is_same)
    }

    /// Whether a walk passes over a path; `path` is absolute.
    pub(crate) fn hide(&self, level: Option<&Level>, path: &[u8], is_directory: bool) -> bool {
        match self.verdict(level, path, is_directory) {
            Match::Ignore(()) => true,
            Match::Whitelist(()) => false,
            Match::None => {
                let name = path.rsplit(|byte| *byte == b'/').next();
                name.is_some_and(|name| name.first() == Some(&b'.'))
            }
        }
    }

    fn verdict(&self, level: Option<&Level>, path: &[u8], is_directory: bool) -> Match<()> {
        let Some(first) = level else { return Match::None };
        let matched = |rules: &Gitignore, prefix: usize| {
            let below = Path::new(OsStr::from_bytes(path.get(prefix..).unwrap_or_default()));
            rules.matched(below, is_directory).map(|_| ())
        };
        let mut verdicts = [Match::None, Match::None, Match::None, Match::None];
        let mut saw_git = false;
        let mut at = Some(first);
        while let Some(level) = at {
            let sets = [&level.rgignore, &level.ignore, &level.gitignore, &level.exclude];
            for (index, (set, verdict)) in sets.into_iter().zip(&mut verdicts).enumerate() {
                // Git's own rules hold in a repository and end at its root.
                let holds = index < 2 || (first.is_in_git && !saw_git);
                if holds && verdict.is_none() && !set.is_empty() {
                    *verdict = matched(set, level.prefix);
                }
            }
            saw_git |= level.has_git;
            at = level.above.as_deref();
        }
        let global = if first.is_in_git && !self.global.is_empty() {
            matched(&self.global, self.global_prefix)
        } else {
            Match::None
        };
        let [rgignore, ignore, gitignore, exclude] = verdicts;
        rgignore.or(ignore).or(gitignore).or(exclude).or(global)
    }
}

/// Returns the rules in force in a directory below the root that was found to hold `files`.
/// `directory` is its handle, `path` its absolute path.
pub(crate) fn enter(
    above: Option<Arc<Level>>,
    directory: BorrowedFd<'_>,
    path: &Path,
    files: RuleFiles,
    sources: &mut Vec<RuleSource>,
) -> Option<Arc<Level>> {
    if !files.any() {
        return above;
    }
    // A link may stand for a rule file, but not lead out of its directory.
    let read = |name: &str| {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        bounded(File::from(openat2(directory, name, flags, Mode::empty(), resolve).ok()?))
    };
    level(above, path, files, &read, sources)
}

fn level(
    above: Option<Arc<Level>>,
    path: &Path,
    files: RuleFiles,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
    sources: &mut Vec<RuleSource>,
) -> Option<Arc<Level>> {
    if !files.any() {
        return above;
    }
    for (name, _) in RULE_FILES.iter().zip(files.linked).filter(|(_, is_linked)| *is_linked) {
        sources.push(RuleSource::look(path.join(OsStr::from_bytes(name))));
    }
    let [rgignore, ignore, gitignore, git, jj] = files.has;
    let take = |has: bool, name: &str| rules(if has { read(name) } else { None });
    let has_git = git || jj;
    let exclude = if git {
        let place = exclude_place(path, read, sources);
        // Looked at before it is read: what changes in between is then seen to have changed.
        let source = place.clone().unwrap_or_else(|| path.join(".git/info/exclude"));
        sources.push(RuleSource::look(source));
        rules(match place {
            None => read(".git/info/exclude"),
            Some(place) => content(&place),
        })
    } else {
        Gitignore::empty()
    };
    let is_in_git = has_git || above.as_ref().is_some_and(|above| above.is_in_git);
    let level = Level {
        prefix: prefix_of(path),
        rgignore: take(rgignore, ".rgignore"),
        ignore: take(ignore, ".ignore"),
        gitignore: take(gitignore, ".gitignore"),
        exclude,
        has_git,
        is_in_git,
        above,
    };
    Some(Arc::new(level))
}

/// Returns where a repository keeps its own excludes if its `.git` is a file that says so.
fn exclude_place(
    path: &Path,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
    sources: &mut Vec<RuleSource>,
) -> Option<PathBuf> {
    let pointer = read(".git")?;
    let first = |bytes: &[u8]| {
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        PathBuf::from(OsStr::from_bytes(line.strip_suffix(b"\r").unwrap_or(line)))
    };
    let nowhere = || Some(path.join(".git/info/exclude"));
    let Some(folder) = pointer.strip_prefix(b"gitdir: ") else { return nowhere() };
    let folder = first(folder);
    sources.push(RuleSource::look(folder.join("commondir")));
    let Some(common) = content(&folder.join("commondir")) else { return nowhere() };
    let common = first(&common);
    let common = if common.as_os_str().as_bytes().first() == Some(&b'.') {
        folder.join(common)
    } else {
        common
    };
    Some(common.join("info/exclude"))
}

fn prefix_of(directory: &Path) -> usize {
    match directory.as_os_str().len() {
        // The root of everything ends in its own slash.
        1 => 1,
        length => length + 1,
    }
}

fn bounded(file: File) -> Option<Vec<u8>> {
    let meta = file.metadata().ok()?;
    // What its access may not read, root does not read for them.
    if !meta.is_file() || meta.permissions().mode() & 0o400 == 0 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_RULE_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Reads a rule file. A line that is no glob is passed over, and text that is none ends the file.
fn rules(file: Option<Vec<u8>>) -> Gitignore {
    let Some(bytes) = file else { return Gitignore::empty() };
    let mut builder = GitignoreBuilder::new(".");
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    for (index, line) in lines.into_iter().enumerate() {
        let Ok(line) = std::str::from_utf8(line) else { break };
        let line = line.strip_suffix('\r').unwrap_or(line);
        let line = if index == 0 { line.trim_start_matches('\u{feff}') } else { line };
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
