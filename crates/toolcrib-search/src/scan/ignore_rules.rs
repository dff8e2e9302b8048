//! Ignore rules: which files a search passes over. The rule files are ripgrep's, in ripgrep's order, read by handle
//! below the root.

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

use crate::paths::split;
use crate::scan::stamp::{is_racy, stamp_of};

/// The most bytes of one rule file that are read.
pub(crate) const MAX_RULE_FILE_BYTES: u64 = 8 << 20;

/// Names in a directory that decide which rules hold there.
pub(crate) const RULE_FILES: [&[u8]; 5] =
    [b".rgignore", b".ignore", b".gitignore", b".git", b".jj"];

/// Whether a path is a file or a directory, as far as rules tell them apart.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    /// A file.
    File,
    /// A directory.
    Directory,
}

/// Whether a search sees a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visibility {
    /// Every search sees it.
    Seen,
    /// It is a file with a hidden name: only a search for a file type sees it, as with ripgrep.
    HiddenName,
    /// No search sees it.
    Unseen,
}

/// The rules of one directory, on top of those of the directories above it. A directory without rules has no level
/// of its own.
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

/// The rules that hold in a tree before any of its own: those of the directories above it, and those of the user.
pub(crate) struct IgnoreRules {
    top: Option<Arc<Level>>,
    global: Gitignore,
    global_prefix: usize,
    /// The directories above the tree, where rules were read from or could come from.
    above: Vec<ParentDirectory>,
    /// Single rule files that no watch sees and that rules were read from or could come from.
    sources: Vec<RuleSource>,
}

/// A directory above the tree, and the rule files that it has or could have.
struct ParentDirectory {
    path: PathBuf,
    stamp: Option<FileStamp>,
    /// Whether a name could have come since without a change of the directory's time.
    is_racy: bool,
    sources: Vec<RuleSource>,
}

impl ParentDirectory {
    fn observe(path: &Path) -> Self {
        let stamp = stamp_at(path, DirectoryTimes::Counted);
        let sources =
            RULE_FILES.map(|name| RuleSource::observe(path.join(OsStr::from_bytes(name))));
        Self {
            path: path.to_owned(),
            is_racy: stamp.as_ref().is_some_and(is_racy),
            stamp,
            sources: sources.into(),
        }
    }

    /// Whether every rule file is unchanged. A rule file that was missing can only have come if the directory has
    /// changed.
    fn is_unchanged(&mut self) -> bool {
        let now = stamp_at(&self.path, DirectoryTimes::Counted);
        if now == self.stamp && !self.is_racy {
            return self
                .sources
                .iter()
                .filter(|it| it.stamp.is_some())
                .all(RuleSource::is_unchanged);
        }
        self.is_racy = now.as_ref().is_some_and(is_racy);
        self.stamp = now;
        self.sources.iter().all(RuleSource::is_unchanged)
    }
}

/// Whether the times of a directory count, or only its existence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum DirectoryTimes {
    Counted,
    Ignored,
}

/// A rule file that no watch sees, as it was when it was read.
#[derive(Clone)]
pub(crate) struct RuleSource {
    path: PathBuf,
    stamp: Option<FileStamp>,
    /// The content, if a later change could have left the same stamp.
    racy: Option<Vec<u8>>,
}

impl RuleSource {
    pub(crate) fn observe(path: PathBuf) -> Self {
        let stamp = stamp_at(&path, DirectoryTimes::Ignored);
        let racy = stamp.as_ref().is_some_and(is_racy).then(|| content(&path).unwrap_or_default());
        Self { path, stamp, racy }
    }

    pub(crate) fn is_unchanged(&self) -> bool {
        stamp_at(&self.path, DirectoryTimes::Ignored) == self.stamp
            && self
                .racy
                .as_ref()
                .is_none_or(|racy| content(&self.path).unwrap_or_default() == *racy)
    }
}

/// Reads a rule file; nothing if there is none. A pipe in its place does not block.
fn content(path: &Path) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    read_bounded(File::from(rustix::fs::open(path, flags, Mode::empty()).ok()?))
}

/// Returns where git keeps the user's settings, which name the user's own rule file.
fn git_settings() -> impl Iterator<Item = PathBuf> {
    let variable =
        |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let home = variable("HOME");
    let config = variable("XDG_CONFIG_HOME").or_else(|| Some(home.as_ref()?.join(".config")));
    let own = home.map(|home| home.join(".gitconfig"));
    own.into_iter().chain(config.map(|config| config.join("git/config")))
}

/// Returns the stamp of what is at a path, if something is.
fn stamp_at(path: &Path, times: DirectoryTimes) -> Option<FileStamp> {
    let meta = statat(CWD, path, AtFlags::empty()).ok()?;
    // Only the existence of a `.git` directory counts, because its times change with every commit.
    if times == DirectoryTimes::Ignored && FileType::from_raw_mode(meta.st_mode).is_dir() {
        return Some(FileStamp { device: meta.st_dev, ..FileStamp::default() });
    }
    Some(stamp_of(&meta))
}

/// The rule files that a directory has.
#[derive(Clone, Copy, Default)]
pub(crate) struct RuleFiles {
    has: [bool; RULE_FILES.len()],
    /// The rule files that are links: their targets can change without an event here.
    linked: [bool; RULE_FILES.len()],
}

impl RuleFiles {
    /// Adds a name that was found in the directory.
    pub(crate) fn add(&mut self, directory: &impl AsFd, name: &[u8], kind: FileType) {
        if name.first() == Some(&b'.')
            && let Some(index) = RULE_FILES.iter().position(|known| *known == name)
        {
            self.linked[index] = kind == FileType::Symlink;
            // A dangling link makes no repository.
            self.has[index] =
                kind != FileType::Symlink || statat(directory, name, AtFlags::empty()).is_ok();
        }
    }

