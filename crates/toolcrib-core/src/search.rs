//! Search as a capability: what can be asked of a tree of files, and what comes back.

use std::ffi::OsStr;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::cancel::Cancel;
use crate::command::Usage;
use crate::error::ToolError;

/// Finds lines and files, as ripgrep would: its ignore rules, its hidden and binary files.
pub trait Search: Send + Sync {
    /// Fails if the pattern, the filters or the directory are none.
    fn check(&self, pattern: Option<&Pattern>, scope: &Scope) -> Result<(), ToolError>;

    /// Finds the lines that match.
    fn grep(&self, ask: &Grep, cancel: &Cancel) -> Result<Found, ToolError>;

    /// Finds the files whose path matches.
    fn glob(&self, ask: &Glob, cancel: &Cancel) -> Result<FoundPaths, ToolError>;
}

/// What a line must hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// A regular expression, or text.
    pub text: String,
    /// Whether it is text, every character standing for itself.
    pub is_literal: bool,
    /// Whether upper and lower case are the same.
    pub ignores_case: bool,
}

/// Which files are meant. Filters only narrow: what ignore rules hide stays hidden.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// The directory to look in, as the caller wrote it; the root without it.
    pub directory: Option<String>,
    /// A glob. In [`Glob`], the path below the directory must match it; in [`Grep`], the name must
    /// if the glob has no slash, and else the path.
    pub glob: Option<String>,
    /// A type of file, as ripgrep names it, or an extension.
    pub kind: Option<String>,
    /// How many names a path below the directory may have; any number without it.
    pub depth: Option<usize>,
}

/// A question about what is in files.
#[derive(Clone, Debug)]
pub struct Grep {
    /// What a line must hold.
    pub pattern: Pattern,
    /// Which files are meant.
    pub scope: Scope,
    /// What to return of them.
    pub want: Want,
    /// Which results to return.
    pub page: Page,
    /// Whether to stop when the page is full, which leaves the totals unknown.
    pub stops_early: bool,
    /// Whether to count the files that are searched.
    pub counts_files: bool,
    /// After how long to answer with what there is.
    pub time: Duration,
}

/// What to return of a file with matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Its lines that match, and so many lines before and after each.
    Lines {
        /// Lines before.
        before: usize,
        /// Lines after.
        after: usize,
    },
    /// Its path.
    Files,
    /// Its path, and how many of its lines match.
    Counts,
}

/// Which results to return.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// How many to pass over.
    pub skip: usize,
    /// How many to return at most.
    pub most: usize,
    /// How many bytes of text to return at most; the last result may go over.
    pub most_bytes: usize,
}

impl Page {
    /// Everything.
    pub const ALL: Self = Self { skip: 0, most: usize::MAX, most_bytes: usize::MAX };
}

/// What a [`Grep`] found.
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
    /// How many files were searched, if that was asked for.
    pub files_searched: u64,
    /// Whether there are results after this page.
    pub is_cut: bool,
    /// Whether time ran out: totals are then of what was searched.
    pub is_partial: bool,
    /// Files that could not be searched.
    pub skipped: Skipped,
}

/// A file with matches.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FoundFile {
    /// Its path, spelt by [`crate::escape::name`]: below the first root, or absolute in another.
    pub path: String,
    /// Its lines that match, those on the page.
    pub lines: Vec<Line>,
    /// How many lines match in all; 1 if nobody wanted to know.
    pub count: u64,
}

/// A line that matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Its number, from 1.
    pub number: u64,
    /// The line without its end. Long ones are cut around the match.
    pub text: String,
    /// The lines before it.
    pub before: Vec<String>,
    /// The lines after it.
    pub after: Vec<String>,
}

/// Files that could not be searched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub count: u64,
    /// The first of them by path, and why.
    pub first: Option<(String, String)>,
}

impl Skipped {
    /// Says so in a sentence; nothing if there are none.
    pub fn sentence(&self) -> Option<String> {
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
    /// Which files are meant.
    pub scope: Scope,
    /// In which order to return them.
    pub sort: Sort,
    /// Which of them to return.
    pub page: Page,
}

/// An order of files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By path.
    #[default]
    Name,
    /// By the time of the last change, latest first.
    Modified,
    /// By size, largest first.
    Size,
}

/// What a [`Glob`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundPaths {
    /// The page: paths below the first root, or absolute in another, spelt by
    /// [`crate::escape::name`].
    pub paths: Vec<String>,
    /// How many there are in all.
    pub total: usize,
    /// Whether there are more after this page.
    pub is_cut: bool,
}

/// A tree that may be searched: a directory held by handle, and the rules for what is in it.
pub trait SearchableTree: Send + Sync {
    /// The directory that everything is below.
    fn handle(&self) -> BorrowedFd<'_>;

    /// Its real path.
    fn path(&self) -> &Path;

    /// Fails if the root's name no longer leads to it.
    fn verify(&self) -> Result<(), ToolError>;

    /// Returns where `path`, as a caller wrote it, is below the root, with no link in the way; nothing
    /// if it is below another root. Fails if it is not a directory that may be listed.
    fn directory(&self, path: &str) -> Result<Option<PathBuf>, ToolError>;

    /// Whether a directory may be entered.
    fn may_enter(&self, directory: BorrowedFd<'_>, access: AccessMeta) -> bool;

    /// Whether `name` in a directory below the root is none of a caller's business.
    fn is_hidden(&self, directory: &Path, name: &OsStr) -> bool;

    /// Returns why an open file may not be read, if it may not.
    fn read_refusal(&self, file: BorrowedFd<'_>, access: AccessMeta) -> Option<&'static str>;

    /// What the thread that asks has used so far.
    fn usage(&self) -> Usage;

    /// Counts what helpers of this thread used as used by it.
    fn add_usage(&self, part: &Usage);
}

/// What the file system says of a file or directory, as far as it matters to who may read it.
#[derive(Clone, Copy, Debug)]
pub struct AccessMeta {
    /// The file system it is on.
    pub device: u64,
    /// Its mode.
    pub mode: u32,
    /// How many names it has.
    pub links: u64,
}
