//! The engine for a tree that never changes: it answers from the index of the tree, and scans only directories that
//! the index leaves out, such as those with hidden names.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope, Search, Sort};
use toolcrib_core::{Cancel, ToolError, escape};

use crate::engine::page;
use crate::fixed::index_build::{FixedIndex, FixedIndexStatus, IndexBuild};
use crate::fixed::options::FixedEngineOptions;
use crate::fixed::targets::{IndexedTargets, WalkedTargets};
use crate::fixed::tree::{FixedDirectory, FixedTree};
use crate::fixed::walk::{FixedFiles, FixedWalk, absolute};
use crate::index::candidate_targets::QuestionFiles;
use crate::index::candidates::RuledOutCount;
use crate::index::known_lines::{ContentQuery, EnoughResults};
use crate::pattern::Patterns;
use crate::scan::filter::{Filter, GlobSubject};
use crate::scan::ignore_rules::IgnoreRules;
use crate::scan::parallel_search::{ParallelSearch, SearchOutcome};
use crate::scan::stop::Stop;
use crate::scan::walk::HiddenNames;

/// Answers questions about the files of a tree that never changes.
pub struct FixedEngine<T: FixedTree> {
    build: Arc<IndexBuild<T>>,
    options: FixedEngineOptions,
    patterns: Patterns,
}

impl<T: FixedTree> FixedEngine<T> {
    /// Makes an engine. It builds its index at the first question about content.
    pub fn new(tree: T, options: FixedEngineOptions) -> Self {
        let build = Arc::new(IndexBuild::new(tree, options));
        Self { build, options, patterns: Patterns::default() }
    }

    /// Returns what the index holds, once it is built.
    pub fn status(&self) -> Option<FixedIndexStatus> {
        self.build.built().map(|built| built.status())
    }

    fn tree(&self) -> &T {
        &self.build.tree
    }

    fn base(&self, scope: &Scope, cancel: &Cancel) -> Result<FixedDirectory<T::Id>, ToolError> {
        match scope.directory.as_deref() {
            None | Some(".") => Ok(FixedDirectory { path: Vec::new(), id: self.tree().root() }),
            Some(directory) => self.tree().directory(directory, cancel),
        }
    }

    fn filter(
        &self,
        scope: &Scope,
        base: &[u8],
        subject: GlobSubject,
    ) -> Result<Filter, ToolError> {
        Filter::new(scope, base, subject, &absolute(self.tree().path(), base))
    }

    /// Walks everything at or below a directory.
    fn walk(
        &self,
        base: &FixedDirectory<T::Id>,
        depth: usize,
        cancel: &Cancel,
    ) -> Result<FixedFiles<T::Id>, ToolError> {
        let walk = FixedWalk {
            tree: self.tree(),
            rules: &IgnoreRules::none(self.tree().path()),
            depth,
            max_bytes: self.options.max_memory_bytes / 2,
            is_stopped: &|| false,
            cancel,
        };
        walk.run(base)
    }

    /// Searches the files that the index does not rule out.
    fn search_indexed(
        &self,
        search: &ParallelSearch<'_>,
        built: &FixedIndex<T::Id>,
        base: &FixedDirectory<T::Id>,
        filter: &Filter,
    ) -> Found {
        let (ask, cancel) = (search.ask, search.stop.cancel);
        let count = if ask.counts_files { RuledOutCount::Exact } else { RuledOutCount::Skip };
        let (query, words) = (&search.compiled.query, search.compiled.words.as_ref());
        let has_context = ask.want.has_context();
        let index = &built.index;
        let of_page = EnoughResults::of(ask);
        let search_for = |enough: EnoughResults| {
            let content = ContentQuery { query, words, has_context, enough };
            let candidates = index.candidates(&content, &base.path, filter, count);
            let files = QuestionFiles::new(candidates, &content);
            let targets =
                IndexedTargets { tree: self.tree(), index, ids: &built.ids, files, cancel };
            (search.run(&targets), targets.files.candidates)
        };
        let (mut outcome, mut candidates) = search_for(of_page);
        // The first files that have the words may not have enough results after all.
        if candidates.is_cut() && outcome.end.is_none() && !outcome.found.is_partial {
            (outcome, candidates) = search_for(EnoughResults::NEVER);
        }
        let SearchOutcome { mut found, end } = outcome;
        if !found.is_partial {
            // A file that the index rules out counts as searched.
            found.files_searched += candidates.ruled_out_len(end) as u64;
        }
        add_unreadable(&mut found, &candidates.unreadable);
        found.skipped.denied = candidates.denied;
        found
    }

