//! Decides recorded calls again as if more rules were in force, and tells what these rules alone would change.

use std::sync::Arc;

use toolcrib_core::policy::Rule;
use toolcrib_core::recorded_call::RecordedCall;
use toolcrib_core::{Caller, Door, ErrorKind, SessionId, ToolError, Verdict};
use toolcrib_ledger::newest_recorded_calls;
use toolcrib_runtime::{ChangedDecision, Replay, Runtime};
use toolcrib_serve::{ReplayedCall, RulesReplay, WantedReplay};

use super::event_loop::block_on;
use crate::error::CliError;
use crate::wiring::LiveSettings;

/// The most calls that are decided again. More would keep whoever waits for the answer waiting.
const MOST_REPLAYED_CALLS: usize = 2000;

/// The most calls that are shown one by one.
const MOST_SHOWN_CALLS: usize = 50;

/// Decides recorded calls again with more rules.
pub(super) fn replay(
    live: &LiveSettings,
    rules: Vec<Rule>,
    wanted: &WantedReplay,
) -> Result<RulesReplay, ToolError> {
    let ids = rules.iter().map(|rule| rule.id.clone()).collect();
    let trial = live.runtime_with_rules(rules).map_err(|err| failed(&err))?;
    let (calls, unread) =
        newest_recorded_calls(live.state_folder(), wanted.since, MOST_REPLAYED_CALLS).map_err(
            |err| ToolError::new(ErrorKind::Io, format!("the record cannot be read: {err}")),
        )?;
    let since = match calls.first() {
        Some(first) if calls.len() >= MOST_REPLAYED_CALLS => first.at,
        _ => wanted.since,
    };
    let caller = Caller {
        principal: wanted.principal.clone(),
        door: Door::Http,
        client: None,
        connection: None,
        via: None,
    };
    let found = compared(&trial, &live.runtime().current(), &Arc::new(caller), calls)
        .map_err(|err| failed(&err))?;
    let Replay { same, unknown, changed } = found;
    let is_freed = |it: &&ChangedDecision| it.now.verdict() == Verdict::Allow;
    let freed = || changed.iter().filter(is_freed);
    Ok(RulesReplay {
        rules: ids,
        since,
        same,
        unknown: unknown + unread,
        different: changed.len(),
        freed: freed().count(),
        freed_but_declined: freed().filter(|it| it.call.is_declined).count(),
        stopped: changed.iter().filter(|it| it.before == Verdict::Allow).count(),
        calls: changed.iter().rev().take(MOST_SHOWN_CALLS).map(shown).collect(),
    })
}

/// Returns what the rules of `trial` change. What the rules in force would decide differently than at that time, too, is
/// not because of the new ones, and counts as the same.
fn compared(
    trial: &Runtime,
    current: &Runtime,
    caller: &Arc<Caller>,
    calls: Vec<RecordedCall>,
) -> Result<Replay, CliError> {
    let session = SessionId("replay".to_owned());
    let mut found = block_on(Replay::run(trial, &session, caller, calls))?;
    let again = found.changed.iter().map(|ChangedDecision { call, now, .. }| RecordedCall {
        verdict: Some(now.verdict()),
        ..call.clone()
    });
    let again: Vec<RecordedCall> = again.collect();
    let differs = block_on(Replay::run(current, &session, caller, again))?.changed;
    let all = found.changed.len();
    found.changed.retain(|it| differs.iter().any(|other| other.call.id == it.call.id));
    found.same += all - found.changed.len();
    Ok(found)
}

fn shown(ChangedDecision { call, before, now }: &ChangedDecision) -> ReplayedCall {
    ReplayedCall {
        call: call.id.0.clone(),
        at: call.at,
        tool: call.tool.clone(),
        args: call.args.clone().unwrap_or_default(),
        was: before.as_str(),
        would_be: now.verdict().as_str(),
        rule: now.rule.clone(),
        declined: call.is_declined,
    }
}

fn failed(err: &CliError) -> ToolError {
    ToolError::new(ErrorKind::Io, format!("the calls cannot be decided again: {err}"))
}
