//! File events from the kernel (inotify) for the directories that are watched, taken without waiting.

use std::collections::HashMap;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{fstat, fstatfs};
use rustix::io::Errno;

use toolcrib_core::file_system::reports_changes;

use crate::index::error::{IndexError, IndexErrorKind};

/// A file event in a watched directory.
pub(crate) struct FileEvent {
    /// The watch descriptor of the directory.
    pub(crate) watch: i32,
    /// The name in the directory; empty if the event is about the directory itself.
    pub(crate) name: Box<[u8]>,
    pub(crate) is_directory: bool,
    pub(crate) kind: FileEventKind,
}

/// What an event reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileEventKind {
    /// The name is there now.
    Created,
    /// The name is not there any more.
    Removed,
    /// The file or directory of that name has changed.
    Modified,
    /// Events were lost, or a file system was unmounted: nothing is certain.
    Lost,
    /// The watch has ended.
    WatchEnded,
}

/// Watches directories for file events.
pub(crate) struct Watcher {
    inotify: OwnedFd,
    /// A handle that becomes ready when something is mounted or unmounted; nothing where it cannot be opened.
    mounts: Option<File>,
    buffer: Vec<MaybeUninit<u8>>,
    directories: WatchedDirectories,
}

impl Watcher {
    pub(crate) fn new() -> Result<Self, IndexError> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)
            .map_err(|errno| IndexError::system("the system does not report file events", errno))?;
        let mounts = File::open("/proc/self/mountinfo").ok();
        Ok(Self {
            inotify,
            mounts,
            buffer: vec![MaybeUninit::uninit(); 64 << 10],
            directories: WatchedDirectories::default(),
        })
    }

    /// The handle that becomes ready when there are events.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Returns a second handle on the same events, for another thread to wait on.
    pub(crate) fn duplicate(&self) -> Option<OwnedFd> {
        self.inotify.try_clone().ok()
    }

    /// The directories that are watched, by watch descriptor.
    pub(crate) fn directories(&self) -> &WatchedDirectories {
        &self.directories
    }

    /// Records which directory a watch descriptor is of; see [`WatchedDirectories::insert`].
    pub(crate) fn insert(&mut self, watch: i32, path: &[u8]) -> bool {
        self.directories.insert(watch, path)
    }

    /// Forgets a watch that has ended.
    pub(crate) fn forget(&mut self, watch: i32) {
        self.directories.paths.remove(&watch);
    }

    /// Stops watching a directory.
    pub(crate) fn remove(&mut self, watch: i32) {
        // The watch may have ended by itself.
        let _ = inotify::remove_watch(&self.inotify, watch);
        self.forget(watch);
    }

    /// Takes all events that have happened by now.
    pub(crate) fn take(&mut self) -> Vec<FileEvent> {
        let mut events = Vec::new();
        if self.has_mounts_changed() {
            events.push(lost());
        }
        let mut reader = inotify::Reader::new(&self.inotify, &mut self.buffer);
        loop {
            match reader.next() {
                Ok(event) => events.push(read(&event)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return events,
                Err(_) => {
                    events.push(lost());
                    return events;
                }
            }
        }
    }

    fn has_mounts_changed(&self) -> bool {
        let Some(mounts) = &self.mounts else { return false };
        let mut polled = [PollFd::new(mounts, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok_and(|count| count > 0)
    }
}

/// Watches a directory that a walk enters, and returns its watch descriptor; -1 if the directory is gone already.
/// Fails if the system's limit is reached, or if the directory lies on another device than the root, and on a file
/// system that does not report all changes.
pub(crate) fn watch_directory(
    inotify: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    root_device: u64,
) -> Result<i32, IndexError> {
    if fstat(directory).is_ok_and(|meta| meta.st_dev != root_device)
        && let Err(err) = check_file_system(directory)
    {
        let message = format!("a directory in it is mounted from elsewhere: {}", err.message);
        return Err(IndexError { message, ..err });
    }
    let flags = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        // A writer through a memory mapping is only seen when it closes the file.
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ONLYDIR;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    inotify::add_watch(inotify, path, flags).or_else(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR if fstat(directory).is_ok_and(|meta| meta.st_nlink == 0) => {
            Ok(-1)
        }
        Errno::NOENT | Errno::NOTDIR => {
            let err = IndexError::new(IndexErrorKind::System, "a directory cannot be watched");
            Err(err.hint("check that /proc is mounted"))
        }
        Errno::NOSPC => {
            let message = "there are more directories than the system lets a user watch";
            let err = IndexError::new(IndexErrorKind::WatchLimit, message);
            Err(err.hint("raise fs.inotify.max_user_watches"))
        }
        other => Err(IndexError::system("a directory cannot be watched", other)),
    })
}

/// Returns the magic number of a directory's file system. Fails for file systems that can change without an event,
/// because another machine or a program in between changes them.
pub(crate) fn check_file_system(directory: BorrowedFd<'_>) -> Result<i64, IndexError> {
    #[expect(clippy::useless_conversion, reason = "the field's type differs between machines")]
    let magic = fstatfs(directory).map_or(0, |fs| i64::from(fs.f_type));
    if reports_changes(magic) {
        return Ok(magic);
    }
    let message = format!("a file system of type {magic:#x} can change without a file event");
    Err(IndexError::new(IndexErrorKind::FileSystem, message))
}

fn lost() -> FileEvent {
    FileEvent { watch: -1, name: Box::default(), is_directory: false, kind: FileEventKind::Lost }
}

fn read(event: &inotify::Event<'_>) -> FileEvent {
    let flags = event.events();
    if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
        return lost();
    }
    let kind = if flags.contains(ReadFlags::IGNORED) {
        FileEventKind::WatchEnded
    } else if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
        FileEventKind::Created
    } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
        FileEventKind::Removed
    } else {
        FileEventKind::Modified
    };
    let name = event.file_name().map(|name| name.to_bytes().into()).unwrap_or_default();
    let is_directory = flags.contains(ReadFlags::ISDIR);
    FileEvent { watch: event.wd(), name, is_directory, kind }
}

/// Waits until one of the handles is ready, at most for `time`; returns which of them are.
pub(crate) fn wait(handles: [BorrowedFd<'_>; 2], time: Option<Duration>) -> [bool; 2] {
    let [a, b] = handles;
    let mut polled =
        [PollFd::from_borrowed_fd(a, PollFlags::IN), PollFd::from_borrowed_fd(b, PollFlags::IN)];
    let time = time.map(|time| Timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    match poll(&mut polled, time.as_ref()) {
        Ok(_) => [!polled[0].revents().is_empty(), !polled[1].revents().is_empty()],
        Err(_) => [false, false],
    }
}

/// The directories that are watched, by watch descriptor. One directory that is mounted in two places has one watch
/// descriptor, so that its events do not say which of the two paths they are about.
#[derive(Default)]
pub(crate) struct WatchedDirectories {
    paths: HashMap<i32, Box<[u8]>>,
}

impl WatchedDirectories {
    /// Records which directory a watch is of; returns `false` if the watch is another path's already.
    fn insert(&mut self, watch: i32, path: &[u8]) -> bool {
        if watch < 0 {
            // The directory was gone before it could be watched.
            return true;
        }
        self.paths.insert(watch, path.into()).is_none_or(|before| *before == *path)
    }

    pub(crate) fn path(&self, watch: i32) -> Option<&[u8]> {
        self.paths.get(&watch).map(|path| &**path)
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }
}
