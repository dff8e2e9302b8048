//! `toolcrib output`: prints the saved output of a command.

use toolcrib_core::command::{Lines, Stream};
use toolcrib_core::counted;
use toolcrib_host::{OutputStore, SavedCommand};

use super::past_call::shown_time;
use super::setup::open_state;
use super::short_id::{self, Candidate, IdError, IdNoun};
use crate::cli::{Global, OutputArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Escapes, Terminal, print_foreign};

/// The most bytes that are printed at once.
const MOST_PRINTED_BYTES: usize = 256 << 20;

const SAVED: IdNoun =
    IdNoun { one: "saved output of a call", many: "calls", listed_by: "toolcrib audit search" };

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &OutputArgs,
) -> Result<Exit, CliError> {
    let (from, count) = match &args.lines {
        Some(range) => parse_lines(range)?,
        None => (1, u64::MAX),
    };
    let access = open_state(global, terminal)?;
    let store = OutputStore::of_person(access.state.folder());
    let saved = store.all();
    let wanted = if let Some(given) = &args.call {
        short_id::find(SAVED, given, saved.into_iter().map(candidate))
    } else {
        let here = access.directory().map(|it| it.display().to_string()).unwrap_or_default();
        let last = saved.into_iter().find(|it| it.workspace == here).map(candidate);
        last.ok_or_else(|| IdError::none(SAVED, "no output of this workspace is saved"))
    };
    let call = match wanted {
        Ok(found) => found.id,
        Err(err) => return Ok(err.tell(terminal)),
    };
    let stream = if args.stderr { Stream::Stderr } else { Stream::Stdout };
    let lines = Lines { from, count, most: MOST_PRINTED_BYTES };
    match store.read(&call, stream, lines) {
        Ok(excerpt) => {
            let escapes = if args.raw { Escapes::Never } else { Escapes::OnTerminal };
            print_foreign(&excerpt.text, escapes);
            if excerpt.count == 0 && from > 1 {
                let total = counted(excerpt.total, "line");
                terminal.warn(&format!("the output has only {total}"));
            }
            Ok(Exit::Done)
        }
        Err(err) => {
            terminal.fail(&err.message, err.hint.as_deref());
            Ok(Exit::Failed)
        }
    }
}

fn candidate(saved: SavedCommand) -> Candidate<()> {
    let SavedCommand { call, command, started, .. } = saved;
    Candidate { id: call, at: shown_time(&started), what: command, item: () }
}

/// Parses `FROM-TO`, `FROM-` or `FROM` into a first line and a count.
fn parse_lines(range: &str) -> Result<(u64, u64), CliError> {
    let bad =
        || CliError::usage(format!("invalid --lines `{range}`: write FROM-TO, such as 100-200"));
    let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
    let (from, to) = match range.split_once('-') {
        Some((from, "")) => (number(from).ok_or_else(bad)?, u64::MAX),
        Some((from, to)) => (number(from).ok_or_else(bad)?, number(to).ok_or_else(bad)?),
        None => number(range).map(|line| (line, line)).ok_or_else(bad)?,
    };
    if to < from {
        return Err(bad());
    }
    Ok((from, (to - from).saturating_add(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_nonsense_is_not() {
        assert_eq!(parse_lines("5").ok(), Some((5, 1)));
        assert_eq!(parse_lines("5-7").ok(), Some((5, 3)));
        assert_eq!(parse_lines("5-").ok(), Some((5, u64::MAX - 4)));
        for range in ["", "0", "7-5", "a-b", "-5", "1-2-3"] {
            assert!(parse_lines(range).is_err(), "{range}");
        }
    }
}
