//! Asking a person on the terminal. What is shown is what will run; Enter, the end of input and
//! anything but yes mean no.

use std::fmt::Write;
use std::io::{BufRead, IsTerminal};

use rustix::termios::{QueueSelector, tcflush};
use serde_json::Value;
use toolcrib_core::escape;
use toolcrib_core::policy::Answer;
use toolcrib_runtime::{AnswerFuture, Approver, Question};

use super::render::texts;
use crate::terminal::{Paint, Terminal};

/// The longest argument that is shown whole.
const MOST: usize = 2000;

/// A person at the terminal.
pub(super) struct Prompt {
    terminal: Terminal,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
}

impl Prompt {
    /// Returns a prompt if someone is there to see and answer it.
    pub(super) fn on_terminal(terminal: Terminal) -> Option<Self> {
        let is_attended = std::io::stdin().is_terminal()
            && std::io::stdout().is_terminal()
            && std::io::stderr().is_terminal();
        is_attended.then(|| Self { terminal, asking: tokio::sync::Mutex::new(()) })
    }

    fn text(&self, question: &Question) -> String {
        let declaration = question.declaration;
        let mut text = format!(
            "{} {} ({})\nParameters:\n",
            self.terminal.paint_err(Paint::Strong, "Tool:"),
            declaration.name,
            question.catalogue
        );
        for (key, value) in question.args.as_object().into_iter().flatten() {
            let _ = writeln!(text, "  {}: {}", escape::line(key), argument(value));
        }
        if !question.places.is_empty() {
            let places: Vec<_> = question.places.iter().map(|place| escape::line(place)).collect();
            let _ = writeln!(text, "Files affected: {}", places.join(", "));
        }
        let _ = writeln!(text, "Risk level: {}", declaration.tier.risk().as_str());
        let _ = writeln!(text, "Asked because: {}", question.decision.rule);
        for edit in &question.plan.edits {
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
            match answer.unwrap_or_default().trim().to_lowercase().as_str() {
                "y" | "yes" => Answer::Yes("terminal".to_owned()),
                _ => Answer::No("terminal".to_owned()),
            }
        })
    }
}

fn read_answer(text: &str) -> String {
    use std::io::Write;
    // What was typed before the question was not an answer to it.
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    let mut err = std::io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
    let mut line = String::new();
    let _ = std::io::stdin().lock().read_line(&mut line);
    line
}

fn argument(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= MOST {
        return escape::line(&text).into_owned();
    }
    let shown = &text[..text.floor_char_boundary(MOST)];
    format!("{} … <{} more bytes>", escape::line(shown), text.len() - shown.len())
}
