//! Watches the files of settings, rules and plugins by the file events of the kernel (inotify), so that a change is taken up
//! without a restart. An event only says when to look: what holds is what the files say then.

use std::collections::{BTreeSet, HashMap};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use rustix::io::Errno;

use super::live_settings::LiveSettings;

/// How long the files must rest before they are read, because an editor makes several changes to save one file.
const REST: Duration = Duration::from_millis(50);

/// How long files that change all the time are waited for.
const LONGEST_REST: Duration = Duration::from_secs(1);

impl LiveSettings {
    /// Watches the files on a thread of its own for as long as the process lives, and takes up what changes.
    pub fn watch(self: &Arc<Self>) -> io::Result<()> {
        let live = Arc::clone(self);
        let first = FileWatch::new(&live.watched_files())?;
        thread::Builder::new().name("file-watch".to_owned()).spawn(move || {
            let mut watch = first;
            loop {
                // After the watch has begun, so that no change falls between the two.
                // The operator was told.
                let _ = live.read_again();
                live.take_up_changed_plugins();
                watch.wait_for_change();
                watch.wait_for_rest();
                // Folders may be other ones now.
                match FileWatch::new(&live.watched_files()) {
                    Ok(fresh) => watch = fresh,
                    Err(err) => return live.tell_unwatched(&err),
                }
            }
        })?;
        Ok(())
    }

    /// Returns the files whose changes are taken up.
    fn watched_files(&self) -> Vec<PathBuf> {
        let plugins = self.crib().plugins().generation_file();
        self.sources().paths().iter().cloned().chain([plugins]).collect()
    }

    /// Says that changes of files are not noticed.
    pub fn tell_unwatched(&self, err: &io::Error) {
        self.tell(&format!(
            "changes of settings and rules files are not noticed ({err}); send SIGHUP after a change"
        ));
    }
}

/// The names in a folder whose events count.
enum WatchedNames {
    All,
    Some(BTreeSet<OsString>),
}

/// The watches on the folders of some files.
struct FileWatch {
    inotify: OwnedFd,
    folders: HashMap<i32, WatchedNames>,
}

impl FileWatch {
    fn new(files: &[PathBuf]) -> io::Result<Self> {
        let inotify = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
        let mut watch = Self { inotify, folders: HashMap::new() };
        for file in files {
            watch.add_file(file)?;
        }
        Ok(watch)
    }

    /// Watches the name of a file, that of its folder, and where a link leads.
    fn add_file(&mut self, file: &Path) -> io::Result<()> {
        let (Some(folder), Some(name)) = (file.parent(), file.file_name()) else { return Ok(()) };
        let is_link = fs::symlink_metadata(file).is_ok_and(|meta| meta.is_symlink());
        if is_link {
            // A link can lead over another name in its folder.
            self.add(folder, None)?;
            if let Ok(target) = fs::canonicalize(file)
                && let Some(folder) = target.parent()
            {
                self.add(folder, target.file_name())?;
            }
        } else {
            self.add(folder, Some(name))?;
        }
        // The folder may be missing, or be replaced.
        let mut below = folder;
        while let (Some(folder), Some(name)) = (below.parent(), below.file_name()) {
            if self.add(folder, Some(name))? {
                return Ok(());
            }
            below = folder;
        }
        Ok(())
    }

    /// Watches a name in a folder, or all names. Returns whether the folder is there.
    fn add(&mut self, folder: &Path, name: Option<&OsStr>) -> io::Result<bool> {
        let flags = WatchFlags::CREATE
            | WatchFlags::CLOSE_WRITE
            | WatchFlags::ATTRIB
            | WatchFlags::DELETE
            | WatchFlags::MOVED_FROM
            | WatchFlags::MOVED_TO
            | WatchFlags::DELETE_SELF
            | WatchFlags::MOVE_SELF
            | WatchFlags::ONLYDIR;
        let watch = match inotify::add_watch(&self.inotify, folder, flags) {
            Ok(watch) => watch,
            // A folder that others cannot look into has nothing for us either.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS) => return Ok(false),
            Err(errno) => return Err(errno.into()),
        };
        let names = self.folders.entry(watch).or_insert(WatchedNames::Some(BTreeSet::new()));
        match (names, name) {
            (WatchedNames::Some(names), Some(name)) => {
                names.insert(name.to_owned());
            }
            (names, None) => *names = WatchedNames::All,
            (WatchedNames::All, Some(_)) => {}
        }
        Ok(true)
    }

