//! The upkeep of an index: a thread that walks, reads and packs in the background, sleeps when there
//! is nothing to do, and lets go of what is over the options.

use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{EventfdFlags, eventfd};
use toolcrib_core::SearchableTree;

use crate::index::disk;
use crate::index::indexed_file::{IndexedContent, learn, read_text};
use crate::index::postings::{MAX_DOCS, PostingsBuilder};
use crate::index::status::{self, IndexStatus, Phase};
use crate::index::tree_index::{Index, ReadTask};
use crate::index::watcher::{TMPFS, wait};
use crate::parallel;
use crate::scan::open::FileOpener;

/// How long to wait after a change for those that follow it.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(20);

/// After how long an answer wants everything walked again although nothing seems to have changed: a
/// writer through a mapping, or through another name of a file, is seen by its time stamp then. Until
/// that is done, answers come from scans.
const SWEEP_INTERVAL: Duration = Duration::from_mins(1);

/// Up to so many files, changes are indexed one by one; more are packed together.
const FEW: usize = 64;
/// So many files indexed one by one, and so many packs, are too many.
const MAX_FRESH_FILES: usize = 512;
const MAX_SHARDS: usize = 24;

/// How many files a thread takes at a time.
const FILES_PER_TAKE: usize = 64;

/// So many files packed are worth writing to disk.
const MIN_PACKED_TO_SAVE: usize = 500;

/// What an index may cost and where it is kept.
#[derive(Clone, Debug)]
pub struct IndexOptions {
    /// The most memory for it, in bytes.
    pub max_memory_bytes: usize,
    /// Where it is kept between two runs, if anywhere.
    pub folder: Option<PathBuf>,
    /// How many threads may work on it.
    pub threads: usize,
    /// Whether to build it anew although one is kept.
    pub ignores_saved: bool,
}

/// What questions and upkeep share.
pub(crate) struct Indexer {
    pub(crate) tree: Arc<dyn SearchableTree>,
    pub(crate) options: IndexOptions,
    pub(super) index: Mutex<Option<Index>>,
    pub(super) wakeup: OwnedFd,
    pub(super) stop: AtomicBool,
    pub(crate) status: Mutex<IndexStatus>,
    pub(super) last_sweep: Mutex<Instant>,
    pub(super) sweep_is_due: AtomicBool,
    /// Whether texts are kept, and whether postings are.
    pub(super) keeps_texts: AtomicBool,
    pub(super) keeps_postings: AtomicBool,
    /// Bytes of texts that were read and are not in the index yet.
    pub(super) pending: AtomicUsize,
}

