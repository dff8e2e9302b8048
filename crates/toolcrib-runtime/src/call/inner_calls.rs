//! Calls that a loaded tool makes while its own call runs. They take the whole path, so policy, approval and the record
//! hold for what a tool does as for what an agent does.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::Value;
use tokio::runtime::Handle;
use toolcrib_core::{
    Call, CallTrace, Caller, Cancel, Door, ErrorKind, InnerCalls, Outcome, ToolError, ToolName,
};

use crate::runtime::{Runtime, wait_for};

/// Makes the calls of one tool during one call.
pub(crate) struct CallsOfTool {
    runtime: Runtime,
    /// The call that the tool answers.
    outer: Call,
    /// Who makes the inner calls, as the record tells it.
    caller: Arc<Caller>,
    cancel: Cancel,
    made: AtomicU32,
}

impl CallsOfTool {
    /// Returns what makes calls for `tool` in its `version`, while it answers `outer`. A tool that was called by a tool
    /// makes none, so they cannot call each other without end.
    pub(crate) fn of(
        runtime: &Runtime,
        outer: &Call,
        tool: &ToolName,
        version: &str,
        cancel: &Cancel,
    ) -> Option<Arc<dyn InnerCalls>> {
        if outer.caller.door == Door::Plugin {
            return None;
        }
        let caller = Caller {
            principal: outer.caller.principal.clone(),
            door: Door::Plugin,
            client: Some(format!("{tool} {version}")),
        };
        Some(Arc::new(Self {
            runtime: runtime.clone(),
            outer: Call { args: Value::Null, ..outer.clone() },
            caller: Arc::new(caller),
            cancel: cancel.clone(),
            made: AtomicU32::new(0),
        }))
    }
}

impl InnerCalls for CallsOfTool {
    fn call(&self, tool: ToolName, args: Value) -> Outcome {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let call = Call {
            id: self.runtime.world.new_call_id(),
            caller: Arc::clone(&self.caller),
            trace: Some(CallTrace { id: Some(self.outer.id.0.clone()), iteration: number }),
            tool,
            args,
            ..self.outer.clone()
        };
        let rejected = call.clone();
        let (cancel, handle) = (self.cancel.child(), Handle::try_current());
        // The tool's own thread is in the event loop already, and cannot wait for it a second time.
        let outcome = handle.ok().and_then(|handle| {
            thread::scope(|scope| {
                let make = || {
                    let _context = handle.enter();
                    wait_for(self.runtime.call(call, cancel))
                };
                scope.spawn(make).join().ok()
            })
        });
        outcome.unwrap_or_else(|| {
            let bug = ToolError::new(ErrorKind::Bug, "the call of a tool could not be made");
            self.runtime.reject(&rejected, &bug)
        })
    }
}
