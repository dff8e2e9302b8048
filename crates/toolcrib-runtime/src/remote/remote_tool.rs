//! A tool that another machine runs. It is the same tool with the same arguments; its checks and its work are there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use toolcrib_core::checked_elsewhere::CheckedElsewhere;
use toolcrib_core::policy::Policy;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{
    Call, Cancel, Ctx, Declared, Effect, ErrorKind, Example, LoadedTool, Permit, Plan, Prepared,
    ToolError, ToolHandle, ToolKind,
};

use super::dispatcher::{PermittedCall, RemoteCall, RemoteCheck, RemotePlace};

/// The time that the other machine has beyond the deadline of the call, which it keeps itself: to end a command, and to say
/// so.
const REPLY_RESERVE: Duration = Duration::from_secs(7);

/// Whether calls of a tool can run on another machine. One that asks people or makes calls of other tools does so where
/// its caller is; those calls are placed themselves. One that others brought is only known to be on this machine.
pub(crate) fn can_be_placed(offer: &Offer) -> bool {
    let tool = &offer.tool;
    tool.loaded().is_none() && !tool.makes_calls() && tool.declaration().effect != Effect::Compute
}

/// A tool of one call, and the place where it runs.
pub(crate) struct RemoteTool {
    tool: ToolHandle,
    version: String,
    place: Arc<dyn RemotePlace>,
    call: RemoteCall,
}

impl RemoteTool {
    /// Returns the tool of an offer as one that another machine runs.
    pub(crate) fn of(
        offer: &Offer,
        call: &Call,
        place: Arc<dyn RemotePlace>,
        (policy, cancel): (&Arc<Policy>, &Cancel),
    ) -> ToolHandle {
        let call = RemoteCall {
            call: Call { tool: offer.full_name().clone(), ..call.clone() },
            effect: offer.tool.declaration().effect,
            limits: offer.limits,
            policy: Arc::clone(policy),
            cancel: cancel.clone(),
        };
        let (tool, version) = (offer.tool.clone(), offer.version().to_owned());
        ToolHandle::Loaded(Arc::new(Self { tool, version, place, call }))
    }
}

impl LoadedTool for RemoteTool {
    fn kind(&self) -> ToolKind {
        self.tool.kind()
    }

    fn declaration(&self) -> Declared<'_> {
        self.tool.declaration()
    }

    fn examples(&self) -> Vec<Example<'_>> {
        self.tool.examples()
    }

    fn schema(&self) -> Value {
        self.tool.schema()
    }

    fn reply_schema(&self) -> Value {
        self.tool.reply_schema()
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn parse(self: Arc<Self>, args: &Value) -> Result<Box<dyn Prepared>, ToolError> {
        // Nothing is sent that does not fit the schema.
        self.tool.parse(args)?;
        Ok(Box::new(RemotePrepared { tool: self, check: Mutex::default() }))
    }

    fn reserve(&self) -> Duration {
        REPLY_RESERVE
    }
}

/// A call whose arguments fit.
struct RemotePrepared {
    tool: Arc<RemoteTool>,
    /// What the other machine said last.
    check: Mutex<Option<RemoteCheck>>,
}

impl RemotePrepared {
    fn last_check(&self) -> Option<RemoteCheck> {
        self.check.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Prepared for RemotePrepared {
    fn check(&self, ctx: &Ctx) -> Result<Plan, ToolError> {
        let RemoteTool { place, call, .. } = &*self.tool;
        if !call.needs_check() {
            return Ok(Plan::default());
        }
        let check = Handle::current().block_on(async {
            tokio::select! {
                check = place.check(call) => check,
                () = ctx.cancel.cancelled() => {
                    Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"))
                }
            }
        })?;
        let hosts = check.checked.question.network.clone().unwrap_or_default();
        *self.check.lock().unwrap_or_else(PoisonError::into_inner) = Some(check);
        // The rest of its plan was decided on where the files are.
        Ok(Plan { hosts, ..Plan::default() })
    }

    fn runs_elsewhere(&self) -> bool {
        true
    }

    fn checked_elsewhere(&self) -> Option<CheckedElsewhere> {
        self.last_check().map(|check| check.checked)
    }

    fn run(self: Box<Self>, permit: Permit, ctx: Ctx) -> ReplyFuture {
        let check = self.last_check();
        let (place, call) = (Arc::clone(&self.tool.place), self.tool.call.clone());
        Box::pin(async move {
            let permitted = PermittedCall { call, check, is_answered: permit.is_answered() };
            let (result, used) = place.run(permitted).await;
            ctx.meter.add(&used);
            result
        })
    }
}
