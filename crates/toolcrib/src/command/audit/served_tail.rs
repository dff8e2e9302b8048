//! `toolcrib audit tail` with a server: the newest lines, and then each line as it is written. A connection that is cut is
//! made again, and goes on after the last line that was printed.

use std::time::Duration;

use toolcrib_ledger::TailLine;

use super::tail_line::TailPrinter;
use crate::command::remote::{self, EventParser, ServerClient, ServerEvent, StreamEnd};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;

/// The most lines that a server returns at once.
const MOST_TAIL_LINES: usize = 10_000;

/// The shortest and the longest pause before a connection is made again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(30));

/// What is wanted of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TailWish {
    /// The newest lines.
    Newest,
    /// The newest lines, and those that are written from then on.
    Follow,
}

pub(super) fn run(
    client: &ServerClient,
    printer: TailPrinter,
    lines: usize,
    wish: TailWish,
) -> Result<Exit, CliError> {
    if lines > MOST_TAIL_LINES {
        let message = format!("a server shows at most {MOST_TAIL_LINES} lines");
        return Err(CliError::usage(message).hint("`toolcrib audit export` prints all lines"));
    }
    // Also for no lines: the last one says where to begin.
    let mut newest = Vec::new();
    client.read_lines(&format!("/api/audit/tail?lines={}", lines.max(1)), |line| {
        newest.push(TailLine::from_json(&String::from_utf8_lossy(line)));
        true
    })?;
    let last = newest.iter().rev().find_map(|line| Some(line.entry()?.seq)).unwrap_or_default();
    let shown = newest.len().saturating_sub(lines);
    let is_open = newest[shown..].iter().all(|line| printer.print(line));
    match wish {
        TailWish::Follow if is_open => follow(client, printer, last),
        TailWish::Follow | TailWish::Newest => Ok(Exit::Done),
    }
}

/// Prints lines as they are written, until the output is closed or the process is told to end.
fn follow(client: &ServerClient, printer: TailPrinter, last: u64) -> Result<Exit, CliError> {
    let mut feed = LineFeed { printer, last, is_cut: false };
    let mut pause = PAUSES.0;
    loop {
        let mut parser = EventParser::default();
        let ended = client.follow_events("/api/events?form=line", feed.last, |line| {
            parser.take(line).is_none_or(|event| feed.take(&event))
        });
        if let Some(wanted) = parser.retry {
            pause = wanted.clamp(PAUSES.0, PAUSES.1);
        }
        match ended {
            Ok(StreamEnd::Stopped) => return Ok(Exit::Done),
            Ok(StreamEnd::Cut(why)) => feed.was_cut(&why),
            Err(err) if err.kind == CliErrorKind::Interrupted => return Ok(Exit::Interrupted),
            Err(err) => return Err(err),
        }
        if remote::pause(pause).is_err() {
            return Ok(Exit::Interrupted);
        }
    }
}

/// The lines that come in.
struct LineFeed {
    printer: TailPrinter,
    /// The number of the last line that was printed.
    last: u64,
    /// Whether the connection was cut, and no new one is made yet.
    is_cut: bool,
}

impl LineFeed {
    /// Prints the line of an event. Returns whether the output is still open.
    fn take(&mut self, event: &ServerEvent) -> bool {
        if std::mem::take(&mut self.is_cut) {
            self.printer.terminal.note("connected again; no line is missing");
        }
        // The health of the server has no number.
        let Some(number) = event.id.filter(|number| *number > self.last) else { return true };
        self.last = number;
        self.printer.print(&TailLine::from_json(&event.data))
    }

    fn was_cut(&mut self, why: &CliError) {
        if !std::mem::replace(&mut self.is_cut, true) {
            self.printer.terminal.warn(&format!("{}; trying again until Ctrl-C", why.message));
        }
    }
}
