//! The port to other machines that run calls.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::policy::Policy;
use toolcrib_core::{Call, Cancel, Effect, Limits, ToolError, ToolName, Usage};

/// Knows which calls run on other machines.
pub trait Dispatcher: Send + Sync {
    /// Returns the place where a call of this tool runs; nothing if it runs here.
    fn place(&self, tool: &ToolName) -> Option<Arc<dyn RemotePlace>>;
}

/// A place for calls: the machines that have one workspace.
pub trait RemotePlace: Send + Sync {
    /// Finds out what a call would do, and what policy decides there. Nothing is changed.
    fn check<'a>(&'a self, call: &'a RemoteCall) -> RemoteFuture<'a, RemoteCheck>;

    /// Runs a call that was checked and permitted.
    /// Returns what the call used there, too.
    fn run(self: Arc<Self>, call: PermittedCall) -> RemoteRun;
}

/// What another machine answers, once it does.
pub type RemoteFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, ToolError>> + Send + 'a>>;

/// What came of a call on another machine, and what it used there.
pub type RemoteRun = Pin<Box<dyn Future<Output = (Result<Value, ToolError>, Usage)> + Send>>;

/// A call for another machine.
#[derive(Clone)]
pub struct RemoteCall {
    /// The call. Its tool has its full name.
    pub call: Call,
    /// What the tool does.
    pub effect: Effect,
    /// The limits of the call here. They hold there, too.
    pub limits: Limits,
    /// The policy in force here. It decides there, too.
    pub policy: Arc<Policy>,
    /// Ends the call.
    pub cancel: Cancel,
}

impl RemoteCall {
    /// Returns the full name of the tool.
    pub fn tool(&self) -> &ToolName {
        &self.call.tool
    }

    /// Whether the call is checked on the other machine before it is decided on. One that computes and does nothing else
    /// needs no check: its arguments say all about it.
    pub fn needs_check(&self) -> bool {
        self.effect != Effect::None
    }
}

/// What a machine says about a call before it runs.
#[derive(Clone, Debug)]
pub struct RemoteCheck {
    /// What it found out.
    pub checked: CheckedElsewhere,
    /// The machine that checked the call, and holds it ready to run.
    pub worker: String,
    /// The process there.
    pub process: String,
    /// The name of its offer to run the call once.
    pub offer: String,
}

/// A call that may run.
pub struct PermittedCall {
    /// The call.
    pub call: RemoteCall,
    /// What was found out about it, if it was checked.
    pub check: Option<RemoteCheck>,
    /// Whether policy asked about it, and the answer was yes.
    pub is_answered: bool,
}
