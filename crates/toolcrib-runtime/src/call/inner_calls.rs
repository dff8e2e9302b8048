//! Calls that a loaded tool makes while its own call runs. They take the whole path, so policy, approval and the record
//! hold for what a tool does as for what an agent does.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::Value;
use tokio::runtime::Handle;
use toolcrib_core::{
    Call, CallId, CallTrace, Caller, Cancel, Door, HeldPath, InnerCalls, Outcome, SessionId,
    ToolName,
};

/// Takes a call the whole path.
pub(crate) trait CallMaker: Send + Sync {
    /// Returns an id that no other call has.
    fn new_id(&self) -> CallId;

    /// Makes a call, and waits for its outcome on this thread.
    fn make(&self, call: Call, cancel: Cancel) -> Outcome;
}

/// Makes the calls of one tool during one call.
pub(crate) struct CallsOfTool<M> {
    maker: M,
    /// The call that the tool answers.
    outer: Call,
    /// Who makes the inner calls, as the record tells it.
    caller: Arc<Caller>,
    cancel: Cancel,
    made: AtomicU32,
}

impl<M: CallMaker + 'static> CallsOfTool<M> {
    /// Returns what makes calls for `tool` in its `version`, while it answers `outer`. A tool that was called by a tool
    /// makes none, so they cannot call each other without end.
    pub(crate) fn of(
        maker: M,
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
            connection: outer.caller.connection.clone(),
        };
        Some(Arc::new(Self {
            maker,
            outer: Call { args: Value::Null, ..outer.clone() },
            caller: Arc::new(caller),
            cancel: cancel.clone(),
            made: AtomicU32::new(0),
        }))
    }
}

impl<M: CallMaker> InnerCalls for CallsOfTool<M> {
    fn call(&self, tool: ToolName, args: Value, held_path: Option<HeldPath>) -> Outcome {
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let call = Call {
            id: self.maker.new_id(),
            caller: Arc::clone(&self.caller),
            trace: Some(CallTrace { id: Some(self.outer.id.0.clone()), iteration: number }),
            tool,
            args,
            held_path,
            ..self.outer.clone()
        };
        let (cancel, handle) = (self.cancel.child(), Handle::current());
        // The tool's own thread is in the event loop already, and cannot wait for it a second time.
        let made = thread::scope(|scope| {
            let make = || {
                let _context = handle.enter();
                self.maker.make(call, cancel)
            };
            scope.spawn(make).join()
        });
        made.unwrap_or_else(|panic| resume_unwind(panic))
    }

    fn outer_caller(&self) -> &Caller {
        &self.outer.caller
    }

    fn session(&self) -> &SessionId {
        &self.outer.session
    }
}
