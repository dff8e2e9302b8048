//! Printing to people: colour where the operator wants it, and no characters that could mislead a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::termios::tcgetwinsize;
use toolcrib_core::escape;

use crate::cli::{ColorChoice, Global};

/// How a subcommand prints its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// As lines for people.
    Text,
    /// As JSON for programs.
    Json,
}

// From the flag `--json`.
impl From<bool> for Format {
    fn from(is_json: bool) -> Self {
        if is_json { Self::Json } else { Self::Text }
    }
}

/// How much to print, and whether in colour.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether stdout takes colour.
    out: Colour,
    /// Whether stderr takes colour.
    err: Colour,
    /// Whether only results and errors are printed.
    pub(crate) is_quiet: bool,
    /// How many times `-v` was given.
    pub(crate) verbosity: u8,
}

/// Whether text is coloured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Colour {
    On,
    Off,
}

/// What a piece of text means, which decides its colour.
#[derive(Clone, Copy)]
pub(crate) enum Paint {
    Good,
    Bad,
    Warn,
    Dim,
    Strong,
    Added,
    Removed,
}

impl Terminal {
    pub(crate) fn new(global: &Global) -> Self {
        let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|it| it != "0");
        let refused = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty())
            || std::env::var_os("TERM").is_some_and(|it| it == "dumb");
        let colour_of = |stream: &dyn IsTerminal| match global.color {
            ColorChoice::Always => Colour::On,
            ColorChoice::Auto if !refused && (forced || stream.is_terminal()) => Colour::On,
            ColorChoice::Auto | ColorChoice::Never => Colour::Off,
        };
        Self {
            out: colour_of(&io::stdout()),
            err: colour_of(&io::stderr()),
            is_quiet: global.quiet,
            verbosity: global.verbose,
        }
    }

    /// Returns whether stdout takes colour.
    pub(crate) fn has_colour(self) -> bool {
        self.out == Colour::On
    }

    /// Colours text for stdout.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        paint_in(self.out, paint, text)
    }

    /// Prints a note to stderr, unless only results are wanted.
    pub(crate) fn note(self, text: &str) {
        if !self.is_quiet {
            say(&escape::lines(text));
        }
    }

    /// Prints a warning to stderr, unless only results are wanted.
    pub(crate) fn warn(self, text: &str) {
        if !self.is_quiet {
            say(&format!(
                "{} {}",
                paint_in(self.err, Paint::Warn, "warning:"),
                escape::lines(text)
            ));
        }
    }

    /// Prints an error to stderr, and what to do about it.
    pub(crate) fn fail(self, text: &str, hint: Option<&str>) {
        self.fail_in_lines(&escape::line(text), hint);
    }

    /// Prints an error of several lines to stderr, and what to do about it.
    pub(crate) fn fail_in_lines(self, text: &str, hint: Option<&str>) {
        say(&format!("{} {}", paint_in(self.err, Paint::Bad, "error:"), escape::lines(text)));
        if let Some(hint) = hint {
            say(&format!("{} {}", paint_in(self.err, Paint::Dim, " hint:"), escape::line(hint)));
        }
    }

    /// Colours text for stderr.
    pub(crate) fn paint_err(self, paint: Paint, text: &str) -> String {
        paint_in(self.err, paint, text)
    }
}

/// Returns how many columns the terminal of stdout has, or `COLUMNS` says; nothing if neither is known.
pub(crate) fn width() -> Option<usize> {
    let of_terminal = || tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col));
    let of_variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    of_terminal().filter(|columns| *columns > 0).or_else(of_variable)
}

/// Writes a result to stdout, and returns whether that worked. A failure is reported on stderr, unless the
/// reader closed the pipe.
pub(crate) fn print(text: &str) -> bool {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(err) => {
            if err.kind() != io::ErrorKind::BrokenPipe {
                say(&format!("error: cannot write the result to stdout: {err}"));
            }
            RESULT_LOST.store(true, Ordering::Relaxed);
            false
        }
    }
}

/// When control characters in foreign text are escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// On a terminal, which would obey them. A file or a pipe gets them as they are.
    OnTerminal,
    /// Never.
    Never,
}

/// Writes text to stdout that a command produced, and returns whether that worked.
pub(crate) fn print_foreign(text: &str, escapes: Escapes) -> bool {
    if escapes == Escapes::OnTerminal && io::stdout().is_terminal() {
        return print(&escape::lines(text));
    }
    print(text)
}

/// Writes the lines of a result to stdout.
pub(crate) fn print_lines(lines: &[String]) {
    let mut text = lines.join("\n");
    text.push('\n');
    print(&text);
}

/// Returns whether a result could not be written to stdout.
pub(crate) fn is_result_lost() -> bool {
    RESULT_LOST.load(Ordering::Relaxed)
}

static RESULT_LOST: AtomicBool = AtomicBool::new(false);

/// Writes JSON to stdout as one line, with every misleading character escaped.
pub(crate) fn print_json(text: &str) -> bool {
    let mut line = escape::json(text).into_owned();
    line.push('\n');
    print(&line)
}

/// Prints a text to stderr where no [`Terminal`] is at hand.
pub(crate) fn complain(text: &str) {
    say(text);
}

fn say(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.write_all(b"\n");
}

fn paint_in(colour: Colour, paint: Paint, text: &str) -> String {
    if colour == Colour::Off {
        return text.to_owned();
    }
    let code = match paint {
        Paint::Good | Paint::Added => "32",
        Paint::Bad | Paint::Removed => "31",
        Paint::Warn => "33",
        Paint::Dim => "2",
        Paint::Strong => "1",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

/// Held while something has the screen for itself: a question, or a piece of what a command prints.
static SCREEN: Mutex<Cursor> = Mutex::new(Cursor::AtStart);

/// Where on its row the cursor is, as far as what commands print tells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cursor {
    AtStart,
    /// Behind what a command has printed without ending its line. What we print begins on a row of its own.
    InLine,
}

/// Takes the screen until the returned value is dropped.
pub(crate) fn hold_screen() -> MutexGuard<'static, Cursor> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}
