//! `todo_manager`: keeps a plan of at most 15 items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::todo::{self, TodoItem, TodoStatus};

pub(crate) struct TodoManager;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole plan; it replaces the previous one
    items: Vec<PlanItemArgs>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct PlanItemArgs {
    /// Ignored: the reply numbers the items again
    #[serde(rename = "id")]
    _id: Option<String>,
    /// What is to be done ("Gather context")
    content: String,
    /// The same as an ongoing activity ("Gathering context")
    active_form: String,
    /// `pending`, `in_progress`, or `completed`
    status: TodoStatus,
}

#[derive(Clone, Serialize, JsonSchema)]
pub(crate) struct PlanItem {
    id: String,
    #[serde(flatten)]
    item: TodoItem,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    items: Vec<PlanItem>,
    max_items: usize,
    current_item: Option<PlanItem>,
}

/// The most items of a plan, as the contract has it.
const MAX_PLAN_ITEMS: usize = 15;

static DECLARATION: Declaration = Declaration {
    name: "todo_manager",
    summary: "Write the plan: at most 15 items, at most one of them in progress. Returns: {items[{id, \
              content, activeForm, status}], maxItems, currentItem}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "If no item is in progress, the first pending item becomes it.",
            files: &[],
            before: &[],
            args: r#"{"items": [
                {"content": "Gather context", "activeForm": "Gathering context", "status": "pending"},
                {"content": "Map domains", "activeForm": "Mapping domains", "status": "pending"}]}"#,
            reply: r#"{"items": [
                {"id": "step-1", "content": "Gather context", "activeForm": "Gathering context",
                    "status": "in_progress"},
                {"id": "step-2", "content": "Map domains", "activeForm": "Mapping domains",
                    "status": "pending"}],
                "maxItems": 15,
                "currentItem": {"id": "step-1", "content": "Gather context",
                    "activeForm": "Gathering context", "status": "in_progress"}}"#,
            leaves: &[],
        },
        Example {
            about: "Two items in progress are an error.",
            files: &[],
            before: &[],
            args: r#"{"items": [
                {"content": "A", "activeForm": "A-ing", "status": "in_progress"},
                {"content": "B", "activeForm": "B-ing", "status": "in_progress"}]}"#,
            reply: r#"{"error": "only one item can be in_progress, but 2 are"}"#,
            leaves: &[],
        },
    ],
};

impl Tool for TodoManager {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    fn check(&self, _: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        let refuse = |message: String| Err(ToolError::new(ErrorKind::BadArgs, message));
        if args.items.len() > MAX_PLAN_ITEMS {
            return refuse(format!(
                "a plan can have at most {MAX_PLAN_ITEMS} items, but this one has {}",
                args.items.len()
            ));
        }
        let begun = args.items.iter().filter(|item| item.status == TodoStatus::InProgress).count();
        if begun > 1 {
            return refuse(format!("only one item can be in_progress, but {begun} are"));
        }
        todo::check(&items(args), "items")?;
        Ok(Plan::default())
    }

    async fn run(&self, _: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let mut items = items(&args);
        let none_in_progress = items.iter().all(|item| item.status != TodoStatus::InProgress);
        if let Some(first) =
            items.iter_mut().find(|item| none_in_progress && item.status == TodoStatus::Pending)
        {
            first.status = TodoStatus::InProgress;
        }
        let items: Vec<PlanItem> = items
            .into_iter()
            .zip(1..)
            .map(|(item, number)| PlanItem { id: format!("step-{number}"), item })
            .collect();
        let current = items.iter().find(|plan| plan.item.status == TodoStatus::InProgress).cloned();
        Ok(Reply { items, max_items: MAX_PLAN_ITEMS, current_item: current })
    }
}

fn items(args: &Args) -> Vec<TodoItem> {
    let item = |args: &PlanItemArgs| TodoItem {
        content: args.content.clone(),
        active_form: args.active_form.clone(),
        status: args.status,
    };
    args.items.iter().map(item).collect()
}
