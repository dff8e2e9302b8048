//! The candidates of a question as files to search: their texts in memory, and what is known of their lines.

use crate::index::candidates::CandidateFiles;
use crate::index::indexer::Indexer;
use crate::scan::file_search::{LinesToSearch, TargetText};
use crate::scan::open::Unsearched;
use crate::scan::parallel_search::Targets;

/// Files that the index could not rule out.
pub(crate) struct IndexedFiles<'a> {
    pub(crate) candidates: CandidateFiles,
    pub(crate) indexer: &'a Indexer,
    /// Whether every line that the index of words knows matches.
    pub(crate) is_exact: bool,
    /// Whether lines around matches are wanted.
    pub(crate) has_context: bool,
}

/// Up to so many files of which nothing is known are little work.
pub(crate) const FEW_FILES: usize = 24;

/// Up to so many lines that may match are little work.
const FEW_LINES: usize = 2000;

impl Targets for IndexedFiles<'_> {
    fn len(&self) -> usize {
        self.candidates.len()
    }

    fn path(&self, index: usize) -> &[u8] {
        self.candidates.path(index)
    }

    fn text(&self, index: usize) -> Option<TargetText<'_>> {
        let candidates = &self.candidates;
        let held = self.indexer.index();
        let (text, version) = held.as_ref()?.text(candidates.generation, candidates.slot(index))?;
        drop(held);
        if text.is_beginning && self.has_context {
            return None;
        }
        // If the file has changed since, the lines are not those of its text.
        let known = candidates.lines(index).filter(|known| known.version == version);
        let lines = match known {
            Some(known) if self.is_exact => LinesToSearch::Matching(known.lines),
            Some(known) => LinesToSearch::Only(known.lines),
            None => LinesToSearch::All,
        };
        Some(TargetText { text, lines })
    }

    fn content(&self, _: usize) -> Option<Result<Vec<u8>, Unsearched>> {
        None
    }

    fn known_count(&self, index: usize) -> Option<u64> {
        let known = self.is_exact.then(|| self.candidates.lines(index)).flatten()?;
        Some(known.lines.len() as u64)
    }

    fn is_little_work(&self) -> bool {
        let (unknown, lines) = self.candidates.unknown();
        unknown <= FEW_FILES && (self.is_exact || lines <= FEW_LINES)
    }
}
