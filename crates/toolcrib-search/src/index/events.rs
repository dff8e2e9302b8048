//! What happens to the tree, as file events tell it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, statat};
use toolcrib_core::SearchableTree;

use crate::index::tree_index::{FileState, Index, PathKey};
use crate::index::watcher::{Event, What, remove_watch, watch_directory};
use crate::paths::{is_below, split};
use crate::scan::ignore_rules::{RULE_FILES, RuleSource};
use crate::scan::open::{absolute, is_gone, open_directory};
use crate::scan::walk::TreeWalk;

/// How many files new directories may bring, and how long one may take to be walked while everyone
/// waits, before the whole tree is walked again instead.
const MAX_NEW_FILES: usize = 5000;
const MAX_NEW_WALK_TIME: Duration = Duration::from_millis(50);

impl Index {
    /// Takes the events that have happened by now; returns whether the index is true.
    pub(crate) fn refresh(&mut self, tree: &dyn SearchableTree) -> bool {
        for event in self.watch.take() {
            if self.needs_sweep {
                // All will be walked again; but the queue must not fill up meanwhile.
                continue;
            }
            self.apply(tree, &event);
        }
        if !self.rules.are_fresh() || !self.sources.iter().all(RuleSource::is_same) {
            self.needs_sweep = true;
        }
        !self.needs_sweep
    }

    fn apply(&mut self, tree: &dyn SearchableTree, event: &Event) {
        if event.what == What::Doubt {
            self.needs_sweep = true;
            return;
        }
        if event.what == What::Ended {
            self.watched.remove(event.watch);
            return;
        }
        let Some(directory) = self.watched.path(event.watch).map(<[u8]>::to_vec) else { return };
        if event.name.is_empty() {
            // The directory itself: its mode may have changed.
            self.needs_sweep = true;
            return;
        }
        if RULE_FILES.contains(&&*event.name) {
            self.needs_sweep |= !event.is_directory || event.what != What::Changed;
            return;
        }
        let mut path = directory.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&event.name);
        let is_known_directory = self.directories.contains_key(&PathKey(path.as_slice().into()));
        match (event.is_directory, event.what) {
            // Its mode may have changed, and with it what can be seen in it.
            (true, What::Changed) if is_known_directory => self.needs_sweep = true,
            (false, What::Changed) if self.find(&path).is_some() => {
                if let Some(slot) = self.find(&path) {
                    self.mark_dirty(slot);
                }
            }
            // A file that was made without a name goes by its number for ever, whatever it is called by
            // now: it can be any of those in the directory.
            (false, What::Changed) if is_number(&event.name) => self.mark_all_dirty_in(&directory),
            _ => self.reconsider(tree, &directory, &event.name, &path, is_known_directory),
        }
    }

    /// Makes every file in a directory dirty.
    fn mark_all_dirty_in(&mut self, directory: &[u8]) {
        let (from, to) = self.listed_below(directory);
        let listed = (from..to).filter(|slot| split(self.names.get(*slot)).0 == directory);
        let added = self.added.iter().filter(|(name, _)| split(&name.0).0 == directory);
        let slots: Vec<u32> =
            listed.map(|slot| slot as u32).chain(added.map(|(_, slot)| *slot)).collect();
        for slot in slots {
            if self.files[slot as usize].state != FileState::Gone {
                self.mark_dirty(slot);
            }
        }
    }

    /// Looks at what has a name now, whatever an event says of it: of two that change places, both are
    /// told to have come and then to have gone.
    fn reconsider(
        &mut self,
        tree: &dyn SearchableTree,
        directory: &[u8],
        name: &[u8],
        path: &[u8],
        is_known_directory: bool,
    ) {
        if is_known_directory {
            self.leave(path);
        }
        self.unreadable.remove(&PathKey(path.into()));
        let there = open_directory(tree, directory)
            .and_then(|handle| statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW));
        match there.map(|meta| FileType::from_raw_mode(meta.st_mode)) {
            Ok(FileType::Directory) => {
                self.remove(path);
                self.enter(tree, directory, name, path);
            }
            Ok(FileType::RegularFile) => {
                if let Some(slot) = self.find(path) {
                    self.mark_dirty(slot);
                } else if !self.is_hidden(tree, directory, name, false) {
                    self.add(path);
                }
            }
            Ok(_) => self.remove(path),
            Err(errno) if is_gone(errno) => self.remove(path),
            // It may be there all the same.
            Err(_) => self.needs_sweep = true,
        }
    }

    fn is_hidden(
        &self,
        tree: &dyn SearchableTree,
        directory: &[u8],
        name: &[u8],
        is_directory: bool,
    ) -> bool {
        let Some(known) = self.directories.get(&PathKey(directory.into())) else { return true };
        let mut path = absolute(tree, directory);
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        self.rules.hide(known.level.as_deref(), &path, is_directory)
            || tree.is_hidden(Path::new(OsStr::from_bytes(directory)), OsStr::from_bytes(name))
    }

    /// A directory came, with all that is in it.
    fn enter(&mut self, tree: &dyn SearchableTree, directory: &[u8], name: &[u8], path: &[u8]) {
        if self.is_hidden(tree, directory, name, true) {
            return;
        }
        let level =
            self.directories.get(&PathKey(directory.into())).and_then(|it| it.level.clone());
        let inotify = self.watch.handle();
        let root = self.device;
        let start = Instant::now();
        let walk = TreeWalk {
            tree,
            rules: &self.rules,
            threads: 1,
            depth: usize::MAX,
            is_stopped: &|| start.elapsed() > MAX_NEW_WALK_TIME,
            visit: &|handle| watch_directory(inotify, handle, root),
        };
        let Ok(walked) = walk.run(path, level) else {
            self.needs_sweep = true;
            return;
        };
        let files = walked.paths();
        if files.len() > MAX_NEW_FILES
            || self.added.len() > MAX_NEW_FILES
            || start.elapsed() > MAX_NEW_WALK_TIME
        {
            self.needs_sweep = true;
            return;
        }
        self.sources.extend(walked.sources);
        self.unreadable.extend(walked.unreadable.into_iter().map(PathKey));
        for directory in walked.directories.into_iter().flatten() {
            self.note_directory(&directory.path, directory.level, directory.mark);
        }
        for path in files.iter() {
            self.add(path);
        }
    }

    /// A directory went, with all that was in it.
    fn leave(&mut self, path: &[u8]) {
        let from = PathKey(path.into());
        let gone: Vec<PathKey> = self
            .directories
            .range(from.clone()..)
            .take_while(|(name, _)| is_below(&name.0, path))
            .map(|(name, _)| name.clone())
            .collect();
        for name in &gone {
            if let Some(directory) = self.directories.remove(name) {
                remove_watch(self.watch.handle(), directory.watch);
                self.watched.remove(directory.watch);
            }
        }
        if gone.is_empty() {
            return;
        }
        self.unreadable.retain(|name| !is_below(&name.0, path));
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
