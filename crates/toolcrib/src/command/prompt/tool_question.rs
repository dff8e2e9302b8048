//! The question of a tool to the person at the terminal. They read it there, and type a line.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use serde_json::{Number, Value, json};
use toolcrib_core::calling_client::{
    Answers, CallingClient, ClientFuture, ClientQuestion, DetachNeed, MessageLevel, NoClient,
    ProgressReport,
};
use toolcrib_core::{ErrorKind, ToolError, counted, escape};

use super::device::{Device, TypedLine, Waker};
use super::open_question::{OpenQuestion, take_screen};
use super::text::{block_lines, without_gaps};
use crate::terminal::{Paint, Terminal};

/// The most lines of an agent's text that are shown.
const MOST_LINES: usize = 40;

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
        let fields = schema["properties"].as_object();
        let has_several = fields.is_some_and(|fields| fields.len() > 1);
        for (index, (name, field)) in fields.into_iter().flatten().enumerate() {
            let title = field["title"].as_str().unwrap_or(name);
            let prompt = if has_several {
                let title = without_gaps(&escape::line(title));
                format!("Answer to the agent, {title} (Enter for none): ")
            } else {
                "Answer to the agent (Enter for none): ".to_owned()
            };
            let text = if index == 0 { message.as_str() } else { "" };
            let Some(line) = self.ask_line(text, &prompt).await? else {
                return Ok(json!({"action": "decline"}));
            };
            let Some(value) = value_of(line, field) else {
                self.terminal.note("The agent gets no answer: it needs a value of another type.");
                return Ok(json!({"action": "cancel"}));
            };
            filled.insert(name.clone(), value);
        }
        Ok(json!({"action": "accept", "content": filled}))
    }

    /// Shows a text of the agent and reads a line behind `prompt`. Enter alone is no answer.
    async fn ask_line(&self, text: &str, prompt: &str) -> Result<Option<String>, ToolError> {
        let waker = Waker::new().ok_or_else(taken_away)?;
        let (over, is_over) = mpsc::channel();
        let _open = OpenQuestion { waker: waker.clone(), is_over };
        let deadline = Instant::now() + self.time;
        let mut shown = String::new();
        if !text.is_empty() {
            let heading = self.terminal.paint_err(Paint::Strong, "The agent asks:");
            shown = format!("\n{heading}{}\n", marked(text));
        }
        shown.push_str(&self.terminal.paint_err(Paint::Strong, prompt));
        let typed = tokio::task::spawn_blocking(move || {
            let typed = Device::open(waker).map(|mut device| {
                let _screen = take_screen(&device);
                device.show(&device.screen().wrap(&shown));
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

/// Returns a text of the agent with each of its lines behind a mark, so that none of them passes for one of ours.
fn marked(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let (shown, hidden) = lines.split_at(lines.len().min(MOST_LINES));
    let mut rows = without_gaps(&block_lines(&shown.join("\n")));
    if !hidden.is_empty() {
        let _ = write!(rows, "\n    | … {}", counted(hidden.len() as u64, "more line"));
    }
    rows
}

/// Returns what was typed as a value of the type that a field has; nothing if it is none.
fn value_of(line: String, field: &Value) -> Option<Value> {
    let typed = line.trim();
    match field["type"].as_str() {
        Some("boolean") => match typed.to_lowercase().as_str() {
            "true" | "yes" | "y" => Some(true.into()),
            "false" | "no" | "n" => Some(false.into()),
            _ => None,
        },
        Some("integer") => typed.parse::<i64>().ok().map(Value::from),
        Some("number") => match typed.parse::<i64>() {
            Ok(whole) => Some(whole.into()),
            Err(_) => typed.parse().ok().and_then(Number::from_f64).map(Value::Number),
        },
        _ => Some(line.into()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_of_an_agent_begins_a_row_of_ours() {
        assert_eq!(marked("a\n\n[sudo] b"), "\n    | a\n    | \n    | [sudo] b");
        let long = marked(&"x\n".repeat(MOST_LINES + 2));
        assert!(long.ends_with("    | x\n    | … 2 more lines"), "{long}");
        assert_eq!(long.trim_start_matches('\n').lines().count(), MOST_LINES + 1);
    }

    #[test]
    fn what_is_typed_gets_the_type_of_its_field() {
        let check = |kind: &str, line: &str, expected: Option<Value>| {
            assert_eq!(value_of(line.to_owned(), &json!({"type": kind})), expected, "{line}");
        };
        check("boolean", " Yes", Some(json!(true)));
        check("boolean", "n", Some(json!(false)));
        check("boolean", "perhaps", None);
        check("integer", "42", Some(json!(42)));
        check("integer", "4.2", None);
        check("number", "4.5", Some(json!(4.5)));
        check("number", "7", Some(json!(7)));
        check("number", "NaN", None);
        check("string", "7", Some(json!("7")));
    }
}
