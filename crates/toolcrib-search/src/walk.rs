//! The walk: every directory below a start that rules and the ground let in, opened by handle and
//! through no link, by several threads, with a result that does not depend on them.

use std::ffi::OsStr;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags, fstat, openat2, statat};
use rustix::io::Errno;
use toolcrib_core::search::Owner;
use toolcrib_core::{ErrorKind, Ground, ToolError};

use crate::crew;
use crate::gather::spell;
use crate::paths::{Paths, order};
use crate::rules::{self, Level, RuleFiles, Rules, Source};

/// What a walk found: directories, the start first; nothing where one was gone or not to be entered.
pub(crate) struct Walked {
    pub(crate) directories: Vec<Option<Directory>>,
    /// Rule files that no event tells of.
    pub(crate) sources: Vec<Source>,
    /// Directories that are there and could not be entered.
    pub(crate) barred: Vec<Box<[u8]>>,
}

/// A directory that was walked.
pub(crate) struct Directory {
    /// Its path below the root; nothing for the root itself.
    pub(crate) path: Box<[u8]>,
    /// What is in it, sorted by name.
    pub(crate) entries: Vec<Named>,
    /// The rules in force in it.
    pub(crate) level: Option<Arc<Level>>,
    /// What the visitor answered when it was entered.
    pub(crate) mark: i32,
}

/// A name in a directory.
pub(crate) struct Named {
    pub(crate) name: Box<[u8]>,
    /// Where it is among the directories; nothing for a file.
    pub(crate) directory: Option<u32>,
}

/// How a walk goes.
pub(crate) struct Walk<'a> {
    pub(crate) ground: &'a dyn Ground,
    pub(crate) rules: &'a Rules,
    pub(crate) threads: usize,
    /// How many names a path below the start may have.
    pub(crate) depth: usize,
    /// Whether to give up.
    pub(crate) stops: &'a (dyn Fn() -> bool + Sync),
    /// Told of each directory before it is listed; an error ends the walk.
    pub(crate) visit: Visit<'a>,
}

