//! `ask_user`: asks the person at the client.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::calling_client::ClientQuestion;
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

pub(crate) struct AskUser;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The question to ask
    question: String,
    /// Multiple choice options
    options: Option<Vec<String>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    answer: String,
}

/// The name of the question, and of the field of its form.
const ANSWER: &str = "answer";

/// The most bytes of a question with its options.
const MOST_QUESTION_BYTES: usize = 10_000;

/// The most options. Nobody reads more.
const MOST_OPTIONS: usize = 20;

static DECLARATION: Declaration = Declaration {
    name: "ask_user",
    summary: "Ask the user a question, with options to choose from if there are any. They may answer something else. \
              Returns: {answer}",
    tier: Tier::Safe,
    effect: Effect::Compute,
    limits: Limits { deadline_ms: 3_600_000, output_bytes: 128 << 10 },
    examples: &[
        Example {
            about: "Without a person at the client, nobody answers.",
            files: &[],
            before: &[],
            args: r#"{"question": "What testing framework do you prefer?"}"#,
            reply: r#"{"error": "there is nobody here who could be asked", "error_code": "IO_ERROR",
                "context": {"hint": "decide what is sensible, and say what you decided"}}"#,
            leaves: &[],
        },
        Example {
            about: "The question must say something.",
            files: &[],
            before: &[],
            args: r#"{"question": "", "options": ["Yes", "No"]}"#,
            reply: r#"{"error": "`question` is empty", "error_code": "INVALID_ARGUMENT",
                "context": {"hint": "ask one thing, in a sentence"}}"#,
            leaves: &[],
        },
    ],
};

impl Tool for AskUser {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        check_args(args)?;
        if ctx.client.can_answer(&form(args)) { Ok(Plan::default()) } else { Err(nobody()) }
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let questions = BTreeMap::from([(ANSWER.to_owned(), form(&args))]);
        let mut answers = ctx.client.ask(questions).await?;
        let answer = answer_in(&answers.remove(ANSWER).unwrap_or_default())?;
        Ok(Reply { answer: meant(answer, args.options.as_deref().unwrap_or_default()) })
    }
}

fn check_args(args: &Args) -> Result<(), ToolError> {
    let bad =
        |message: String, hint: &str| Err(ToolError::new(ErrorKind::BadArgs, message).hint(hint));
    if args.question.trim().is_empty() {
        return bad("`question` is empty".to_owned(), "ask one thing, in a sentence");
    }
    let options = args.options.as_deref().unwrap_or_default();
    let size = args.question.len() + options.iter().map(String::len).sum::<usize>();
    if size > MOST_QUESTION_BYTES {
        let message = format!("the question has {size} bytes; it may have {MOST_QUESTION_BYTES}");
        return bad(message, "ask one thing, in a sentence");
    }
    if options.len() > MOST_OPTIONS {
        let message = format!("there are {} options; there may be {MOST_OPTIONS}", options.len());
        return bad(message, "offer the likely ones: the person may answer something else");
    }
    if options.iter().any(|option| option.trim().is_empty()) {
        return bad("an option is empty".to_owned(), "leave it out");
    }
    Ok(())
}

/// Returns the form that the person fills in. The options are in its text, because the answer may be another one.
fn form(args: &Args) -> ClientQuestion {
    let options = args.options.as_deref().unwrap_or_default();
    let lines = options.iter().enumerate();
    let lines: Vec<String> =
        lines.map(|(index, option)| format!("\n{}. {option}", index + 1)).collect();
    let hint = if lines.is_empty() { "" } else { "\n(a number, or an answer of your own)" };
    let message = format!("{}{}{hint}", args.question, lines.concat());
    let schema = json!({
        "type": "object",
        "properties": {ANSWER: {"type": "string", "title": "Your answer"}},
        "required": [ANSWER],
    });
    ClientQuestion::Form { message, schema }
}

/// Returns what the person answered.
fn answer_in(reply: &Value) -> Result<String, ToolError> {
    match reply["action"].as_str() {
        Some("accept") => {}
        Some("decline") => {
            let message = "the person did not want to answer";
            return Err(ToolError::new(ErrorKind::Declined, message)
                .hint("decide what is sensible, or stop and say what you need to know"));
        }
        _ => {
            let message = "the person closed the question without an answer";
            return Err(ToolError::new(ErrorKind::Cancelled, message)
                .hint("decide what is sensible, or stop and say what you need to know"));
        }
    }
    let answer = reply["content"][ANSWER].as_str().map(str::trim).filter(|it| !it.is_empty());
    match answer {
        Some(answer) => Ok(answer.to_owned()),
        None => Err(ToolError::new(ErrorKind::Failed, "the client answered without an answer")
            .hint("ask again, or decide what is sensible")),
    }
}

/// Returns the option that an answer is the number of; any other answer as it is.
fn meant(answer: String, options: &[String]) -> String {
    if options.contains(&answer) {
        return answer;
    }
    let number = answer.trim_end_matches('.').parse::<usize>().ok();
    let option = number.and_then(|number| options.get(number.checked_sub(1)?));
    option.cloned().unwrap_or(answer)
}

fn nobody() -> ToolError {
    ToolError::new(ErrorKind::Unavailable, "there is nobody here who could be asked")
        .hint("decide what is sensible, and say what you decided")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_stands_for_its_option() {
        let ports = ["3000", "8080"].map(str::to_owned);
        let small = ["2", "1"].map(str::to_owned);
        for (answer, options, expect) in [
            ("1", &ports[..], "3000"),
            ("2.", &ports, "8080"),
            ("9000", &ports, "9000"),
            ("8080", &ports, "8080"),
            ("0", &ports, "0"),
            ("3", &ports, "3"),
            // What an option says goes before its place.
            ("1", &small, "1"),
            ("2", &[], "2"),
        ] {
            assert_eq!(meant(answer.to_owned(), options), expect, "{answer}");
        }
    }

    #[test]
    fn only_an_answer_is_an_answer() {
        let read = |reply: Value| answer_in(&reply).map_err(|err| err.kind);
        let accepted = json!({"action": "accept", "content": {"answer": " pytest "}});
        assert_eq!(read(accepted), Ok("pytest".to_owned()));
        for (reply, kind) in [
            (json!({"action": "decline"}), ErrorKind::Declined),
            (json!({"action": "cancel"}), ErrorKind::Cancelled),
            (json!({"action": "accept", "content": {"answer": "  "}}), ErrorKind::Failed),
            (json!({"action": "accept", "content": {"answer": 7}}), ErrorKind::Failed),
            (json!({}), ErrorKind::Cancelled),
        ] {
            assert_eq!(read(reply.clone()), Err(kind), "{reply}");
        }
    }
}
