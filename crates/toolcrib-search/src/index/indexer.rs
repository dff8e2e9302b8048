//! The indexer: a background thread that walks, reads and packs, sleeps when there is nothing to do, and keeps the index
//! within its memory.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use toolcrib_core::SearchableTree;

use crate::index::disk;
use crate::index::error::{IndexError, IndexErrorKind};
use crate::index::indexed_file::{IndexReader, IndexedContent, TextRoom};
use crate::index::shard_postings::{MAX_DOCS, PostingsBuilder};
use crate::index::status::{self, IndexMemory, IndexStatus, Phase};
use crate::index::tree_index::{Index, ReadTask};
use crate::index::watcher::{Watcher, wait};
use crate::parallel;

/// How long to wait after a change for those that follow it.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(20);

/// How old a sweep may be for the index to answer. A sweep sees by its stamp what no event reports: a write through a
/// memory mapping, or through another name of the file. Until the next sweep is done, searches scan.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Up to so many changed files are indexed one by one; more are packed into a shard.
const MAX_SINGLE_UPDATES: usize = 64;

/// How many files may be indexed one by one before they are packed into a shard.
const MAX_FRESH_FILES: usize = 512;

/// How many shards there may be before the smaller half of them is packed anew.
const MAX_SHARDS: usize = 24;

/// How many files a thread takes at a time.
const FILES_PER_TAKE: usize = 64;

/// How many newly packed files are worth writing the index to disk.
const MIN_PACKED_TO_SAVE: usize = 500;

/// What an index may use, and where it is saved.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// The most memory for the index, in bytes.
    pub max_memory_bytes: usize,
    /// The folder that the index is saved in between two runs, if it is to be saved.
    pub folder: Option<PathBuf>,
    /// How many threads may work on the index.
    pub threads: usize,
    /// Whether to build the index anew although one is saved.
    pub ignores_saved: bool,
}

/// The index of a tree, and the thread that keeps it current. Questions and the thread share it.
pub(crate) struct Indexer {
    pub(super) tree: Arc<dyn SearchableTree>,
    pub(super) options: IndexOptions,
    index: Mutex<Option<Index>>,
    pub(super) wakeup: OwnedFd,
    stop: AtomicBool,
    status: Mutex<IndexStatus>,
    pub(super) last_sweep: Mutex<Instant>,
    pub(super) sweep_is_due: AtomicBool,
    /// Whether words fit into memory, whether texts do, and whether postings do.
    pub(super) keeps_words: AtomicBool,
    keeps_texts: AtomicBool,
    keeps_postings: AtomicBool,
    /// Bytes of texts that were read and are not in the index yet.
    pending_text_bytes: AtomicUsize,
}

