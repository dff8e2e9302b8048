//! The client that made a call, as far as a tool can reach it: to ask the person or the model at it, to tell how far the
//! call is, and to go on without it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;

use crate::error::{ErrorKind, ToolError};

/// The client that made a call.
///
/// A client may be asked by the reply to the call, and bring its answers with the same call. The tool then runs again
/// from its beginning, so it asks before it changes anything.
pub trait CallingClient: Send + Sync {
    /// Asks the client, and returns its answers under the names of the questions.
    fn ask(&self, questions: BTreeMap<String, ClientQuestion>) -> ClientFuture<'_, Answers>;

    /// Says that the rest of the call may take long. A client that can come back for the outcome is told so at once.
    fn detach(&self, need: DetachNeed) -> ClientFuture<'_, ()>;

    /// Whether the client can answer such a question.
    fn can_answer(&self, question: &ClientQuestion) -> bool;

    /// Tells the client how far the call is, if it wants to know.
    fn report_progress(&self, progress: ProgressReport) -> ClientFuture<'_, ()>;

    /// Tells the client something about the call, if it wants to know.
    fn log(&self, level: MessageLevel, message: String) -> ClientFuture<'_, ()>;
}

/// What a client answered, by the names of the questions.
pub type Answers = BTreeMap<String, Value>;

/// What a client does, once it is done.
pub type ClientFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + 'a>>;

/// A question to a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientQuestion {
    /// A form for the person at the client: what it says, and the JSON Schema of its fields.
    Form {
        /// What the form says.
        message: String,
        /// The JSON Schema of its fields.
        schema: Value,
    },
    /// A text for the model of the client.
    Model {
        /// The text.
        prompt: String,
        /// The most tokens of its answer.
        most_tokens: u32,
    },
    /// The folders that the client works in.
    Roots,
}

/// Whether a call can go on if its client cannot come back for the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DetachNeed {
    /// It can: the client waits.
    Wanted,
    /// It cannot.
    Required,
}

/// How far a call is.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressReport {
    /// How much is done.
    pub done: f64,
    /// How much there is in all, if that is known.
    pub total: Option<f64>,
    /// What is done now.
    pub message: Option<String>,
}

/// How important a message is, as RFC 5424 has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MessageLevel {
    /// For those who look for a mistake.
    Debug,
    /// What goes on.
    Info,
    /// What a person may want to know.
    Notice,
    /// What may be wrong.
    Warning,
    /// What went wrong.
    Error,
}

/// The client of a door that cannot ask its clients.
pub struct NoClient;

impl CallingClient for NoClient {
    fn ask(&self, _: BTreeMap<String, ClientQuestion>) -> ClientFuture<'_, Answers> {
        Box::pin(async {
            let message = "the tool asks its client, and this client cannot be asked";
            Err(ToolError::new(ErrorKind::Unavailable, message))
        })
    }

    fn detach(&self, need: DetachNeed) -> ClientFuture<'_, ()> {
        Box::pin(async move {
            match need {
                DetachNeed::Wanted => Ok(()),
                DetachNeed::Required => {
                    let message =
                        "the tool runs only for clients that can come back for the outcome";
                    Err(ToolError::new(ErrorKind::Unavailable, message))
                }
            }
        })
    }

    fn can_answer(&self, _: &ClientQuestion) -> bool {
        false
    }

    fn report_progress(&self, _: ProgressReport) -> ClientFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn log(&self, _: MessageLevel, _: String) -> ClientFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}
