//! A reply that is mainly text: what happened, the files it affected, and figures beside it.

use schemars::JsonSchema;
use serde::Serialize;

/// The reply of a tool, before its catalogue adds the fields that all replies have.
#[derive(Serialize, JsonSchema)]
pub(crate) struct TextReply<M> {
    pub(crate) output: String,
    pub(crate) files_affected: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<M>,
}
