//! The walk: every directory below a start that ignore rules and the tree let in, opened by handle and through no
//! link. Several threads walk, and the result does not depend on their number.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, RawDir, fstat, statat};
use rustix::io::Errno;
use toolcrib_core::search::AccessMeta;
use toolcrib_core::{ErrorKind, SearchableTree, ToolError, escape};

use crate::parallel;
use crate::paths::{Paths, order};
use crate::scan::ignore_rules::{
    self, IgnoreRules, Level, PathKind, RuleFiles, RuleSource, Visibility,
};
use crate::scan::open::{absolute, is_gone, open_directory};

/// What a walk found: directories, the start first; nothing in the place of one that is gone or was not entered.
pub(crate) struct Walked {
    pub(crate) directories: Vec<Option<WalkedDirectory>>,
    /// Rule files that no event reports.
    pub(crate) sources: Vec<RuleSource>,
    /// Directories that are there and could not be entered.
    pub(crate) unreadable: Vec<Box<[u8]>>,
}

/// A directory that was walked.
pub(crate) struct WalkedDirectory {
    /// The path below the root; empty for the root itself.
    pub(crate) path: Box<[u8]>,
    /// The entries, sorted by name.
    pub(crate) entries: Vec<DirectoryEntry>,
    /// The ignore rules in force in the directory.
    pub(crate) level: Option<Arc<Level>>,
    /// What the visitor answered for the directory: for the index, its watch descriptor.
    pub(crate) visitor_answer: i32,
}

/// An entry of a directory.
pub(crate) struct DirectoryEntry {
    pub(crate) name: Box<[u8]>,
    /// The place among the walk's directories; nothing for a file.
    pub(crate) directory: Option<u32>,
    /// Whether it is a file with a hidden name, which only a search for a file type sees.
    pub(crate) is_hidden: bool,
}

/// Whether files with hidden names are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HiddenNames {
    /// They are not.
    Excluded,
    /// They are, in directories whose names are not hidden.
    Included,
}

/// The settings of a walk. It fails with the error `E` of its visitor.
pub(crate) struct TreeWalk<'a, E> {
    pub(crate) tree: &'a dyn SearchableTree,
    pub(crate) rules: &'a IgnoreRules,
    pub(crate) threads: usize,
    /// How many names a path below the start may have.
    pub(crate) depth: usize,
    /// Whether the walk is to end early.
    pub(crate) is_stopped: &'a (dyn Fn() -> bool + Sync),
    /// The visitor, which is called for each directory before it is listed; an error ends the walk.
    pub(crate) visit: Visit<'a, E>,
}

/// A visitor: called with a directory's handle before the directory is listed. The walk keeps its answer.
pub(crate) type Visit<'a, E> = &'a (dyn Fn(BorrowedFd<'_>) -> Result<i32, E> + Sync);

/// The visitor of a walk that needs none.
#[expect(clippy::unnecessary_wraps, reason = "it is one visitor among others")]
pub(crate) fn no_visitor(_: BorrowedFd<'_>) -> Result<i32, ToolError> {
    Ok(0)
}

/// The outcome of listing a directory.
enum ListOutcome {
    Entered(WalkedDirectory, Vec<RuleSource>),
    Gone,
    Unreadable,
}

struct DirectoryTask {
    index: u32,
    path: Box<[u8]>,
    above: Option<Arc<Level>>,
    depth: usize,
}

struct WalkProgress<E> {
    todo: Vec<DirectoryTask>,
    busy: usize,
    found: Vec<Option<WalkedDirectory>>,
    sources: Vec<RuleSource>,
    unreadable: Vec<Box<[u8]>>,
    failed: Option<E>,
}

impl<E: From<ToolError> + Send> TreeWalk<'_, E> {
    /// Walks everything at or below `start`, whose own rules come on top of `above`. A walk that is stopped returns
    /// what it has found so far.
    pub(crate) fn run(&self, start: &[u8], above: Option<Arc<Level>>) -> Result<Walked, E> {
        let first = DirectoryTask { index: 0, path: start.into(), above, depth: 0 };
        let progress = Mutex::new(WalkProgress {
            todo: vec![first],
            busy: 0,
            found: vec![None],
            sources: Vec::new(),
            unreadable: Vec::new(),
            failed: None,
        });
        let wakeup = Condvar::new();
        parallel::run(Some(self.tree), self.threads, || self.worker(&progress, &wakeup));
        let progress = progress.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(err) = progress.failed {
            return Err(err);
        }
        let mut unreadable = progress.unreadable;
        unreadable.sort_unstable_by(|a, b| order(a, b));
        Ok(Walked { directories: progress.found, sources: progress.sources, unreadable })
    }

    fn worker(&self, progress: &Mutex<WalkProgress<E>>, wakeup: &Condvar) {
        let mut buffer = vec![MaybeUninit::uninit(); 32 << 10];
        let mut held = progress.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if held.failed.is_some() || (self.is_stopped)() {
                held.todo.clear();
            }
            let Some(task) = held.todo.pop() else {
                if held.busy == 0 {
                    wakeup.notify_all();
                    return;
                }
                held = wakeup.wait(held).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            held.busy += 1;
            drop(held);
            let listed = self.list(&task, &mut buffer);
            held = progress.lock().unwrap_or_else(PoisonError::into_inner);
            held.busy -= 1;
            match listed {
                Ok(ListOutcome::Entered(mut directory, mut sources)) => {
                    held.sources.append(&mut sources);
                    send_children(&task, &mut directory, &mut held);
                    held.found[task.index as usize] = Some(directory);
                }
                Ok(ListOutcome::Gone) => {}
                Ok(ListOutcome::Unreadable) => held.unreadable.push(task.path),
                Err(err) => held.failed = Some(err),
            }
            if held.todo.len() > 1 || held.busy == 0 {
                wakeup.notify_all();
            }
        }
    }

    /// Lists one directory.
    fn list(&self, task: &DirectoryTask, buffer: &mut [MaybeUninit<u8>]) -> Result<ListOutcome, E> {
        let handle = match open_directory(self.tree, &task.path) {
            Ok(handle) => handle,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(ListOutcome::Unreadable),
            Err(errno) if is_gone(errno) => return Ok(ListOutcome::Gone),
            Err(errno) => return Err(failed(errno, &task.path).into()),
        };
        let Ok(meta) = fstat(&handle) else { return Ok(ListOutcome::Gone) };
        let access = AccessMeta { device: meta.st_dev, mode: meta.st_mode, links: 1 };
        if !self.tree.may_enter(handle.as_fd(), access) {
            return Ok(ListOutcome::Unreadable);
        }
        let visitor_answer = (self.visit)(handle.as_fd())?;
        let mut raw: Vec<(Box<[u8]>, PathKind)> = Vec::new();
        let mut rule_files = RuleFiles::default();
        let mut reader = RawDir::new(&handle, buffer);
        while let Some(entry) = reader.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) if is_gone(errno) => break,
                Err(errno) => return Err(failed(errno, &task.path).into()),
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = kind(&handle, name, entry.file_type());
            rule_files.add(&handle, name, kind);
            match kind {
                FileType::RegularFile => raw.push((name.into(), PathKind::File)),
                FileType::Directory => raw.push((name.into(), PathKind::Directory)),
                _ => {}
            }
        }
        raw.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let mut absolute = absolute(self.tree, &task.path);
        let mut sources = Vec::new();
        let level = ignore_rules::enter(
            task.above.clone(),
            handle.as_fd(),
            Path::new(OsStr::from_bytes(&absolute)),
            rule_files,
            &mut sources,
        );
        if absolute.last() != Some(&b'/') {
            absolute.push(b'/');
        }
        let length = absolute.len();
        let entries = raw.into_iter().filter_map(|(name, kind)| {
            let is_directory = kind == PathKind::Directory;
            absolute.truncate(length);
            absolute.extend_from_slice(&name);
            let visibility = self.rules.visibility(level.as_deref(), &absolute, kind);
            let is_out = (is_directory && task.depth + 1 >= self.depth)
                || visibility == Visibility::Unseen
                || is_hidden(self.tree, &task.path, &name);
            (!is_out).then_some(DirectoryEntry {
                name,
                directory: is_directory.then_some(0),
                is_hidden: visibility == Visibility::HiddenName,
            })
        });
        let entries = entries.collect();
        let path = task.path.clone();
        Ok(ListOutcome::Entered(WalkedDirectory { path, entries, level, visitor_answer }, sources))
    }
}

