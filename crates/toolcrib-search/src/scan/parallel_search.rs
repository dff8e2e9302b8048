//! The search of many files by several threads. The results are those of one thread: in order, within the page's
//! bounds, and no more files are searched than needed.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use toolcrib_core::search::{Found, FoundFile, Grep, Line, Want};
use toolcrib_core::{SearchableTree, escape};

use crate::parallel;
use crate::pattern::Compiled;
use crate::scan::file_search::{FileSearcher, TargetText};
use crate::scan::hits::{Hits, Room};
use crate::scan::open::Unsearched;
use crate::scan::stop::Stop;
use crate::scan::text::TextKind;

/// The files to search, in order of their paths.
pub(crate) trait Targets: Sync {
    fn len(&self) -> usize;
    fn path(&self, index: usize) -> &[u8];
    /// The file's text, if it is in memory.
    fn text(&self, index: usize) -> Option<TargetText<'_>>;
    /// Reads the file's content, if its tree is not one of files on disk.
    fn content(&self, index: usize) -> Option<Result<Vec<u8>, Unsearched>>;
    /// How many lines of the file match, if that is known without its text.
    fn known_count(&self, index: usize) -> Option<u64>;
    /// Whether so much is known of the files that one thread is enough for them.
    fn is_little_work(&self) -> bool;
}

/// How many files a thread takes at a time.
const FILES_PER_BATCH: usize = 32;

/// How many batches are searched before other threads are started: a page may be full by then.
const BATCHES_ALONE: usize = 2;

/// Up to so many files are searched by one thread.
const MAX_FILES_FOR_ONE_THREAD: usize = 24;

/// How many bytes of results may wait for the results of files before them.
const MAX_WAITING_BYTES: usize = 32 << 20;

/// A search, without the files to search.
pub(crate) struct ParallelSearch<'a> {
    /// The tree of the files, if they are on disk.
    pub(crate) tree: Option<&'a dyn SearchableTree>,
    /// What stands before a path when it is shown.
    pub(crate) prefix: &'a str,
    pub(crate) compiled: &'a Compiled,
    pub(crate) ask: &'a Grep,
    pub(crate) stop: &'a Stop<'a>,
    pub(crate) threads: usize,
}

/// The outcome of a search.
pub(crate) struct SearchOutcome {
    pub(crate) found: Found,
    /// The last of the targets that the answer covers, if the search stopped at the count limit.
    pub(crate) end: Option<usize>,
}

/// The results of a batch of files.
#[derive(Default)]
struct Batch {
    files: Vec<FileHits>,
    searched: u64,
    unsearched: Vec<(usize, String)>,
    bytes: usize,
    /// Whether the search stopped before the end of the batch.
    is_cut_off: bool,
}

/// The matches of one file, for the results.
struct FileHits {
    index: usize,
    /// How many files of the batch were searched up to and including this one.
    searched: u64,
    count: u64,
    lines: Vec<Line>,
}

/// What the threads of a search share.
struct SharedProgress<'a> {
    next: AtomicUsize,
    /// The first file whose lines may be needed.
    first_needed: usize,
    /// The first file after it whose lines are not needed any more.
    first_unneeded: AtomicUsize,
    waiting_bytes: AtomicUsize,
    order: Mutex<OrderedResults<'a>>,
}

/// The results so far, in order.
struct OrderedResults<'a> {
    targets: &'a dyn Targets,
    next: usize,
    waiting: BTreeMap<usize, Batch>,
    found: Found,
    /// How many results were skipped.
    passed: usize,
    /// How many results, or lines if lines are counted, are on the page and before it.
    shown: u64,
    bytes: usize,
    /// Whether the search stopped before the end of one of the batches.
    is_cut_off: bool,
    /// The file at which there were more results than are counted and than the page has. Files after it make no
    /// difference to the answer, however many of them the threads have searched.
    end: Option<usize>,
}

