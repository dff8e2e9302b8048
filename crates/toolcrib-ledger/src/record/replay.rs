//! Replay: reads recorded calls with their arguments and decisions, so that other rules can be tried on them.

use std::collections::HashMap;
use std::io;

use jiff::Timestamp;
use memchr::memmem;
use serde_json::Value;
use toolcrib_core::canonical::{self, Digest};
use toolcrib_core::recorded_call::RecordedCall;
use toolcrib_core::{CallId, Verdict};

use crate::record::entry::{RecordEntry, event_field};
use crate::record::event_kind::EventKind;
use crate::record::reader::RecordReader;
use crate::state::StateFolder;

/// Reads the newest calls that were asked for since a time, at most so many, oldest first. Also returns how many lines
/// could not be parsed.
pub fn newest_recorded_calls(
    state: &StateFolder,
    since: Timestamp,
    most: usize,
) -> io::Result<(Vec<RecordedCall>, usize)> {
    let reader = RecordReader::open(state)?.between(Some(since), None);
    // The end of a call can be in a later segment than its beginning, so segments are read in their order: from the first
    // that is needed to have enough calls.
    let mut begin = reader.segments().len();
    let mut asked = 0;
    let field = event_field(&EventKind::Asked);
    while begin > 0 && asked < most {
        begin -= 1;
        let Some(segment) = reader.load_if_readable(reader.segments()[begin])? else { continue };
        asked += memmem::find_iter(&segment.bytes, &field).count();
    }
    let (mut calls, unparsed) = calls_in(&reader, begin, since)?;
    calls.drain(..calls.len().saturating_sub(most));
    Ok((calls, unparsed))
}

/// Reads the calls that were asked for since a time, oldest first. Also returns how many lines could not be parsed.
pub fn recorded_calls(
    state: &StateFolder,
    since: Timestamp,
) -> io::Result<(Vec<RecordedCall>, usize)> {
    calls_in(&RecordReader::open(state)?.between(Some(since), None), 0, since)
}

/// Reads the calls in the segments from number `begin` on.
fn calls_in(
    reader: &RecordReader,
    begin: usize,
    since: Timestamp,
) -> io::Result<(Vec<RecordedCall>, usize)> {
    let mut calls: Vec<RecordedCall> = Vec::new();
    let mut indexes: HashMap<String, usize> = HashMap::new();
    let mut unparsed = 0;
    for segment in &reader.segments()[begin..] {
        let Some(segment) = reader.load_if_readable(*segment)? else { continue };
        for line in segment.lines() {
            let Some(entry) = RecordEntry::parse(line) else {
                unparsed += 1;
                continue;
            };
            if entry.event == EventKind::Asked && entry.at >= since {
                indexes.insert(entry.call.id.to_string(), calls.len());
                calls.push(RecordedCall {
                    id: CallId(entry.call.id.to_string()),
                    at: entry.at,
                    caller: entry.call.caller.to_caller(),
                    tool: entry.tool(),
                    args: whole_args(&entry),
                    verdict: None,
                    rule: String::new(),
                    is_declined: false,
                });
                continue;
            }
            let index = indexes.get(&*entry.call.id);
            if let Some(call) = index.and_then(|index| calls.get_mut(*index)) {
                add_decision(call, &entry);
            }
        }
    }
    Ok((calls, unparsed))
}

fn add_decision(call: &mut RecordedCall, entry: &RecordEntry<'_>) {
    match entry.event {
        EventKind::Decided => {
            entry.decision.rule.as_deref().unwrap_or_default().clone_into(&mut call.rule);
            let verdict = entry.decision.verdict.as_deref();
            call.is_declined = entry.decision.by.is_some() && verdict == Some("deny");
            call.verdict = match (&entry.decision.by, verdict) {
                (Some(_), _) => Some(Verdict::Ask),
                (None, Some("allow")) => Some(Verdict::Allow),
                _ => Some(Verdict::Deny),
            };
        }
        // Policy asked, but nobody was there to answer.
        EventKind::Ended if call.verdict == Some(Verdict::Deny) => {
            let error = entry.end.error.as_deref();
            if matches!(error, Some("approval_required" | "confirmation_required")) {
                call.verdict = Some(Verdict::Ask);
            }
        }
        _ => {}
    }
}

/// Returns the arguments if the record has all of them: nothing cut off, no secret redacted.
fn whole_args(entry: &RecordEntry<'_>) -> Option<Value> {
    let args: Value = serde_json::from_str(entry.preview.args.as_ref()?).ok()?;
    let (tool, text) = (entry.tool(), canonical::text(&args));
    let digest = match &entry.call.caller.connection {
        None => Digest::of_text(tool.as_str(), &text),
        Some(connection) => Digest::of_chosen(tool.as_str(), &text, connection),
    };
    let digest = digest.to_string();
    (entry.call.digest.as_deref() == Some(&digest)).then_some(args)
}
