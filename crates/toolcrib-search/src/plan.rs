//! The query plan of a pattern: the trigrams that every matching line must have, read off the pattern's syntax
//! tree. The plan may ask for too few trigrams, never for one that a matching line lacks.

use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

use crate::trigram::{Trigram, class, of_classes};

/// The trigrams that a file must have to be worth opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Query {
    /// None: any file may match.
    All,
    /// This trigram.
    Trigram(Trigram),
    /// All of these.
    And(Vec<Query>),
    /// One of these.
    Or(Vec<Query>),
}

/// How many strings a set may have before only their first and last bytes are kept.
const MAX_STRINGS: usize = 64;
/// How many members a character class may have to be spelt out.
const MAX_CLASS_MEMBERS: usize = 16;
/// How deep a syntax tree is followed.
const MAX_DEPTH: usize = 200;

/// Strings, as the classes of their bytes.
type Strings = Vec<Vec<u8>>;

/// What is known of the strings that a part of a pattern matches.
#[derive(Clone)]
struct MatchedStrings {
    /// All strings, if they are few.
    exact: Option<Strings>,
    /// How the strings begin and end, if they are not all known. Two bytes are enough, because a trigram has three.
    prefix: Strings,
    suffix: Strings,
    query: Query,
}

/// Returns the trigrams that a file must have for one of its lines to match.
pub(crate) fn plan(hir: &Hir) -> Query {
    let info = analyze(hir, 0).summarize();
    info.query
}

fn analyze(hir: &Hir, depth: usize) -> MatchedStrings {
    if depth > MAX_DEPTH {
        return MatchedStrings::anything();
    }
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => MatchedStrings::exact(vec![Vec::new()]),
        HirKind::Literal(literal) => {
            MatchedStrings::exact(vec![literal.0.iter().copied().map(class).collect()])
        }
        HirKind::Class(set) => {
            members(set).map_or_else(MatchedStrings::anything, MatchedStrings::exact)
        }
        HirKind::Capture(capture) => analyze(&capture.sub, depth + 1),
        HirKind::Repetition(repetition) => repeat(repetition, depth),
        HirKind::Concat(parts) => {
            let mut parts = parts.iter().map(|part| analyze(part, depth + 1));
            let first = parts.next().unwrap_or_else(|| MatchedStrings::exact(vec![Vec::new()]));
            parts.fold(first, MatchedStrings::then)
        }
        HirKind::Alternation(parts) => {
            let mut parts = parts.iter().map(|part| analyze(part, depth + 1));
            let first = parts.next().unwrap_or_else(MatchedStrings::anything);
            parts.fold(first, MatchedStrings::or)
        }
    }
}

fn members(set: &Class) -> Option<Strings> {
    let mut members: Strings = Vec::new();
    let mut add = |bytes: Vec<u8>| {
        if !members.contains(&bytes) {
            members.push(bytes);
        }
        members.len() <= MAX_CLASS_MEMBERS
    };
    match set {
        Class::Unicode(set) => {
            for range in set.ranges() {
                if (range.end() as usize) - (range.start() as usize) > 4 * MAX_CLASS_MEMBERS {
                    return None;
                }
                for c in range.start()..=range.end() {
                    let mut buffer = [0; 4];
                    let bytes = c.encode_utf8(&mut buffer).bytes().map(class).collect();
                    if !add(bytes) {
                        return None;
                    }
                }
            }
        }
        Class::Bytes(set) => {
            for range in set.ranges() {
                for byte in range.start()..=range.end() {
                    if !add(vec![class(byte)]) {
                        return None;
                    }
                }
            }
        }
    }
    (!members.is_empty()).then_some(members)
}

