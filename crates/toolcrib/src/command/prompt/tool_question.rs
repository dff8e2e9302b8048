//! The question of a tool to the person at the terminal. They read it there, and type a line.

use std::collections::BTreeMap;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::calling_client::{
    Answers, CallingClient, ClientFuture, ClientQuestion, DetachNeed, MessageLevel, NoClient,
    ProgressReport,
};
use toolcrib_core::{ErrorKind, ToolError, escape};

use super::device::{Device, TypedLine, Waker};
use super::{OpenQuestion, take_screen};
use crate::terminal::{Paint, Terminal};

/// The person at the terminal.
pub(in crate::command) struct PersonAtTerminal {
    terminal: Terminal,
    /// How long they have to answer.
    time: Duration,
}

impl PersonAtTerminal {
    /// Returns the person at the terminal, if there is one.
    pub(in crate::command) fn on_terminal(terminal: Terminal, time: Duration) -> Option<Self> {
        Device::is_there().then_some(Self { terminal, time })
    }

    /// Asks for the fields of a form, a line each.
    async fn fill_in(&self, message: String, schema: &Value) -> Result<Value, ToolError> {
        let mut filled = serde_json::Map::new();
        let fields = schema["properties"].as_object().into_iter().flatten();
        for (index, (name, field)) in fields.enumerate() {
            let title = field["title"].as_str().unwrap_or(name);
            let text = if index == 0 { message.as_str() } else { "" };
            let Some(line) = self.ask_line(text, title).await? else {
                return Ok(json!({"action": "decline"}));
            };
            filled.insert(name.clone(), line.into());
        }
        Ok(json!({"action": "accept", "content": filled}))
    }

    /// Shows a text and reads a line. Enter alone is no answer.
    async fn ask_line(&self, text: &str, title: &str) -> Result<Option<String>, ToolError> {
        let waker = Waker::new().ok_or_else(taken_away)?;
        let (over, is_over) = mpsc::channel();
        let _open = OpenQuestion { waker: waker.clone(), is_over };
        let (deadline, title) = (Instant::now() + self.time, escape::line(title).into_owned());
        let mut shown = String::new();
        if !text.is_empty() {
            shown.push('\n');
            shown.push_str(&self.terminal.paint_err(Paint::Strong, "The agent asks:"));
            shown.push('\n');
            shown.push_str(&escape::lines(text));
            shown.push('\n');
        }
        let prompt = self.terminal.paint_err(Paint::Strong, &format!("{title} (Enter for none): "));
        let typed = tokio::task::spawn_blocking(move || {
            let typed = Device::open(waker).map(|mut device| {
                let _screen = take_screen(&device);
                device.show(&shown);
                device.show(&prompt);
                device.line(deadline)
            });
            let _ = over.send(());
            typed
        });
        match typed.await.ok().flatten() {
            Some(TypedLine::Line(line)) => Ok(Some(line).filter(|line| !line.is_empty())),
            Some(TypedLine::Nothing) => {
                Err(ToolError::new(ErrorKind::Timeout, "nobody answered in time")
                    .hint("decide what is sensible, and say what you decided"))
            }
            Some(TypedLine::TakenAway) | None => Err(taken_away()),
        }
    }
}

fn taken_away() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "the question could not be shown on the terminal")
        .hint("decide what is sensible, and say what you decided")
}

impl CallingClient for PersonAtTerminal {
    fn ask(&self, questions: BTreeMap<String, ClientQuestion>) -> ClientFuture<'_, Answers> {
        Box::pin(async move {
            let mut answers = Answers::new();
            for (name, question) in questions {
                let ClientQuestion::Form { message, schema } = question else {
                    let message = "the tool asks for something that a terminal does not have";
                    return Err(ToolError::new(ErrorKind::Unavailable, message));
                };
                answers.insert(name, self.fill_in(message, &schema).await?);
            }
            Ok(answers)
        })
    }

    fn detach(&self, need: DetachNeed) -> ClientFuture<'_, ()> {
        NoClient.detach(need)
    }

    fn can_answer(&self, question: &ClientQuestion) -> bool {
        matches!(question, ClientQuestion::Form { .. })
    }

    fn report_progress(&self, progress: ProgressReport) -> ClientFuture<'_, ()> {
        NoClient.report_progress(progress)
    }

    fn log(&self, level: MessageLevel, message: String) -> ClientFuture<'_, ()> {
        NoClient.log(level, message)
    }
}
