//! Shows what a command prints, as it prints it.

use std::io::{self, IsTerminal, Write};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use toolcrib_core::command::Stream;
use toolcrib_core::escape;
use toolcrib_host::{OutputPiece, OutputTee, OutputTeeReader, Sandbox};

use crate::terminal::{Cursor, Terminal, hold_screen};

/// How long a command prints nothing before the person is told that it runs, and how to stop it.
const QUIET_TIME: Duration = Duration::from_secs(3);

/// Prints what a command printed. The reader may have gone; the exit code still says how the command ended.
#[derive(Default)]
pub(super) struct LiveOutput {
    /// The first bytes of a character whose rest is still to come, for stdout and stderr.
    begun: [Vec<u8>; 2],
    /// Whether stdout and stderr returned to the start of their line, and have printed nothing since.
    returned: [bool; 2],
    /// Whether anything was printed.
    is_used: bool,
}

impl LiveOutput {
    /// Prints a piece of output.
    pub(super) fn print(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let mut screen = hold_screen();
        self.is_used = true;
        // A terminal obeys control characters, so they are escaped there; a file or a pipe gets the bytes as they are.
        let is_terminal = match stream {
            Stream::Stdout => io::stdout().is_terminal(),
            Stream::Stderr => io::stderr().is_terminal(),
        };
        if !is_terminal {
            return write(stream, bytes);
        }
        *screen = if bytes.ends_with(b"\n") { Cursor::AtStart } else { Cursor::InLine };
        let at = usize::from(stream == Stream::Stderr);
        let begun = &mut self.begun[at];
        begun.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(begun) {
            Err(err) if err.error_len().is_none() => err.valid_up_to(),
            _ => begun.len(),
        };
        let rest = begun.split_off(whole);
        let text = std::mem::replace(begun, rest);
        let text = obeying_returns(&String::from_utf8_lossy(&text), &mut self.returned[at]);
        write(stream, text.as_bytes())
    }
}

/// Escapes what a terminal obeys, but for the return to the start of the line, with which programs draw their progress:
/// what is there is erased, and it is the command's own line. A line that is not written over stays.
fn obeying_returns(text: &str, has_returned: &mut bool) -> String {
    let is_dumb = std::env::var_os("TERM").is_none_or(|it| it == "dumb" || it.is_empty());
    let mut shown = String::new();
    for (at, part) in text.split('\r').enumerate() {
        *has_returned |= at > 0;
        if part.is_empty() {
            continue;
        }
        if std::mem::take(has_returned) && !part.starts_with('\n') {
            shown.push_str(if is_dumb { "\n" } else { "\r\u{1b}[K" });
        }
        shown.push_str(&escape::lines(part));
    }
    shown
}

fn write(stream: Stream, bytes: &[u8]) -> io::Result<()> {
    match stream {
        Stream::Stdout => io::stdout().write_all(bytes).and_then(|()| io::stdout().flush()),
        Stream::Stderr => io::stderr().write_all(bytes),
    }
}

/// Ends the line that a command has begun on the terminal, so that ours begins a row.
fn end_line() {
    let mut screen = hold_screen();
    if std::mem::replace(&mut *screen, Cursor::AtStart) == Cursor::InLine {
        let _ = if io::stdout().is_terminal() {
            write(Stream::Stdout, b"\n")
        } else {
            write(Stream::Stderr, b"\n")
        };
    }
}

/// Shows what the commands of a process print, until it is ended.
pub(super) struct LiveView {
    tee: OutputTee,
    reader: JoinHandle<LiveOutput>,
}

impl LiveView {
    /// Starts to show what the commands of this sandbox print.
    pub(super) fn start(sandbox: &Sandbox, terminal: Terminal) -> Self {
        let (tee, printed) = OutputTee::pair();
        sandbox.show_live(tee.clone());
        let reader = std::thread::spawn(move || follow(&printed, terminal));
        Self { tee, reader }
    }

    /// Waits until everything is shown. Returns whether anything was.
    pub(super) fn end(self) -> OutputShown {
        self.tee.end();
        match self.reader.join() {
            Ok(live) if live.is_used => {
                end_line();
                OutputShown::Live
            }
            _ => OutputShown::NotYet,
        }
    }
}

/// Whether a person has seen what a command printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputShown {
    Live,
    NotYet,
}

fn follow(printed: &OutputTeeReader, terminal: Terminal) -> LiveOutput {
    let mut live = LiveOutput::default();
    // When the command started, until the person is told that it runs.
    let mut start = None;
    loop {
        match printed.next_within(QUIET_TIME) {
            OutputPiece::Printed(stream, bytes) => {
                // Without a reader the command still runs to its end: its reply is kept.
                let _ = live.print(stream, &bytes);
            }
            OutputPiece::Started => start = Some(Instant::now()),
            OutputPiece::Nothing => {
                if let Some(start) = start.take().filter(|_| io::stderr().is_terminal()) {
                    end_line();
                    let _screen = hold_screen();
                    let seconds = start.elapsed().as_secs();
                    terminal.note(&format!("(running for {seconds} s; Ctrl-C stops it)"));
                }
            }
            OutputPiece::End => return live,
        }
    }
}
