//! Subagents: the port through which a tool hands work to an agent of its own.

use std::sync::Arc;
use std::time::Duration;

use crate::call::CallId;
use crate::cancel::Cancel;
use crate::command::Task;
use crate::error::{ErrorKind, ToolError};
use crate::inner_calls::InnerCalls;
use crate::meter::Meter;

/// Runs subagents. What a caller asks about is its own subagents, and no others.
pub trait Subagents: Send + Sync {
    /// Returns the host of the model that does the work, if one is configured.
    fn host(&self) -> Option<&str>;

    /// Does the work, and returns when it is over, however it ended.
    fn run(&self, work: SubagentWork, cancel: &Cancel) -> Result<SubagentReport, ToolError>;

    /// Begins the work, which goes on after its call. The task has the id of the call.
    fn start(&self, work: SubagentWork) -> Result<(), ToolError>;

    /// Returns the state of a subagent that was started; nothing if no subagent has this id.
    fn task(&self, id: &str) -> Option<Task>;

    /// Waits until a subagent is over, for `most` at most, and returns its state.
    fn wait(&self, id: &str, most: Duration, cancel: &Cancel) -> Option<Task>;

    /// Stops a subagent. Returns whether it was still running.
    fn kill(&self, id: &str) -> Option<bool>;
}

/// Work for a subagent.
#[derive(Clone)]
pub struct SubagentWork {
    /// The call that hands it over.
    pub call: CallId,
    /// What is to be done.
    pub prompt: String,
    /// The catalogue whose tools the subagent gets, beside those of other authors.
    pub catalogue: &'static str,
    /// Makes its calls.
    pub calls: Arc<dyn InnerCalls>,
    /// Counts what goes to and from its model while the call waits.
    pub meter: Meter,
    /// The time in which it must be done.
    pub time: Duration,
}

/// How the work of a subagent ended. What it had done by then is always there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SubagentReport {
    /// Its report, or what it had said by the time it was stopped.
    pub text: String,
    /// Why it did not get to its end, if it did not.
    pub failure: Option<String>,
}

/// Nobody does work for tools.
#[derive(Clone, Copy, Debug)]
pub struct NoSubagents;

impl NoSubagents {
    /// Returns the error of a call that needs a subagent.
    pub fn error() -> ToolError {
        ToolError::new(ErrorKind::Unavailable, "a subagent needs a model, and none is configured")
            .with("reason", "no_model")
            .hint("set `model.url` and `model.name`, such as http://127.0.0.1:11434/v1 and llama3.2 (`toolcrib config set`)")
    }
}

impl Subagents for NoSubagents {
    fn host(&self) -> Option<&str> {
        None
    }

    fn run(&self, _: SubagentWork, _: &Cancel) -> Result<SubagentReport, ToolError> {
        Err(Self::error())
    }

    fn start(&self, _: SubagentWork) -> Result<(), ToolError> {
        Err(Self::error())
    }

    fn task(&self, _: &str) -> Option<Task> {
        None
    }

    fn wait(&self, _: &str, _: Duration, _: &Cancel) -> Option<Task> {
        None
    }

    fn kill(&self, _: &str) -> Option<bool> {
        None
    }
}