fn repeat(repetition: &Repetition, depth: usize) -> MatchedStrings {
    // The part is analyzed once: analyzing it again on each level of nesting would double the work each time.
    let sub = analyze(&repetition.sub, depth + 1);
    match (repetition.min, repetition.max) {
        (0, Some(1)) => sub.or(MatchedStrings::exact(vec![Vec::new()])),
        (0, _) => MatchedStrings::anything(),
        (1, Some(1)) => sub,
        (min, max) => {
            // Three repetitions in a row say all that trigrams can know.
            let known = min.min(3);
            let mut info = sub.clone();
            for _ in 1..known {
                info = info.then(sub.clone());
            }
            if max != Some(known) {
                // More repetitions may follow, and the text ends as one of them does.
                info = info.then(sub.open());
            }
            info
        }
    }
}

impl MatchedStrings {
    fn exact(strings: Strings) -> Self {
        Self { exact: Some(strings), prefix: Vec::new(), suffix: Vec::new(), query: Query::All }
    }

    fn anything() -> Self {
        Self { exact: None, prefix: vec![Vec::new()], suffix: vec![Vec::new()], query: Query::All }
    }

    /// Keeps only how the strings begin and end; their trigrams go into the query.
    fn summarize(self) -> Self {
        let Some(strings) = self.exact else { return self };
        let query = self.query.and(any_of(&strings));
        let prefix = ends(strings.iter().map(|it| it[..it.len().min(2)].to_vec()));
        let suffix = ends(strings.iter().map(|it| it[it.len().saturating_sub(2)..].to_vec()));
        Self { exact: None, prefix, suffix, query }
    }

    /// Describes an unknown number of repetitions: how they begin is not known, only how they end.
    fn open(self) -> Self {
        let summary = self.summarize();
        Self { exact: None, prefix: vec![Vec::new()], suffix: summary.suffix, query: Query::All }
    }

    fn then(self, next: Self) -> Self {
        if let (Some(a), Some(b)) = (&self.exact, &next.exact)
            && a.len() * b.len() <= MAX_STRINGS
        {
            let query = self.query.and(next.query);
            return Self { query, ..Self::exact(cross(a, b)) };
        }
        let begins = self.exact.clone();
        let ends_in = next.exact.clone();
        let (a, b) = (self.summarize(), next.summarize());
        let mut query = a.query.and(b.query);
        // Trigrams across the border of the two.
        if a.suffix.len() * b.prefix.len() <= MAX_STRINGS {
            query = query.and(any_of(&cross(&a.suffix, &b.prefix)));
        }
        let prefix = match begins {
            Some(strings) if strings.len() * b.prefix.len() <= MAX_STRINGS => ends(
                cross(&strings, &b.prefix).into_iter().map(|it| it[..it.len().min(2)].to_vec()),
            ),
            _ => a.prefix,
        };
        let suffix = match ends_in {
            Some(strings) if strings.len() * a.suffix.len() <= MAX_STRINGS => {
                let whole = cross(&a.suffix, &strings).into_iter();
                ends(whole.map(|it| it[it.len().saturating_sub(2)..].to_vec()))
            }
            _ => b.suffix,
        };
        Self { exact: None, prefix, suffix, query }
    }

    fn or(self, other: Self) -> Self {
        if let (Some(a), Some(b)) = (&self.exact, &other.exact)
            && a.len() + b.len() <= MAX_STRINGS
            && self.query == Query::All
            && other.query == Query::All
        {
            return Self::exact(ends(a.iter().chain(b).cloned()));
        }
        let (a, b) = (self.summarize(), other.summarize());
        let query = match (a.query, b.query) {
            (Query::All, _) | (_, Query::All) => Query::All,
            (Query::Or(mut all), Query::Or(more)) => {
                all.extend(more);
                Query::Or(all)
            }
            (Query::Or(mut all), one) | (one, Query::Or(mut all)) => {
                all.push(one);
                Query::Or(all)
            }
            (a, b) => Query::Or(vec![a, b]),
        };
        let prefix = ends(a.prefix.into_iter().chain(b.prefix));
        let suffix = ends(a.suffix.into_iter().chain(b.suffix));
        Self { exact: None, prefix, suffix, query }
    }
}

