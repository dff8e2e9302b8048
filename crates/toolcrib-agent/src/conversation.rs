//! A conversation with a model, whatever wire format it goes over.

use serde_json::Value;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// What the model is told before all else.
    Instructions(String),
    /// What it is asked to do.
    Request(String),
    /// What it said, and the calls that it wanted.
    Turn {
        /// What it said.
        text: String,
        /// The calls.
        calls: Vec<WantedCall>,
    },
    /// The reply to one of its calls.
    Reply {
        /// The model's own id of the call.
        id: String,
        /// The reply.
        text: String,
    },
}

/// A call that a model wants.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedCall {
    /// The model's own id of the call.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The arguments; or why they cannot be read.
    pub args: Result<Value, String>,
}

/// What a model answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTurn {
    /// What it said.
    pub text: String,
    /// The calls that it wants.
    pub calls: Vec<WantedCall>,
    /// How many tokens the request and the answer had. If the endpoint does not say, this is an estimate.
    pub tokens: u64,
    /// Whether the answer is cut because it was too long for the endpoint.
    pub is_cut: bool,
}
