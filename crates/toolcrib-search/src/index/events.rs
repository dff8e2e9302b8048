//! File events applied to an index: what came, went and changed in the tree.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, statat};
use toolcrib_core::SearchableTree;

use crate::index::tree_index::Index;
use crate::index::watcher::{FileEvent, FileEventKind, Watcher, watch_directory};
use crate::paths::{PathKey, is_below, split};
use crate::scan::ignore_rules::{PathKind, RULE_FILES, Visibility};
use crate::scan::open::{absolute, is_gone, open_directory};
use crate::scan::walk::{HiddenNames, TreeWalk};

/// How many files new directories may bring before the whole tree is swept instead.
const MAX_NEW_FILES: usize = 5000;

/// How long the walk of a new directory may take, while every question waits, before the tree is swept instead.
const MAX_NEW_WALK_TIME: Duration = Duration::from_millis(50);

/// A name in a directory, of which an event tells.
struct EventTarget<'a> {
    directory: &'a [u8],
    name: &'a [u8],
    /// The path of the name.
    path: &'a [u8],
}

impl Index {
    /// Applies the events that have happened by now; returns whether the index is current.
    pub(crate) fn refresh(&mut self, tree: &dyn SearchableTree) -> bool {
        for event in self.watcher.as_mut().map(Watcher::take).unwrap_or_default() {
            if self.needs_sweep {
                // The sweep will see everything; but the kernel's queue must not fill up meanwhile.
                continue;
            }
            self.apply(tree, &event);
        }
        if !self.rules.are_fresh() {
            self.needs_sweep = true;
        }
        !self.needs_sweep
    }

    fn apply(&mut self, tree: &dyn SearchableTree, event: &FileEvent) {
        if event.kind == FileEventKind::Lost {
            self.needs_sweep = true;
            return;
        }
        if event.kind == FileEventKind::WatchEnded {
            if let Some(watcher) = &mut self.watcher {
                watcher.forget(event.watch);
            }
            return;
        }
        let watcher = self.watcher.as_ref();
        let directory = watcher.and_then(|it| it.directories().path(event.watch));
        let Some(directory) = directory.map(<[u8]>::to_vec) else { return };
        if event.name.is_empty() {
            // The event is about the directory itself: its mode may have changed.
            self.needs_sweep = true;
            return;
        }
        if RULE_FILES.contains(&&*event.name) {
            self.needs_sweep |= !event.is_directory || event.kind != FileEventKind::Modified;
            return;
        }
        let mut path = directory.clone();
        if !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(&event.name);
        let target = EventTarget { directory: &directory, name: &event.name, path: &path };
        match (event.is_directory, event.kind) {
            // The directory's mode may have changed, and with it what can be seen in it.
            (true, FileEventKind::Modified) if self.covers(&path) => self.needs_sweep = true,
            (false, FileEventKind::Modified) if self.find(&path).is_some() => {
                if let Some(slot) = self.find(&path) {
                    self.mark_dirty(slot);
                }
            }
            // The kernel calls a file that was made without a name by its inode number for ever, also after it got a
            // name: it can be any file in the directory.
            (false, FileEventKind::Modified) if is_inode_name(&event.name) => {
                self.mark_all_dirty_in(&directory);
            }
            _ => self.reconsider(tree, &target),
        }
    }

    /// Marks every file in a directory dirty.
    fn mark_all_dirty_in(&mut self, directory: &[u8]) {
        let (from, to) = self.names.listed_below(directory);
        let listed = (from..to).map(|slot| slot as u32);
        let listed = listed.filter(|slot| split(self.names.path(*slot)).0 == directory);
        let added = self.names.added().filter(|(path, _)| split(path.bytes()).0 == directory);
        let slots: Vec<u32> = listed.chain(added.map(|(_, slot)| slot)).collect();
        for slot in slots {
            if self.is_there(slot) {
                self.mark_dirty(slot);
            }
        }
    }

