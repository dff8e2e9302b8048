//! The engine: answers questions about the roots of a workspace, from the index of a root where that is current, and
//! else by a scan.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, FileType, statat};
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Page, Pattern, Scope, Search, Sort};
use toolcrib_core::{Cancel, ErrorKind, SearchableTree, ToolError, escape};

use crate::index::candidate_targets::{IndexedFiles, QuestionFiles};
use crate::index::candidates::{CandidateFiles, RuledOutCount};
use crate::index::error::{IndexError, IndexErrorKind};
use crate::index::indexer::{IndexOptions, Indexer};
use crate::index::known_lines::{ContentQuery, EnoughResults};
use crate::index::status::{IndexStatus, Phase};
use crate::paths::{Paths, split};
use crate::pattern::Patterns;
use crate::scan::file_search::TargetText;
use crate::scan::filter::{Filter, GlobSubject};
use crate::scan::ignore_rules::{self, IgnoreRules, Level, RULE_FILES, RuleFiles};
use crate::scan::open::{Unsearched, absolute, open_directory};
use crate::scan::parallel_search::{ParallelSearch, SearchOutcome, Targets};
use crate::scan::stop::Stop;
use crate::scan::walk::{HiddenNames, TreeWalk, no_visitor};

/// Paths of directories that could not be entered.
type UnreadableDirectories = Vec<Box<[u8]>>;

/// Answers questions about the files of a workspace: all its roots.
pub struct Engine {
    roots: Vec<IndexedRoot>,
    patterns: Patterns,
}

/// One root of the workspace, with its index if it has one.
struct IndexedRoot {
    tree: Arc<dyn SearchableTree>,
    /// What stands before a path of this root when it is shown.
    prefix: String,
    threads: usize,
    /// The index, if the root may have one.
    indexer: Option<Arc<Indexer>>,
    thread: OnceLock<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Makes an engine that only scans. Relative paths start from the first of `trees`.
    pub fn new(trees: Vec<Arc<dyn SearchableTree>>) -> Self {
        Self::with(trees.into_iter().map(|tree| (tree, None)).collect())
    }

    /// Makes an engine that keeps an index of each root that has options for one, from the first question on.
    pub fn with(trees: Vec<(Arc<dyn SearchableTree>, Option<IndexOptions>)>) -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let roots = trees.into_iter().enumerate().map(|(index, (tree, options))| {
            let prefix = match index {
                0 => String::new(),
                _ => format!("{}/", escape::path("", tree.path().as_os_str().as_bytes())),
            };
            let indexer = options.and_then(|it| Indexer::new(Arc::clone(&tree), it).ok());
            IndexedRoot { tree, prefix, threads, indexer, thread: OnceLock::new() }
        });
        Self { roots: roots.collect(), patterns: Patterns::default() }
    }

    /// Returns the root that the scope's directory is in, and the directory's path below it.
    fn base(&self, scope: &Scope) -> Result<(&IndexedRoot, Vec<u8>), ToolError> {
        let directory = scope.directory.as_deref().unwrap_or(".");
        for root in &self.roots {
            if directory == "." {
                root.tree.verify()?;
                return Ok((root, Vec::new()));
            }
            if let Some(below) = root.tree.directory(directory)? {
                return Ok((root, below.into_os_string().into_vec()));
            }
        }
        Err(ToolError::new(ErrorKind::Unavailable, "there is no workspace to search"))
    }
}

impl Engine {
    /// The status of each index, with the path of its root.
    pub fn statuses(&self) -> Vec<(PathBuf, IndexStatus)> {
        let statuses = self.roots.iter().filter_map(|root| {
            let indexer = root.indexer.as_ref()?;
            Some((root.tree.path().to_owned(), indexer.status().clone()))
        });
        statuses.collect()
    }

    /// Starts the indexers without waiting for a question.
    pub fn start(&self) {
        self.roots.iter().for_each(IndexedRoot::start);
    }
}

