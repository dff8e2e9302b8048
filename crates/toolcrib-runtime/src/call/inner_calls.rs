//! Calls that a tool makes while its own call runs, or a subagent that it started. They take the whole path, so policy, approval and the record
//! hold for what a tool does as for what an agent does.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use serde_json::Value;
use tokio::runtime::Handle;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{
    Call, CallId, CallTrace, CallableTool, Caller, Cancel, Door, Effect, HeldPath, InnerCalls,
    Outcome, SessionId, ToolName, Toolset,
};

/// Takes a call the whole path.
pub(crate) trait CallMaker: Clone + Send + Sync {
    /// Returns an id that no other call has.
    fn new_id(&self) -> CallId;

    /// Makes a call, and waits for its outcome on this thread.
    fn make(&self, call: Call, cancel: Cancel) -> Outcome;

    /// Returns the tools.
    fn toolset(&self) -> &Toolset;

    /// Returns the one by the settings and rules of now.
    fn latest(&self) -> Self;
}

/// Makes the calls of one tool during one call.
pub(crate) struct CallsOfTool<M> {
    maker: M,
    /// The call that the tool answers.
    outer: Call,
    /// Who makes the inner calls, as the record tells it.
    caller: Arc<Caller>,
    cancel: Cancel,
    lifetime: InnerLifetime,
    /// The event loop. The thread that makes a call may be one that knows of none.
    event_loop: Option<Handle>,
    made: AtomicU32,
}

/// Until when inner calls are made.
#[derive(Clone, Copy)]
enum InnerLifetime {
    /// While the outer call runs.
    OuterCall,
    /// For longer.
    Detached,
}

impl<M: CallMaker + 'static> CallsOfTool<M> {
    /// Returns what makes calls for the tool of `offer` while it answers `outer`. A tool that was called by a tool makes
    /// none, and no subagent has subagents, so they cannot call each other without end.
    pub(crate) fn of(
        maker: M,
        outer: &Call,
        offer: &Offer,
        cancel: &Cancel,
    ) -> Option<Arc<dyn InnerCalls>> {
        let tool = offer.full_name();
        let (door, client) = match (outer.caller.door, offer.tool.loaded()) {
            (Door::Plugin, _) | (Door::Agent, None) => return None,
            (_, Some(loaded)) => (Door::Plugin, format!("{tool} {}", loaded.version())),
            (_, None) => (Door::Agent, tool.to_string()),
        };
        let via = outer.caller.via.unwrap_or(outer.caller.door);
        let caller =
            Caller { door, client: Some(client), via: Some(via), ..(*outer.caller).clone() };
        Some(Arc::new(Self {
            maker,
            outer: Call { args: Value::Null, ..outer.clone() },
            caller: Arc::new(caller),
            cancel: cancel.clone(),
            lifetime: InnerLifetime::OuterCall,
            event_loop: Handle::try_current().ok(),
            made: AtomicU32::new(0),
        }))
    }
}

impl<M: CallMaker + 'static> InnerCalls for CallsOfTool<M> {
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
        let handle = self.event_loop.clone().unwrap_or_else(Handle::current);
        let cancel = self.cancel.child();
        // The tool's own thread is in the event loop already, and cannot wait for it a second time.
        let made = thread::scope(|scope| {
            let make = || {
                let _context = handle.enter();
                match self.lifetime {
                    InnerLifetime::OuterCall => self.maker.make(call, cancel),
                    // The outer call kept what it began with. What goes on after it does not.
                    InnerLifetime::Detached => self.maker.latest().make(call, cancel),
                }
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

    fn offered_tools(&self) -> Vec<CallableTool> {
        let offers = self.maker.toolset().offers().iter();
        offers.map(offered_tool).collect()
    }

    fn detached(&self, cancel: &Cancel) -> Arc<dyn InnerCalls> {
        Arc::new(Self {
            maker: self.maker.clone(),
            outer: self.outer.clone(),
            caller: Arc::clone(&self.caller),
            cancel: cancel.clone(),
            lifetime: InnerLifetime::Detached,
            event_loop: self.event_loop.clone(),
            made: AtomicU32::new(self.made.load(Ordering::Relaxed)),
        })
    }
}

fn offered_tool(offer: &Offer) -> CallableTool {
    let declared = offer.tool.declaration();
    CallableTool {
        name: offer.full_name().clone(),
        summary: declared.summary.to_owned(),
        schema: offer.tool.schema(),
        is_read_only: declared.effect != Effect::Write,
        is_loaded: offer.tool.loaded().is_some(),
    }
}
