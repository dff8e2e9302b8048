//! Ids as people type and read them: any beginning that fits only one.

use std::fmt::Write as _;

use toolcrib_core::escape;

use crate::exit::Exit;
use crate::terminal::Terminal;

/// The fewest characters of an id that are looked for. Fewer say too little about what is meant.
const FEWEST_TYPED_CHARS: usize = 4;

/// The fewest characters of an id that a list shows. The first ten of a call id are its time in milliseconds.
const FEWEST_SHOWN_CHARS: usize = 10;

/// How many characters of a call's id a hint has: the time in milliseconds, and two random ones.
const HINTED_CHARS: usize = FEWEST_SHOWN_CHARS + 2;

/// The most candidates that an ambiguous id lists.
const MOST_CANDIDATES: usize = 10;

/// Something that an id can mean.
pub(super) struct Candidate<T> {
    pub(super) id: String,
    /// When it was, as people are shown it.
    pub(super) at: String,
    /// What it was, in one line.
    pub(super) what: String,
    pub(super) item: T,
}

/// What the ids of a kind are ids of.
#[derive(Clone, Copy)]
pub(super) struct IdNoun {
    pub(super) one: &'static str,
    pub(super) many: &'static str,
    /// The command that lists them.
    pub(super) listed_by: &'static str,
}

/// Why an id does not mean one thing.
#[derive(Debug)]
pub(super) struct IdError {
    /// What is wrong, for programs.
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) hint: String,
    /// A line for each thing that the id could mean.
    candidates: Vec<String>,
}

impl IdError {
    /// The code of the error for an id that nothing has.
    pub(super) const NOT_FOUND: &str = "not_found";

    /// Makes the error for a list in which there is nothing to choose.
    pub(super) fn none(noun: IdNoun, message: &str) -> Self {
        let hint = format!("`{}` lists the {}", noun.listed_by, noun.many);
        Self { code: Self::NOT_FOUND, message: message.to_owned(), hint, candidates: Vec::new() }
    }

    /// Returns the error with another hint.
    pub(super) fn hint(self, hint: String) -> Self {
        Self { hint, ..self }
    }

    /// Makes the error for an id that nothing has.
    pub(super) fn unknown(noun: IdNoun, given: &str) -> Self {
        Self::none(noun, &format!("there is no {} `{}`", noun.one, escape::line(given)))
    }

    /// Tells a person. Returns how the process ends.
    pub(super) fn tell(&self, terminal: Terminal) -> Exit {
        let mut message = self.message.clone();
        for line in &self.candidates {
            let _ = write!(message, "\n       {line}");
        }
        terminal.fail_in_lines(&message, Some(&self.hint));
        Exit::Failed
    }
}

/// Returns the only candidate whose id is, or begins with, the given text, in upper or lower case.
pub(super) fn find<T>(
    noun: IdNoun,
    given: &str,
    all: impl IntoIterator<Item = Candidate<T>>,
) -> Result<Candidate<T>, IdError> {
    if given.chars().count() < FEWEST_TYPED_CHARS {
        let message = format!("`{}` is too short for an id", escape::line(given));
        return Err(IdError {
            code: "bad_id",
            message,
            hint: format!(
                "type at least {FEWEST_TYPED_CHARS} characters of it; `{}` lists the {}",
                noun.listed_by, noun.many
            ),
            candidates: Vec::new(),
        });
    }
    let mut fitting: Vec<Candidate<T>> = Vec::new();
    for candidate in all {
        if candidate.id.eq_ignore_ascii_case(given) {
            return Ok(candidate);
        }
        if begins_with(&candidate.id, given) {
            fitting.push(candidate);
        }
    }
    if fitting.len() > 1 {
        return Err(ambiguous(noun, given, &fitting));
    }
    fitting.pop().ok_or_else(|| IdError::unknown(noun, given))
}

/// Returns whether an id begins with this text, in upper or lower case.
pub(super) fn begins_with(id: &str, given: &str) -> bool {
    id.get(..given.len()).is_some_and(|head| head.eq_ignore_ascii_case(given))
}