    /// Looks at what has a name now, whatever the event says: when two names are exchanged, the kernel reports both as
    /// created and then as removed.
    fn reconsider(&mut self, tree: &dyn SearchableTree, target: &EventTarget<'_>) {
        let path = target.path;
        if self.covers(path) {
            self.leave(path);
        }
        self.unreadable.remove(&PathKey::new(path));
        let there = open_directory(tree, target.directory)
            .and_then(|handle| statat(&handle, target.name, AtFlags::SYMLINK_NOFOLLOW));
        match there.map(|meta| FileType::from_raw_mode(meta.st_mode)) {
            Ok(FileType::Directory) => {
                self.remove(path);
                self.enter(tree, target);
            }
            Ok(FileType::RegularFile) => {
                if let Some(slot) = self.find(path) {
                    self.mark_dirty(slot);
                } else {
                    let visibility = self.visibility(tree, target, PathKind::File);
                    if visibility != Visibility::Unseen {
                        self.add(path, visibility);
                    }
                }
            }
            Ok(_) => self.remove(path),
            Err(errno) if is_gone(errno) => self.remove(path),
            // The file may be there all the same.
            Err(_) => self.needs_sweep = true,
        }
    }

    fn visibility(
        &self,
        tree: &dyn SearchableTree,
        target: &EventTarget<'_>,
        kind: PathKind,
    ) -> Visibility {
        let directory = target.directory;
        let Some(known) = self.directories.get(&PathKey::new(directory)) else {
            return Visibility::Unseen;
        };
        let mut path = absolute(tree, directory);
        if path.last() != Some(&b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(target.name);
        let (directory, name) = (OsStr::from_bytes(directory), OsStr::from_bytes(target.name));
        if tree.is_hidden(Path::new(directory), name) {
            return Visibility::Unseen;
        }
        self.rules.visibility(known.level.as_deref(), &path, kind)
    }

    /// Adds a directory that came, with everything in it.
    fn enter(&mut self, tree: &dyn SearchableTree, target: &EventTarget<'_>) {
        if self.visibility(tree, target, PathKind::Directory) == Visibility::Unseen {
            return;
        }
        let parent = self.directories.get(&PathKey::new(target.directory));
        let level = parent.and_then(|it| it.level.clone());
        let Some(inotify) = self.watcher.as_ref().map(Watcher::handle) else { return };
        let device = self.device;
        let start = Instant::now();
        let walk = TreeWalk {
            tree,
            rules: &self.rules,
            threads: 1,
            depth: usize::MAX,
            is_stopped: &|| start.elapsed() > MAX_NEW_WALK_TIME,
            visit: &|handle| watch_directory(inotify, handle, device),
        };
        let Ok(walked) = walk.run(target.path, level) else {
            self.needs_sweep = true;
            return;
        };
        let files = walked.paths(HiddenNames::Included);
        let hidden = walked.hidden_places();
        if files.len() > MAX_NEW_FILES
            || self.names.added_len() > MAX_NEW_FILES
            || start.elapsed() > MAX_NEW_WALK_TIME
        {
            self.needs_sweep = true;
            return;
        }
        self.rules.add_sources(walked.sources);
        self.unreadable.extend(walked.unreadable.into_iter().map(PathKey::from));
        for directory in walked.directories.into_iter().flatten() {
            self.add_directory(&directory.path, directory.level, directory.visitor_answer);
        }
        for (place, path) in files.iter().enumerate() {
            let is_hidden = hidden.binary_search(&place).is_ok();
            self.add(path, if is_hidden { Visibility::HiddenName } else { Visibility::Seen });
        }
    }

    /// Removes a directory that went, with everything that was in it.
    fn leave(&mut self, path: &[u8]) {
        let gone: Vec<PathKey> = self
            .directories
            .range(PathKey::new(path)..)
            .map(|(key, _)| key)
            .take_while(|key| is_below(key.bytes(), path))
            .cloned()
            .collect();
        for key in &gone {
            let removed = self.directories.remove(key);
            if let (Some(directory), Some(watcher)) = (removed, &mut self.watcher) {
                watcher.remove(directory.watch);
            }
        }
        if gone.is_empty() {
            return;
        }
        self.unreadable.retain(|key| !is_below(key.bytes(), path));
        let (start, end) = self.names.listed_below(path);
        let listed = (start..end).map(|slot| self.names.path(slot as u32).to_vec());
        let added = self.names.added_below(path).map(<[u8]>::to_vec);
        for path in listed.chain(added).collect::<Vec<_>>() {
            self.remove(&path);
        }
    }
}

/// Whether a name is what the kernel calls a file that has none: `#` and its inode number.
fn is_inode_name(name: &[u8]) -> bool {
    name.strip_prefix(b"#")
        .is_some_and(|rest| !rest.is_empty() && rest.iter().all(u8::is_ascii_digit))
}
