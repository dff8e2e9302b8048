//! Items of a plan, as the two catalogues that keep plans write them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ErrorKind, ToolError};

/// The most items a list may have, and the most bytes an item's text.
const MAX_ITEMS: usize = 1000;
const MAX_TEXT: usize = 10_000;

/// One thing to do.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Item {
    /// Task in imperative form ("Run tests").
    pub(crate) content: String,
    /// Task in continuous form ("Running tests").
    pub(crate) active_form: String,
    /// `pending`, `in_progress`, or `completed`.
    pub(crate) status: Status,
}

/// How far a thing to do has got.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Pending,
    InProgress,
    Completed,
}

/// Fails if an item has no text or far too much of it.
pub(crate) fn check(items: &[Item], list: &str) -> Result<(), ToolError> {
    let refuse = |message: String| Err(ToolError::new(ErrorKind::BadArgs, message));
    if items.len() > MAX_ITEMS {
        return refuse(format!("`{list}` has {} items, and the limit is {MAX_ITEMS}", items.len()));
    }
    for (index, item) in items.iter().enumerate() {
        for (field, text) in [("content", &item.content), ("activeForm", &item.active_form)] {
            if text.trim().is_empty() {
                return refuse(format!("`{list}[{index}].{field}` is empty"));
            }
            if text.len() > MAX_TEXT {
                return refuse(format!("`{list}[{index}].{field}` is over {MAX_TEXT} bytes"));
            }
        }
    }
    Ok(())
}