impl Indexer {
    pub(crate) fn new(
        tree: Arc<dyn SearchableTree>,
        options: IndexOptions,
    ) -> Result<Arc<Self>, IndexError> {
        let wakeup =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|errno| {
                IndexError::system("the indexer cannot create its wake-up event", errno)
            })?;
        Ok(Arc::new(Self {
            tree,
            options,
            index: Mutex::new(None),
            wakeup,
            stop: AtomicBool::new(false),
            status: Mutex::default(),
            last_sweep: Mutex::new(Instant::now()),
            sweep_is_due: AtomicBool::new(false),
            keeps_words: AtomicBool::new(true),
            keeps_texts: AtomicBool::new(true),
            keeps_postings: AtomicBool::new(true),
            pending_text_bytes: AtomicUsize::new(0),
        }))
    }

    /// Locks the index and returns it.
    pub(crate) fn index(&self) -> MutexGuard<'_, Option<Index>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks the status and returns it.
    pub(crate) fn status(&self) -> MutexGuard<'_, IndexStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes());
    }

    /// Whether the last sweep is young enough for the index to answer; if it is not, asks the thread for another.
    pub(crate) fn is_swept(&self) -> bool {
        let last = *self.last_sweep.lock().unwrap_or_else(PoisonError::into_inner);
        if last.elapsed() <= SWEEP_INTERVAL {
            return true;
        }
        if !self.sweep_is_due.swap(true, Ordering::Relaxed) {
            self.wake();
        }
        false
    }

    pub(crate) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake();
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Runs the thread until it is stopped, or until there cannot be an index.
    pub(crate) fn run(self: &Arc<Self>) {
        let done = self.maintain();
        if self.is_stopped() {
            if let Some(folder) = &self.options.folder {
                status::unpublish(folder);
            }
            return;
        }
        if let Err(why) = done {
            *self.index() = None;
            let mut status = self.status();
            status.phase = Phase::Off(why);
            drop(status);
            self.publish_status();
        }
    }

    fn maintain(self: &Arc<Self>) -> Result<(), IndexError> {
        let root = self.check_root()?;
        let folder = self.options.folder.as_deref();
        // On tmpfs a file can change while its times stand still, so that no saved stamp can be trusted.
        let folder = folder.filter(|_| {
            root.file_system != toolcrib_core::file_system::TMPFS && !self.options.ignores_saved
        });
        let saved = folder.and_then(|folder| disk::load(folder, self.options.max_memory_bytes));
        self.sweep(saved)?;
        let mut sweeps = 0;
        while !self.is_stopped() {
            if self.needs_sweep() {
                self.back_off(sweeps)?;
                sweeps += 1;
                let before = self.index().as_ref().map(Index::snapshot);
                self.sweep_or_retry(before)?;
            } else {
                sweeps = 0;
            }
            let packed = self.read_dirty_files();
            self.enforce_memory_limit()?;
            let is_done = self.is_done();
            let is_first = packed > 0 && self.status().saving.saved_bytes == 0;
            // Without postings there is nothing worth saving.
            let has_postings = self.keeps_postings.load(Ordering::Relaxed);
            let saves = (packed >= MIN_PACKED_TO_SAVE || is_first) && has_postings;
            self.status().saving.is_saving = saves;
            if is_done {
                self.set_phase(Phase::Ready);
            }
            if saves {
                self.save();
                self.status().saving.is_saving = false;
            }
            if is_done {
                self.load_texts();
                self.collect_words();
                self.publish_status();
                self.wait_for_changes();
            }
        }
        Ok(())
    }

    fn needs_sweep(&self) -> bool {
        let needs_sweep = |index: &Index| index.needs_sweep || index.has_fragmented_names();
        self.sweep_is_due.load(Ordering::Relaxed) || self.index().as_ref().is_none_or(needs_sweep)
    }

    /// Reads dirty files until there are none; returns how many files were packed into shards.
    fn read_dirty_files(&self) -> usize {
        let packed = AtomicUsize::new(0);
        if !self.keeps_postings.load(Ordering::Relaxed) {
            if let Some(index) = self.index().as_mut() {
                index.drop_postings();
            }
            return 0;
        }
        let tasks = match self.index().as_mut() {
            Some(index) if !index.needs_sweep => {
                index.compact(MAX_FRESH_FILES, MAX_SHARDS);
                index.dirty_files()
            }
            _ => return 0,
        };
        self.status().progress.to_do = tasks.len();
        if tasks.len() <= MAX_SINGLE_UPDATES {
            self.update_one_by_one(tasks);
            return 0;
        }
        self.set_phase(Phase::Reading);
        let tasks = Mutex::new(tasks.into_iter());
        parallel::run(Some(&*self.tree), self.options.threads, || self.pack(&tasks, &packed));
        packed.into_inner()
    }

    fn update_one_by_one(&self, tasks: Vec<ReadTask>) {
        if tasks.is_empty() {
            return;
        }
        let mut builder = PostingsBuilder::new();
        let mut reader = IndexReader::new(&*self.tree);
        for task in tasks {
            if self.is_stopped() {
                return;
            }
            let start = Instant::now();
            let read = reader.read(&task.path, &mut builder, self.text_room(0));
            let trigrams = builder.end_apart();
            if let Some(index) = self.index().as_mut() {
                index.install_fresh(&task, read, trigrams);
            }
            self.status().last_update = start.elapsed();
        }
    }

    /// Takes files and packs them into shards until there are none.
    fn pack(&self, tasks: &Mutex<std::vec::IntoIter<ReadTask>>, packed: &AtomicUsize) {
        // The memory that one shard may take while it is collected; packing it takes as much again.
        let threads = self.options.threads.max(1);
        let room = (self.options.max_memory_bytes / 16 / threads).min(64 << 20);
        let mut builder = PostingsBuilder::new();
        let mut reader = IndexReader::new(&*self.tree);
        loop {
            let mut docs = Vec::new();
            let mut text_bytes = 0;
            while builder.docs() + FILES_PER_TAKE <= MAX_DOCS && builder.bytes() < room {
                let take = || {
                    let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
                    tasks.by_ref().take(FILES_PER_TAKE).collect::<Vec<ReadTask>>()
                };
                let taken = if self.is_stopped() { Vec::new() } else { take() };
                if taken.is_empty() {
                    break;
                }
                for task in taken {
                    let room = self.text_room(builder.bytes());
                    let read = reader.read(&task.path, &mut builder, room);
                    if let IndexedContent::Text(text) = &read.content {
                        builder.end();
                        let bytes = text.as_ref().map_or(0, |text| text.bytes());
                        text_bytes += bytes;
                        self.pending_text_bytes.fetch_add(bytes, Ordering::Relaxed);
                    }
                    docs.push((task, read));
                }
                self.status().progress.done += FILES_PER_TAKE;
            }
            if docs.is_empty() {
                return;
            }
            if self.is_stopped() {
                self.pending_text_bytes.fetch_sub(text_bytes, Ordering::Relaxed);
                return;
            }
            packed.fetch_add(docs.len(), Ordering::Relaxed);
            let postings = builder.build();
            self.pending_text_bytes.fetch_sub(text_bytes, Ordering::Relaxed);
            if let Some(index) = self.index().as_mut() {
                index.install_shard(postings, docs);
                self.shrink(index);
                self.status().memory.total = index.bytes();
            }
            if !self.keeps_postings.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Drops what does not fit into memory: words first, then texts, then postings.
    fn shrink(&self, index: &mut Index) {
        if index.bytes() > self.options.max_memory_bytes {
            index.drop_words();
            self.keeps_words.store(false, Ordering::Relaxed);
        }
        if index.bytes() > self.options.max_memory_bytes {
            index.drop_texts();
            self.keeps_texts.store(false, Ordering::Relaxed);
        }
        if index.bytes() > self.options.max_memory_bytes {
            index.drop_postings();
            self.keeps_postings.store(false, Ordering::Relaxed);
        }
    }

    /// Reads the texts that fit into memory: an index from disk comes without them.
    fn load_texts(&self) {
        let mut reader = IndexReader::new(&*self.tree);
        let mut from = 0;
        while self.text_room(0).0 > 0 && !self.is_stopped() {
            let (tasks, next) = match self.index().as_ref() {
                Some(index) if !index.needs_sweep => index.files_without_text(from, FILES_PER_TAKE),
                _ => return,
            };
            from = next;
            if tasks.is_empty() {
                break;
            }
            for task in tasks {
                let text = reader.read_text(&task.path, self.text_room(0));
                if let (Some(text), Some(index)) = (text, self.index().as_mut()) {
                    index.install_text(&task, text);
                    self.status().memory.total = index.bytes();
                }
            }
        }
        let _ = self.enforce_memory_limit();
    }

    /// Returns the room for texts beside what is in memory and `more` bytes to come.
    fn text_room(&self, more: usize) -> TextRoom {
        if !self.keeps_texts.load(Ordering::Relaxed) {
            return TextRoom(0);
        }
        let pending = self.pending_text_bytes.load(Ordering::Relaxed);
        let used = self.status().memory.total + pending + more;
        // A quarter is left for packing and for growth.
        TextRoom((self.options.max_memory_bytes / 4 * 3).saturating_sub(used))
    }

    /// Drops what does not fit into memory: words first, then texts, then postings, then the whole index.
    pub(super) fn enforce_memory_limit(&self) -> Result<(), IndexError> {
        let mut held = self.index();
        let Some(index) = held.as_mut() else { return Ok(()) };
        let limit = self.options.max_memory_bytes;
        self.shrink(index);
        let memory = IndexMemory {
            total: index.bytes(),
            postings: index.posting_bytes(),
            words: index.word_bytes(),
            texts: index.text_bytes(),
        };
        let counts = index.counts();
        drop(held);
        if memory.total > limit {
            return Err(too_large(counts.files, limit));
        }
        let mut status = self.status();
        status.memory = memory;
        status.counts = counts;
        status.has_postings = self.keeps_postings.load(Ordering::Relaxed);
        Ok(())
    }

    fn save(&self) {
        let Some(folder) = &self.options.folder else { return };
        let snapshot = self.index().as_ref().map(Index::snapshot);
        if let (Some(snapshot), false) = (snapshot, self.is_stopped()) {
            let saved = disk::save(folder, &snapshot);
            let mut status = self.status();
            status.saving.saved_bytes = *saved.as_ref().unwrap_or(&0);
            status.saving.error = saved.err().map(|err| err.to_string());
        }
    }

    pub(super) fn is_done(&self) -> bool {
        if self.sweep_is_due.load(Ordering::Relaxed) {
            return false;
        }
        let held = self.index();
        held.as_ref().is_some_and(|index| {
            !index.needs_sweep && index.dirty_len() == 0 && !index.has_fragmented_names()
        })
    }

    /// Sleeps until something changes or a question wakes the thread, and a little longer for the changes that follow.
    fn wait_for_changes(&self) {
        let events = match self.index().as_ref() {
            // A question may have taken the events that would have ended the wait.
            Some(index) if index.needs_sweep || index.dirty_len() > 0 => return,
            Some(index) => index.watcher.as_ref().and_then(Watcher::duplicate),
            None => return,
        };
        let wakeup = self.wakeup.as_fd();
        let [_, is_woken] = match &events {
            Some(events) => wait([events.as_fd(), wakeup], None),
            // The process is out of handles: look again after a while.
            None => wait([wakeup, wakeup], Some(Duration::from_secs(1))),
        };
        if is_woken {
            let _ = rustix::io::read(&self.wakeup, &mut [0; 8]);
        }
        if self.is_stopped() {
            return;
        }
        std::thread::sleep(DEBOUNCE);
        let mut held = self.index();
        if let Some(index) = held.as_mut() {
            index.refresh(&*self.tree);
            if index.has_fragmented_names() {
                self.sweep_is_due.store(true, Ordering::Relaxed);
            }
        }
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.status().phase = phase;
    }

    /// Publishes the status for other processes.
    fn publish_status(&self) {
        if let Some(folder) = &self.options.folder {
            let status = self.status().clone();
            status.publish(folder);
        }
    }
}

/// Returns the error for a tree that does not fit into memory.
pub(super) fn too_large(files: usize, limit: usize) -> IndexError {
    let message = format!("{files} files do not fit into {} MB of memory", limit >> 20);
    IndexError::new(IndexErrorKind::TooLarge, message).hint("raise search.memory_bytes")
}
