//! `create_task_card`: turns an observation into a card for the task list.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

pub(crate) struct CreateTaskCard;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What is to be done, in one line
    title: String,
    /// What was observed and why it matters
    description: Option<String>,
    /// How urgent the task is (default: medium)
    severity: Option<CardSeverity>,
    /// Facts that support the observation: files, measurements, messages
    evidence: Option<Vec<String>>,
    /// What must be true when the task is done
    acceptance: Option<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CardSeverity {
    Low,
    Medium,
    High,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Reply {
    id: String,
    title: String,
    severity: CardSeverity,
    status: &'static str,
    #[serde(rename = "createdAt")]
    created_at: String,
    card: String,
}

/// The most characters of a title.
const MAX_TITLE_CHARS: usize = 200;

static DECLARATION: Declaration = Declaration {
    name: "create_task_card",
    summary: "Generate TGT task card, as data and as Markdown. Returns: {ok, tool, result{id, title, \
              severity, status, createdAt, card}, elapsed_ms}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "Create a card.",
            files: &[],
            before: &[],
            args: r#"{"title": "Reads are slow", "severity": "high",
                "evidence": ["p95 went from 120 to 250 ms"], "acceptance": ["p95 below 130 ms"]}"#,
            reply: r#"{"ok": true, "tool": "create_task_card", "result": {"id": "*",
                "title": "Reads are slow", "severity": "high", "status": "proposed", "createdAt": "*",
                "card": "*"}, "elapsed_ms": 0}"#,
            leaves: &[],
        },
        Example {
            about: "A card without a title is an error.",
            files: &[],
            before: &[],
            args: r#"{"title": ""}"#,
            reply: r#"{"ok": false, "error": "invalid_arguments", "message": "`title` is empty"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for CreateTaskCard {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, _: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let refuse = |message: String| Err(ToolError::new(ErrorKind::BadArgs, message));
        if args.title.trim().is_empty() {
            return refuse("`title` is empty".to_owned());
        }
        if args.title.chars().count() > MAX_TITLE_CHARS || args.title.contains('\n') {
            return refuse(format!(
                "`title` must be one line of at most {MAX_TITLE_CHARS} characters"
            ));
        }
        Ok(Plan::default())
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let severity = args.severity.unwrap_or(CardSeverity::Medium);
        let id = format!("TGT-{}", ctx.call);
        let card = card(&id, &args, severity);
        Ok(Reply {
            id,
            title: args.title,
            severity,
            status: "proposed",
            created_at: format!("{:.3}", ctx.clock.now()),
            card,
        })
    }
}

fn card(id: &str, args: &Args, severity: CardSeverity) -> String {
    let severity = match severity {
        CardSeverity::Low => "low",
        CardSeverity::Medium => "medium",
        CardSeverity::High => "high",
    };
    let mut card =
        format!("# {}\n\n- id: {id}\n- severity: {severity}\n- status: proposed\n", args.title);
    if let Some(description) = &args.description {
        let _ = write!(card, "\n{description}\n");
    }
    for (title, mark, items) in
        [("Evidence", "-", &args.evidence), ("Acceptance", "- [ ]", &args.acceptance)]
    {
        let Some(items) = items.as_ref().filter(|items| !items.is_empty()) else { continue };
        let _ = write!(card, "\n## {title}\n\n");
        for item in items {
            let _ = writeln!(card, "{mark} {item}");
        }
    }
    card
}