    /// Adds the name of a file, or of a repository's folder, that the directory has.
    pub(crate) fn add_name(&mut self, name: &[u8]) {
        if let Some(index) = RULE_FILES.iter().position(|known| *known == name) {
            self.has[index] = true;
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
            root.ancestors().skip(1).map(ParentDirectory::observe).collect();
        above.reverse();
        for known in &above {
            let directory = &known.path;
            let mut files = RuleFiles::default();
            for (has, source) in files.has.iter_mut().zip(&known.sources) {
                *has = source.stamp.is_some();
            }
            let read = |name: &str| content(&directory.join(name));
            top = level(top, directory, files, &read, &mut sources);
        }
        let global_path = gitconfig_excludes_path();
        sources.extend(global_path.clone().map(RuleSource::observe));
        sources.extend(git_settings().map(RuleSource::observe));
        let global = global_path.and_then(|path| content(&path));
        Self { top, global: parse_rules(global), global_prefix: prefix_of(root), above, sources }
    }

    /// No rules but those of the tree itself, whose root is at `root`.
    pub(crate) fn none(root: &Path) -> Self {
        Self {
            top: None,
            global: Gitignore::empty(),
            global_prefix: prefix_of(root),
            above: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// The rules of the directories above the root.
    pub(crate) fn above_root(&self) -> Option<Arc<Level>> {
        self.top.clone()
    }

    /// Adds rule files of the tree itself that no event reports.
    pub(crate) fn add_sources(&mut self, sources: Vec<RuleSource>) {
        self.sources.extend(sources);
    }

    /// How many rule files are checked for changes.
    pub(crate) fn sources_len(&self) -> usize {
        self.sources.len()
    }

    /// Whether every rule file that no watch sees is unchanged.
    pub(crate) fn are_fresh(&mut self) -> bool {
        self.above.iter_mut().all(ParentDirectory::is_unchanged)
            && self.sources.iter().all(RuleSource::is_unchanged)
    }

    /// Returns whether a search sees a path, which is absolute.
    pub(crate) fn visibility(
        &self,
        level: Option<&Level>,
        path: &[u8],
        kind: PathKind,
    ) -> Visibility {
        match (self.verdict(level, path, kind), kind) {
            (Match::Whitelist(()), _) => Visibility::Seen,
            (Match::None, _) if split(path).1.first() != Some(&b'.') => Visibility::Seen,
            (Match::None, PathKind::File) => Visibility::HiddenName,
            (Match::Ignore(()), _) | (Match::None, PathKind::Directory) => Visibility::Unseen,
        }
    }

    fn verdict(&self, level: Option<&Level>, path: &[u8], kind: PathKind) -> Match<()> {
        let Some(first) = level else { return Match::None };
        let matched = |rules: &Gitignore, prefix: usize| {
            let below = Path::new(OsStr::from_bytes(path.get(prefix..).unwrap_or_default()));
            rules.matched(below, kind == PathKind::Directory).map(|_| ())
        };
        let mut verdicts = [Match::None, Match::None, Match::None, Match::None];
        let mut saw_git = false;
        let mut at = Some(first);
        while let Some(level) = at {
            let sets = [&level.rgignore, &level.ignore, &level.gitignore, &level.exclude];
            for (index, (set, verdict)) in sets.into_iter().zip(&mut verdicts).enumerate() {
                // Git's own rules hold within a repository and end at its root.
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

/// Returns the rules in force in a directory below the root, with the handle `directory` and the absolute path
/// `path`, that has these rule files.
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
    // A rule file may be a link, but the link may not lead out of its directory.
    let read = |name: &str| {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        read_bounded(File::from(openat2(directory, name, flags, Mode::empty(), resolve).ok()?))
    };
    level(above, path, files, &read, sources)
}

/// Returns the rules in force in a directory of a tree that is not on disk, with the absolute path `path`. `read`
/// returns the content of its rule files.
pub(crate) fn enter_fixed(
    above: Option<Arc<Level>>,
    path: &Path,
    files: RuleFiles,
    read: &dyn Fn(&str) -> Option<Vec<u8>>,
) -> Option<Arc<Level>> {
    // The sources are rule files that can change. Those of such a tree cannot.
    level(above, path, files, read, &mut Vec::new())
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
        sources.push(RuleSource::observe(path.join(OsStr::from_bytes(name))));
    }
    let [rgignore, ignore, gitignore, git, jj] = files.has;
    let take = |has: bool, name: &str| parse_rules(if has { read(name) } else { None });
    let has_git = git || jj;
    let exclude = if git {
        let place = exclude_place(path, read, sources);
        // The stamp is taken before the file is read, so that a change in between is noticed.
        let source = place.clone().unwrap_or_else(|| path.join(".git/info/exclude"));
        sources.push(RuleSource::observe(source));
        parse_rules(match place {
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

/// Returns where a repository keeps its own excludes if its `.git` is a file that points elsewhere.
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
    sources.push(RuleSource::observe(folder.join("commondir")));
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
        // The path of the file system's root ends in its own slash.
        1 => 1,
        length => length + 1,
    }
}

fn read_bounded(file: File) -> Option<Vec<u8>> {
    let meta = file.metadata().ok()?;
    // Root does not read what the file's owner may not read.
    if !meta.is_file() || meta.permissions().mode() & 0o400 == 0 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(MAX_RULE_FILE_BYTES).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Parses a rule file. A line that is not a glob is ignored, and bytes that are not text end the file.
fn parse_rules(file: Option<Vec<u8>>) -> Gitignore {
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
