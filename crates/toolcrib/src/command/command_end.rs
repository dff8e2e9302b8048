//! How a command ended, in one form for the commands of all catalogues: what it printed, and one line at the end.

use std::fmt::Write as _;
use std::io::IsTerminal;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::command::ChangedFiles;
use toolcrib_core::{counted, escape};
use toolcrib_serve::{CommandPlace, FullOutcome};

use super::live_output::OutputShown;
use super::short_id::hinted;
use crate::terminal::{Escapes, Paint, Terminal, complain, print_foreign};

/// The most changed files that are named.
const MOST_NAMED_FILES: usize = 4;

/// The command of a call, as it ended.
pub(super) struct CommandEnd<'a> {
    pub(super) exit_code: i64,
    pub(super) stdout: &'a str,
    pub(super) stderr: &'a str,
    /// What else a person should know, such as what the sandbox stopped.
    pub(super) notes: Vec<&'a str>,
}

impl<'a> CommandEnd<'a> {
    /// Returns how the command of a call ended, from the data of its reply; nothing if the call ran no command to its
    /// end.
    pub(super) fn of(data: &'a Value) -> Option<Self> {
        let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
        let notes = data.get("notes").or_else(|| data.get("warnings")).and_then(Value::as_array);
        let notes = notes.into_iter().flatten();
        Some(Self {
            exit_code: data.get("exit_code")?.as_i64()?,
            stdout: text("stdout"),
            stderr: text("stderr"),
            notes: notes.filter_map(Value::as_str).collect(),
        })
    }

    /// Returns how the command of a call ended whose reply is a text, as in the catalogue `wink`.
    pub(super) fn of_text(reply: &'a Value) -> Option<Self> {
        let stdout = reply.get("output")?.as_str()?.strip_prefix("Command output:\n")?;
        let end = Self::of(reply.get("metadata")?)?;
        Some(Self { stdout, ..end })
    }

    /// Prints what the command printed, unless the person saw it already, and how it ended.
    pub(super) fn print(&self, terminal: Terminal, outcome: &FullOutcome, shown: OutputShown) {
        if shown == OutputShown::NotYet {
            print_foreign(&ended_line(self.stdout), Escapes::OnTerminal);
            if !self.stderr.is_empty() {
                complain(escape::lines(self.stderr).trim_end_matches('\n'));
            }
        }
        for note in &self.notes {
            terminal.warn(note);
        }
        if !terminal.is_quiet {
            complain(&self.line(terminal, outcome));
        }
    }

    /// Returns the line at the end: the exit code, the time, the files that changed, and the undo.
    fn line(&self, terminal: Terminal, outcome: &FullOutcome) -> String {
        let mark = match self.exit_code {
            0 => terminal.paint_err(Paint::Good, "✓"),
            _ => terminal.paint_err(Paint::Bad, "✗"),
        };
        let seconds = Duration::from_micros(outcome.elapsed_us).as_secs_f64();
        let mut line = format!("{mark} exit {} in {seconds:.1} s", self.exit_code);
        if let Some(touched) = &outcome.touched {
            line.push_str(&changed(touched, &outcome.place));
        }
        if let Some(grant) = outcome.grant.as_deref() {
            let _ = write!(line, " · allowed by grant {}", escape::line(hinted(grant)));
        }
        if outcome.place.has_copies {
            let _ =
                write!(line, " · undo: toolcrib undo {}", escape::line(hinted(&outcome.call.0)));
        }
        line
    }
}

/// Returns a text that ends with its line, where it is shown on a terminal.
fn ended_line(text: &str) -> String {
    let is_open = !text.is_empty() && !text.ends_with('\n');
    let end = if is_open && std::io::stdout().is_terminal() { "\n" } else { "" };
    format!("{text}{end}")
}

/// Returns a path as people write it in the workspace.
fn below<'a>(path: &'a str, root: &str) -> &'a str {
    let rest = path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(path)
}

/// Returns what a command changed, in words.
fn changed(touched: &ChangedFiles, place: &CommandPlace) -> String {
    let root = &place.root;
    let mut text = String::new();
    // A folder that is gone says it of its files.
    let is_below = |file: &&String| {
        let above = |it: &String| file.strip_prefix(it).is_some_and(|rest| rest.starts_with('/'));
        touched.removed.iter().any(|it| it == *file || above(it))
    };
    let mut deleted = touched.removed.clone();
    deleted.extend(place.deleted.iter().filter(|file| !is_below(file)).cloned());
    for (verb, files) in
        [("made", &touched.made), ("changed", &touched.changed), ("deleted", &deleted)]
    {
        let named: Vec<_> =
            files.iter().take(MOST_NAMED_FILES).map(|it| escape::line(below(it, root))).collect();
        if named.is_empty() {
            continue;
        }
        let _ = write!(text, " · {verb} {}", named.join(", "));
        match files.len().saturating_sub(MOST_NAMED_FILES) {
            0 => {}
            more => {
                let _ = write!(text, " and {more} more");
            }
        }
    }
    if touched.more > 0 {
        let _ = write!(text, " · {} more changed", counted(touched.more, "file"));
    }
    if !touched.held.is_empty() {
        let held = counted(touched.held.len() as u64, "change");
        let _ = write!(text, " · {held} held (toolcrib held list)");
    }
    text
}
