//! A call and its entries as JSON, in the fields that all front ends share.

use serde_json::{Value, json};

use crate::figures::report;
use crate::record::entry::RecordEntry;
use crate::record::event_kind::EventKind;
use crate::record::history::CallHistory;

/// Returns a call in the fields that all its formats share.
pub fn call_summary(call: &CallHistory) -> Value {
    let asked = call.first();
    let decided = call.last(&EventKind::Decided);
    let ended = call.last(&EventKind::Ended);
    let answered = call.entries.iter().rev().find_map(RecordEntry::answered_by);
    json!({
        "call": call.id(),
        "at": report::stamp(call.at()),
        "session": asked.map(|entry| &entry.call.conversation),
        "user": asked.and_then(|entry| entry.call.user),
        "principal": asked.and_then(|entry| entry.call.caller.principal.as_ref()),
        "role": asked.and_then(|entry| entry.call.caller.role.as_ref()),
        "door": asked.and_then(|entry| entry.call.caller.door.as_ref()),
        "client": asked.and_then(|entry| entry.call.caller.client.as_ref()),
        "tool": call.tool(),
        "args": asked.and_then(|entry| entry.preview.args.as_ref()),
        "decision": decided.and_then(|entry| entry.decision.verdict.as_ref()),
        "rule": decided.and_then(|entry| entry.decision.rule.as_ref()),
        "by": decided.and_then(|entry| entry.decision.by.as_deref()).or(answered),
        "outcome": call.outcome().as_str(),
        "error": ended.and_then(|entry| entry.end.error.as_ref()),
        "end": ended.and_then(|entry| entry.end.command_end),
        "message": ended.and_then(|entry| entry.end.message.as_ref()),
        "elapsed_ms": ended.and_then(|entry| entry.end.elapsed_ms()),
        "version": ended.and_then(|entry| entry.call.version.as_ref()),
        "used": ended.and_then(|entry| entry.end.used),
    })
}

/// Returns one entry of a call, for programs.
pub fn entry_summary(entry: &RecordEntry<'_>) -> Value {
    json!({
        "event": entry.event.as_str(), "at": report::stamp(entry.at), "rule": entry.decision.rule,
        "decision": entry.decision.verdict,
        "by": entry.decision.by.as_deref().or(entry.answered_by()), "terms": entry.start.terms,
        "status": entry.end.status, "error": entry.end.error, "detail": entry.detail,
    })
}
