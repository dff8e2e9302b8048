//! The words of a pattern: the parts of it that can only match within one word of a line. The index of words says which
//! lines have such a word.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use memchr::memmem::Finder;
use regex_syntax::hir::{Class, ClassUnicodeRange, Hir, HirKind, Look};

use crate::plan::{Query, plan};

/// Whether a byte belongs to words. Every byte beyond ASCII does, so that no character is divided, and so that every
/// letter that equals an ASCII letter in another case is in a word.
pub(crate) const fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What the lines that a pattern matches must have in their words.
pub(crate) struct WordPlan {
    /// For each part, a word of the line must match it.
    pub(crate) parts: Vec<WordPart>,
    /// Whether the only part is the whole pattern, so that every line with such a word matches.
    pub(crate) is_exact: bool,
}

/// A part of a pattern that matches within one word.
pub(crate) struct WordPart {
    pub(crate) matcher: WordMatcher,
    /// The trigrams that such a word must have.
    pub(crate) query: Query,
}

/// Matches words.
pub(crate) enum WordMatcher {
    /// Words that have a literal text. Compiling a regular expression would take longer than finding the words.
    Literal(Box<LiteralPart>),
    Regex(RegexMatcher),
}

/// A literal text in a word.
pub(crate) struct LiteralPart {
    pub(crate) finder: Finder<'static>,
    edges: WordEdges,
}

/// Which edges of a word a part of a pattern is at.
#[derive(Clone, Copy, Default)]
struct WordEdges {
    /// Whether the word begins with the part, or a character beyond ASCII stands before it.
    is_at_start: bool,
    /// Whether the word ends with the part, or such a character stands after it.
    is_at_end: bool,
}

impl LiteralPart {
    /// Whether a word matches that has the text.
    pub(crate) fn admits(&self, word: &[u8]) -> bool {
        let length = self.finder.needle().len();
        let is_end = |byte: Option<&u8>| byte.is_none_or(|byte| !byte.is_ascii());
        let is_match = |at: usize| {
            let before = at.checked_sub(1).and_then(|before| word.get(before));
            (!self.edges.is_at_start || is_end(before))
                && (!self.edges.is_at_end || is_end(word.get(at + length)))
        };
        let mut from = 0;
        while let Some(at) = self.finder.find(&word[from..]) {
            if is_match(from + at) {
                return true;
            }
            from += at + 1;
        }
        false
    }

    /// Whether every word matches that has the text.
    pub(crate) fn admits_all(&self) -> bool {
        !self.edges.is_at_start && !self.edges.is_at_end
    }
}

/// Returns the plan for a pattern, if its words say anything about its lines. A word of fewer than three characters
/// says nothing: it has no trigram, so that finding it would take a look at all words.
pub(crate) fn word_plan(hir: &Hir, matcher: &RegexMatcher) -> Option<WordPlan> {
    if is_within_word(hir) {
        let query = plan(hir);
        let literal = literal(hir, WordEdges::default());
        let matcher = literal.unwrap_or_else(|| WordMatcher::Regex(matcher.clone()));
        let part = WordPart { matcher, query };
        return (part.query != Query::All).then(|| WordPlan { parts: vec![part], is_exact: true });
    }
    let mut runs = WordRuns::default();
    runs.add(hir);
    runs.end(Gap::Unsure);
    let parts: Vec<WordPart> = runs.done.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then_some(WordPlan { parts, is_exact: false })
}

/// The runs of a pattern that match within one word.
#[derive(Default)]
struct WordRuns {
    done: Vec<WordRun>,
    current: WordRun,
}

/// Parts of a pattern in a row that match within one word.
#[derive(Default)]
struct WordRun {
    parts: Vec<Hir>,
    /// Whether a character that is no ASCII word character stands before the run.
    is_after_gap: bool,
    /// Whether such a character stands after it.
    is_before_gap: bool,
}

/// Whether a part of a pattern matches at least one character, and none that is an ASCII word character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    Sure,
    Unsure,
}

