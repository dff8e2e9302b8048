//! Patterns and globs, which are compiled when they are first used: most rules never apply to a call.

use std::borrow::Cow;
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
            Self::MatchesEverything => f.write_str("matches everything; make it more specific"),
            Self::BadGlob(why) => f.write_str(why),
            Self::LongGlob(bytes) => {
                write!(f, "the glob has {bytes} bytes, but the limit is {LONGEST_GLOB_BYTES}")
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

    /// Returns the pattern as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
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
    RegexBuilder::new(&escape_plain_braces(text))
        .size_limit(MOST_COMPILED_BYTES)
        .nest_limit(50)
        // A quoted line feed is a character of a word like any other.
        .dot_matches_new_line(true)
        .build()
        .map_err(|err| PatternError::Unusable(last_line(&err.to_string()).to_owned()))
}

/// Returns a pattern with a backslash before each brace that can only be an ordinary character. Arguments are JSON, and
/// people write its braces as they are.
fn escape_plain_braces(text: &str) -> Cow<'_, str> {
    if !text.contains('{') {
        return text.into();
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    let mut rest = text;
    let mut can_repeat = false;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\\' => escape_len(rest),
            '{' if can_repeat => repetition_len(rest).unwrap_or(0),
            '{' => 0,
            _ => c.len_utf8(),
        };
        if taken == 0 {
            escaped.push_str("\\{");
        }
        escaped.push_str(&rest[..taken]);
        can_repeat = !matches!(c, '(' | '|' | '^');
        rest = &rest[taken.max(1)..];
    }
    escaped.into()
}

/// Returns how long the escape is that a text begins with, its braces included: `\.`, `\p{Greek}`, `\b{start}`.
fn escape_len(text: &str) -> usize {
    const WORD_EDGES: [&str; 4] = ["{start}", "{end}", "{start-half}", "{end-half}"];
    let mut chars = text.chars();
    let escaped = chars.by_ref().nth(1);
    let len = text.len() - chars.as_str().len();
    let rest = chars.as_str();
    let has_braces = match escaped {
        Some('p' | 'P' | 'x' | 'u' | 'U') => rest.starts_with('{'),
        Some('b') => WORD_EDGES.iter().any(|edge| rest.starts_with(edge)),
        _ => false,
    };
    let braces = rest.find('}').filter(|_| has_braces).map_or(0, |end| end + 1);
    len + braces
}

/// Returns how long the repetition is that a text begins with: `{3}`, `{3,}` or `{3,5}`.
fn repetition_len(text: &str) -> Option<usize> {
    let (counts, _) = text.strip_prefix('{')?.split_once('}')?;
    let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!least.is_empty() && is_number(least) && is_number(most)).then_some(counts.len() + 2)
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

    /// Returns the glob as it is written.
    pub fn as_str(&self) -> &str {
        self.glob.glob()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, matched: &[&str], spared: &[&str]) {
        let pattern = Pattern::new(pattern);
        assert_eq!(pattern.check(), Ok(()), "{}", pattern.text);
        for text in matched {
            assert!(pattern.is_match(text), "{} matches {text}", pattern.text);
        }
        for text in spared {
            assert!(!pattern.is_match(text), "{} spares {text}", pattern.text);
        }
    }

    #[test]
    fn a_brace_that_cannot_repeat_anything_is_a_brace() {
        let json = [r#"{"path":"test.txt"}"#];
        check(r#"^{"path":".*\.txt"}$"#, &json, &[r#"{"path":"test_txt"}"#, r#""path":"a.txt""#]);
        check(r#"{"path":".*\.txt"}"#, &json, &[]);
        check(r#"({"path":".*"}|{"none":1})"#, &[json[0], r#"{"none":1}"#], &["{}"]);
        check(r"^{3}$", &["{3}"], &["", "333"]);
        check(r#"{"a":{"b":[{]}}"#, &[r#"{"a":{"b":{}}"#], &[]);
        check(r"a{,2}", &["a{,2}"], &["aa"]);
        check(r"\{a}", &["{a}"], &[]);
    }

    #[test]
    fn repetitions_and_escapes_with_braces_stay_what_they_are() {
        check(r"a{2}", &["aa"], &["a", "a{2}"]);
        check(r"(ab){2,}", &["abab", "ababab"], &["ab"]);
        check(r"\({1,2}", &["(", "(("], &["((("]);
        check(r"\p{Greek}{2}", &["αβ"], &["α", "ab"]);
        check(r"\x{61}\u{62}", &["ab"], &[]);
        check(r"\b{start}a\b{end}", &["a"], &["b"]);
        check(r"\b{", &[], &["{"]);
        check(r"é{2}", &["éé"], &["é"]);
    }

    #[test]
    fn what_is_no_pattern_is_refused_as_before() {
        for pattern in ["(a", "a{99999999}", r"\p{Nonsense}", r"\"] {
            let checked = Pattern::new(pattern).check();
            assert!(matches!(checked, Err(PatternError::Unusable(_))), "{pattern}: {checked:?}");
        }
    }
}
