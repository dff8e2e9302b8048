//! Calls that were under way when their process died: what came of them is not known, and is put on the
//! record as that.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::{Note, Recorder};

use crate::lines::{Entry, Record};
use crate::live::Dead;
use crate::state::State;

/// A call whose process died at it.
#[derive(Clone, Debug)]
pub struct LostCall {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// When it began.
    pub at: Timestamp,
    /// The files it was about to change.
    pub places: Vec<String>,
}

/// Finds calls that died with their process, and puts that on the record. Each is found once.
pub fn find_lost(
    state: &State,
    recorder: &dyn Recorder,
    now: Timestamp,
) -> io::Result<Vec<LostCall>> {
    let dead = Dead::find(state)?;
    let mut all = Vec::new();
    for process in dead {
        let since = process.name.parse::<ulid::Ulid>().ok().and_then(|id| {
            Timestamp::from_millisecond(i64::try_from(id.timestamp_ms()).ok()?).ok()
        });
        let lost = lost_by(state, &process.name, since)?;
        for call in &lost {
            let note = Note {
                at: now,
                actor: "system",
                act: "tool_call",
                event: "lost",
                tool: &call.tool,
                call: &call.call,
                detail: json!({"outcome": "unknown", "process": process.name}),
            };
            recorder.note(&note).map_err(io::Error::other)?;
        }
        all.extend(lost);
        let _ = fs::remove_file(&process.path);
    }
    Ok(all)
}

fn lost_by(state: &State, process: &str, since: Option<Timestamp>) -> io::Result<Vec<LostCall>> {
    let mut open: BTreeMap<String, LostCall> = BTreeMap::new();
    let record = Record::open(state)?.between(since, None);
    for page in record.pages() {
        for line in page?.lines() {
            let Some(entry) = Entry::parse(line) else { continue };
            match entry.event.as_str() {
                "started" if entry.process.as_deref() == Some(process) => {
                    let (tool, at) = (entry.tool(), entry.ts);
                    let (call, places) = (entry.trace_id, entry.places);
                    open.insert(call.clone(), LostCall { call, tool, at, places });
                }
                "ended" | "lost" => {
                    open.remove(&entry.trace_id);
                }
                _ => {}
            }
        }
    }
    Ok(open.into_values().collect())
}