    /// Waits until something happens to one of the files.
    fn wait_for_change(&self) {
        loop {
            self.poll(None);
            if self.take() {
                return;
            }
        }
    }

    /// Waits until nothing has happened to the files for a moment.
    fn wait_for_rest(&self) {
        let end = Instant::now() + LONGEST_REST;
        let mut rest = Instant::now() + REST;
        while Instant::now() < rest.min(end) {
            self.poll(Some(REST));
            if self.take() {
                rest = Instant::now() + REST;
            }
        }
    }

    fn poll(&self, most: Option<Duration>) {
        let most = most.map(|most| Timespec {
            tv_sec: most.as_secs().cast_signed(),
            tv_nsec: most.subsec_nanos().into(),
        });
        // A signal only means that it looks once more.
        let _ = poll(&mut [PollFd::new(&self.inotify, PollFlags::IN)], most.as_ref());
    }

    /// Takes all events. Returns whether one of them is about the files.
    fn take(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.inotify, &mut buffer);
        let mut is_ours = false;
        loop {
            match reader.next() {
                Ok(event) => is_ours |= self.is_ours(&event),
                Err(Errno::INTR) => {}
                Err(_) => return is_ours,
            }
        }
    }

    fn is_ours(&self, event: &inotify::Event<'_>) -> bool {
        let is_about_folder = ReadFlags::DELETE_SELF
            | ReadFlags::MOVE_SELF
            | ReadFlags::IGNORED
            | ReadFlags::UNMOUNT
            | ReadFlags::QUEUE_OVERFLOW;
        if event.events().intersects(is_about_folder) {
            return true;
        }
        match (self.folders.get(&event.wd()), event.file_name()) {
            (Some(WatchedNames::Some(names)), Some(name)) => {
                names.contains(OsStr::from_bytes(name.to_bytes()))
            }
            // The access to the folder itself changed, or all names count.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Does something, and returns whether an event about `files` came of it.
    fn is_noticed(files: &[PathBuf], work: impl FnOnce()) -> bool {
        let watch = FileWatch::new(files).unwrap();
        work();
        watch.take()
    }

    #[test]
    fn a_file_is_noticed_however_it_comes_and_goes() {
        let folder = tempfile::tempdir().unwrap();
        let own = folder.path().join("a/toolcrib");
        let file = own.join("config.toml");
        let files = [file.clone()];
        let write = |path: &Path| fs::write(path, "x").unwrap();
        assert!(is_noticed(&files, || fs::create_dir_all(&own).unwrap()), "a folder above it");
        assert!(is_noticed(&files, || write(&file)));
        assert!(is_noticed(&files, || write(&file)), "in place");
        assert!(!is_noticed(&files, || write(&own.join("other"))), "the control");
        assert!(!is_noticed(&files, || drop(fs::read(&file))), "the control");
        assert!(is_noticed(&files, || fs::rename(own.join("other"), &file).unwrap()), "replaced");
        let away = folder.path().join("a/away");
        assert!(is_noticed(&files, || fs::rename(&own, &away).unwrap()), "its folder is gone");
        assert!(is_noticed(&files, || fs::rename(&away, &own).unwrap()), "and comes back");
        assert!(is_noticed(&files, || fs::remove_file(&file).unwrap()));
        let target = folder.path().join("dotfiles.toml");
        write(&target);
        let link = || std::os::unix::fs::symlink(&target, &file).unwrap();
        assert!(is_noticed(&files, link));
        assert!(is_noticed(&files, || write(&target)), "where a link leads");
    }
}
