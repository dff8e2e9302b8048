//! The engine: answers questions about one tree, from its index where it has one that is fresh, and
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
use toolcrib_core::search::{Found, Glob, Grep, Names, Page, Pattern, Scope, Search, Sort};
use toolcrib_core::{Cancel, ErrorKind, Ground, ToolError};

use crate::filter::{Against, Filter};
use crate::gather::{self, Targets, json_length, spell};
use crate::hits::Stop;
use crate::index::Candidates;
use crate::look::Kind;
use crate::paths::{Paths, split};
use crate::pattern::Patterns;
use crate::plan::Query;
use crate::rules::{self, Level, RULE_FILES, RuleFiles, Rules};
use crate::status::{Phase, Status};
use crate::upkeep::{Ceiling, Shared};
use crate::walk::{Walk, absolute, nobody, open_directory};

/// Directories that could not be entered.
type Barred = Vec<Box<[u8]>>;

/// Answers questions about the files of a workspace: all its roots.
pub struct Engine {
    trees: Vec<Tree>,
    patterns: Patterns,
}

/// One root.
struct Tree {
    ground: Arc<dyn Ground>,
    /// What stands before a path of this tree when it is shown.
    prefix: String,
    threads: usize,
    /// The index, if one may be had.
    shared: Option<Arc<Shared>>,
    upkeep: OnceLock<Option<JoinHandle<()>>>,
}

impl Engine {
    /// Makes an engine that keeps nothing between two questions. Relative paths start from the first
    /// of `grounds`.
    pub fn new(grounds: Vec<Arc<dyn Ground>>) -> Self {
        Self::with(grounds.into_iter().map(|ground| (ground, None)).collect())
    }

    /// Makes an engine that keeps an index of each root that has a ceiling, from the first question
    /// on.
    pub fn with(grounds: Vec<(Arc<dyn Ground>, Option<Ceiling>)>) -> Self {
        let threads = std::thread::available_parallelism().map_or(2, usize::from);
        let trees = grounds.into_iter().enumerate().map(|(index, (ground, ceiling))| {
            let prefix = match index {
                0 => String::new(),
                _ => format!("{}/", spell("", ground.path().as_os_str().as_bytes())),
            };
            let shared = ceiling.and_then(|it| Shared::new(Arc::clone(&ground), it).ok());
            Tree { ground, prefix, threads, shared, upkeep: OnceLock::new() }
        });
        Self { trees: trees.collect(), patterns: Patterns::default() }
    }

    /// Returns the tree that the scope's directory is in, and where it is there.
    fn base(&self, scope: &Scope) -> Result<(&Tree, Vec<u8>), ToolError> {
        let directory = scope.directory.as_deref().unwrap_or(".");
        for tree in &self.trees {
            if directory == "." {
                tree.ground.verify()?;
                return Ok((tree, Vec::new()));
            }
            if let Some(below) = tree.ground.directory(directory)? {
                return Ok((tree, below.into_os_string().into_vec()));
            }
        }
        Err(ToolError::new(ErrorKind::Unavailable, "there is no workspace to search"))
    }
}

impl Engine {
    /// How the indexes are doing, by root.
    pub fn statuses(&self) -> Vec<(PathBuf, Status)> {
        let trees = self.trees.iter().filter_map(|tree| {
            let shared = tree.shared.as_ref()?;
            Some((tree.ground.path().to_owned(), shared.status().clone()))
        });
        trees.collect()
    }

    /// Starts the upkeep without waiting for a question.
    pub fn start(&self) {
        self.trees.iter().for_each(Tree::start);
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.stop();
        }
        if let Some(Some(upkeep)) = self.upkeep.take() {
            let _ = upkeep.join();
        }
    }
}

impl Tree {
    fn start(&self) {
        if let Some(shared) = &self.shared {
            self.upkeep.get_or_init(|| {
                let shared = Arc::clone(shared);
                let thread = std::thread::Builder::new().name("toolcrib-index".to_owned());
                let spawned = thread.spawn({
                    let shared = Arc::clone(&shared);
                    move || shared.run()
                });
                if let Err(err) = &spawned {
                    shared.status().phase = Phase::Off(format!("no thread for it: {err}"));
                }
                spawned.ok()
            });
        }
    }