impl WordRuns {
    fn add(&mut self, hir: &Hir) {
        if is_within_word(hir) {
            self.current.parts.push(hir.clone());
            return;
        }
        match hir.kind() {
            HirKind::Literal(literal) => {
                for piece in literal.0.chunk_by(|a, b| is_word_byte(*a) == is_word_byte(*b)) {
                    if is_word_byte(piece[0]) {
                        self.current.parts.push(Hir::literal(piece));
                    } else {
                        self.end(Gap::Sure);
                    }
                }
            }
            HirKind::Capture(capture) => self.add(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            // What else is in a pattern may match anything, or need not be there.
            HirKind::Empty
            | HirKind::Class(_)
            | HirKind::Look(_)
            | HirKind::Repetition(_)
            | HirKind::Alternation(_) => self.end(gap(hir)),
        }
    }

    fn end(&mut self, gap: Gap) {
        let is_after_gap = gap == Gap::Sure;
        let next = WordRun { is_after_gap, ..WordRun::default() };
        let mut run = std::mem::replace(&mut self.current, next);
        run.is_before_gap = is_after_gap;
        self.done.push(run);
    }
}

fn gap(hir: &Hir) -> Gap {
    let is_word = |byte: u8| byte.is_ascii() && is_word_byte(byte);
    match hir.kind() {
        HirKind::Class(set) => {
            let is_gap = match set {
                Class::Unicode(set) => {
                    let start = |range: &ClassUnicodeRange| u8::try_from(range.start()).ok();
                    let ranges = set.ranges().iter();
                    let mut ranges = ranges.filter_map(|range| Some((start(range)?, range.end())));
                    ranges.all(|(start, end)| {
                        !(start..=u8::try_from(end).unwrap_or(u8::MAX)).any(is_word)
                    })
                }
                Class::Bytes(set) => {
                    set.ranges().iter().all(|it| !(it.start()..=it.end()).any(is_word))
                }
            };
            if is_gap { Gap::Sure } else { Gap::Unsure }
        }
        HirKind::Repetition(repetition) if repetition.min > 0 => gap(&repetition.sub),
        HirKind::Capture(capture) => gap(&capture.sub),
        HirKind::Empty
        | HirKind::Literal(_)
        | HirKind::Look(_)
        | HirKind::Repetition(_)
        | HirKind::Concat(_)
        | HirKind::Alternation(_) => Gap::Unsure,
    }
}

/// Makes a part of a run, if the run has a trigram.
fn part(run: WordRun) -> Option<WordPart> {
    // What is repeated at an end, such as `\w+`, rules out next to nothing and takes long to compile.
    let is_repeated = |hir: &Hir| matches!(hir.kind(), HirKind::Repetition(_));
    let WordRun { mut parts, is_after_gap, is_before_gap } = run;
    let length = parts.len();
    while parts.pop_if(|last| is_repeated(last)).is_some() {}
    let is_at_end = is_before_gap && parts.len() == length;
    let first = parts.iter().position(|hir| !is_repeated(hir)).unwrap_or(parts.len());
    let is_at_start = is_after_gap && first == 0;
    let hir = Hir::concat(parts.split_off(first));
    let query = plan(&hir);
    if query == Query::All {
        return None;
    }
    let edges = WordEdges { is_at_start, is_at_end };
    let matcher = literal(&hir, edges).or_else(|| regex(&hir, edges))?;
    Some(WordPart { matcher, query })
}

fn literal(hir: &Hir, edges: WordEdges) -> Option<WordMatcher> {
    let HirKind::Literal(text) = hir.kind() else { return None };
    let finder = Finder::new(&text.0).into_owned();
    Some(WordMatcher::Literal(Box::new(LiteralPart { finder, edges })))
}

fn regex(hir: &Hir, edges: WordEdges) -> Option<WordMatcher> {
    // A character of the gap ends the word, unless it is beyond ASCII.
    let before = if edges.is_at_start { r"(?:^|(?-u:[\x80-\xff]))" } else { "" };
    let after = if edges.is_at_end { r"(?:$|(?-u:[\x80-\xff]))" } else { "" };
    let mut builder = RegexMatcherBuilder::new();
    let builder = builder.line_terminator(Some(b'\n')).multi_line(true).unicode(true);
    builder.build(&format!("{before}(?:{hir}){after}")).ok().map(WordMatcher::Regex)
}

/// Whether every match of a pattern lies within one word, whatever stands around the word.
fn is_within_word(hir: &Hir) -> bool {
    match hir.kind() {
        HirKind::Empty => true,
        HirKind::Literal(literal) => literal.0.iter().copied().all(is_word_byte),
        HirKind::Class(Class::Unicode(set)) => {
            let ranges = set.ranges().iter();
            ranges.filter_map(|range| Some((u8::try_from(range.start()).ok()?, range.end()))).all(
                |(start, end)| (start..=u8::try_from(end).unwrap_or(u8::MAX)).all(is_word_byte),
            )
        }
        HirKind::Class(Class::Bytes(set)) => {
            set.ranges().iter().all(|range| (range.start()..=range.end()).all(is_word_byte))
        }
        // Only what is in the word, or next to it, decides whether these match.
        HirKind::Look(look) => matches!(
            look,
            Look::WordAscii
                | Look::WordAsciiNegate
                | Look::WordUnicode
                | Look::WordUnicodeNegate
                | Look::WordStartAscii
                | Look::WordEndAscii
                | Look::WordStartUnicode
                | Look::WordEndUnicode
                | Look::WordStartHalfAscii
                | Look::WordEndHalfAscii
                | Look::WordStartHalfUnicode
                | Look::WordEndHalfUnicode
        ),
        HirKind::Repetition(repetition) => is_within_word(&repetition.sub),
        HirKind::Capture(capture) => is_within_word(&capture.sub),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(is_within_word),
    }
}

#[cfg(test)]
mod tests {
    use grep_matcher::Matcher;
    use toolcrib_core::search::Pattern;

    use super::*;
    use crate::pattern::Patterns;

