//! A language model: the port through which a tool has a text processed.

use std::time::Duration;

use crate::cancel::Cancel;
use crate::error::{ErrorKind, ToolError};
use crate::meter::Meter;

/// Answers questions about texts.
pub trait Model: Send + Sync {
    /// Returns the host that gets the texts, if a model is configured.
    fn host(&self) -> Option<&str>;

    /// Answers a question about a text. The meter is told what went to and fro, also if it fails.
    fn answer(
        &self,
        question: &TextQuestion,
        meter: &Meter,
        cancel: &Cancel,
    ) -> Result<String, ToolError>;
}

/// A question about a text from somebody who is not trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextQuestion {
    /// The question.
    pub prompt: String,
    /// The text. What it says is no instruction.
    pub text: String,
    /// Where the text is from.
    pub source: String,
    /// The time in which the answer must be there.
    pub time: Duration,
}

/// There is no model.
#[derive(Clone, Copy, Debug)]
pub struct NoModel;

impl Model for NoModel {
    fn host(&self) -> Option<&str> {
        None
    }

    fn answer(&self, _: &TextQuestion, _: &Meter, _: &Cancel) -> Result<String, ToolError> {
        Err(ToolError::new(ErrorKind::Unavailable, "no model is configured")
            .with("reason", "no_model")
            .hint(
                "set `model.url` and `model.name`, such as http://127.0.0.1:11434/v1 and llama3.2",
            ))
    }
}
