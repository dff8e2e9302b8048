//! Search as a capability: the questions that can be asked about a tree of files, and the answers.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cancel::Cancel;
use crate::capability::denied_sentence;
use crate::command::Usage;
use crate::error::ToolError;
use crate::policy::DeniedPaths;

/// Finds lines and files as ripgrep does, with its ignore rules and its handling of hidden and binary files.
pub trait Search: Send + Sync {
    /// Fails if the pattern, a filter or the directory is invalid.
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError>;

    /// Finds the lines that match.
    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError>;

    /// Finds the files whose path matches.
    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError>;
}

/// A pattern that lines are matched against.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// A regular expression, or literal text.
    pub text: String,
    /// Whether the text is literal, so that every character stands for itself.
    pub is_literal: bool,
    /// Whether upper and lower case are the same.
    pub ignores_case: bool,
}

/// The files that a question is about. Filters only narrow: files that ignore rules hide stay hidden.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The directory to search, as the caller wrote it; the root without it.
    pub directory: Option<String>,
    /// A glob. In a [`Glob`] question, the path below the directory must match it. In a [`Grep`] question, the name
    /// must match if the glob has no slash, and the path otherwise.
    pub glob: Option<String>,
    /// A file type, as ripgrep names it, or an extension.
    pub kind: Option<String>,
    /// The greatest depth: how many names a path below the directory may have.
    pub depth: Option<usize>,
    /// The paths that policy denies. They are neither searched nor found.
    pub denied: Option<DeniedPaths>,
}

/// A question about the content of files.
#[derive(Clone, Debug)]
pub struct Grep {
    /// The pattern that lines must match.
    pub pattern: Pattern,
    /// The files to search.
    pub scope: Scope,
    /// What to return of each file with matches.
    pub want: Want,
    /// The results to return.
    pub page: Page,
    /// How many results are counted. If there are more than this and more than the page shows, the search stops, and
    /// the totals are lower bounds. With 0, the search stops when the page is full.
    pub count_limit: u64,
    /// Whether to count the files that are searched.
    pub counts_files: bool,
    /// The time limit, after which the answer holds what was found so far.
    pub time: Duration,
}

/// What to return of a file with matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The lines that match, each with this many lines before and after it.
    Lines {
        /// Lines before.
        before: usize,
        /// Lines after.
        after: usize,
    },
    /// The path.
    Files,
    /// The path, and the number of lines that match.
    Counts,
}

impl Want {
    /// Whether lines around those that match are wanted.
    pub fn has_context(self) -> bool {
        matches!(self, Self::Lines { before, after } if before + after > 0)
    }
}

/// A page of the results.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// How many results to skip.
    pub skip: usize,
    /// How many results to return at most.
    pub most: usize,
    /// How many bytes of text to return at most; the last result may exceed it.
    pub most_bytes: usize,
}

impl Page {
    /// All results.
    pub const ALL: Self = Self { skip: 0, most: usize::MAX, most_bytes: usize::MAX };
}

/// The answer to a [`Grep`] question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Found {
    /// The page, in order of paths and then of lines.
    pub files: Vec<FoundFile>,
    /// How many results the page holds.
    pub returned: usize,
    /// How many lines match in all.
    pub lines: u64,
    /// How many files have lines that match.
    pub files_matched: u64,
    /// How many files were searched, if the question asked for it.
    pub files_searched: u64,
    /// Whether the search stopped at the count limit, so that there are more results than the totals say. The total
    /// of what the question wants is then the count limit, or what is on the page and before it, if that is more. The
    /// other numbers are about the files up to the one where the search stopped.
    pub is_lower_bound: bool,
    /// Whether there are results after this page.
    pub is_cut: bool,
    /// Whether time ran out; the totals then cover only what was searched.
    pub is_partial: bool,
    /// The files that could not be searched.
    pub skipped: Skipped,
}