impl ParallelSearch<'_> {
    /// Searches all of `targets`.
    pub(crate) fn run(&self, targets: &dyn Targets) -> SearchOutcome {
        if targets.len() == 0 {
            return SearchOutcome { found: Found::default(), end: None };
        }
        let files_per_batch = if targets.len() <= MAX_FILES_FOR_ONE_THREAD {
            MAX_FILES_FOR_ONE_THREAD
        } else {
            FILES_PER_BATCH
        };
        let batches = targets.len().div_ceil(files_per_batch);
        let page = self.known_page(targets);
        let progress = SharedProgress {
            next: AtomicUsize::new(0),
            first_needed: page.start,
            first_unneeded: AtomicUsize::new(page.end),
            waiting_bytes: AtomicUsize::new(0),
            order: Mutex::new(OrderedResults {
                targets,
                next: 0,
                waiting: BTreeMap::new(),
                found: Found::default(),
                passed: 0,
                shown: 0,
                bytes: 0,
                is_cut_off: false,
                end: None,
            }),
        };
        if targets.is_little_work() {
            self.search_batches(targets, files_per_batch, &progress, usize::MAX);
        } else if self.ask.count_limit < u64::MAX {
            self.search_batches(targets, files_per_batch, &progress, BATCHES_ALONE);
        }
        if progress.next.load(Ordering::Relaxed) < batches && !self.stop.is_set() {
            parallel::run(self.tree, self.threads.min(batches), || {
                self.search_batches(targets, files_per_batch, &progress, usize::MAX);
            });
        }
        let mut order = progress.order.into_inner().unwrap_or_else(PoisonError::into_inner);
        // When time runs out there may be gaps; results after a gap still count.
        for (_, batch) in std::mem::take(&mut order.waiting) {
            self.absorb(&mut order, batch);
        }
        let is_whole = order.end.is_some() || (order.next >= batches && !order.is_cut_off);
        let (end, shown) = (order.end, order.shown);
        let mut found = order.found;
        found.is_partial = !is_whole && self.stop.is_late();
        found.is_lower_bound = end.is_some();
        if found.is_lower_bound {
            *self.total(&mut found) = self.ask.count_limit.max(shown);
        }
        SearchOutcome { found, end }
    }

    /// Returns the number in `found` that the count limit is about.
    fn total<'f>(&self, found: &'f mut Found) -> &'f mut u64 {
        if self.ask.want == Want::Files { &mut found.files_matched } else { &mut found.lines }
    }

    /// Returns the files whose lines the page may need, as far as it is known how many lines of each file match.
    fn known_page(&self, targets: &dyn Targets) -> std::ops::Range<usize> {
        let Want::Lines { .. } = self.ask.want else { return 0..usize::MAX };
        let skip = self.ask.page.skip as u64;
        let end = skip.saturating_add(self.ask.page.most as u64);
        let (mut from, mut lines) = (0, 0);
        let mut is_all_known = true;
        for index in 0..targets.len() {
            let count = targets.known_count(index);
            is_all_known &= count.is_some();
            lines += count.unwrap_or(0);
            if is_all_known && lines <= skip {
                from = index + 1;
            }
            // One line more than the page holds shows whether there is a next page.
            if lines > end {
                return from..index + 1;
            }
        }
        from..usize::MAX
    }

    /// Takes up to `most` batches of files and searches them.
    fn search_batches(
        &self,
        targets: &dyn Targets,
        files_per_batch: usize,
        progress: &SharedProgress<'_>,
        most: usize,
    ) {
        let mut searcher = FileSearcher::new(self.tree, self.compiled, self.ask.want, self.stop);
        for _ in 0..most {
            let at = progress.next.fetch_add(1, Ordering::Relaxed);
            let from = at * files_per_batch;
            if from >= targets.len() || self.stop.is_set() {
                return;
            }
            let to = (from + files_per_batch).min(targets.len());
            let batch = self.search_batch(&mut searcher, targets, from..to, progress);
            let mut order = progress.order.lock().unwrap_or_else(PoisonError::into_inner);
            progress.waiting_bytes.fetch_add(batch.bytes, Ordering::Relaxed);
            let is_cut_off = batch.is_cut_off;
            order.waiting.insert(at, batch);
            if is_cut_off {
                return;
            }
            self.absorb_ready(&mut order, progress, files_per_batch);
            if order.end.is_some() {
                return;
            }
        }
    }

    /// Adds the batches whose turn it is to the results, up to the first that is still searched.
    fn absorb_ready(
        &self,
        order: &mut OrderedResults<'_>,
        progress: &SharedProgress<'_>,
        files_per_batch: usize,
    ) {
        while let Some(batch) = order.waiting.remove(&order.next) {
            progress.waiting_bytes.fetch_sub(batch.bytes, Ordering::Relaxed);
            order.next += 1;
            if self.absorb(order, batch) {
                let first = order.next * files_per_batch;
                progress.first_unneeded.fetch_min(first, Ordering::Relaxed);
            }
            if order.end.is_some() {
                self.stop.is_enough.store(true, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Searches a batch of files, or as many of them as there is time for.
    fn search_batch(
        &self,
        searcher: &mut FileSearcher<'_>,
        targets: &dyn Targets,
        range: std::ops::Range<usize>,
        progress: &SharedProgress<'_>,
    ) -> Batch {
        let mut batch = Batch::default();
        for index in range {
            let first_unneeded = progress.first_unneeded.load(Ordering::Relaxed);
            let needed = progress.first_needed..first_unneeded;
            if let Some(count) = self.count_without_text(targets, index, &needed) {
                batch.searched += 1;
                let (lines, searched) = (Vec::new(), batch.searched);
                batch.files.push(FileHits { index, searched, count, lines });
                continue;
            }
            if self.stop.is_set() {
                batch.is_cut_off = true;
                break;
            }
            let waiting = progress.waiting_bytes.load(Ordering::Relaxed) + batch.bytes;
            let room = if !needed.contains(&index) {
                Room::none(self.ask.count_limit)
            } else if waiting >= MAX_WAITING_BYTES {
                Room::none(u64::MAX)
            } else {
                self.room()
            };
            let mut hits = Hits::new(self.ask.want, &self.compiled.matcher, room, self.stop);
            match search_target(searcher, targets, index, &mut hits) {
                Ok(TextKind::Plain | TextKind::Mixed) => batch.searched += 1,
                Ok(TextKind::Binary) | Err(Unsearched::Gone) => {}
                Err(Unsearched::Refused(why)) => batch.unsearched.push((index, why)),
                Err(Unsearched::Stopped) => batch.is_cut_off = true,
            }
            if hits.count > 0 {
                batch.bytes += hits.bytes + 64;
                let (count, lines, searched) = (hits.count, hits.lines, batch.searched);
                batch.files.push(FileHits { index, searched, count, lines });
            }
            if batch.is_cut_off {
                break;
            }
        }
        batch
    }

    /// Returns how many lines of a file match, if that is known and is all that the answer needs of the file.
    fn count_without_text(
        &self,
        targets: &dyn Targets,
        index: usize,
        needed: &std::ops::Range<usize>,
    ) -> Option<u64> {
        let count = targets.known_count(index)?;
        match self.ask.want {
            Want::Files => Some(1),
            Want::Counts => Some(count),
            Want::Lines { .. } => (!needed.contains(&index)).then_some(count),
        }
    }

    /// Returns the most lines, and bytes of them, that the page could need from one file.
    fn room(&self) -> Room {
        let page = &self.ask.page;
        let end = page.skip.saturating_add(page.most);
        // One line more than the page holds shows whether there is a next page.
        let lines = end.saturating_add(1);
        let count = match self.ask.want {
            // The page shows the count of each file.
            Want::Counts => u64::MAX,
            // If there is no room for the bytes of all skipped lines, only their number tells which lines the page
            // needs.
            _ if page.skip > 0 => self.ask.count_limit.max(end as u64),
            _ => self.ask.count_limit,
        };
        Room { lines, bytes: page.most_bytes.max(1), count }
    }

    /// Adds a batch to the results; returns whether the page is full and there are more results.
    fn absorb(&self, order: &mut OrderedResults<'_>, batch: Batch) -> bool {
        if order.end.is_some() {
            return true;
        }
        let targets = order.targets;
        order.is_cut_off |= batch.is_cut_off;
        let mut searched = batch.searched;
        for file in batch.files {
            let (index, searched_by_now) = (file.index, file.searched);
            self.absorb_file(order, file);
            let counted = *self.total(&mut order.found);
            if self.has_more_than_page(order) && counted > self.ask.count_limit {
                order.end = Some(index);
                searched = searched_by_now;
                break;
            }
        }
        let found = &mut order.found;
        found.files_searched += searched;
        let end = order.end.unwrap_or(usize::MAX);
        for (index, why) in batch.unsearched.iter().filter(|(index, _)| *index <= end) {
            found.skipped.count += 1;
            found.skipped.first.get_or_insert_with(|| {
                (escape::path(self.prefix, targets.path(*index)), why.clone())
            });
        }
        self.has_more_than_page(order)
    }

    /// Whether the page is full and there are more results.
    fn has_more_than_page(&self, order: &OrderedResults<'_>) -> bool {
        self.is_page_full(order) && order.found.is_cut
    }

    fn is_page_full(&self, order: &OrderedResults<'_>) -> bool {
        let page = &self.ask.page;
        order.found.returned >= page.most || order.bytes >= page.most_bytes
    }

    /// Adds the matches of one file to the results.
    fn absorb_file(&self, order: &mut OrderedResults<'_>, mut file: FileHits) {
        let targets = order.targets;
        order.found.lines += file.count;
        order.found.files_matched += 1;
        let results = if let Want::Lines { .. } = self.ask.want { file.count } else { 1 } as usize;
        let page = &self.ask.page;
        let passes = page.skip.saturating_sub(order.passed).min(results);
        order.passed += passes;
        order.shown += if passes == results { file.count } else { passes as u64 };
        let left = results - passes;
        if left == 0 {
            return;
        }
        if self.is_page_full(order) {
            order.found.is_cut = true;
            return;
        }
        let mut passes = passes;
        let missing = passes + left.min(page.most - order.found.returned) > file.lines.len();
        if missing && matches!(self.ask.want, Want::Lines { .. }) {
            file.lines = self.search_again(targets, file.index, std::mem::take(&mut passes));
        }
        let path = escape::path(self.prefix, targets.path(file.index));
        // A reply repeats the path with every line.
        let weight = escape::json_length(&path) + JSON_OVERHEAD_BYTES;
        let mut entry = FoundFile { path, lines: Vec::new(), count: file.count };
        if let Want::Lines { .. } = self.ask.want {
            for line in file.lines.into_iter().skip(passes) {
                if self.is_page_full(order) {
                    break;
                }
                order.bytes += weight + json_weight(&line);
                order.found.returned += 1;
                entry.lines.push(line);
            }
            order.shown += entry.lines.len() as u64;
            order.found.is_cut |= entry.lines.len() < left;
        } else {
            order.bytes += weight;
            order.found.returned += 1;
            order.shown += file.count;
        }
        order.found.files.push(entry);
    }

    /// Searches a file again, without its first matches: the first time there was no room for all its lines,
    /// because it was not known which of them the page needs.
    fn search_again(&self, targets: &dyn Targets, index: usize, passes: usize) -> Vec<Line> {
        let mut searcher = FileSearcher::new(self.tree, self.compiled, self.ask.want, self.stop);
        let matcher = &self.compiled.matcher;
        let room = Room { count: 0, ..self.room() };
        let hits = Hits::new(self.ask.want, matcher, room, self.stop);
        let mut hits = hits.skip(passes);
        let _ = search_target(&mut searcher, targets, index, &mut hits);
        hits.lines
    }
}

/// Searches one of the targets: its text in memory, or else its content.
fn search_target(
    searcher: &mut FileSearcher<'_>,
    targets: &dyn Targets,
    index: usize,
    hits: &mut Hits<'_>,
) -> Result<TextKind, Unsearched> {
    match targets.text(index) {
        Some(target) => searcher.search_kept(&target, hits),
        None => match targets.content(index) {
            Some(content) => searcher.search_content(&content?, hits),
            None => searcher.search(targets.path(index), hits),
        },
    }
}

/// How many bytes of a reply stand around a result: field names, numbers, punctuation.
const JSON_OVERHEAD_BYTES: usize = 64;

/// Returns how many bytes of a reply a line takes.
fn json_weight(line: &Line) -> usize {
    let lines = line.before.iter().chain(&line.after).map(|line| escape::json_length(line) + 3);
    escape::json_length(&line.text) + lines.sum::<usize>()
}