impl Indexer {
    pub(crate) fn new(
        tree: Arc<dyn SearchableTree>,
        options: IndexOptions,
    ) -> Result<Arc<Self>, String> {
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| std::io::Error::from(errno).to_string())?;
        Ok(Arc::new(Self {
            tree,
            options,
            index: Mutex::new(None),
            wakeup,
            stop: AtomicBool::new(false),
            status: Mutex::default(),
            last_sweep: Mutex::new(Instant::now()),
            sweep_is_due: AtomicBool::new(false),
            keeps_texts: AtomicBool::new(true),
            keeps_postings: AtomicBool::new(true),
            pending: AtomicUsize::new(0),
        }))
    }

    /// Returns the index, to be asked or changed by no_visitor else meanwhile.
    pub(crate) fn index(&self) -> MutexGuard<'_, Option<Index>> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn status(&self) -> MutexGuard<'_, IndexStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the upkeep.
    pub(crate) fn wake(&self) {
        let _ = rustix::io::write(&self.wakeup, &1_u64.to_ne_bytes());
    }

    /// Whether everything was walked a short while ago; if not, has it walked again.
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

    /// Runs until it is stopped, or until it cannot go on.
    pub(crate) fn run(self: &Arc<Self>) {
        let lived = self.live();
        if self.is_stopped() {
            if let Some(folder) = &self.options.folder {
                status::remove_note(folder);
            }
            return;
        }
        if let Err(why) = lived {
            *self.index() = None;
            let mut status = self.status();
            status.phase = Phase::Off(why);
            drop(status);
            self.note();
        }
    }

    fn live(self: &Arc<Self>) -> Result<(), String> {
        let (_, kind) = self.look_at_root()?;
        let past = self.options.folder.as_deref();
        // On tmpfs a file can change while its times stand still, so that no stamp is to be trusted.
        let past = past.filter(|_| kind != TMPFS && !self.options.ignores_saved);
        let past = past.and_then(|folder| disk::load(folder, self.options.max_memory_bytes));
        self.sweep(past)?;
        let mut sweeps = 0;
        while !self.is_stopped() {
            let needs_sweep = self.sweep_is_due.load(Ordering::Relaxed)
                || self
                    .index()
                    .as_ref()
                    .is_none_or(|index| index.needs_sweep || index.has_fragmented_names());
            if needs_sweep {
                self.calm(sweeps)?;
                sweeps += 1;
                let past = self.index().as_ref().map(Index::past);
                self.sweep_or_retry(past)?;
            } else {
                sweeps = 0;
            }
            let packed = self.clean();
            self.bound()?;
            let is_done = self.is_done();
            let is_first = packed > 0 && self.status().kept_bytes == 0;
            // Without postings there is nothing worth keeping.
            let has_postings = self.keeps_postings.load(Ordering::Relaxed);
            let saves = (packed >= MIN_PACKED_TO_SAVE || is_first) && has_postings;
            self.status().is_saving = saves;
            if is_done {
                self.set_phase(Phase::Ready);
            }
            if saves {
                self.save();
                self.status().is_saving = false;
            }
            if is_done {
                self.warm();
                self.note();
                self.rest();
            }
        }
        Ok(())
    }

    /// Reads what is dirty until nothing is; returns how many files were packed.
    fn clean(&self) -> usize {
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
                index.dirty(usize::MAX)
            }
            _ => return 0,
        };
        self.status().to_do = tasks.len();
        if tasks.len() <= FEW {
            self.clean_few(tasks);
            return 0;
        }
        self.set_phase(Phase::Reading);
        let tasks = Mutex::new(tasks.into_iter());
        parallel::run(&*self.tree, self.options.threads, || self.pack(&tasks, &packed));
        packed.into_inner()
    }

    fn clean_few(&self, tasks: Vec<ReadTask>) {
        if tasks.is_empty() {
            return;
        }
        let mut builder = PostingsBuilder::new();
        let (mut opener, mut buffer) = (FileOpener::default(), Vec::new());
        for task in tasks {
            if self.is_stopped() {
                return;
            }
            let start = Instant::now();
            let keeps = self.has_room();
            let learned =
                learn(&*self.tree, &mut opener, &task.path, &mut builder, &mut buffer, keeps);
            let grams = builder.end_apart();
            if let Some(index) = self.index().as_mut() {
                index.install_fresh(&task, learned, grams);
            }
            self.status().one_file = start.elapsed();
        }
    }

    /// Takes files and packs them until there are none.
    fn pack(&self, tasks: &Mutex<std::vec::IntoIter<ReadTask>>, packed: &AtomicUsize) {
        // What one pack may take while it is put together; packing it takes as much again.
        let room = (self.options.max_memory_bytes / 16 / self.options.threads.max(1)).min(64 << 20);
        let mut builder = PostingsBuilder::new();
        let (mut opener, mut buffer) = (FileOpener::default(), Vec::new());
        loop {
            let mut docs = Vec::new();
            let mut texts = 0;
            while builder.docs() + FILES_PER_TAKE <= MAX_DOCS && builder.bytes() < room {
                let take = || {
                    let mut tasks = tasks.lock().unwrap_or_else(PoisonError::into_inner);
                    tasks.by_ref().take(FILES_PER_TAKE).collect::<Vec<ReadTask>>()
                };
                let some = if self.is_stopped() { Vec::new() } else { take() };
                if some.is_empty() {
                    break;
                }
                for task in some {
                    let keeps = self.has_room_for(builder.bytes());
                    let learned = learn(
                        &*self.tree,
                        &mut opener,
                        &task.path,
                        &mut builder,
                        &mut buffer,
                        keeps,
                    );
                    if let IndexedContent::Text(text) = &learned.what {
                        builder.end();
                        let bytes = text.as_ref().map_or(0, |text| text.len());
                        texts += bytes;
                        self.pending.fetch_add(bytes, Ordering::Relaxed);
                    }
                    docs.push((task, learned));
                }
                self.status().done += FILES_PER_TAKE;
            }
            if docs.is_empty() {
                return;
            }
            if self.is_stopped() {
                self.pending.fetch_sub(texts, Ordering::Relaxed);
                return;
            }
            packed.fetch_add(docs.len(), Ordering::Relaxed);
            let segment = builder.build();
            self.pending.fetch_sub(texts, Ordering::Relaxed);
            if let Some(index) = self.index().as_mut() {
                index.install(segment, docs);
                self.shrink(index);
                self.status().memory = index.bytes();
            }
            if !self.keeps_postings.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    /// Lets go of what is over the options: texts first, then postings.
    fn shrink(&self, index: &mut Index) {
        if index.bytes() > self.options.max_memory_bytes {
            index.drop_texts();
            self.keeps_texts.store(false, Ordering::Relaxed);
        }
        if index.bytes() > self.options.max_memory_bytes {
            index.drop_postings();
            self.keeps_postings.store(false, Ordering::Relaxed);
        }
    }

    /// Reads the texts that there is room for; those of an index from disk are not there yet.
    fn warm(&self) {
        let (mut opener, mut buffer) = (FileOpener::default(), Vec::new());
        let mut from = 0;
        while self.has_room() && !self.is_stopped() {
            let (tasks, next) = match self.index().as_ref() {
                Some(index) if !index.needs_sweep => index.cold(from, FILES_PER_TAKE),
                _ => return,
            };
            from = next;
            if tasks.is_empty() {
                break;
            }
            for task in tasks {
                let text = read_text(&*self.tree, &mut opener, &task.path, &mut buffer);
                if let (Some(text), Some(index)) = (text, self.index().as_mut()) {
                    index.install_text(&task, text);
                    self.status().memory = index.bytes();
                }
            }
        }
        let _ = self.bound();
    }

    fn has_room(&self) -> bool {
        self.has_room_for(0)
    }

    /// Whether a text may be kept beside what is there and `more` to come.
    fn has_room_for(&self, more: usize) -> bool {
        if !self.keeps_texts.load(Ordering::Relaxed) {
            return false;
        }
        let used = self.status().memory + self.pending.load(Ordering::Relaxed) + more;
        // A quarter is left for packing and for what grows later.
        used < self.options.max_memory_bytes / 4 * 3
    }

    /// Lets go of what is over the options: texts first, then postings, then everything.
    fn bound(&self) -> Result<(), String> {
        let mut held = self.index();
        let Some(index) = held.as_mut() else { return Ok(()) };
        let limit = self.options.max_memory_bytes;
        self.shrink(index);
        let memory = index.bytes();
        let is_over = memory > limit;
        let (counts, postings) = (index.counts(), index.posting_bytes());
        drop(held);
        if is_over {
            return Err(format!("the tree is too large for {} MB of memory", limit >> 20));
        }
        let mut status = self.status();
        status.memory = memory;
        status.postings = postings;
        status.texts = counts.texts;
        status.files = counts.files;
        status.directories = counts.directories;
        status.always_scan = counts.always_scan;
        status.has_postings = self.keeps_postings.load(Ordering::Relaxed);
        Ok(())
    }

    fn save(&self) {
        let Some(folder) = &self.options.folder else { return };
        let past = self.index().as_ref().map(Index::past);
        if let (Some(past), false) = (past, self.is_stopped()) {
            let saved = disk::save(folder, &past);
            let mut status = self.status();
            status.kept_bytes = *saved.as_ref().unwrap_or(&0);
            status.save_error = saved.err().map(|err| err.to_string());
        }
    }

    fn is_done(&self) -> bool {
        if self.sweep_is_due.load(Ordering::Relaxed) {
            return false;
        }
        let held = self.index();
        held.as_ref().is_some_and(|index| {
            !index.needs_sweep && index.counts().dirty == 0 && !index.has_fragmented_names()
        })
    }

    /// Sleeps until something happens, and a little longer.
    fn rest(&self) {
        let events = match self.index().as_ref() {
            // A question may have taken the events that would have woken us.
            Some(index) if index.needs_sweep || index.counts().dirty > 0 => return,
            Some(index) => index.watch.duplicate(),
            None => return,
        };
        let wakeup = self.wakeup.as_fd();
        let [_, rang] = match &events {
            Some(events) => wait([events.as_fd(), wakeup], None),
            // Out of handles: look again after a while.
            None => wait([wakeup, wakeup], Some(Duration::from_secs(1))),
        };
        if rang {
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

    /// Leaves a note of how things stand, for other processes to read.
    fn note(&self) {
        if let Some(folder) = &self.options.folder {
            let status = self.status().clone();
            status.write(folder);
        }
    }
}
