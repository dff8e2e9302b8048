//! The calls on the record, put together again from their lines.

use std::collections::HashMap;
use std::io;

use jiff::Timestamp;
use serde_json::Value;
use toolcrib_core::canonical::Digest;

use crate::lines::{Entry, Record};
use crate::state::State;

/// A call that was recorded.
#[derive(Clone, Debug)]
pub struct PastCall {
    /// Its id.
    pub id: String,
    /// When it was asked for.
    pub at: Timestamp,
    /// `catalogue/tool`.
    pub tool: String,
    /// Its arguments; nothing if the record does not have all of them.
    pub args: Option<Value>,
    /// What policy said: `allow`, `ask` or `deny`; nothing if it did not come to that.
    pub verdict: Option<&'static str>,
    /// The rule that said so.
    pub rule: String,
}

/// Reads the calls that were asked for since a moment, oldest first. Lines that cannot be read are counted.
pub fn past_calls(state: &State, since: Timestamp) -> io::Result<(Vec<PastCall>, usize)> {
    let mut calls: Vec<PastCall> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut unread = 0;
    for page in Record::open(state)?.between(Some(since), None).pages() {
        for line in page?.lines() {
            let Some(line) = Entry::parse(line) else {
                unread += 1;
                continue;
            };
            if line.event == "asked" && line.ts >= since {
                places.insert(line.trace_id.clone(), calls.len());
                calls.push(PastCall {
                    at: line.ts,
                    tool: line.tool(),
                    args: whole_args(&line),
                    id: line.trace_id,
                    verdict: None,
                    rule: String::new(),
                });
                continue;
            }
            let Some(call) = places.get(&line.trace_id).and_then(|place| calls.get_mut(*place))
            else {
                continue;
            };
            match line.event.as_str() {
                "decided" => {
                    call.rule = line.rule.unwrap_or_default();
                    call.verdict = match (line.by, line.decision.as_deref()) {
                        (Some(_), _) => Some("ask"),
                        (None, Some("allow")) => Some("allow"),
                        _ => Some("deny"),
                    };
                }
                // Nobody was there to be asked.
                "ended" if call.verdict == Some("deny") => {
                    let error = line.error.unwrap_or_default();
                    if matches!(error.as_str(), "approval_required" | "confirmation_required") {
                        call.verdict = Some("ask");
                    }
                }
                _ => {}
            }
        }
    }
    Ok((calls, unread))
}

/// Returns the arguments if the record has all of them: none cut off, none taken out as a secret.
fn whole_args(line: &Entry) -> Option<Value> {
    let args: Value = serde_json::from_str(line.args_preview.as_ref()?).ok()?;
    let digest = Digest::of(&line.tool(), &args).to_string();
    (line.digest.as_deref() == Some(&digest)).then_some(args)
}