/// Sorts a set of strings and removes duplicates; a set that is too large says nothing.
fn ends(strings: impl Iterator<Item = Vec<u8>>) -> Strings {
    let mut strings: Strings = strings.collect();
    strings.sort_unstable();
    strings.dedup();
    if strings.len() > MAX_STRINGS {
        return vec![Vec::new()];
    }
    strings
}

fn cross(a: &Strings, b: &Strings) -> Strings {
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| [a.as_slice(), b.as_slice()].concat()));
    let mut strings: Strings = pairs.collect();
    strings.sort_unstable();
    strings.dedup();
    strings
}

/// Returns the trigrams of a file that contains one of these strings.
fn any_of(strings: &Strings) -> Query {
    let mut alternatives = Vec::with_capacity(strings.len());
    for string in strings {
        let mut trigrams: Vec<Trigram> = string.windows(3).map(of_classes).collect();
        trigrams.sort_unstable();
        trigrams.dedup();
        match trigrams.as_slice() {
            [] => return Query::All,
            [one] => alternatives.push(Query::Trigram(*one)),
            _ => alternatives.push(Query::And(trigrams.into_iter().map(Query::Trigram).collect())),
        }
    }
    match alternatives.len() {
        0 => Query::All,
        1 => alternatives.swap_remove(0),
        _ => Query::Or(alternatives),
    }
}

