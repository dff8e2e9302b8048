//! Calls that were under way when their process died: what came of them is not known, and is put on the
//! record as that.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;

use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::command::ChangedFiles;
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
    /// Where its command began, if it ran one.
    pub directory: Option<String>,
    /// What changed since it began, as far as that was looked for.
    pub touched: Option<ChangedFiles>,
}

/// Finds calls that died with their process, and puts that on the record, with what `look` finds out about them. Each is
/// found once.
pub fn find_lost(
    state: &State,
    recorder: &dyn Recorder,
    now: Timestamp,
    look: &dyn Fn(&LostCall) -> Option<ChangedFiles>,
) -> io::Result<Vec<LostCall>> {
    let dead = Dead::find(state)?;
    if dead.is_empty() {
        return Ok(Vec::new());
    }
    let names: HashSet<&str> = dead.iter().map(|process| process.name.as_str()).collect();
    let mut lost = lost_by(state, &names)?;
    for (process, call) in &mut lost {
        call.touched = look(call);
        let note = Note {
            at: now,
            actor: "system",
            act: "tool_call",
            event: "lost",
            tool: &call.tool,
            call: &call.call,
            detail: json!({"outcome": "unknown", "process": process, "touched": call.touched}),
        };
        recorder.note(&note).map_err(io::Error::other)?;
    }
    for process in &dead {
        let _ = fs::remove_file(&process.path);
    }
    Ok(lost.into_iter().map(|(_, call)| call).collect())
}

/// Finds the calls that these processes began and never ended, each with the one that did.
fn lost_by(state: &State, processes: &HashSet<&str>) -> io::Result<Vec<(String, LostCall)>> {
    // Their names tell when they began; without it, all is looked at.
    let began = |name: &&str| {
        let id = name.parse::<ulid::Ulid>().ok()?;
        Timestamp::from_millisecond(i64::try_from(id.timestamp_ms()).ok()?).ok()
    };
    let starts: Option<Vec<Timestamp>> = processes.iter().map(began).collect();
    // What it began in the hour before it had a name is older than that.
    let hour = jiff::SignedDuration::from_hours(1);
    let since = starts.and_then(|starts| starts.into_iter().min()?.checked_sub(hour).ok());
    let mut open: BTreeMap<String, (String, LostCall)> = BTreeMap::new();
    let record = Record::open(state)?.between(since, None);
    for page in record.pages() {
        for line in page?.lines() {
            let Some(entry) = Entry::parse(line) else { continue };
            match entry.event.as_str() {
                "started" => {
                    let Some(process) = entry.process.clone() else { continue };
                    if processes.contains(process.as_str()) {
                        let (tool, at) = (entry.tool(), entry.ts);
                        let (call, places) = (entry.trace_id, entry.places);
                        let (directory, touched) = (entry.directory, None);
                        let lost =
                            LostCall { call: call.clone(), tool, at, places, directory, touched };
                        open.insert(call, (process, lost));
                    }
                }
                // What it left running ends later.
                "ended" if entry.task == Some(true) => {}
                "ended" | "task_ended" | "lost" => {
                    open.remove(&entry.trace_id);
                }
                _ => {}
            }
        }
    }
    Ok(open.into_values().collect())
}