    /// Describes the plan of a pattern: the parts, and whether it is exact.
    fn planned(text: &str, ignores_case: bool) -> Option<(usize, bool)> {
        let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case };
        let compiled = Patterns::default().compile(&pattern).unwrap();
        compiled.words.as_ref().map(|plan| (plan.parts.len(), plan.is_exact))
    }

    #[test]
    fn a_pattern_within_one_word_is_answered_by_words_alone() {
        for text in
            ["hello", r"\bhello\b", r"\w+_handler", "(foo|bar)baz", "h\u{e9}llo", "[A-Z]oo_bar"]
        {
            assert_eq!(planned(text, false), Some((1, true)), "{text}");
            assert_eq!(planned(text, true), Some((1, true)), "{text}");
        }
    }

    #[test]
    fn other_patterns_name_words_that_their_lines_must_have() {
        for (text, parts) in [
            (r"error\W+return", 2),
            (r"fn\s+\w+_handler", 1),
            ("errors.New(\"not found", 4),
            ("^package main$", 2),
            ("(use std)::io", 2),
            ("foo.*bar", 2),
            ("end ", 1),
        ] {
            assert_eq!(
                planned(&text.replace('(', r"\(").replace(r"\(use std)", "(use std)"), false),
                Some((parts, false)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_gap_says_where_words_begin_and_end() {
        let check = |text: &str, line: &str, expect: bool| {
            let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case: false };
            let compiled = Patterns::default().compile(&pattern).unwrap();
            assert_eq!(admits(compiled.words.as_ref().unwrap(), line), expect, "{text} in {line}");
        };
        for text in [r"error\W+return", r"error\s+return", "error return", r"(err|t)or\W+ret\w+"] {
            check(text, "my_error = returns", true);
            check(text, "my_error\u{2014}returns", true);
            check(text, "errors = returns", false);
            check(text, "error = myreturn", false);
        }
        for text in [r"error\W*return", "error.return", r"error\b.*return"] {
            check(text, "error = myreturn", true);
        }
    }

    #[test]
    fn a_pattern_that_may_match_without_a_word_names_none() {
        for text in ["ab", r"\w+", "a.b", "(foo )?", "foo |bar", "(foo )*", "", "^$", "[^a]bc"] {
            assert_eq!(planned(text, false), None, "{text}");
        }
    }

    /// A generator of pseudo-random numbers, the same on every run.
    struct PatternChance(u64);

    impl PatternChance {
        fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            from[(self.0 % from.len() as u64) as usize]
        }

        fn text(&mut self, from: &[&str], length: usize) -> String {
            (0..length).map(|_| self.pick(from)).collect()
        }
    }

    /// Whether the words of a line are those that a plan asks for.
    fn admits(plan: &WordPlan, line: &str) -> bool {
        let words: Vec<&[u8]> = line.as_bytes().split(|byte| !is_word_byte(*byte)).collect();
        let is_match = |part: &WordPart, word: &[u8]| match &part.matcher {
            WordMatcher::Literal(literal) => literal.admits(word),
            WordMatcher::Regex(matcher) => matcher.is_match(word).unwrap(),
        };
        plan.parts.iter().all(|part| words.iter().any(|word| is_match(part, word)))
    }

    #[test]
    fn lines_that_match_have_the_words() {
        const PIECES: [&str; 20] = [
            "abc",
            "foo",
            "(abc|foo)",
            r"\b",
            r"\B",
            r"\w+",
            r"\W",
            r"\s+",
            ".",
            "a?",
            "(?i:mask)",
            "é",
            "_",
            "[a-c]oo",
            "[^a]",
            " ",
            "-",
            "(foo)+",
            "^",
            "$",
        ];
        const LETTERS: [&str; 18] = [
            "abc",
            "foo",
            "fooabc",
            "boo",
            "MASK",
            "ma\u{17f}\u{212a}",
            "é",
            "_",
            " ",
            " ",
            "-",
            "ä\u{300}",
            "a",
            "\r",
            "日",
            "\u{2014}",
            "=",
            "1",
        ];
        let mut numbers = PatternChance(0x9e37_79b9_7f4a_7c15);
        let (mut matched, mut refused, mut exact) = (0, 0, 0);
        for _ in 0..3000 {
            let text = numbers.text(&PIECES, 4);
            let pattern = Pattern { text, is_literal: false, ignores_case: false };
            let Ok(compiled) = Patterns::default().compile(&pattern) else { continue };
            let Some(plan) = &compiled.words else { continue };
            for _ in 0..12 {
                let line = numbers.text(&LETTERS, 5);
                let is_match = compiled.matcher.is_match(line.as_bytes()).unwrap();
                let is_admitted = admits(plan, &line);
                assert!(is_admitted || !is_match, "{pattern:?} in {line:?}");
                if plan.is_exact {
                    assert_eq!(is_admitted, is_match, "{pattern:?} in {line:?}");
                    exact += u32::from(is_match);
                }
                matched += u32::from(is_match);
                refused += u32::from(!is_admitted);
            }
        }
        assert!(matched > 200 && refused > 500 && exact > 50, "{matched}, {refused}, {exact}");
    }
}
