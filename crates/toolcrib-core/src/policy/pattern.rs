//! Patterns and globs, which are compiled when they are first used: most rules never apply to a call.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

/// The most bytes that a compiled pattern may take.
const MOST_COMPILED_BYTES: usize = 256 << 10;

/// Why a pattern or a glob cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// The text is no pattern, or too large a one. Why, in the words of the library.
    Unusable(String),
    /// The pattern matches everything.
    MatchesEverything,
    /// The text is no glob. Why, in the words of the library.
    BadGlob(String),
    /// The glob is longer than [`LONGEST_GLOB_BYTES`]. How many bytes it has.
    LongGlob(usize),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unusable(why) => write!(f, "cannot be used: {why}"),
            Self::MatchesEverything => f.write_str("matches everything: say what it is to match"),
            Self::BadGlob(why) => f.write_str(why),
            Self::LongGlob(bytes) => {
                write!(f, "the glob has {bytes} bytes, and {LONGEST_GLOB_BYTES} are the most")
            }
        }
    }
}

impl std::error::Error for PatternError {}

/// A pattern that has to match the whole of a text.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// Returns a pattern as it is written, not yet compiled.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: Arc::default() }
    }

    /// Fails if the pattern cannot be used, or matches everything.
    pub fn check(&self) -> Result<(), PatternError> {
        // A pattern that is valid only between the brackets of `compile` is not what it looks like.
        build(&self.text)?;
        let regex = compile(&self.text)?;
        // Two texts that nobody writes a rule for.
        if ["\u{1}", "{\"\u{2}\":\"\u{3}\"}"].iter().all(|text| regex.is_match(text)) {
            return Err(PatternError::MatchesEverything);
        }
        Ok(())
    }

    /// Whether the pattern matches all of a text. An unusable pattern matches, because that can only tighten.
    pub fn is_match(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| compile(&self.text).ok());
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

fn compile(text: &str) -> Result<Regex, PatternError> {
    build(&format!(r"\A(?:{text})\z"))
}

fn build(text: &str) -> Result<Regex, PatternError> {
    RegexBuilder::new(text)
        .size_limit(MOST_COMPILED_BYTES)
        .nest_limit(50)
        // A quoted line feed is a character of a word like any other.
        .dot_matches_new_line(true)
        .build()
        .map_err(|err| PatternError::Unusable(last_line(&err.to_string()).to_owned()))
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

/// The most bytes of a glob.
const LONGEST_GLOB_BYTES: usize = 1000;

/// A glob on paths.
#[derive(Clone, Debug)]
pub struct PathGlob {
    glob: Glob,
    /// For a glob `FOLDER/**`, a glob of the folder itself: whoever has the folder has what is in it.
    folder: Option<Glob>,
    compiled: Arc<OnceLock<(GlobMatcher, Option<GlobMatcher>)>>,
}

impl PathGlob {
    /// Reads a glob as it is written; a star does not cross folders.
    pub fn new(text: &str) -> Result<Self, PatternError> {
        if text.len() > LONGEST_GLOB_BYTES {
            return Err(PatternError::LongGlob(text.len()));
        }
        let build = |text: &str| {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            glob.map_err(|err| PatternError::BadGlob(err.to_string()))
        };
        let folder = text.strip_suffix("/**").filter(|folder| !folder.is_empty());
        let folder = folder.map(build).transpose()?;
        Ok(Self { glob: build(text)?, folder, compiled: Arc::default() })
    }

    /// Returns a glob that matches one path.
    pub fn exactly(path: &str) -> Result<Self, PatternError> {
        Self::new(&globset::escape(path))
    }

    /// Whether the glob matches a path.
    pub fn is_match(&self, path: &str) -> bool {
        self.is_match_path(Path::new(path))
    }

    /// Whether the glob matches a path that may not be text.
    pub(super) fn is_match_path(&self, path: &Path) -> bool {
        let (all, folder) = self.matchers();
        all.is_match(path) || folder.as_ref().is_some_and(|folder| folder.is_match(path))
    }

    fn matchers(&self) -> &(GlobMatcher, Option<GlobMatcher>) {
        self.compiled.get_or_init(|| {
            (self.glob.compile_matcher(), self.folder.as_ref().map(Glob::compile_matcher))
        })
    }

    /// Whether the part of the glob before its first wildcard is below a folder: whoever removes the folder removes
    /// what the glob matches.
    pub fn is_below(&self, folder: &str) -> bool {
        let text = self.glob.glob();
        let spelt = &text[..text.find(['*', '?', '[', '{', '\\']).unwrap_or(text.len())];
        let above = spelt.rfind('/').map_or("", |at| &spelt[..at]);
        let rest = above.strip_prefix(folder);
        !above.is_empty()
            && (folder.is_empty() && !above.starts_with('/')
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    /// Returns the globs that it is made of.
    pub(super) fn globs(&self) -> impl Iterator<Item = &Glob> {
        std::iter::once(&self.glob).chain(&self.folder)
    }
}
