//! File events: what the kernel says of the directories that are watched, taken without waiting.

use std::collections::HashMap;
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{fstat, fstatfs};
use rustix::io::Errno;
use toolcrib_core::{ErrorKind, ToolError};

/// What happened in a watched directory.
pub(crate) struct Event {
    pub(crate) watch: i32,
    pub(crate) name: Box<[u8]>,
    pub(crate) is_directory: bool,
    pub(crate) what: What,
}

/// What an event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// The name is there now.
    Came,
    /// The name is not there any more.
    Went,
    /// What has the name has changed.
    Changed,
    /// Events were lost, or a file system went away: nothing is certain.
    Doubt,
    /// The watch has ended.
    Ended,
}

/// Watches over directories.
pub(crate) struct Watch {
    inotify: OwnedFd,
    /// Becomes ready when something is mounted or unmounted; nothing where it cannot be had.
    mounts: Option<File>,
    buffer: Vec<MaybeUninit<u8>>,
}

/// Why a directory cannot be watched.
enum Refused {
    /// It is gone.
    Gone,
    /// The system's limit is reached, or another reason in words.
    Limit(String),
}

impl Watch {
    pub(crate) fn new() -> Result<Self, String> {
        let inotify =
            inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(|errno| {
                format!("no file events can be had: {}", std::io::Error::from(errno))
            })?;
        let mounts = File::open("/proc/self/mountinfo").ok();
        Ok(Self { inotify, mounts, buffer: vec![MaybeUninit::uninit(); 64 << 10] })
    }

    /// The handle that becomes ready when there are events.
    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Returns a second handle on the same events, for another thread to wait on.
    pub(crate) fn duplicate(&self) -> Option<OwnedFd> {
        self.inotify.try_clone().ok()
    }

    /// Takes all events that have happened by now.
    pub(crate) fn take(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        if self.has_mounts_changed() {
            events.push(doubt());
        }
        let mut reader = inotify::Reader::new(&self.inotify, &mut self.buffer);
        loop {
            match reader.next() {
                Ok(event) => events.push(read(&event)),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return events,
                Err(_) => {
                    events.push(doubt());
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

/// Starts watching an open directory; returns the number that its events come with.
fn watch(inotify: BorrowedFd<'_>, directory: BorrowedFd<'_>) -> Result<i32, Refused> {
    let flags = WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MOVED_FROM
        | WatchFlags::MOVED_TO
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        // A writer through a mapping is only seen when it lets go.
        | WatchFlags::CLOSE_WRITE
        | WatchFlags::ONLYDIR;
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    inotify::add_watch(inotify, path, flags).map_err(|errno| match errno {
        Errno::NOENT | Errno::NOTDIR => Refused::Gone,
        Errno::NOSPC => Refused::Limit(
            "too many directories to watch: raise fs.inotify.max_user_watches".to_owned(),
        ),
        other => Refused::Limit(format!(
            "a directory cannot be watched: {}",
            std::io::Error::from(other)
        )),
    })
}

/// Watches a directory that a walk enters. Fails if the system's limit is reached, or if it lies on
/// another file system than the root, and on one that does not tell of all changes.
pub(crate) fn watch_directory(
    inotify: BorrowedFd<'_>,
    directory: BorrowedFd<'_>,
    root: u64,
) -> Result<i32, ToolError> {
    let refuse = |why: String| Err(ToolError::new(ErrorKind::Unavailable, why));
    if fstat(directory).is_ok_and(|meta| meta.st_dev != root)
        && let Err(why) = check_file_system(directory)
    {
        return refuse(format!("a folder in it is mounted from elsewhere: {why}"));
    }
    match watch(inotify, directory) {
        Ok(number) => Ok(number),
        Err(Refused::Gone) if fstat(directory).is_ok_and(|meta| meta.st_nlink == 0) => Ok(-1),
        Err(Refused::Gone) => refuse("a directory cannot be watched: is /proc there?".to_owned()),
        Err(Refused::Limit(why)) => refuse(why),
    }
}

/// What a file system is called whose times of change can stand still while a file changes.
pub(crate) const TMPFS: i64 = 0x0102_1994;

/// Fails for file systems whose changes by others may come without an event.
pub(crate) fn check_file_system(directory: BorrowedFd<'_>) -> Result<i64, String> {
    const WATCHABLE: [i64; 9] = [
        0xef53,      // ext2, ext3, ext4
        0x5846_5342, // xfs
        0x9123_683e, // btrfs
        TMPFS,
        0x794c_7630, // overlayfs
        0xf2f5_2010, // f2fs
        0x2fc1_2fc1, // zfs
        0x8584_58f6, // ramfs
        0xca45_1a4e, // bcachefs
    ];
    #[expect(clippy::useless_conversion, reason = "the field's type differs between machines")]
    let kind = fstatfs(directory).map_or(0, |fs| i64::from(fs.f_type));
    if WATCHABLE.contains(&kind) {
        return Ok(kind);
    }
    Err(format!("changes on a file system of type {kind:#x} may come without an event"))
}

/// Stops watching a directory.
pub(crate) fn remove_watch(inotify: BorrowedFd<'_>, watch: i32) {
    // It may have ended by itself.
    let _ = inotify::remove_watch(inotify, watch);
}

fn doubt() -> Event {
    Event { watch: -1, name: Box::default(), is_directory: false, what: What::Doubt }
}

fn read(event: &inotify::Event<'_>) -> Event {
    let flags = event.events();
    if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
        return doubt();
    }
    let what = if flags.contains(ReadFlags::IGNORED) {
        What::Ended
    } else if flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
        What::Came
    } else if flags.intersects(ReadFlags::DELETE | ReadFlags::MOVED_FROM) {
        What::Went
    } else {
        What::Changed
    };
    let name = event.file_name().map(|name| name.to_bytes().into()).unwrap_or_default();
    let is_directory = flags.contains(ReadFlags::ISDIR);
    Event { watch: event.wd(), name, is_directory, what }
}

/// Waits until one of the handles is ready, or for so long; returns which are.
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

/// Which directory an event's watch is of. Two directories can be one behind two mounts; then
/// neither can be told by its watch.
#[derive(Default)]
pub(crate) struct Watched {
    paths: HashMap<i32, Box<[u8]>>,
}

impl Watched {
    /// Notes a watch; fails if it is another directory's already.
    pub(crate) fn insert(&mut self, watch: i32, path: &[u8]) -> bool {
        if watch < 0 {
            // It was gone before it could be watched.
            return true;
        }
        self.paths.insert(watch, path.into()).is_none_or(|before| *before == *path)
    }

    pub(crate) fn path(&self, watch: i32) -> Option<&[u8]> {
        self.paths.get(&watch).map(|path| &**path)
    }

    pub(crate) fn remove(&mut self, watch: i32) {
        self.paths.remove(&watch);
    }

    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }
}
