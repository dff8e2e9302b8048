//! Patterns and globs that are compiled when they are first asked: most rules are never about a call.

use std::sync::{Arc, OnceLock};

use globset::{Glob, GlobBuilder, GlobMatcher};
use regex::{Regex, RegexBuilder};

/// The largest program that a pattern may become.
const MOST: usize = 256 << 10;

/// A pattern that has to match the whole of a text.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    compiled: Arc<OnceLock<Option<Regex>>>,
}

impl Pattern {
    /// Takes a pattern as it is written.
    pub fn new(text: &str) -> Self {
        Self { text: text.to_owned(), compiled: Arc::default() }
    }

    /// Fails if it cannot be used, or matches everything.
    pub fn check(&self) -> Result<(), String> {
        // A pattern that is whole only between our brackets is not what it looks like.
        build(&self.text)?;
        let regex = compile(&self.text)?;
        // Two texts that nobody writes a rule for.
        if ["\u{1}", "{\"\u{2}\":\"\u{3}\"}"].iter().all(|text| regex.is_match(text)) {
            return Err("matches everything; say what it is to match".to_owned());
        }
        Ok(())
    }

    /// Whether it matches all of a text. One that cannot be used matches: it can only tighten then.
    pub fn is_match(&self, text: &str) -> bool {
        let compiled = self.compiled.get_or_init(|| compile(&self.text).ok());
        compiled.as_ref().is_none_or(|regex| regex.is_match(text))
    }
}

fn compile(text: &str) -> Result<Regex, String> {
    build(&format!(r"\A(?:{text})\z"))
}

fn build(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .size_limit(MOST)
        .nest_limit(50)
        // A quoted line feed is a character of a word like any other.
        .dot_matches_new_line(true)
        .build()
        .map_err(|err| format!("cannot be used: {}", last_line(&err.to_string())))
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

/// The longest glob.
const LONGEST_GLOB: usize = 1000;

/// A glob on paths.
#[derive(Clone, Debug)]
pub struct PathGlob {
    glob: Glob,
    /// Of all that is in a folder, the folder itself: who has that has the rest.
    folder: Option<Glob>,
    compiled: Arc<OnceLock<(GlobMatcher, Option<GlobMatcher>)>>,
}

impl PathGlob {
    /// Reads a glob as it is written; a star does not cross folders.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST_GLOB {
            return Err(format!("a glob of {} bytes; {LONGEST_GLOB} are the most", text.len()));
        }
        let build = |text: &str| {
            let glob = GlobBuilder::new(text).literal_separator(true).build();
            glob.map_err(|err| err.to_string())
        };
        let folder = text.strip_suffix("/**").filter(|folder| !folder.is_empty());
        let folder = folder.map(build).transpose()?;
        Ok(Self { glob: build(text)?, folder, compiled: Arc::default() })
    }

    /// A path and no other.
    pub fn exactly(path: &str) -> Result<Self, String> {
        Self::new(&globset::escape(path))
    }

    /// Whether it matches a path.
    pub fn is_match(&self, path: &str) -> bool {
        let (all, folder) = self.compiled.get_or_init(|| {
            (self.glob.compile_matcher(), self.folder.as_ref().map(Glob::compile_matcher))
        });
        all.is_match(path) || folder.as_ref().is_some_and(|folder| folder.is_match(path))
    }

    /// Whether what it is about is below a folder, as far as it is spelt out: who takes the folder away takes that.
    pub fn is_below(&self, folder: &str) -> bool {
        let text = self.glob.glob();
        let spelt = &text[..text.find(['*', '?', '[', '{', '\\']).unwrap_or(text.len())];
        let above = spelt.rfind('/').map_or("", |at| &spelt[..at]);
        let rest = above.strip_prefix(folder);
        !above.is_empty()
            && (folder.is_empty() && !above.starts_with('/')
                || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    }

    /// The globs it is made of.
    pub(super) fn globs(&self) -> impl Iterator<Item = &Glob> {
        std::iter::once(&self.glob).chain(&self.folder)
    }
}
