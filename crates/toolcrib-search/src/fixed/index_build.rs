//! Building the index of a tree that never changes: on a thread of its own, so that a question that ran out of time
//! does not begin again with the next one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::fixed::options::FixedEngineOptions;
use crate::fixed::targets::MAX_FIXED_FILE_BYTES;
use crate::fixed::tree::{FixedDirectory, FixedTree};
use crate::fixed::walk::{FixedWalk, too_large};
use crate::index::fixed_index::FixedNames;
use crate::index::indexed_file::{IndexedContent, TextRoom, index_content};
use crate::index::shard_postings::{MAX_DOCS, PostingsBuilder};
use crate::index::tree_index::Index;
use crate::scan::ignore_rules::IgnoreRules;

/// How often a question that waits looks whether it is still wanted.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

/// The index of a tree that never changes, and what the tree calls its files.
pub(crate) struct FixedIndex<I> {
    pub(crate) index: Index,
    /// By slot.
    pub(crate) ids: Vec<I>,
    keeps_texts: bool,
    keeps_postings: bool,
    /// Whether nothing more is collected.
    is_complete: AtomicBool,
}

impl<I> FixedIndex<I> {
    pub(crate) fn status(&self) -> FixedIndexStatus {
        FixedIndexStatus {
            files: self.ids.len(),
            bytes: self.index.bytes(),
            keeps_texts: self.keeps_texts,
            keeps_postings: self.keeps_postings,
            is_complete: self.is_complete.load(Ordering::Acquire),
        }
    }
}

/// What an index of a tree that never changes holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedIndexStatus {
    /// How many files there are.
    pub files: usize,
    /// Bytes of memory in use.
    pub bytes: usize,
    /// Whether the texts of all files fit into memory. The others are read for each question that needs them.
    pub keeps_texts: bool,
    /// Whether the trigrams fit into memory. Without them, every file is read for each question.
    pub keeps_postings: bool,
    /// Whether the words are collected, too, as far as they fit into memory. Questions are answered before that.
    pub is_complete: bool,
}

/// An index that is built once.
pub(crate) struct IndexBuild<T: FixedTree> {
    pub(crate) tree: T,
    options: FixedEngineOptions,
    state: Mutex<BuildState<T::Id>>,
    /// The thread that builds, and then collects words.
    thread: Mutex<Option<JoinHandle<()>>>,
    changed: Condvar,
    is_stopped: AtomicBool,
    files: AtomicUsize,
    files_read: AtomicUsize,
}

/// How far the index is.
enum BuildState<I> {
    NotBegun,
    Running,
    Built(Arc<FixedIndex<I>>),
    Failed(ToolError),
}

impl<T: FixedTree> IndexBuild<T> {
    pub(crate) fn new(tree: T, options: FixedEngineOptions) -> Self {
        Self {
            tree,
            options,
            state: Mutex::new(BuildState::NotBegun),
            thread: Mutex::new(None),
            changed: Condvar::new(),
            is_stopped: AtomicBool::new(false),
            files: AtomicUsize::new(0),
            files_read: AtomicUsize::new(0),
        }
    }

    fn state(&self) -> MutexGuard<'_, BuildState<T::Id>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the index, if it is built.
    pub(crate) fn built(&self) -> Option<Arc<FixedIndex<T::Id>>> {
        match &*self.state() {
            BuildState::Built(index) => Some(Arc::clone(index)),
            BuildState::NotBegun | BuildState::Running | BuildState::Failed(_) => None,
        }
    }

