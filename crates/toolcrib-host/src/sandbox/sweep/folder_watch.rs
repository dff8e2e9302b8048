//! Watches folders by the file events of the kernel (inotify), so that a process that runs many commands need not look
//! at every folder after each of them. Only names are watched, because the files of git are read anew each time. Where
//! an event could be missing, [`FolderWatch::take`] returns `None`.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::fs::{fstat, fstatfs};
use rustix::io::Errno;
use toolcrib_core::file_system::{OVERLAYFS, reports_changes};

use crate::files::root::Root;
use crate::sandbox::folder_stamp::FolderStamp;

/// The watches on the folders of one root.
pub(crate) struct FolderWatch {
    inotify: OwnedFd,
    /// A handle that becomes ready when something is mounted or unmounted.
    mounts: File,
    device: u64,
    /// The watched folders, by watch descriptor, relative to the root.
    folders: HashMap<i32, PathBuf>,
    /// Whether some folder could not be watched.
    has_gaps: bool,
}

impl FolderWatch {
    /// Watches nothing yet. There is no watch where the kernel does not report every change.
    pub(crate) fn new(root: &Root) -> Option<Self> {
        let handle = root.handle();
        #[expect(clippy::useless_conversion, reason = "the field's type differs between machines")]
        let magic = fstatfs(handle).map_or(0, |fs| i64::from(fs.f_type));
        // In an overlay, a file that is copied up can become another one, and its events are lost.
        if !reports_changes(magic) || magic == OVERLAYFS {
            return None;
        }
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
        let mounts = File::open("/proc/self/mountinfo").ok()?;
        let device = fstat(handle).ok()?.st_dev;
        Some(Self { inotify, mounts, device, folders: HashMap::new(), has_gaps: false })
    }

    /// Watches an open folder that is at this path.
    pub(crate) fn add(&mut self, root: &Root, handle: &OwnedFd, folder: &Path) {
        let Ok(meta) = fstat(handle) else {
            self.has_gaps = true;
            return;
        };
        let flags = WatchFlags::CREATE
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let path = format!("/proc/self/fd/{}", handle.as_raw_fd());
        match inotify::add_watch(&self.inotify, path, flags) {
            Ok(watch) => {
                let before = self.folders.insert(watch, folder.to_owned());
                // A folder that is in two places is mounted twice. Its events tell of one place.
                let is_twice = before.filter(|before| before != folder).is_some_and(|before| {
                    FolderStamp::at(root, &before).is_some_and(|it| it.inode == meta.st_ino)
                });
                self.has_gaps |= is_twice || meta.st_dev != self.device;
            }
            // It is gone already, and its parent's events say so.
            Err(_) if meta.st_nlink == 0 => {}
            Err(_) => self.has_gaps = true,
        }
    }

    /// Whether some folder could not be watched.
    pub(crate) fn has_gaps(&self) -> bool {
        self.has_gaps
    }

    /// Returns the folders with events since the last time; `None` if an event may be missing.
    pub(crate) fn take(&mut self) -> Option<BTreeSet<PathBuf>> {
        if self.has_gaps || self.have_mounts_changed() {
            return None;
        }
        let mut changed = BTreeSet::new();
        let mut buffer = vec![MaybeUninit::uninit(); 64 << 10];
        let mut reader = inotify::Reader::new(self.inotify.as_fd(), &mut buffer);
        loop {
            match reader.next() {
                Ok(event) => {
                    let flags = event.events();
                    if flags.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
                        return None;
                    }
                    changed.extend(self.folders.get(&event.wd()).cloned());
                    if flags.contains(ReadFlags::IGNORED) {
                        self.folders.remove(&event.wd());
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Some(changed),
                Err(_) => return None,
            }
        }
    }

    fn have_mounts_changed(&self) -> bool {
        let mut polled = [PollFd::new(&self.mounts, PollFlags::PRI)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        !poll(&mut polled, Some(&now)).is_ok_and(|count| count == 0)
    }
}
