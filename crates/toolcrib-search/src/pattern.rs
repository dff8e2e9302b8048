//! Patterns: compiled from what a caller wrote, or refused with the position of the fault.

use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex_syntax::hir::{Hir, Look};
use regex_syntax::{ParserBuilder, escape};
use toolcrib_core::search::Pattern;
use toolcrib_core::{ErrorKind, ToolError};

use crate::plan::{Query, plan};
use crate::word_plan::{WordPlan, word_plan};

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 64 << 10;

/// The most memory for a compiled pattern.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// The most memory for the states that matching adds.
const MAX_DFA_BYTES: usize = 4 << 20;

/// A compiled pattern.
pub(crate) struct Compiled {
    pub(crate) matcher: RegexMatcher,
    /// The trigrams that a file must have to be worth opening.
    pub(crate) query: Query,
    /// The words that a line must have to match.
    pub(crate) words: Option<WordPlan>,
    /// Whether every line matches, so that counting lines is enough.
    pub(crate) is_every_line: bool,
    /// What ends a line for this pattern.
    pub(crate) line_end: LineEnd,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineEnd {
    /// A line feed. A carriage return before it is a character of the line.
    LineFeed,
    /// A line feed, or a carriage return and a line feed: `$` matches before both.
    Either,
}

/// How many compiled patterns are cached: a question is checked, then run, then asked for its next page.
const CACHED_PATTERNS: usize = 4;

/// A cache of compiled patterns, the most recently used last.
#[derive(Default)]
pub(crate) struct Patterns(Mutex<Vec<(Pattern, Arc<Compiled>)>>);

impl Patterns {
    /// Compiles a pattern, or takes it from the cache.
    pub(crate) fn compile(&self, pattern: &Pattern) -> Result<Arc<Compiled>, ToolError> {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = kept.iter().position(|(known, _)| known == pattern) {
            let entry = kept.remove(at);
            let compiled = Arc::clone(&entry.1);
            kept.push(entry);
            return Ok(compiled);
        }
        drop(kept);
        let compiled = Arc::new(compile(pattern)?);
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == CACHED_PATTERNS {
            kept.remove(0);
        }
        kept.push((pattern.clone(), Arc::clone(&compiled)));
        Ok(compiled)
    }
}

/// Parses a pattern into its syntax tree.
fn parse(pattern: &Pattern) -> Result<Hir, ToolError> {
    let text = &pattern.text;
    if text.len() > MAX_PATTERN_BYTES {
        let message = format!(
            "The pattern is {} bytes long, and the limit is {MAX_PATTERN_BYTES}",
            text.len()
        );
        return Err(ToolError::new(ErrorKind::BadRegex, message)
            .hint("search for a shorter part of the text"));
    }
    if text.contains('\0') {
        let message = "The pattern contains a NUL byte, which no text file has";
        return Err(ToolError::new(ErrorKind::BadRegex, message).hint("remove the NUL byte"));
    }
    if pattern.is_literal && text.contains('\n') {
        return Err(line_break());
    }
    let source = if pattern.is_literal { escape(text) } else { text.clone() };
    ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .case_insensitive(pattern.ignores_case)
        .build()
        .parse(&source)
        .map_err(|err| refuse(text, &err))
}

fn compile(pattern: &Pattern) -> Result<Compiled, ToolError> {
    let hir = parse(pattern)?;
    let properties = hir.properties();
    let is_every_line = properties.minimum_len() == Some(0) && properties.look_set().is_empty();
    let compiled = |matcher: RegexMatcher, line_end: LineEnd| Compiled {
        query: plan(&hir),
        words: word_plan(&hir, &matcher),
        matcher,
        is_every_line,
        line_end,
    };
    // Lines are shown without their carriage return, so `$` must not need one. A pattern that names carriage returns
    // cannot be compiled like this, and means them.
    if properties.look_set().contains(Look::EndLF)
        && let Ok(matcher) = matcher(pattern, LineEnd::Either)
    {
        return Ok(compiled(matcher, LineEnd::Either));
    }
    let matcher = matcher(pattern, LineEnd::LineFeed).map_err(|err| match err.kind() {
        grep_regex::ErrorKind::NotAllowed(_) | grep_regex::ErrorKind::Banned(_) => line_break(),
        _ => ToolError::new(
            ErrorKind::BadRegex,
            "The pattern is too large: it would take more than 10 MB of memory",
        )
        .hint("use smaller counts in `{m,n}`, fewer alternatives, or `[A-Za-z0-9_]` for `\\w`"),
    })?;
    Ok(compiled(matcher, LineEnd::LineFeed))
}

fn matcher(pattern: &Pattern, line_end: LineEnd) -> Result<RegexMatcher, grep_regex::Error> {
    let mut builder = RegexMatcherBuilder::new();
    match line_end {
        LineEnd::LineFeed => builder.line_terminator(Some(b'\n')),
        LineEnd::Either => builder.crlf(true),
    };
    builder
        .multi_line(true)
        .unicode(true)
        .octal(false)
        .fixed_strings(pattern.is_literal)
        .case_insensitive(pattern.ignores_case)
        .ban_byte(Some(0))
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_DFA_BYTES)
        .build(&pattern.text)
}