impl Query {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, other) | (other, Self::All) => other,
            (Self::And(mut all), Self::And(more)) => {
                all.extend(more);
                Self::And(all)
            }
            (Self::And(mut all), one) | (one, Self::And(mut all)) => {
                all.push(one);
                Self::And(all)
            }
            (a, b) => Self::And(vec![a, b]),
        }
    }

    /// Whether a text may match that has the trigrams for which `has` returns true.
    pub(crate) fn admits(&self, has: &dyn Fn(Trigram) -> bool) -> bool {
        match self {
            Self::All => true,
            Self::Trigram(trigram) => has(*trigram),
            Self::And(all) => all.iter().all(|query| query.admits(has)),
            Self::Or(any) => any.iter().any(|query| query.admits(has)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use grep_matcher::Matcher;
    use toolcrib_core::search::Pattern;

    use super::*;
    use crate::pattern::Patterns;
    use crate::trigram::trigram;

    fn trigrams(text: &str) -> HashSet<Trigram> {
        text.as_bytes().windows(3).map(trigram).collect()
    }

    fn planned(text: &str, ignores_case: bool) -> Query {
        let pattern = Pattern { text: text.to_owned(), is_literal: false, ignores_case };
        Patterns::default().compile(&pattern).unwrap().query.clone()
    }

    #[track_caller]
    fn check(pattern: &str, has: &str, lacks: &[&str]) {
        let query = planned(pattern, false);
        let known = trigrams(has);
        assert!(query.admits(&|trigram| known.contains(&trigram)), "{pattern}: {query:?}");
        for text in lacks {
            let known = trigrams(text);
            assert!(
                !query.admits(&|trigram| known.contains(&trigram)),
                "{pattern} in {text}: {query:?}"
            );
        }
    }

    #[test]
    fn a_plan_asks_for_what_must_be_there() {
        check("hello", "say Hello", &["help", "hell yell"]);
        check(r"fn\s+\w+_handler", "fn my_handler", &["fn my_handle", "handler"]);
        check("(abc|xyz)123", "xyz123", &["abc 123", "xyz12"]);
        check("a[bc]de", "acde", &["ade", "axde"]);
        check("(abc)+d", "abcabcd", &["abc d"]);
        check("colou?r_table", "color_table", &["colour table"]);
        check(r"\bmutex\b", "mutex", &["mute"]);
        check("foo.*barbaz", "foo then barbaz", &["foo then bar", "barbaz"]);
    }

    #[test]
    fn a_plan_that_knows_nothing_asks_for_nothing() {
        for pattern in ["a.b", "..", r"\w+", "(abc)?", "abc|", "[a-z]{3}", "ab"] {
            assert_eq!(planned(pattern, false), Query::All, "{pattern}");
        }
    }

    #[test]
    fn letters_that_fold_into_ascii_are_not_forgotten() {
        let query = planned("kelvin", true);
        let known = trigrams("\u{212a}elvin");
        assert!(query.admits(&|trigram| known.contains(&trigram)), "{query:?}");
        let known = trigrams("celvin");
        assert!(!query.admits(&|trigram| known.contains(&trigram)));
    }

    #[test]
    fn nested_repetitions_are_planned_in_no_time() {
        let nested = format!("{}x{}", "(".repeat(60), "+)".repeat(60));
        let start = std::time::Instant::now();
        assert_eq!(planned(&nested, false), Query::All);
        planned(&format!("abc{}", "+".repeat(60)), false);
        assert!(start.elapsed() < std::time::Duration::from_secs(10));
    }

    /// A generator of pseudo-random numbers, the same on every run.
    struct Chance(u64);

    impl Chance {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            self.0 % limit
        }

        fn pattern(&mut self, depth: u64) -> String {
            let letters = ["a", "b", "s", "k", "ab", "bak", "S", "é", "_"];
            match self.below(if depth > 3 { 2 } else { 9 }) {
                0 | 1 => letters[self.below(9) as usize].to_owned(),
                2 => format!("{}{}", self.pattern(depth + 1), self.pattern(depth + 1)),
                3 => format!("({}|{})", self.pattern(depth + 1), self.pattern(depth + 1)),
                4 => format!(
                    "({}){}",
                    self.pattern(depth + 1),
                    ["*", "+", "?", "{2}", "{2,}", "{1,4}"][self.below(6) as usize]
                ),
                5 => ["[ab]", "[^a]", ".", r"\w", "[a-k]", "[sk_]"][self.below(6) as usize]
                    .to_owned(),
                6 => format!(r"\b{}", self.pattern(depth + 1)),
                7 => format!("(?i:{})", self.pattern(depth + 1)),
                _ => format!(
                    "{}{}{}",
                    self.pattern(depth + 1),
                    self.pattern(depth + 1),
                    self.pattern(depth + 1)
                ),
            }
        }

        fn text(&mut self) -> String {
            let letters = ["a", "b", "s", "k", "A", "S", "K", "\u{212a}", "ſ", "é", "_", " "];
            (0..self.below(24)).map(|_| letters[self.below(12) as usize]).collect()
        }
    }

    #[test]
    fn what_matches_is_always_admitted() {
        thread::scope(|scope| {
            for seed in [0x9e37_79b9_7f4a_7c15, 0x2545_f491_4f6c_dd1d] {
                scope.spawn(move || check_many(Chance(seed)));
            }
        });
    }

    /// Compares the plans of a thousand patterns with what the patterns match.
    fn check_many(mut chance: Chance) {
        let (mut matched, mut refused) = (0, 0);
        for _ in 0..1000 {
            let text = chance.pattern(0);
            let pattern = Pattern {
                text: text.clone(),
                is_literal: false,
                ignores_case: chance.below(2) == 0,
            };
            let Ok(compiled) = Patterns::default().compile(&pattern) else { continue };
            let query = &compiled.query;
            for _ in 0..8 {
                let line = chance.text();
                let known = trigrams(&line);
                let is_admitted = query.admits(&|trigram| known.contains(&trigram));
                refused += u32::from(!is_admitted);
                if compiled.matcher.is_match(line.as_bytes()).unwrap() {
                    matched += 1;
                    assert!(is_admitted, "`{text}` in `{line}`: {query:?}");
                }
            }
        }
        assert!(matched > 500 && refused > 500, "{matched} matched, {refused} refused");
    }
}