    /// Searches a directory that the index leaves out.
    fn search_walked(
        &self,
        search: &ParallelSearch<'_>,
        base: &FixedDirectory<T::Id>,
        filter: &Filter,
    ) -> Result<Found, ToolError> {
        let cancel = search.stop.cancel;
        let depth = search.ask.scope.depth.unwrap_or(usize::MAX);
        let files = self.walk(base, depth, cancel)?;
        let (chosen, denied) = (chosen(&files, filter), denied(&files, filter));
        let targets = WalkedTargets { tree: self.tree(), files: &files, chosen, cancel };
        let SearchOutcome { mut found, .. } = search.run(&targets);
        add_unreadable(&mut found, &files.unreadable);
        found.skipped.denied = denied;
        Ok(found)
    }

    /// Sorts files by size, the largest first. The files of a fixed tree have no times, so that any other order is
    /// that of their paths.
    fn sort(
        &self,
        files: &FixedFiles<T::Id>,
        chosen: &mut Vec<usize>,
        by: Sort,
        cancel: &Cancel,
    ) -> Result<(), ToolError> {
        if by != Sort::Size {
            return Ok(());
        }
        let mut sized = Vec::with_capacity(chosen.len());
        for place in chosen.drain(..) {
            cancel.check()?;
            let size = self.tree().size(files.ids[place], cancel).ok();
            sized.push((std::cmp::Reverse(size), place));
        }
        // The sort is stable, so that files of equal size stay in order of their paths.
        sized.sort_by_key(|(size, _)| *size);
        chosen.extend(sized.into_iter().map(|(_, place)| place));
        Ok(())
    }
}

impl<T: FixedTree> Drop for FixedEngine<T> {
    fn drop(&mut self) {
        self.build.stop();
    }
}

impl<T: FixedTree> Search for FixedEngine<T> {
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError> {
        if let Some(pattern) = pattern {
            self.patterns.compile(pattern)?;
        }
        let base = self.base(scope, &Cancel::default())?;
        self.filter(scope, &base.path, GlobSubject::Name)?;
        Ok(())
    }

    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError> {
        let compiled = self.patterns.compile(&ask.pattern)?;
        let base = self.base(&ask.scope, cancel)?;
        let filter = self.filter(&ask.scope, &base.path, GlobSubject::Name)?;
        let deadline = Instant::now() + ask.time;
        let built = self.build.wait(deadline, cancel)?;
        let stop = Stop { cancel, deadline, is_enough: AtomicBool::new(false) };
        let search = ParallelSearch {
            tree: None,
            prefix: "",
            compiled: &compiled,
            ask,
            stop: &stop,
            threads: self.options.threads,
        };
        let found = if built.index.covers(&base.path) {
            self.search_indexed(&search, &built, &base, &filter)
        } else {
            self.search_walked(&search, &base, &filter)?
        };
        cancel.check()?;
        Ok(found)
    }

    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError> {
        let base = self.base(&ask.scope, cancel)?;
        let filter = self.filter(&ask.scope, &base.path, GlobSubject::Path)?;
        let built = self.build.built().filter(|it| it.index.covers(&base.path));
        if let Some(built) = built.filter(|_| ask.sort != Sort::Size) {
            let names = built.index.names(&base.path, &filter);
            let paths: Vec<&[u8]> = (0..names.len()).map(|index| names.path(index)).collect();
            return Ok(FoundPaths { denied: names.denied, ..page("", &paths, &ask.page) });
        }
        let files = self.walk(&base, ask.scope.depth.unwrap_or(usize::MAX), cancel)?;
        let mut chosen = chosen(&files, &filter);
        self.sort(&files, &mut chosen, ask.sort, cancel)?;
        let paths: Vec<&[u8]> = chosen.into_iter().map(|place| files.paths.get(place)).collect();
        Ok(FoundPaths { denied: denied(&files, &filter), ..page("", &paths, &ask.page) })
    }
}

/// Whether a question with this filter sees the file at a place.
fn is_seen<I>(files: &FixedFiles<I>, filter: &Filter, place: usize) -> bool {
    filter.hidden_names() == HiddenNames::Included || files.hidden.binary_search(&place).is_err()
}

/// Returns the places of the files that are meant.
fn chosen<I>(files: &FixedFiles<I>, filter: &Filter) -> Vec<usize> {
    let chosen = filter.select(&files.paths, 0, files.paths.len());
    chosen.into_iter().filter(|place| is_seen(files, filter, *place)).collect()
}

/// Returns how many files policy denies, whatever the filter is.
fn denied<I>(files: &FixedFiles<I>, filter: &Filter) -> u64 {
    let Some(denied) = filter.denied() else { return 0 };
    let places = (0..files.paths.len()).filter(|place| is_seen(files, filter, *place));
    places.filter(|place| denied.has(files.paths.get(*place))).count() as u64
}

/// Adds directories whose entries are missing to what was not searched.
fn add_unreadable(found: &mut Found, unreadable: &[Box<[u8]>]) {
    found.skipped.count += unreadable.len() as u64;
    if let (None, Some(first)) = (&found.skipped.first, unreadable.first()) {
        let path = format!("{}/", escape::path("", first));
        found.skipped.first = Some((path, "its objects are missing".to_owned()));
    }
}
