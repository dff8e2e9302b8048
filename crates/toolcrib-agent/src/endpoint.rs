//! The endpoint of a model: the port of the loop.

use std::time::Duration;

use serde_json::Value;
use toolcrib_core::{Cancel, Meter, ToolError};

use crate::conversation::{Message, ModelTurn};

/// Answers a conversation, one turn at a time.
pub trait AgentModel: Send + Sync {
    /// Returns the host that gets the conversation.
    fn host(&self) -> &str;

    /// Takes one turn.
    fn turn(&self, request: &TurnRequest<'_>, cancel: &Cancel) -> Result<ModelTurn, ToolError>;
}

/// A request for one turn.
pub struct TurnRequest<'a> {
    /// What was said so far.
    pub messages: &'a [Message],
    /// The tools, declared as OpenAI's function calling has it.
    pub tools: &'a Value,
    /// How long the turn may take.
    pub time: Duration,
    /// Counts the bytes sent and received.
    pub meter: &'a Meter,
}

/// Where a model is.
#[derive(Clone, Debug)]
pub struct ModelPlace {
    /// The URL that `/chat/completions` follows.
    pub url: String,
    /// The name of the model.
    pub name: String,
    /// The key, if the endpoint wants one.
    pub key: Option<String>,
}