impl Drop for IndexedRoot {
    fn drop(&mut self) {
        if let Some(indexer) = &self.indexer {
            indexer.stop();
        }
        if let Some(Some(thread)) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl IndexedRoot {
    /// Starts the indexer's thread, if it does not run yet.
    fn start(&self) {
        if let Some(indexer) = &self.indexer {
            self.thread.get_or_init(|| {
                let thread = std::thread::Builder::new().name("toolcrib-index".to_owned());
                let spawned = thread.spawn({
                    let indexer = Arc::clone(indexer);
                    move || indexer.run()
                });
                if let Err(err) = &spawned {
                    let message = format!("the indexer's thread cannot be started: {err}");
                    let why = IndexError::new(IndexErrorKind::System, message);
                    indexer.status().phase = Phase::Off(why);
                }
                spawned.ok()
            });
        }
    }

    /// Returns the files that a question has to open, if the index is current.
    fn candidates(
        &self,
        content: &ContentQuery<'_>,
        base: &[u8],
        filter: &Filter,
        count: RuledOutCount,
    ) -> Option<IndexedFiles<'_>> {
        let indexer = self.indexer.as_ref()?;
        self.start();
        if !indexer.is_swept() {
            indexer.status().scanned += 1;
            return None;
        }
        let mut held = indexer.index();
        let index = held.as_mut();
        let candidates = index.filter(|index| index.covers(base)).and_then(|index| {
            let is_current = index.refresh(&*self.tree);
            if index.dirty_len() > 0 {
                indexer.wake();
            }
            is_current.then(|| index.candidates(content, base, filter, count))
        });
        drop(held);
        if candidates.is_some() {
            indexer.status().answered += 1;
        } else {
            indexer.wake();
            indexer.status().scanned += 1;
        }
        Some(IndexedFiles { files: QuestionFiles::new(candidates?, content), indexer })
    }

    fn filter(
        &self,
        scope: &Scope,
        base: &[u8],
        subject: GlobSubject,
    ) -> Result<Filter, ToolError> {
        Filter::new(scope, base, subject, &absolute(&*self.tree, base))
    }

    /// Returns the files that pass a filter, if the index is current.
    fn names(&self, base: &[u8], filter: &Filter) -> Option<CandidateFiles> {
        let indexer = self.indexer.as_ref()?;
        self.start();
        if !indexer.is_swept() {
            return None;
        }
        let mut held = indexer.index();
        let index = held.as_mut().filter(|index| index.covers(base))?;
        let is_current = index.refresh(&*self.tree);
        if !is_current || index.dirty_len() > 0 {
            indexer.wake();
        }
        is_current.then(|| index.names(base, filter))
    }

    /// Walks everything at or below `base`; returns the files, and the directories that could not be entered.
    fn walk(
        &self,
        base: &[u8],
        depth: usize,
        hidden: HiddenNames,
        stop: &Stop<'_>,
    ) -> Result<(Paths, UnreadableDirectories), ToolError> {
        let rules = IgnoreRules::read(self.tree.path());
        let above = level_above(&*self.tree, &rules, base);
        let walk = TreeWalk {
            tree: &*self.tree,
            rules: &rules,
            threads: self.threads,
            depth,
            is_stopped: &|| stop.is_set(),
            visit: &no_visitor,
        };
        let walked = walk.run(base, above)?;
        if walked.unreadable.iter().any(|path| **path == *base) {
            let shown =
                if base.is_empty() { ".".to_owned() } else { escape::path(&self.prefix, base) };
            let message = format!("`{shown}` cannot be searched: permission denied");
            return Err(ToolError::new(ErrorKind::Permission, message).at(shown));
        }
        Ok((walked.paths(hidden), walked.unreadable))
    }

    /// Adds directories that could not be entered to what was not searched.
    fn add_unreadable(&self, found: &mut Found, unreadable: &[Box<[u8]>]) {
        found.skipped.count += unreadable.len() as u64;
        if let (None, Some(first)) = (&found.skipped.first, unreadable.first()) {
            let path = format!("{}/", escape::path(&self.prefix, first));
            found.skipped.first = Some((path, "permission denied".to_owned()));
        }
    }
}

/// Returns the rules in force in the directory that `base` is in.
fn level_above(tree: &dyn SearchableTree, rules: &IgnoreRules, base: &[u8]) -> Option<Arc<Level>> {
    let mut level = rules.above_root();
    if base.is_empty() {
        return level;
    }
    let slashes = memchr::memchr_iter(b'/', base);
    for end in std::iter::once(0).chain(slashes) {
        let path = &base[..end];
        let Ok(handle) = open_directory(tree, path) else { return level };
        let mut files = RuleFiles::default();
        for name in RULE_FILES {
            if let Ok(meta) = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                files.add(&handle, name, FileType::from_raw_mode(meta.st_mode));
            }
        }
        let absolute = absolute(tree, path);
        let absolute = Path::new(OsStr::from_bytes(&absolute));
        level = ignore_rules::enter(level, handle.as_fd(), absolute, files, &mut Vec::new());
    }
    level
}

