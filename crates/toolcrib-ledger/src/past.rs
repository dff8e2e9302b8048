//! The calls on the record, put together again from their lines.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead, BufReader};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

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

#[derive(Deserialize)]
struct Line {
    ts: Timestamp,
    trace_id: String,
    event: String,
    catalogue: String,
    name: String,
    args_preview: Option<String>,
    decision: Option<String>,
    rule: Option<String>,
    by: Option<String>,
    error: Option<String>,
}

/// Reads the calls that were asked for since a moment, oldest first. Lines that cannot be read are counted.
pub fn past_calls(state: &State, since: Timestamp) -> io::Result<(Vec<PastCall>, usize)> {
    let mut files: Vec<_> = fs::read_dir(state.folder().join("context_log"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|it| it == "jsonl"))
        .collect();
    files.sort();
    let mut calls: Vec<PastCall> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut unread = 0;
    for file in files {
        for line in BufReader::new(fs::File::open(file)?).lines() {
            let Ok(line) = serde_json::from_str::<Line>(&line?) else {
                unread += 1;
                continue;
            };
            if line.event == "asked" && line.ts >= since {
                places.insert(line.trace_id.clone(), calls.len());
                calls.push(PastCall {
                    id: line.trace_id,
                    at: line.ts,
                    tool: format!("{}/{}", line.catalogue, line.name),
                    args: line.args_preview.and_then(|text| serde_json::from_str(&text).ok()),
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
