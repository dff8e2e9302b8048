//! Asking a person on the terminal. What is shown is what will run; Enter, the end of input and
//! anything but yes mean no.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::os::fd::AsFd;

use rustix::termios::{QueueSelector, tcflush};
use serde_json::Value;
use toolcrib_core::escape;
use toolcrib_core::policy::Answer;
use toolcrib_runtime::{AnswerFuture, Approver, Question};

use super::render::texts;
use crate::terminal::{Paint, Terminal};

/// A person at the terminal.
pub(super) struct Prompt {
    terminal: Terminal,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl Prompt {
    /// Returns a prompt if someone is there to see and answer it.
    pub(super) fn on_terminal(terminal: Terminal) -> Option<Self> {
        let is_seen = std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
        let is_attended = is_seen && keyboard().is_some();
        is_attended.then(|| Self { terminal, asking: tokio::sync::Mutex::new(()) })
    }

    fn text(&self, question: &Question) -> String {
        let declaration = question.declaration;
        let mut text = format!(
            "{} {}\nParameters:\n",
            self.terminal.paint_err(Paint::Strong, "Tool:"),
            declaration.name,
        );
        let edits = &question.plan.edits;
        for (key, value) in question.args.as_object().into_iter().flatten() {
            // What is shown line by line below is only counted here.
            let is_below = value.is_string()
                && edits.iter().any(|edit| edit.after.as_deref() == value.as_str());
            let shown = match value {
                Value::String(text) if is_below => format!("<{} bytes>", text.len()),
                Value::String(text) => escape::line(text).into_owned(),
                other => escape::line(&other.to_string()).into_owned(),
            };
            let _ = writeln!(text, "  {}: {shown}", escape::line(key));
        }
        if !edits.is_empty() {
            let paths: Vec<_> = edits.iter().map(|edit| escape::line(&edit.path)).collect();
            let _ = writeln!(text, "Files affected: {}", paths.join(", "));
            for place in &question.places {
                let _ = writeln!(text, "Location: {}", escape::line(place));
            }
        }
        let _ = writeln!(text, "Risk level: {}", declaration.tier.risk().as_str());
        let _ = writeln!(text, "Asked because: {}", question.decision.rule);
        for edit in edits {
            let (before, after) = (edit.before.as_deref(), edit.after.as_deref());
            text.push_str(&texts(
                self.terminal,
                before.unwrap_or_default(),
                after.unwrap_or_default(),
            ));
        }
        text.push_str("\nApprove? (y/n): ");
        text
    }
}

impl Approver for Prompt {
    fn ask<'a>(&'a self, question: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async move {
            let _one = self.asking.lock().await;
            let text = self.text(question);
            let answer = tokio::task::spawn_blocking(move || read_answer(&text)).await;
            if answer.unwrap_or(false) {
                Answer::Yes("terminal".to_owned())
            } else {
                Answer::No("terminal".to_owned())
            }
        })
    }
}

/// Returns where a person types: stdin, or the terminal itself where stdin is something else.
fn keyboard() -> Option<File> {
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return stdin.as_fd().try_clone_to_owned().ok().map(File::from);
    }
    File::open("/dev/tty").ok()
}

/// Asks, and returns whether the answer was yes.
fn read_answer(text: &str) -> bool {
    let Some(keyboard) = keyboard() else { return false };
    // What was typed before the question was not an answer to it.
    let _ = tcflush(&keyboard, QueueSelector::IFlush);
    show(text);
    let mut keyboard = BufReader::new(keyboard);
    for _ in 0..3 {
        let mut line = String::new();
        if keyboard.read_line(&mut line).is_ok_and(|read| read == 0) {
            // The end of input leaves the cursor after the question.
            show("\n");
            return false;
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return true,
            "n" | "no" | "" => return false,
            _ => show("Answer y or n: "),
        }
    }
    false
}

fn show(text: &str) {
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}
