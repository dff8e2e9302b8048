//! Talking to people: colour where it is wanted, nothing that could mislead a terminal.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use toolcrib_core::escape;

use crate::cli::{ColorChoice, Global};

/// How much to say, and how.
#[derive(Clone, Copy)]
pub(crate) struct Terminal {
    /// Whether stdout takes colour.
    out: bool,
    /// Whether stderr does.
    err: bool,
    pub(crate) is_quiet: bool,
    /// How much more to say: 0, 1 or 2.
    pub(crate) verbosity: u8,
}

/// What a piece of text is, for colouring.
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
        let wants = |is_terminal: bool| match global.color {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => {
                let forced = std::env::var_os("CLICOLOR_FORCE").is_some_and(|it| it != "0");
                let refused = std::env::var_os("NO_COLOR").is_some_and(|it| !it.is_empty())
                    || std::env::var_os("TERM").is_some_and(|it| it == "dumb");
                !refused && (forced || is_terminal)
            }
        };
        Self {
            out: wants(io::stdout().is_terminal()),
            err: wants(io::stderr().is_terminal()),
            is_quiet: global.quiet,
            verbosity: global.verbose,
        }
    }

    /// Whether stdout takes colour.
    pub(crate) fn has_colour(self) -> bool {
        self.out
    }

    /// Colours text for stdout.
    pub(crate) fn paint(self, paint: Paint, text: &str) -> String {
        colour(self.out, paint, text)
    }

    /// Says something that is not a result, on stderr.
    pub(crate) fn note(self, text: &str) {
        if !self.is_quiet {
            say(&escape::lines(text));
        }
    }

    /// Says that something is not as it should be.
    pub(crate) fn warn(self, text: &str) {
        if !self.is_quiet {
            say(&format!("{} {}", colour(self.err, Paint::Warn, "warning:"), escape::lines(text)));
        }
    }

    /// Says what failed, and what to do about it.
    pub(crate) fn fail(self, text: &str, hint: Option<&str>) {
        say(&format!("{} {}", colour(self.err, Paint::Bad, "error:"), escape::line(text)));
        if let Some(hint) = hint {
            say(&format!("{} {}", colour(self.err, Paint::Dim, " hint:"), escape::line(hint)));
        }
    }

    /// Colours text for stderr.
    pub(crate) fn paint_err(self, paint: Paint, text: &str) -> String {
        colour(self.err, paint, text)
    }
}

/// Writes a result to stdout. Returns whether it got there: a reader that went away is told to no
/// one, anything else is said aloud.
pub(crate) fn print(text: &str) -> bool {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => true,
        Err(err) => {
            if err.kind() != io::ErrorKind::BrokenPipe {
                say(&format!("error: the result could not be written to stdout: {err}"));
            }
            LOST.store(true, Ordering::Relaxed);
            false
        }
    }
}

/// Whether a result did not get to stdout.
pub(crate) fn is_result_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

static LOST: AtomicBool = AtomicBool::new(false);

/// Writes JSON to stdout as one line, every misleading character escaped.
pub(crate) fn print_json(text: &str) -> bool {
    let mut line = escape::json(text).into_owned();
    line.push('\n');
    print(&line)
}

/// Says something on stderr where no [`Terminal`] is at hand.
pub(crate) fn complain(text: &str) {
    say(text);
}

fn say(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.write_all(b"\n");
}

fn colour(is_on: bool, paint: Paint, text: &str) -> String {
    if !is_on {
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