/// Files that a walk found.
struct WalkedFiles {
    paths: Paths,
    /// The places of the files that are meant; all without it.
    chosen: Option<Vec<usize>>,
}

impl Targets for WalkedFiles {
    fn len(&self) -> usize {
        self.chosen.as_ref().map_or(self.paths.len(), Vec::len)
    }

    fn path(&self, index: usize) -> &[u8] {
        self.paths.get(self.chosen.as_ref().map_or(index, |chosen| chosen[index]))
    }

    fn text(&self, _: usize) -> Option<TargetText<'_>> {
        None
    }

    fn content(&self, _: usize) -> Option<Result<Vec<u8>, Unsearched>> {
        None
    }

    fn known_count(&self, _: usize) -> Option<u64> {
        None
    }

    fn is_little_work(&self) -> bool {
        false
    }
}

impl Search for Engine {
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError> {
        if let Some(pattern) = pattern {
            self.patterns.compile(pattern)?;
        }
        let (root, base) = self.base(scope)?;
        root.filter(scope, &base, GlobSubject::Name)?;
        Ok(())
    }

    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError> {
        let compiled = self.patterns.compile(&ask.pattern)?;
        let (root, base) = self.base(&ask.scope)?;
        let filter = root.filter(&ask.scope, &base, GlobSubject::Name)?;
        let deadline = Instant::now() + ask.time;
        let stop = Stop { cancel, deadline, is_enough: AtomicBool::new(false) };
        let search = ParallelSearch {
            tree: Some(&*root.tree),
            prefix: &root.prefix,
            compiled: &compiled,
            ask,
            stop: &stop,
            threads: root.threads,
        };
        let count = if ask.counts_files { RuledOutCount::Exact } else { RuledOutCount::Skip };
        let (query, words) = (&compiled.query, compiled.words.as_ref());
        let has_context = ask.want.has_context();
        for enough in [EnoughResults::of(ask), EnoughResults::NEVER] {
            let content = ContentQuery { query, words, has_context, enough };
            let indexed = root.candidates(&content, &base, &filter, count);
            let Some(indexed) = indexed else { break };
            let SearchOutcome { mut found, end } = search.run(&indexed);
            cancel.check()?;
            // If files have changed meanwhile, those that were chosen may not have enough results after all.
            if indexed.files.candidates.is_cut() && end.is_none() && !found.is_partial {
                continue;
            }
            if !found.is_partial {
                // A file that the index rules out counts as searched.
                found.files_searched += indexed.files.candidates.ruled_out_len(end) as u64;
            }
            root.add_unreadable(&mut found, &indexed.files.candidates.unreadable);
            found.skipped.denied = indexed.files.candidates.denied;
            return Ok(found);
        }
        let depth = ask.scope.depth.unwrap_or(usize::MAX);
        let (paths, unreadable) = root.walk(&base, depth, filter.hidden_names(), &stop)?;
        let is_late = stop.is_late();
        let chosen = (!filter.is_unrestricted()).then(|| filter.select(&paths, 0, paths.len()));
        let denied = filter.count_denied(&paths);
        let SearchOutcome { mut found, .. } = search.run(&WalkedFiles { paths, chosen });
        cancel.check()?;
        found.is_partial |= is_late;
        root.add_unreadable(&mut found, &unreadable);
        found.skipped.denied = denied;
        Ok(found)
    }

    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError> {
        let (root, base) = self.base(&ask.scope)?;
        let filter = root.filter(&ask.scope, &base, GlobSubject::Path)?;
        let named = root.names(&base, &filter);
        let paths = if named.is_some() {
            Paths::default()
        } else {
            let deadline = Instant::now() + Duration::from_hours(1);
            let stop = Stop { cancel, deadline, is_enough: AtomicBool::new(false) };
            let depth = ask.scope.depth.unwrap_or(usize::MAX);
            root.walk(&base, depth, filter.hidden_names(), &stop)?.0
        };
        cancel.check()?;
        let mut chosen: Vec<&[u8]> = if let Some(named) = &named {
            (0..named.len()).map(|index| named.path(index)).collect()
        } else {
            let chosen = filter.select(&paths, 0, paths.len());
            chosen.into_iter().map(|index| paths.get(index)).collect()
        };
        if ask.sort != Sort::Name {
            sort(&*root.tree, &mut chosen, ask.sort, cancel)?;
        }
        let denied = named.as_ref().map_or_else(|| filter.count_denied(&paths), |it| it.denied);
        Ok(FoundPaths { denied, ..page(&root.prefix, &chosen, &ask.page) })
    }
}

