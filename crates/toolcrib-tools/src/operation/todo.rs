//! Items of a todo list, for the catalogues that keep one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_core::{ErrorKind, ToolError};

/// The most items of a list.
const MAX_TODO_ITEMS: usize = 1000;

/// The most bytes of an item's text.
const MAX_TODO_BYTES: usize = 10_000;

/// One item of a todo list.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct TodoItem {
    /// Task in imperative form ("Run tests").
    pub(crate) content: String,
    /// Task in continuous form ("Running tests").
    pub(crate) active_form: String,
    /// `pending`, `in_progress`, or `completed`.
    pub(crate) status: TodoStatus,
}

/// The status of a todo item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TodoStatus {
    Pending,
    InProgress,
    Completed,
}

/// Fails if the list is too long, or if an item's text is empty or too long.
pub(crate) fn check(items: &[TodoItem], list: &str) -> Result<(), ToolError> {
    let refuse = |message: String| Err(ToolError::new(ErrorKind::BadArgs, message));
    if items.len() > MAX_TODO_ITEMS {
        return refuse(format!(
            "`{list}` has {} items, but the limit is {MAX_TODO_ITEMS}",
            items.len()
        ));
    }
    for (index, item) in items.iter().enumerate() {
        for (field, text) in [("content", &item.content), ("activeForm", &item.active_form)] {
            if text.trim().is_empty() {
                return refuse(format!("`{list}[{index}].{field}` is empty"));
            }
            if text.len() > MAX_TODO_BYTES {
                return refuse(format!(
                    "`{list}[{index}].{field}` is longer than {MAX_TODO_BYTES} bytes"
                ));
            }
        }
    }
    Ok(())
}