fn ambiguous<T>(noun: IdNoun, given: &str, fitting: &[Candidate<T>]) -> IdError {
    let ids = ShortIds::of(fitting.iter().map(|it| it.id.as_str()));
    let mut candidates: Vec<String> = fitting
        .iter()
        .take(MOST_CANDIDATES)
        .map(|it| {
            format!("{}  {}  {}", ids.short(&it.id), it.at, escape::line(&it.what))
                .trim_end()
                .to_owned()
        })
        .collect();
    if fitting.len() > MOST_CANDIDATES {
        candidates.push(format!("… and {} more", fitting.len() - MOST_CANDIDATES));
    }
    IdError {
        code: "ambiguous_id",
        message: format!("`{}` fits {} {}", escape::line(given), fitting.len(), noun.many),
        hint: "type more of the id".to_owned(),
        candidates,
    }
}

/// The ids of one list, each shown as long as it must be to fit no other.
pub(super) struct ShortIds {
    // Invariant: sorted, without duplicates.
    ids: Vec<String>,
}

/// Returns the beginning of a call's id that a person is given to type. It is unique unless two calls began in the same
/// millisecond, and then the command that takes it lists both.
pub(super) fn hinted(call: &str) -> &str {
    call.get(..HINTED_CHARS).unwrap_or(call)
}

impl ShortIds {
    pub(super) fn of<'i>(ids: impl IntoIterator<Item = &'i str>) -> Self {
        let mut ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        ids.sort_unstable();
        ids.dedup();
        Self { ids }
    }

    /// Returns the beginning of an id that no other id of the list has.
    pub(super) fn short<'i>(&self, id: &'i str) -> &'i str {
        let place = self.ids.partition_point(|other| other.as_str() < id);
        let after = self.ids[place..].iter().find(|other| *other != id);
        let before = self.ids[..place].last();
        let shared = [before, after].into_iter().flatten().map(|other| shared_bytes(id, other));
        let needed = shared.max().unwrap_or(0) + 1;
        let length = needed.max(FEWEST_SHOWN_CHARS).min(id.len());
        id.get(..length).unwrap_or(id)
    }
}

/// Returns how many bytes two ids begin with in common.
fn shared_bytes(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLS: IdNoun = IdNoun { one: "call", many: "calls", listed_by: "toolcrib undo" };

    const IDS: [&str; 4] = [
        "01M7FEQ426FFZH392JP3N0SSSH",
        "01M7FEQ426FFZH392JP3N0SSSJ",
        "01M7FEQ427FFZH392JP3N0SSSH",
        "01M8AAAAAAAAAAAAAAAAAAAAAA",
    ];

    #[track_caller]
    fn check(given: &str, expect: Result<&str, &str>) {
        let all = IDS.map(|id| Candidate {
            id: id.to_owned(),
            at: "today".to_owned(),
            what: "x".to_owned(),
            item: (),
        });
        match (find(CALLS, given, all), expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found.id, expect),
            (Err(err), Err(expect)) => {
                let told = format!("{}\n{}\n{}", err.message, err.candidates.join("\n"), err.hint);
                assert!(told.contains(expect), "{told}");
            }
            (Ok(found), Err(_)) => panic!("{given}: {}", found.id),
            (Err(err), Ok(_)) => panic!("{given}: {err:?}"),
        }
    }

    #[test]
    fn a_beginning_that_fits_one_id_is_enough() {
        for id in IDS {
            check(id, Ok(id));
            check(&id.to_lowercase(), Ok(id));
        }
        check("01m8", Ok(IDS[3]));
        check("01M7FEQ427", Ok(IDS[2]));
    }

    #[test]
    fn a_beginning_that_fits_none_or_several_is_refused() {
        check("01M7FEQ426", Err("`01M7FEQ426` fits 2 calls"));
        check("01M7FEQ426", Err("01M7FEQ426FFZH392JP3N0SSSJ  today  x"));
        check("01M7FEQ426", Err("type more of the id"));
        check("01M", Err("at least 4 characters"));
        check("", Err("too short"));
        check("01M9", Err("there is no call `01M9`\n\n`toolcrib undo` lists the calls"));
        check(&format!("{}0", IDS[0]), Err("there is no call"));
        check("ééé€", Err("there is no call"));
    }

    #[test]
    fn ids_are_shown_as_long_as_they_must_be() {
        let ids = ShortIds::of(IDS);
        let shown = IDS.map(|id| ids.short(id));
        assert_eq!(
            shown,
            [IDS[0], IDS[1], "01M7FEQ427", "01M8AAAAAA"],
            "two differ in their last letter, two in their time"
        );
        assert_eq!(ShortIds::of([]).short("abc"), "abc");
    }
}
