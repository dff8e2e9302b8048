//! Replay: decides recorded calls again, to show what other rules would change.

use std::sync::Arc;

use toolcrib_core::recorded_call::RecordedCall;
use toolcrib_core::{Call, Caller, Cancel, Decision, SessionId, Verdict};

use crate::runtime::Runtime;

/// What the rules of a runtime would decide about calls that were decided before.
#[derive(Clone, Debug, Default)]
pub struct Replay {
    /// How many calls would be decided as they were.
    pub same: usize,
    /// How many calls cannot be decided again: the record does not have all of their arguments, they never reached
    /// policy, or their tool would not take them today.
    pub unknown: usize,
    /// The calls that would be decided differently, in the order in which they were given.
    pub changed: Vec<ChangedDecision>,
}

/// A call that would be decided differently.
#[derive(Clone, Debug)]
pub struct ChangedDecision {
    /// The call.
    pub call: RecordedCall,
    /// What was decided.
    pub before: Verdict,
    /// What would be decided now.
    pub now: Decision,
}

impl Replay {
    /// Decides `calls` again as calls of `session`. Those of which the record does not say who asked are decided as
    /// calls of `caller`. Nothing is run, counted or recorded.
    pub async fn run(
        runtime: &Runtime,
        session: &SessionId,
        caller: &Arc<Caller>,
        calls: impl IntoIterator<Item = RecordedCall>,
    ) -> Self {
        let mut replay = Self::default();
        for call in calls {
            let (Some(args), Some(before)) = (call.args.clone(), call.verdict) else {
                replay.unknown += 1;
                continue;
            };
            let caller = call.caller.clone().map_or_else(|| Arc::clone(caller), Arc::new);
            let session = session.clone();
            let again = Call::new(call.id.clone(), session, caller, call.tool.clone(), args);
            match runtime.explain(again, Cancel::default()).await {
                Ok(preview) if preview.decision.verdict() == before => replay.same += 1,
                Ok(preview) => {
                    let now = preview.decision;
                    replay.changed.push(ChangedDecision { call, before, now });
                }
                Err(_) => replay.unknown += 1,
            }
        }
        replay
    }
}