/// Gives every directory in `directory` a place and a task.
fn send_children<E>(
    task: &DirectoryTask,
    directory: &mut WalkedDirectory,
    held: &mut WalkProgress<E>,
) {
    let mut path = task.path.to_vec();
    if !path.is_empty() {
        path.push(b'/');
    }
    let length = path.len();
    for entry in &mut directory.entries {
        if let Some(index) = &mut entry.directory {
            *index = held.found.len() as u32;
            held.found.push(None);
            path.truncate(length);
            path.extend_from_slice(&entry.name);
            held.todo.push(DirectoryTask {
                index: *index,
                path: path.as_slice().into(),
                above: directory.level.clone(),
                depth: task.depth + 1,
            });
        }
    }
}

fn kind(directory: &OwnedFd, name: &[u8], known: FileType) -> FileType {
    if known != FileType::Unknown {
        return known;
    }
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)
        .map_or(FileType::Unknown, |meta| FileType::from_raw_mode(meta.st_mode))
}

fn failed(errno: Errno, path: &[u8]) -> ToolError {
    let path = if path.is_empty() { ".".to_owned() } else { escape::path("", path) };
    let why = std::io::Error::from(errno);
    ToolError::new(ErrorKind::Io, format!("`{path}` cannot be listed: {why}"))
        .hint("try again; if it fails again, check the memory and the open files of this machine")
        .at(path)
}

fn is_hidden(tree: &dyn SearchableTree, directory: &[u8], name: &[u8]) -> bool {
    tree.is_hidden(Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(name))
}

impl Walked {
    /// Returns the paths of the files, in order.
    pub(crate) fn paths(&self, hidden: HiddenNames) -> Paths {
        let mut paths = Paths::default();
        self.for_each_file(&mut |directory, file| {
            if !file.is_hidden || hidden == HiddenNames::Included {
                paths.push(&directory.path, &file.name);
            }
        });
        paths
    }

    /// Returns which of the paths, hidden names included, have hidden names: their places, in order.
    pub(crate) fn hidden_places(&self) -> Vec<usize> {
        let (mut places, mut at) = (Vec::new(), 0);
        self.for_each_file(&mut |_, file| {
            if file.is_hidden {
                places.push(at);
            }
            at += 1;
        });
        places
    }

    /// Calls `visit` with each file and its directory, in order of the paths.
    fn for_each_file(&self, visit: &mut dyn FnMut(&WalkedDirectory, &DirectoryEntry)) {
        let mut stack: Vec<(u32, usize)> = vec![(0, 0)];
        while let Some((index, from)) = stack.pop() {
            let Some(directory) = &self.directories[index as usize] else { continue };
            for (at, entry) in directory.entries.iter().enumerate().skip(from) {
                match entry.directory {
                    None => visit(directory, entry),
                    Some(child) => {
                        stack.push((index, at + 1));
                        stack.push((child, 0));
                        break;
                    }
                }
            }
        }
    }
}
