//! `todo_manager`: keeps a plan of at most fifteen items.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{
    Ctx, Declaration, Effect, ErrorKind, Example, Limits, Plan, Tier, Tool, ToolError,
};

use crate::operation::todo::{self, Item, Status};

pub(crate) struct TodoManager;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// The whole plan; it replaces the one before
    items: Vec<Wish>,
}

#[derive(Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Wish {
    /// Ignored: items are numbered anew
    #[serde(rename = "id")]
    _id: Option<String>,
    /// What is to be done ("Gather context")
    content: String,
    /// The same, in the present ("Gathering context")
    active_form: String,
    /// How far it has got
    status: Status,
}

#[derive(Clone, Serialize)]
pub(crate) struct PlanItem {
    id: String,
    #[serde(flatten)]
    item: Item,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Reply {
    items: Vec<PlanItem>,
    max_items: usize,
    current_item: Option<PlanItem>,
}

const MAX_ITEMS: usize = 15;

static DECLARATION: Declaration = Declaration {
    name: "todo_manager",
    summary: "Keep the plan: at most 15 items, one of them in progress. Returns: {items[{id, \
              content, activeForm, status}], maxItems, currentItem}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[
        Example {
            about: "When nothing is in progress, the first pending item begins.",
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
            about: "One thing at a time.",
            files: &[],
            before: &[],
            args: r#"{"items": [
                {"content": "A", "activeForm": "A-ing", "status": "in_progress"},
                {"content": "B", "activeForm": "B-ing", "status": "in_progress"}]}"#,
            reply: r#"{"error": "only one item can be in_progress, and 2 are"}"#,
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
        if args.items.len() > MAX_ITEMS {
            return refuse(format!(
                "a plan has at most {MAX_ITEMS} items, and this has {}",
                args.items.len()
            ));
        }
        let begun = args.items.iter().filter(|item| item.status == Status::InProgress).count();
        if begun > 1 {
            return refuse(format!("only one item can be in_progress, and {begun} are"));
        }
        todo::check(&items(args), "items")?;
        Ok(Plan::default())
    }

    async fn run(&self, _: &Ctx, args: Args) -> Result<Reply, ToolError> {
        let mut items = items(&args);
        let is_idle = items.iter().all(|item| item.status != Status::InProgress);
        if let Some(first) = items.iter_mut().find(|item| is_idle && item.status == Status::Pending)
        {
            first.status = Status::InProgress;
        }
        let items: Vec<PlanItem> = items
            .into_iter()
            .zip(1..)
            .map(|(item, number)| PlanItem { id: format!("step-{number}"), item })
            .collect();
        let current = items.iter().find(|plan| plan.item.status == Status::InProgress).cloned();
        Ok(Reply { items, max_items: MAX_ITEMS, current_item: current })
    }
}

fn items(args: &Args) -> Vec<Item> {
    let item = |wish: &Wish| Item {
        content: wish.content.clone(),
        active_form: wish.active_form.clone(),
        status: wish.status,
    };
    args.items.iter().map(item).collect()
}