fn line_break() -> ToolError {
    ToolError::new(
        ErrorKind::BadRegex,
        "The pattern contains a line break, and a search goes line by line",
    )
    .hint("search for the text of one line")
}

fn refuse(text: &str, err: &regex_syntax::Error) -> ToolError {
    let (what, span) = match err {
        regex_syntax::Error::Parse(err) => (err.kind().to_string(), *err.span()),
        regex_syntax::Error::Translate(err) => (err.kind().to_string(), *err.span()),
        _ => return ToolError::new(ErrorKind::BadRegex, "Invalid regex pattern"),
    };
    let at = text.get(..span.start.offset).map_or(1, |before| before.chars().count() + 1);
    let message = format!("Invalid regex pattern: {what}");
    let mut hint = format!("the error is at character {at}");
    if let Some(found) = text.get(span.start.offset..span.end.offset).filter(|it| !it.is_empty()) {
        let found: String = found.chars().take(40).collect();
        let _ = write!(hint, ", `{found}`");
    }
    // A pattern with an unbalanced bracket was most likely meant as literal text.
    let literal = escape(text);
    let is_beyond = what.contains("look-around") || what.contains("backreferences");
    if is_beyond {
        hint.push_str("; use a broader pattern and filter the results yourself");
    } else if literal.len() <= 200 {
        let _ = write!(hint, "; to search for this text literally, use `{literal}`");
    }
    ToolError::new(ErrorKind::BadRegex, message).hint(hint).with("position", at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(text: &str) -> Pattern {
        Pattern { text: text.to_owned(), is_literal: false, ignores_case: false }
    }

    #[track_caller]
    fn check(text: &str, message: &str, hint: &str) {
        let err = compile(&regex(text)).err().unwrap();
        assert_eq!(err.message, message);
        assert_eq!(err.hint.unwrap(), hint);
    }

    #[test]
    fn faults_are_named_with_their_place_and_a_way_out() {
        check(
            "foo(bar",
            "Invalid regex pattern: unclosed group",
            "the error is at character 4, `(`; to search for this text literally, use `foo\\(bar`",
        );
        check(
            "é[z-a]",
            "Invalid regex pattern: invalid character class range, the start must be <= the end",
            "the error is at character 3, `z-a`; to search for this text literally, use `é\\[z\\-a\\]`",
        );
        assert!(compile(&regex("a\\nb")).err().unwrap().message.contains("line break"));
        assert!(compile(&regex("\\w{1,900}x")).err().unwrap().message.contains("too large"));
        assert!(compile(&regex("(?i)mutex|[a-f]+$")).is_ok());
    }

    #[test]
    fn a_dollar_needs_no_carriage_return_unless_the_pattern_names_one() {
        let line_end = |text: &str| compile(&regex(text)).unwrap().line_end;
        for text in ["hello$", "^$", r"a|b$", r"\s$"] {
            assert_eq!(line_end(text), LineEnd::Either, "{text}");
        }
        for text in ["hello", r"a\$", "[$]", r"hello\r$", r"a\z", "^a"] {
            assert_eq!(line_end(text), LineEnd::LineFeed, "{text}");
        }
    }

    #[test]
    fn text_is_taken_as_it_stands() {
        let text = Pattern { text: "foo(".to_owned(), is_literal: true, ignores_case: false };
        assert!(compile(&text).is_ok());
        let text = Pattern { text: "a\nb".to_owned(), is_literal: true, ignores_case: false };
        assert!(compile(&text).is_err());
    }
}
