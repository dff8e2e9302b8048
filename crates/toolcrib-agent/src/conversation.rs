//! A conversation with a model, whatever wire format it goes over.

use serde_json::Value;
use toolcrib_core::ToolError;

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

impl Message {
    /// Returns about how many bytes it has.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Instructions(text) | Self::Request(text) | Self::Reply { text, .. } => text.len(),
            Self::Turn { text, calls } => {
                let args = calls
                    .iter()
                    .map(|call| call.args.as_ref().map_or(0, |args| args.to_string().len()));
                text.len() + args.sum::<usize>()
            }
        }
    }
}

/// A call that a model wants.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedCall {
    /// The model's own id of the call.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The arguments; or why they cannot be read.
    pub args: Result<Value, ToolError>,
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
    /// Whether the answer is whole.
    pub length: AnswerLength,
}

/// Whether an answer is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerLength {
    /// It is.
    Whole,
    /// It was too long for the endpoint, and its end is missing.
    Cut,
}
