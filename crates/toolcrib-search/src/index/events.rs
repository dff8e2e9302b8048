//! What happens to the tree, as file events tell it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, FileType, statat};
use toolcrib_core::{ErrorKind, Ground, ToolError};

use super::{Index, Name};
use crate::paths::is_below;
use crate::rules::{RULE_FILES, Source};
use crate::walk::{Walk, absolute, open_directory};
use crate::watch::{Event, Refused, What, unwatch, watch};

/// How many files a new directory may bring before the whole tree is walked again instead.
const MAX_NEW: usize = 5000;

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
        match (event.is_directory, event.what) {
            (true, What::Came) => self.enter(ground, &directory, &event.name, &path),
            (true, What::Went) => {
                self.leave(&path);
                // Two that change places are each told to have gone after they have come.
                self.enter(ground, &directory, &event.name, &path);
            }
            (true, _) => self.is_in_doubt |= self.directories.contains_key(&Name(path.into())),
            // Looked at in either case: of two that change places, both come and both go.
            (false, What::Came | What::Went) => self.meet(ground, &directory, &event.name, &path),
            (false, _) => {
                if let Some(slot) = self.find(&path) {
                    self.soil(slot);
                } else {
                    self.meet(ground, &directory, &event.name, &path);
                }
            }
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

    /// A file came, or something took its place.
    fn meet(&mut self, ground: &dyn Ground, directory: &[u8], name: &[u8], path: &[u8]) {
        let there = open_directory(ground, directory)
            .and_then(|handle| statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW));
        let is_file =
            there.is_ok_and(|meta| FileType::from_raw_mode(meta.st_mode) == FileType::RegularFile);
        if !is_file {
            self.remove(path);
        } else if let Some(slot) = self.find(path) {
            self.soil(slot);
        } else if !self.is_hidden(ground, directory, name, false) {
            self.add(path);
        }
    }

    /// A directory came, with all that is in it.
    fn enter(&mut self, ground: &dyn Ground, directory: &[u8], name: &[u8], path: &[u8]) {
        if self.is_hidden(ground, directory, name, true) {
            return;
        }
        let level = self.directories.get(&Name(directory.into())).and_then(|it| it.level.clone());
        let inotify = self.watch.handle();
        let walk = Walk {
            ground,
            rules: &self.rules,
            threads: 1,
            depth: usize::MAX,
            stops: &|| false,
            visit: &|handle| match watch(inotify, handle) {
                Ok(number) => Ok(number),
                Err(Refused::Gone) => Ok(-1),
                Err(Refused::Limit(why)) => Err(ToolError::new(ErrorKind::Unavailable, why)),
            },
        };
        let Ok(walked) = walk.run(path, level) else {
            self.is_in_doubt = true;
            return;
        };
        let files = walked.paths();
        if files.len() > MAX_NEW {
            self.is_in_doubt = true;
            return;
        }
        self.sources.extend(walked.sources);
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
        let (start, end) = self.listed_below(path);
        let listed = (start..end).map(|slot| self.names.get(slot).to_vec());
        let added = self.added.range(from..).map(|(name, _)| &*name.0);
        let added = added.take_while(|name| is_below(name, path)).map(<[u8]>::to_vec);
        for path in listed.chain(added).collect::<Vec<_>>() {
            self.remove(&path);
        }
    }
}