    /// Returns the files that a question has to look at, if the index knows for certain.
    fn candidates(
        &self,
        query: &Query,
        base: &[u8],
        filter: &Filter,
        counts: bool,
    ) -> Option<Indexed<'_>> {
        let shared = self.shared.as_ref()?;
        self.start();
        if !shared.is_swept() {
            shared.status().scanned += 1;
            return None;
        }
        let mut held = shared.index();
        let index = held.as_mut();
        let candidates = index.filter(|index| index.covers(base)).and_then(|index| {
            let is_true = index.refresh(&*self.ground);
            if index.counts().dirty > 0 {
                shared.wake();
            }
            is_true.then(|| index.candidates(query, base, filter, counts))
        });
        drop(held);
        if candidates.is_some() {
            shared.status().answered += 1;
        } else {
            shared.wake();
            shared.status().scanned += 1;
        }
        Some(Indexed { candidates: candidates?, shared })
    }

    fn filter(&self, scope: &Scope, base: &[u8], against: Against) -> Result<Filter, ToolError> {
        Filter::new(scope, base, against, &absolute(&*self.ground, base))
    }

    /// Returns the files that pass a filter, if the index knows for certain.
    fn names(&self, base: &[u8], filter: &Filter) -> Option<Candidates> {
        let shared = self.shared.as_ref()?;
        self.start();
        if !shared.is_swept() {
            return None;
        }
        let mut held = shared.index();
        let index = held.as_mut().filter(|index| index.covers(base))?;
        let is_true = index.refresh(&*self.ground);
        if !is_true || index.counts().dirty > 0 {
            shared.wake();
        }
        is_true.then(|| index.names(base, filter))
    }

    /// Walks everything at or below `base`.
    fn walk(
        &self,
        base: &[u8],
        depth: usize,
        stop: &Stop<'_>,
    ) -> Result<(Paths, Barred), ToolError> {
        let rules = Rules::read(self.ground.path());
        let above = above(&*self.ground, &rules, base);
        let walk = Walk {
            ground: &*self.ground,
            rules: &rules,
            threads: self.threads,
            depth,
            stops: &|| stop.is_set(),
            visit: &nobody,
        };
        let walked = walk.run(base, above)?;
        if walked.barred.iter().any(|path| **path == *base) {
            let shown = if base.is_empty() { ".".to_owned() } else { spell(&self.prefix, base) };
            let message = format!("`{shown}` may not be listed: permission denied");
            return Err(ToolError::new(ErrorKind::Permission, message).at(shown));
        }
        Ok((walked.paths(), walked.barred))
    }

    /// Tells of directories that could not be entered.
    fn tell_barred(&self, found: &mut Found, barred: &[Box<[u8]>]) {
        found.skipped.count += barred.len() as u64;
        if let (None, Some(first)) = (&found.skipped.first, barred.first()) {
            let path = format!("{}/", spell(&self.prefix, first));
            found.skipped.first = Some((path, "permission denied".to_owned()));
        }
    }
}

/// Returns the rules in force in the directory that `base` is in.
fn above(ground: &dyn Ground, rules: &Rules, base: &[u8]) -> Option<Arc<Level>> {
    let mut level = rules.top();
    if base.is_empty() {
        return level;
    }
    let slashes = memchr::memchr_iter(b'/', base);
    for end in std::iter::once(0).chain(slashes) {
        let path = &base[..end];
        let Ok(handle) = open_directory(ground, path) else { return level };
        let mut files = RuleFiles::default();
        for name in RULE_FILES {
            if let Ok(meta) = statat(&handle, name, AtFlags::SYMLINK_NOFOLLOW) {
                files.note(&handle, name, FileType::from_raw_mode(meta.st_mode));
            }
        }
        let absolute = absolute(ground, path);
        let absolute = Path::new(OsStr::from_bytes(&absolute));
        level = rules::enter(level, handle.as_fd(), absolute, files, &mut Vec::new());
    }
    level
}

/// Files as a walk found them.
struct Walked {
    paths: Paths,
    /// Which of them are meant; all without it.
    chosen: Option<Vec<usize>>,
}

impl Targets for Walked {
    fn len(&self) -> usize {
        self.chosen.as_ref().map_or(self.paths.len(), Vec::len)
    }

    fn path(&self, index: usize) -> &[u8] {
        self.paths.get(self.chosen.as_ref().map_or(index, |chosen| chosen[index]))
    }

    fn text(&self, _: usize) -> Option<(Arc<[u8]>, Kind)> {
        None
    }
}