    /// Returns the index. If it is not built yet, waits for it until the deadline.
    pub(crate) fn wait(
        self: &Arc<Self>,
        deadline: Instant,
        cancel: &Cancel,
    ) -> Result<Arc<FixedIndex<T::Id>>, ToolError> {
        let mut state = self.state();
        loop {
            match &*state {
                BuildState::Built(index) => return Ok(Arc::clone(index)),
                BuildState::NotBegun => {
                    self.start()?;
                    *state = BuildState::Running;
                }
                BuildState::Running if self.is_thread_finished() => {
                    *state = BuildState::NotBegun;
                    return Err(ToolError::new(
                        ErrorKind::Bug,
                        "reading the files for search failed",
                    ));
                }
                BuildState::Running => {}
                BuildState::Failed(err) => {
                    let err = err.clone();
                    // The next question tries again.
                    *state = BuildState::NotBegun;
                    return Err(err);
                }
            }
            cancel.check()?;
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(self.not_yet());
            }
            let wait = self.changed.wait_timeout(state, left.min(LOOK_INTERVAL));
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn not_yet(&self) -> ToolError {
        let (files, read) =
            (self.files.load(Ordering::Relaxed), self.files_read.load(Ordering::Relaxed));
        let message = format!(
            "the files are still being read for the first search: {read} of {files} by now"
        );
        ToolError::new(ErrorKind::Timeout, message).hint("repeat the call in a while")
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_thread_finished(&self) -> bool {
        self.thread().as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn start(self: &Arc<Self>) -> Result<(), ToolError> {
        let build = Arc::clone(self);
        let thread = std::thread::Builder::new().name("toolcrib-index".to_owned());
        let started = thread.spawn(move || {
            let built = build.build().map(Arc::new);
            *build.state() = match &built {
                Ok(index) => BuildState::Built(Arc::clone(index)),
                Err(err) => BuildState::Failed(err.clone()),
            };
            build.changed.notify_all();
            if let Ok(built) = built {
                let max_bytes = build.options.max_memory_bytes;
                built.index.collect_fixed_words(max_bytes, &|| build.is_stopped());
                built.is_complete.store(true, Ordering::Release);
            }
        });
        let started = started.map_err(|err| {
            let message = format!("the indexer's thread cannot be started: {err}");
            ToolError::new(ErrorKind::Unavailable, message)
        });
        *self.thread() = Some(started?);
        Ok(())
    }

    /// Stops building and collecting, and waits for the end of it: the thread holds the tree, which may have
    /// processes.
    pub(crate) fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        let thread = self.thread().take();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        *self.state() = BuildState::NotBegun;
    }

    fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn build(&self) -> Result<FixedIndex<T::Id>, ToolError> {
        let (tree, max_bytes) = (&self.tree, self.options.max_memory_bytes);
        let cancel = Cancel::default();
        let walk = FixedWalk {
            tree,
            rules: &IgnoreRules::none(tree.path()),
            depth: usize::MAX,
            max_bytes: max_bytes / 2,
            is_stopped: &|| self.is_stopped(),
            cancel: &cancel,
        };
        let walked = walk.run(&FixedDirectory { path: Vec::new(), id: tree.root() })?;
        let ids = walked.ids;
        self.files.store(ids.len(), Ordering::Relaxed);
        self.files_read.store(0, Ordering::Relaxed);
        let names = FixedNames {
            paths: walked.paths,
            hidden: walked.hidden,
            directories: walked.directories,
            unreadable: walked.unreadable,
        };
        let index = Index::fixed(tree.path(), names);
        if index.table_bytes() > max_bytes / 4 * 3 {
            return Err(too_large(ids.len(), max_bytes));
        }
        let reading = IndexReading {
            build: self,
            ids: &ids,
            text_bytes: AtomicUsize::new(index.table_bytes()),
            index: Mutex::new(index),
            keeps_texts: AtomicBool::new(true),
            keeps_postings: AtomicBool::new(true),
        };
        reading.run()?;
        let keeps = |it: AtomicBool| it.into_inner();
        let (keeps_texts, keeps_postings) =
            (keeps(reading.keeps_texts), keeps(reading.keeps_postings));
        let index = reading.index.into_inner().unwrap_or_else(PoisonError::into_inner);
        let is_complete = AtomicBool::new(false);
        Ok(FixedIndex { index, ids, keeps_texts, keeps_postings, is_complete })
    }
}

/// Files that are read into an index.
struct IndexReading<'a, T: FixedTree> {
    build: &'a IndexBuild<T>,
    ids: &'a [T::Id],
    index: Mutex<Index>,
    /// Bytes of texts and tables so far.
    text_bytes: AtomicUsize,
    keeps_texts: AtomicBool,
    keeps_postings: AtomicBool,
}

impl<T: FixedTree> IndexReading<'_, T> {
    /// Reads all files, by several threads that each read a run of them.
    fn run(&self) -> Result<(), ToolError> {
        let threads = self.build.options.threads.clamp(1, 4);
        let share = self.ids.len().div_ceil(threads).max(1);
        let failed: Mutex<Option<ToolError>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for from in (0..self.ids.len()).step_by(share) {
                let to = (from + share).min(self.ids.len());
                let failed = &failed;
                let read = move || {
                    if let Err(err) = self.read_run(from, to) {
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(err);
                    }
                };
                let _ = std::thread::Builder::new().spawn_scoped(scope, read);
            }
        });
        let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
        // Without trigrams, the rest need not be read.
        failed.filter(|_| self.keeps_postings.load(Ordering::Relaxed)).map_or(Ok(()), Err)
    }

    /// Reads a run of files.
    fn read_run(&self, from: usize, to: usize) -> Result<(), ToolError> {
        let options = &self.build.options;
        let room = (options.max_memory_bytes / 16 / options.threads.max(1)).min(64 << 20);
        let mut builder = PostingsBuilder::new();
        let mut run: Vec<(u32, IndexedContent)> = Vec::new();
        let mut slot = from as u32;
        let is_stopped = || self.build.is_stopped() || !self.keeps_postings.load(Ordering::Relaxed);
        let mut ids = self.ids[from..to].iter().copied();
        self.build.tree.read_all(&mut ids, MAX_FIXED_FILE_BYTES, &is_stopped, &mut |content| {
            let content = match content {
                None => IndexedContent::AlwaysScan,
                Some(content) => index_content(content, &mut builder, self.text_room()),
            };
            if let IndexedContent::Text(text) = &content {
                builder.end();
                match text {
                    Some(text) => {
                        self.text_bytes.fetch_add(text.bytes(), Ordering::Relaxed);
                    }
                    None => self.keeps_texts.store(false, Ordering::Relaxed),
                }
            }
            run.push((slot, content));
            slot += 1;
            self.build.files_read.fetch_add(1, Ordering::Relaxed);
            if builder.docs() == MAX_DOCS || builder.bytes() >= room {
                self.install(&mut builder, &mut run);
            }
        })?;
        self.install(&mut builder, &mut run);
        Ok(())
    }

    fn text_room(&self) -> TextRoom {
        let used = self.text_bytes.load(Ordering::Relaxed);
        // A quarter is left for trigrams.
        TextRoom((self.build.options.max_memory_bytes / 4 * 3).saturating_sub(used))
    }

    /// Adds what was read to the index, and drops what does not fit into memory: texts first, then trigrams.
    fn install(&self, builder: &mut PostingsBuilder, run: &mut Vec<(u32, IndexedContent)>) {
        let postings = builder.build();
        let max_bytes = self.build.options.max_memory_bytes;
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.install_run(postings, run.drain(..));
        if index.bytes() > max_bytes {
            index.drop_texts();
            self.keeps_texts.store(false, Ordering::Relaxed);
            self.text_bytes.store(max_bytes, Ordering::Relaxed);
        }
        if index.bytes() > max_bytes {
            index.drop_postings();
            self.keeps_postings.store(false, Ordering::Relaxed);
        }
    }
}