/// A file with matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundFile {
    /// The path, spelt by [`crate::escape::name`]: relative to the first root, or absolute in another root.
    pub path: String,
    /// The lines that match, as far as they are on the page.
    pub lines: Vec<Line>,
    /// How many lines match in all; 1 if the question did not ask for it.
    pub count: u64,
}

/// A line that matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line number, counted from 1.
    pub number: u64,
    /// The text, without the line break. A long line is cut around the match.
    pub text: String,
    /// The lines before the match.
    pub before: Vec<String>,
    /// The lines after the match.
    pub after: Vec<String>,
}

/// The files that could not be searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many files.
    pub count: u64,
    /// The first file by path, and why it could not be searched.
    pub first: Option<(String, String)>,
    /// How many files in the directory policy denies, whatever the pattern and the filters are: a number that
    /// depended on them would tell what is in these files.
    pub denied: u64,
}

impl Skipped {
    /// Returns the sentences for readers; nothing if every file was searched.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.sentence().into_iter().chain(denied_sentence(self.denied, "file", "files"))
    }

    fn sentence(&self) -> Option<String> {
        let (path, why) = self.first.as_ref()?;
        Some(match self.count {
            1 => format!("not searched: {path} ({why})"),
            count => format!("not searched: {path} ({why}), and {} more", count - 1),
        })
    }
}

/// A question about paths.
#[derive(Clone, Debug)]
pub struct Glob {
    /// The files to find.
    pub scope: Scope,
    /// The order to return them in.
    pub sort: Sort,
    /// The results to return.
    pub page: Page,
}

/// An order of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By path.
    #[default]
    Name,
    /// By the time of the last modification, the latest first.
    Modified,
    /// By size, the largest first.
    Size,
}

/// The answer to a [`Glob`] question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPaths {
    /// The page: paths relative to the first root, or absolute in another root, spelt by [`crate::escape::name`].
    pub paths: Vec<String>,
    /// How many files match in all.
    pub total: usize,
    /// Whether there are more after this page.
    pub is_cut: bool,
    /// How many files in the directory policy denies, whatever the filters are.
    pub denied: u64,
}

impl FoundPaths {
    /// Returns a sentence about the files that are left out; nothing if none are.
    pub fn denied_sentence(&self) -> Option<String> {
        denied_sentence(self.denied, "file", "files")
    }
}

/// A tree that can be searched: a directory held by handle, and the access rules for the files in it. The host
/// implements it, so that search and reading obey the same rules without knowing each other.
pub trait SearchableTree: Send + Sync {
    /// The handle of the root directory.
    fn handle(&self) -> BorrowedFd<'_>;

    /// The real path of the root directory.
    fn path(&self) -> &Path;

    /// Fails if the root's path leads to another directory by now.
    fn verify(&self) -> Result<(), ToolError>;

    /// Returns the path below the root, without links, of the directory that a caller wrote as `path`; nothing if
    /// it is below another root. Fails if it is not a directory that may be listed.
    fn directory(&self, path: &str) -> Result<Option<PathBuf>, ToolError>;

    /// Whether a directory may be entered.
    fn may_enter(&self, directory: BorrowedFd<'_>, access: AccessMeta) -> bool;

    /// Whether `name` in a directory below the root is hidden from callers.
    fn is_hidden(&self, directory: &Path, name: &OsStr) -> bool;

    /// Returns why an open file may not be read, if it may not.
    fn read_refusal(&self, file: BorrowedFd<'_>, access: AccessMeta) -> Option<&'static str>;

    /// Returns the resources that the calling thread has used so far.
    fn usage(&self) -> Usage;

    /// Adds what other threads used for the calling thread to its usage.
    fn add_usage(&self, part: &Usage);
}

/// The metadata of a file or directory that decides who may read it.
#[derive(Clone, Copy, Debug)]
pub struct AccessMeta {
    /// The device.
    pub device: u64,
    /// The mode.
    pub mode: u32,
    /// The number of hard links.
    pub links: u64,
}