/// Sorts files by their size or time as `stat` reports it now; files that are gone come last.
fn sort(
    tree: &dyn SearchableTree,
    paths: &mut Vec<&[u8]>,
    by: Sort,
    cancel: &Cancel,
) -> Result<(), ToolError> {
    let mut keyed = Vec::with_capacity(paths.len());
    let mut directory: Option<(&[u8], std::os::fd::OwnedFd)> = None;
    for (index, path) in paths.iter().enumerate() {
        if index % 1024 == 0 {
            cancel.check()?;
        }
        let (parent, name) = split(path);
        if directory.as_ref().is_none_or(|(known, _)| *known != parent) {
            directory = open_directory(tree, parent).ok().map(|handle| (parent, handle));
        }
        let meta = directory
            .as_ref()
            .and_then(|(_, handle)| statat(handle, name, AtFlags::SYMLINK_NOFOLLOW).ok());
        let key = meta.map(|meta| match by {
            Sort::Size => (meta.st_size, 0),
            _ => (meta.st_mtime, meta.st_mtime_nsec),
        });
        keyed.push((std::cmp::Reverse(key), *path));
    }
    // The sort is stable, so that files with equal keys stay in order of their paths.
    keyed.sort_by_key(|(key, _)| *key);
    *paths = keyed.into_iter().map(|(_, path)| path).collect();
    Ok(())
}

/// Returns one page of the paths, spelt with their prefix.
pub(crate) fn page(prefix: &str, paths: &[&[u8]], page: &Page) -> FoundPaths {
    let mut bytes = 0;
    let mut chosen = Vec::new();
    let mut rest = paths.iter().skip(page.skip);
    for path in rest.by_ref().take(page.most) {
        let path = escape::path(prefix, path);
        bytes += escape::json_length(&path) + 3;
        chosen.push(path);
        if bytes >= page.most_bytes {
            break;
        }
    }
    let is_cut = page.skip.saturating_add(chosen.len()) < paths.len();
    FoundPaths { paths: chosen, total: paths.len(), is_cut, denied: 0 }
}
