//! What happens to the tree, as file events tell it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, statat};
use toolcrib_core::Ground;

use super::{Index, Name, State};
use crate::paths::{is_below, split};
use crate::rules::{RULE_FILES, Source};
use crate::walk::{Walk, absolute, is_gone, open_directory};
use crate::watch::{Event, What, unwatch, watch_over};

/// How many files new directories may bring, and how long one may take to be walked while everyone
/// waits, before the whole tree is walked again instead.
const MAX_NEW: usize = 5000;
const MAX_TIME: Duration = Duration::from_millis(50);

impl Index {
    /// Takes the events that have happened by now; returns whether the index is true.
    pub(crate) fn refresh(&mut self, ground: &dyn Ground) -> bool {
        for event in self.watch.take() {
            if self.is_in_doubt {
                // All will be walked again; but the queue must not fill up meanwhile.
                continue;
            }
            self.apply(ground, &event);
        }
        if !self.rules.are_fresh() || !self.sources.iter().all(Source::is_same) {
            self.is_in_doubt = true;
        }
        !self.is_in_doubt
    }

    fn apply(&mut self, ground: &dyn Ground, event: &Event) {
        if event.what == What::Doubt {
            self.is_in_doubt = true;
            return;
        }
        if event.what == What::Ended {
            self.watched.remove(event.watch);
            return;
        }
        let Some(directory) = self.watched.path(event.watch).map(<[u8]>::to_vec) else { return };
        if event.name.is_empty() {
            // The directory itself: its mode may have changed.
            self.is_in_doubt = true;
            return;
        }
        if RULE_FILES.contains(&&*event.name) {
            self.is_in_doubt |= !event.is_directory || event.what != What::Changed;
            return;
        }
        let mut path = directory.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&event.name);
        let is_known_directory = self.directories.contains_key(&Name(path.as_slice().into()));
        match (event.is_directory, event.what) {
            // Its mode may have changed, and with it what can be seen in it.
            (true, What::Changed) if is_known_directory => self.is_in_doubt = true,
            (false, What::Changed) if self.find(&path).is_some() => {
                if let Some(slot) = self.find(&path) {
                    self.soil(slot);
                }
            }
            // A file that was made without a name goes by its number for ever, whatever it is called by
            // now: it can be any of those in the directory.
            (false, What::Changed) if is_number(&event.name) => self.soil_all_in(&directory),
            _ => self.reconsider(ground, &directory, &event.name, &path, is_known_directory),
        }
    }

    /// Makes every file in a directory dirty.
    fn soil_all_in(&mut self, directory: &[u8]) {
        let (from, to) = self.listed_below(directory);
        let listed = (from..to).filter(|slot| split(self.names.get(*slot)).0 == directory);
        let added = self.added.iter().filter(|(name, _)| split(&name.0).0 == directory);
        let slots: Vec<u32> =
            listed.map(|slot| slot as u32).chain(added.map(|(_, slot)| *slot)).collect();
        for slot in slots {
            if self.files[slot as usize].state != State::Gone {
                self.soil(slot);
            }
        }
    }

    /// Looks at what has a name now, whatever an event says of it: of two that change places, both are
    /// told to have come and then to have gone.
    fn reconsider(
        &mut self,
        ground: &dyn Ground,
        directory: &[u8],
        name: &[u8],
        path: &[u8],
        is_known_directory: bool,
    ) {
        if is_known_directory {
            self.leave(path);
        }
        self.barred.remove(&Name(path.into()));
        let there = open_directory(ground, directory)
            .and_then(|handle| statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW));
        match there.map(|meta| FileType::from_raw_mode(meta.st_mode)) {
            Ok(FileType::Directory) => {
                self.remove(path);
                self.enter(ground, directory, name, path);
            }
            Ok(FileType::RegularFile) => {
                if let Some(slot) = self.find(path) {
                    self.soil(slot);
                } else if !self.is_hidden(ground, directory, name, false) {
                    self.add(path);
                }
            }
            Ok(_) => self.remove(path),
            Err(errno) if is_gone(errno) => self.remove(path),
            // It may be there all the same.
            Err(_) => self.is_in_doubt = true,
        }
    }

    fn is_hidden(
        &self,
        ground: &dyn Ground,
        directory: &[u8],
        name: &[u8],
        is_directory: bool,
    ) -> bool {
        let Some(known) = self.directories.get(&Name(directory.into())) else { return true };
        let mut path = absolute(ground, directory);
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        self.rules.hide(known.level.as_deref(), &path, is_directory)
            || ground.hides(Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(name))
    }

    /// A directory came, with all that is in it.
    fn enter(&mut self, ground: &dyn Ground, directory: &[u8], name: &[u8], path: &[u8]) {
        if self.is_hidden(ground, directory, name, true) {
            return;
        }
        let level = self.directories.get(&Name(directory.into())).and_then(|it| it.level.clone());
        let inotify = self.watch.handle();
        let root = self.device;
        let start = Instant::now();
        let walk = Walk {
            ground,
            rules: &self.rules,
            threads: 1,
            depth: usize::MAX,
            stops: &|| start.elapsed() > MAX_TIME,
            visit: &|handle| watch_over(inotify, handle, root),
        };
        let Ok(walked) = walk.run(path, level) else {
            self.is_in_doubt = true;
            return;
        };
        let files = walked.paths();
        if files.len() > MAX_NEW || self.added.len() > MAX_NEW || start.elapsed() > MAX_TIME {
            self.is_in_doubt = true;
            return;
        }
        self.sources.extend(walked.sources);
        self.barred.extend(walked.barred.into_iter().map(Name));
        for directory in walked.directories.into_iter().flatten() {
            self.note_directory(&directory.path, directory.level, directory.mark);
        }
        for path in files.iter() {
            self.add(path);
        }
    }

    /// A directory went, with all that was in it.
    fn leave(&mut self, path: &[u8]) {
        let from = Name(path.into());
        let gone: Vec<Name> = self
            .directories
            .range(from.clone()..)
            .take_while(|(name, _)| is_below(&name.0, path))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            if let Some(directory) = self.directories.remove(name) {
                unwatch(self.watch.handle(), directory.watch);
                self.watched.remove(directory.watch);
            }
        }
        if gone.is_empty() {
            return;
        }
        self.barred.retain(|name| !is_below(&name.0, path));
        let (start, end) = self.listed_below(path);
        let listed = (start..end).map(|slot| self.names.get(slot).to_vec());
        let added = self.added.range(from..).map(|(name, _)| &*name.0);
        let added = added.take_while(|name| is_below(name, path)).map(<[u8]>::to_vec);
        for path in listed.chain(added).collect::<Vec<_>>() {
            self.remove(&path);
        }
    }
}

/// Whether a name is what the kernel calls a file that has none.
fn is_number(name: &[u8]) -> bool {
    name.strip_prefix(b"#")
        .is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
}