/// What is told of a directory before it is listed; the answer is kept as its mark.
pub(crate) type Visit<'a> = &'a (dyn Fn(BorrowedFd<'_>) -> Result<i32, ToolError> + Sync);

/// The visitor of those who want none.
#[expect(clippy::unnecessary_wraps, reason = "it is one visitor among others")]
pub(crate) fn nobody(_: BorrowedFd<'_>) -> Result<i32, ToolError> {
    Ok(0)
}

/// What came of listing a directory.
enum Listed {
    Directory(Directory, Vec<Source>),
    Gone,
    Barred,
}

struct Task {
    index: u32,
    path: Box<[u8]>,
    above: Option<Arc<Level>>,
    depth: usize,
}

#[derive(Default)]
struct Work {
    todo: Vec<Task>,
    busy: usize,
    found: Vec<Option<Directory>>,
    sources: Vec<Source>,
    barred: Vec<Box<[u8]>>,
    failed: Option<ToolError>,
}

impl Walk<'_> {
    /// Walks everything at or below `start`, whose own rules are on top of `above`. Returns what was
    /// found until it was told to stop.
    pub(crate) fn run(&self, start: &[u8], above: Option<Arc<Level>>) -> Result<Walked, ToolError> {
        let first = Task { index: 0, path: start.into(), above, depth: 0 };
        let work = Mutex::new(Work { todo: vec![first], found: vec![None], ..Work::default() });
        let bell = Condvar::new();
        crew::work(self.ground, self.threads, || self.labour(&work, &bell));
        let work = work.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(err) = work.failed {
            return Err(err);
        }
        let mut barred = work.barred;
        barred.sort_unstable_by(|a, b| order(a, b));
        Ok(Walked { directories: work.found, sources: work.sources, barred })
    }

    fn labour(&self, work: &Mutex<Work>, bell: &Condvar) {
        let mut buffer = vec![MaybeUninit::uninit(); 32 << 10];
        let mut held = work.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if held.failed.is_some() || (self.stops)() {
                held.todo.clear();
            }
            let Some(task) = held.todo.pop() else {
                if held.busy == 0 {
                    bell.notify_all();
                    return;
                }
                held = bell.wait(held).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            held.busy += 1;
            drop(held);
            let listed = self.list(&task, &mut buffer);
            held = work.lock().unwrap_or_else(PoisonError::into_inner);
            held.busy -= 1;
            match listed {
                Ok(Listed::Directory(mut directory, mut sources)) => {
                    held.sources.append(&mut sources);
                    send_children(&task, &mut directory, &mut held);
                    held.found[task.index as usize] = Some(directory);
                }
                Ok(Listed::Gone) => {}
                Ok(Listed::Barred) => held.barred.push(task.path),
                Err(err) => held.failed = Some(err),
            }
            if held.todo.len() > 1 || held.busy == 0 {
                bell.notify_all();
            }
        }
    }

    /// Lists one directory.
    fn list(&self, task: &Task, buffer: &mut [MaybeUninit<u8>]) -> Result<Listed, ToolError> {
        let handle = match open_directory(self.ground, &task.path) {
            Ok(handle) => handle,
            Err(Errno::ACCESS | Errno::PERM) => return Ok(Listed::Barred),
            Err(errno) if is_gone(errno) => return Ok(Listed::Gone),
            Err(errno) => return Err(failed(errno, &task.path)),
        };
        let Ok(meta) = fstat(&handle) else { return Ok(Listed::Gone) };
        let owner = Owner { device: meta.st_dev, mode: meta.st_mode, links: 1 };
        if !self.ground.enters(handle.as_fd(), owner) {
            return Ok(Listed::Barred);
        }
        let mark = (self.visit)(handle.as_fd())?;
        let mut raw: Vec<(Box<[u8]>, bool)> = Vec::new();
        let mut rule_files = RuleFiles::default();
        let mut reader = RawDir::new(&handle, buffer);
        while let Some(entry) = reader.next() {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) if is_gone(errno) => break,
                Err(errno) => return Err(failed(errno, &task.path)),
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = kind(&handle, name, entry.file_type());
            rule_files.note(&handle, name, kind);
            match kind {
                FileType::RegularFile => raw.push((name.into(), false)),
                FileType::Directory => raw.push((name.into(), true)),
                _ => {}
            }
        }
        raw.sort_unstable();
        let mut absolute = absolute(self.ground, &task.path);
        let mut sources = Vec::new();
        let level = rules::enter(
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
        let entries = raw.into_iter().filter_map(|(name, is_directory)| {
            absolute.truncate(length);
            absolute.extend_from_slice(&name);
            let is_out = (is_directory && task.depth + 1 >= self.depth)
                || self.rules.hide(level.as_deref(), &absolute, is_directory)
                || is_hidden(self.ground, &task.path, &name);
            (!is_out).then_some(Named { name, directory: is_directory.then_some(0) })
        });
        let entries = entries.collect();
        let path = task.path.clone();
        Ok(Listed::Directory(Directory { path, entries, level, mark }, sources))
    }
}

/// Gives every directory in `directory` a place and a task.
fn send_children(task: &Task, directory: &mut Directory, held: &mut Work) {
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
            held.todo.push(Task {
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

/// Whether an error says that nothing is there any more, and not that something went wrong.
pub(crate) fn is_gone(errno: Errno) -> bool {
    matches!(errno, Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NAMETOOLONG)
}

fn failed(errno: Errno, path: &[u8]) -> ToolError {
    let path = if path.is_empty() { ".".to_owned() } else { spell("", path) };
    let why = std::io::Error::from(errno);
    ToolError::new(ErrorKind::Io, format!("`{path}` cannot be listed: {why}"))
        .hint("try again; if it stays, the machine is out of something")
        .at(path)
}

fn is_hidden(ground: &dyn Ground, directory: &[u8], name: &[u8]) -> bool {
    ground.hides(Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(name))
}

/// Returns the absolute path of what is at `below`.
pub(crate) fn absolute(ground: &dyn Ground, below: &[u8]) -> Vec<u8> {
    let mut path = ground.path().as_os_str().as_bytes().to_vec();
    if !below.is_empty() {
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(below);
    }
    path
}

/// Opens a directory below the root through no link.
pub(crate) fn open_directory(ground: &dyn Ground, below: &[u8]) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let path = if below.is_empty() { b"." } else { below };
    loop {
        match openat2(ground.handle(), path, flags, Mode::empty(), resolve) {
            Err(Errno::INTR | Errno::AGAIN) => {}
            other => return other,
        }
    }
}

impl Walked {
    /// Returns the paths of all files, in order.
    pub(crate) fn paths(&self) -> Paths {
        let mut paths = Paths::default();
        let mut stack: Vec<(u32, usize)> = vec![(0, 0)];
        while let Some((index, from)) = stack.pop() {
            let Some(directory) = &self.directories[index as usize] else { continue };
            for (at, entry) in directory.entries.iter().enumerate().skip(from) {
                match entry.directory {
                    None => paths.push(&directory.path, &entry.name),
                    Some(child) => {
                        stack.push((index, at + 1));
                        stack.push((child, 0));
                        break;
                    }
                }
            }
        }
        paths
    }
}