/// Files that the index chose.
struct Indexed<'a> {
    candidates: Candidates,
    shared: &'a Shared,
}

impl Targets for Indexed<'_> {
    fn len(&self) -> usize {
        self.candidates.len()
    }

    fn path(&self, index: usize) -> &[u8] {
        self.candidates.path(index)
    }

    fn text(&self, index: usize) -> Option<(Arc<[u8]>, Kind)> {
        let held = self.shared.index();
        let candidates = &self.candidates;
        let text = held.as_ref()?.text(candidates.generation, candidates.slot(index))?;
        Some((text, Kind::Plain))
    }
}

impl Search for Engine {
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError> {
        if let Some(pattern) = pattern {
            self.patterns.compile(pattern)?;
        }
        let (tree, base) = self.base(scope)?;
        tree.filter(scope, &base, Against::Name)?;
        Ok(())
    }

    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError> {
        let compiled = self.patterns.compile(&ask.pattern)?;
        let (tree, base) = self.base(&ask.scope)?;
        let filter = tree.filter(&ask.scope, &base, Against::Name)?;
        let deadline = Instant::now() + ask.time;
        let stop = Stop { cancel, deadline, is_enough: AtomicBool::new(false) };
        let search = gather::Search {
            ground: &*tree.ground,
            prefix: &tree.prefix,
            compiled: &compiled,
            ask,
            stop: &stop,
            threads: tree.threads,
        };
        if let Some(indexed) = tree.candidates(&compiled.query, &base, &filter, ask.counts_files) {
            let mut found = search.run(&indexed);
            cancel.check()?;
            if ask.counts_files && !found.is_partial {
                // Those that need not be looked at were searched as well.
                found.files_searched += indexed.candidates.passed_over as u64;
            }
            tree.tell_barred(&mut found, &indexed.candidates.barred);
            return Ok(found);
        }
        let depth = ask.scope.depth.unwrap_or(usize::MAX);
        let (paths, barred) = tree.walk(&base, depth, &stop)?;
        let is_late = stop.is_late();
        let chosen = (!filter.is_open()).then(|| filter.select(&paths, 0, paths.len()));
        let mut found = search.run(&Walked { paths, chosen });
        cancel.check()?;
        found.is_partial |= is_late;
        tree.tell_barred(&mut found, &barred);
        Ok(found)
    }

    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<Names, ToolError> {
        let (tree, base) = self.base(&ask.scope)?;
        let filter = tree.filter(&ask.scope, &base, Against::Path)?;
        let named = tree.names(&base, &filter);
        let paths = if named.is_some() {
            Paths::default()
        } else {
            let deadline = Instant::now() + Duration::from_hours(1);
            let stop = Stop { cancel, deadline, is_enough: AtomicBool::new(false) };
            tree.walk(&base, ask.scope.depth.unwrap_or(usize::MAX), &stop)?.0
        };
        cancel.check()?;
        let mut chosen: Vec<&[u8]> = if let Some(named) = &named {
            (0..named.len()).map(|index| named.path(index)).collect()
        } else {
            let chosen = filter.select(&paths, 0, paths.len());
            chosen.into_iter().map(|index| paths.get(index)).collect()
        };
        if ask.sort != Sort::Name {
            sort(&*tree.ground, &mut chosen, ask.sort, cancel)?;
        }
        Ok(page(&tree.prefix, &chosen, &ask.page))
    }
}

/// Sorts files by what the file system says of them now; those that are gone come last.
fn sort(
    ground: &dyn Ground,
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
            directory = open_directory(ground, parent).ok().map(|handle| (parent, handle));
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
    // The sort is stable, so that equal ones stay in order of their paths.
    keyed.sort_by_key(|(key, _)| *key);
    *paths = keyed.into_iter().map(|(_, path)| path).collect();
    Ok(())
}

fn page(prefix: &str, paths: &[&[u8]], page: &Page) -> Names {
    let mut bytes = 0;
    let mut chosen = Vec::new();
    let mut rest = paths.iter().skip(page.skip);
    for path in rest.by_ref().take(page.most) {
        let path = spell(prefix, path);
        bytes += json_length(&path) + 3;
        chosen.push(path);
        if bytes >= page.most_bytes {
            break;
        }
    }
    let is_cut = page.skip.saturating_add(chosen.len()) < paths.len();
    Names { paths: chosen, total: paths.len(), is_cut }
}
