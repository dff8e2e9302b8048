//! The candidates of a question as files to search: their texts in memory, and what is known of their lines.

use std::sync::Arc;

use crate::index::candidates::CandidateFiles;
use crate::index::indexer::Indexer;
use crate::index::known_lines::ContentQuery;
use crate::scan::file_search::{LinesToSearch, TargetText};
use crate::scan::kept_text::KeptText;
use crate::scan::open::Unsearched;
use crate::scan::parallel_search::Targets;

/// Files that the index could not rule out, and what is known of them for a question.
pub(crate) struct QuestionFiles {
    pub(crate) candidates: CandidateFiles,
    /// Whether every line that the index of words knows matches.
    is_exact: bool,
    /// Whether lines around matches are wanted.
    has_context: bool,
}

/// The same, with the indexer that keeps their texts.
pub(crate) struct IndexedFiles<'a> {
    pub(crate) files: QuestionFiles,
    pub(crate) indexer: &'a Indexer,
}

/// Up to so many files of which nothing is known are little work.
const FEW_FILES: usize = 24;

/// Up to so many lines that may match are little work.
const FEW_LINES: usize = 2000;

impl QuestionFiles {
    pub(crate) fn new(candidates: CandidateFiles, content: &ContentQuery<'_>) -> Self {
        let is_exact = content.words.is_some_and(|plan| plan.is_exact);
        Self { candidates, is_exact, has_context: content.has_context }
    }

    /// Returns what to search of a file whose text, of a version, is in memory.
    pub(crate) fn text_of(
        &self,
        index: usize,
        (text, version): (Arc<KeptText>, u32),
    ) -> Option<TargetText<'_>> {
        if text.is_beginning && self.has_context {
            return None;
        }
        // If the file has changed since, the lines are not those of its text.
        let known = self.candidates.lines(index).filter(|known| known.version == version);
        let lines = match known {
            Some(known) if self.is_exact => LinesToSearch::Matching(known.lines),
            Some(known) => LinesToSearch::Only(known.lines),
            None => LinesToSearch::All,
        };
        Some(TargetText { text, lines })
    }

    /// Returns how many lines of a file match, if the index knows that.
    pub(crate) fn known_count(&self, index: usize) -> Option<u64> {
        let known = self.is_exact.then(|| self.candidates.lines(index)).flatten()?;
        Some(known.lines.len() as u64)
    }

    /// Whether one thread searches all of it sooner than several.
    pub(crate) fn is_little_work(&self) -> bool {
        let (unknown, lines) = self.candidates.unknown();
        unknown <= FEW_FILES && (self.is_exact || lines <= FEW_LINES)
    }
}

impl Targets for IndexedFiles<'_> {
    fn len(&self) -> usize {
        self.files.candidates.len()
    }

    fn path(&self, index: usize) -> &[u8] {
        self.files.candidates.path(index)
    }

    fn text(&self, index: usize) -> Option<TargetText<'_>> {
        let candidates = &self.files.candidates;
        let (generation, slot) = (candidates.generation, candidates.slot(index));
        let text = self.indexer.index().as_ref()?.text(generation, slot)?;
        self.files.text_of(index, text)
    }

    fn content(&self, _: usize) -> Option<Result<Vec<u8>, Unsearched>> {
        None
    }

    fn known_count(&self, index: usize) -> Option<u64> {
        self.files.known_count(index)
    }

    fn is_little_work(&self) -> bool {
        self.files.is_little_work()
    }
}
