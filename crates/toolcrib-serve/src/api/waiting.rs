//! `/api/waiting`: how much waits for a person. It costs little, so that a page can show it all the time.

use std::sync::Arc;

use axum::extract::State;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::approval::{ApprovalStatus, PendingApproval};

use super::access::AccessRight;
use super::approvals;
use super::blocking::blocking;
use super::context::Api;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;
use super::plugin_replies::plugin_error;
use crate::reply::ApiError;

/// The operation that tells how much waits.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/waiting", "waiting", waiting)
            .about(AccessRight::Inspect, "Returns how much waits for a person.")
            .replies::<WaitingReply>(),
    ]
}

#[derive(Serialize, JsonSchema)]
struct WaitingReply {
    ok: bool,
    #[serde(flatten)]
    counts: WaitingCounts,
}

/// How much waits for a person.
#[derive(Serialize, JsonSchema)]
pub(super) struct WaitingCounts {
    approvals: Waiting,
    proposals: Waiting,
}

/// What waits for a person: calls, or proposed tools and what is new of mounted servers.
#[derive(Default, Serialize, JsonSchema)]
struct Waiting {
    waiting: usize,
    /// When the first of them expires.
    next_expires_at: Option<Timestamp>,
}

async fn waiting(State(api): State<Arc<Api>>) -> Reply {
    let counts = blocking(move || WaitingCounts::of(&api)).await??;
    JsonReply::ok(&WaitingReply { ok: true, counts })
}

impl WaitingCounts {
    /// Counts what waits now. It reads the questions and the proposals that are kept.
    pub(super) fn of(api: &Api) -> Result<Self, ApiError> {
        Ok(Self { approvals: waiting_approvals(api)?, proposals: waiting_proposals(api)? })
    }
}

fn waiting_approvals(api: &Api) -> Result<Waiting, ApiError> {
    let (store, now) = (&api.answers.store, api.answers.clock.now());
    let all = store.all().map_err(|err| approvals::unreadable(&err))?;
    let waits =
        |it: &&PendingApproval| matches!(store.status(it, now), Ok(ApprovalStatus::Pending));
    Ok(Waiting::of(all.iter().filter(waits).map(|it| it.expires_at)))
}

fn waiting_proposals(api: &Api) -> Result<Waiting, ApiError> {
    let plugins = &api.ports.plugins;
    let pending = plugins.lifecycle().pending().map_err(|err| plugin_error(&err))?;
    let mut waiting = Waiting::of(pending.iter().map(|it| it.proposal.expires_at));
    // What is new of a mounted server waits for a person, too, and does not expire.
    let servers = plugins.servers().map_err(|err| plugin_error(&err))?;
    waiting.waiting += servers.iter().filter(|it| it.waits()).count();
    Ok(waiting)
}

impl Waiting {
    fn of(expiries: impl Iterator<Item = Timestamp>) -> Self {
        expiries.fold(Self::default(), |all, at| Self {
            waiting: all.waiting + 1,
            next_expires_at: Some(all.next_expires_at.map_or(at, |next| next.min(at))),
        })
    }
}
