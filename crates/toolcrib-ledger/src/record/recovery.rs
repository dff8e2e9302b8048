//! Recovery: finds the calls whose process died during the call, and records that their outcome is unknown.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use toolcrib_core::command::ChangedFiles;
use toolcrib_core::{Note, Recorder, ToolName};

use crate::record::entry::RecordEntry;
use crate::record::event_kind::{Act, EventKind};
use crate::record::presence_file::DeadProcess;
use crate::record::reader::RecordReader;
use crate::state::StateFolder;

/// A call whose process died during the call.
#[derive(Clone, Debug)]
pub struct LostCall {
    /// The call id.
    pub call: String,
    /// The tool.
    pub tool: ToolName,
    /// When the tool started.
    pub at: Timestamp,
    /// The files that the call was about to change.
    pub places: Vec<String>,
    /// The directory in which its command started, if it ran one.
    pub directory: Option<String>,
    /// The files that changed since the call started, as far as they were looked for.
    pub touched: Option<ChangedFiles>,
}

/// A lost call, and the process that ran it.
struct LostRun {
    process: String,
    call: LostCall,
}

/// Finds the calls that died with their process and records each of them, once, with the files that
/// `find_changes` says were changed.
pub fn recover_lost_calls(
    state: &StateFolder,
    recorder: &dyn Recorder,
    now: Timestamp,
    find_changes: &dyn Fn(&LostCall) -> Option<ChangedFiles>,
) -> io::Result<Vec<LostCall>> {
    let dead = DeadProcess::find(state)?;
    if dead.is_empty() {
        return Ok(Vec::new());
    }
    let names: HashSet<&str> = dead.iter().map(|process| process.name.as_str()).collect();
    let mut lost = calls_of(state, &names)?;
    for LostRun { process, call } in &mut lost {
        call.touched = find_changes(call);
        let note = Note {
            at: now,
            actor: "system",
            act: Act::ToolCall.as_str(),
            event: EventKind::Lost.as_str(),
            tool: Some(&call.tool),
            call: &call.call,
            detail: json!({"outcome": "unknown", "process": process, "touched": call.touched}),
        };
        recorder.note(&note).map_err(io::Error::other)?;
    }
    for process in &dead {
        let _ = fs::remove_file(&process.path);
    }
    Ok(lost.into_iter().map(|lost| lost.call).collect())
}

/// Finds the calls that these processes started and never ended.
fn calls_of(state: &StateFolder, processes: &HashSet<&str>) -> io::Result<Vec<LostRun>> {
    // The name of a process tells when it started. Without that time, the whole record is read.
    let started = |name: &&str| {
        let id = name.parse::<ulid::Ulid>().ok()?;
        Timestamp::from_millisecond(i64::try_from(id.timestamp_ms()).ok()?).ok()
    };
    let starts: Option<Vec<Timestamp>> = processes.iter().map(started).collect();
    // A call that started before its process had a name is older than the name.
    let hour = SignedDuration::from_hours(1);
    let since = starts.and_then(|starts| starts.into_iter().min()?.checked_sub(hour).ok());
    let mut open: BTreeMap<String, LostRun> = BTreeMap::new();
    let record = RecordReader::open(state)?.between(since, None);
    for segment in record.load_all() {
        for line in segment?.lines() {
            let Some(entry) = RecordEntry::parse(line) else { continue };
            match entry.event {
                EventKind::Started => {
                    if let Some(lost) = started_by(&entry, processes) {
                        open.insert(lost.call.call.clone(), lost);
                    }
                }
                // The task of this call ends later.
                EventKind::Ended if entry.end.has_task == Some(true) => {}
                EventKind::Ended | EventKind::TaskEnded | EventKind::Lost => {
                    open.remove(&*entry.call.id);
                }
                _ => {}
            }
        }
    }
    Ok(open.into_values().collect())
}

/// Returns the call that an entry says was started, if one of these processes started it.
fn started_by(entry: &RecordEntry<'_>, processes: &HashSet<&str>) -> Option<LostRun> {
    let process = entry.start.process.as_deref().filter(|it| processes.contains(it))?;
    let call = LostCall {
        call: entry.call.id.to_string(),
        tool: entry.tool(),
        at: entry.at,
        places: entry.start.places.iter().map(ToString::to_string).collect(),
        directory: entry.start.directory.as_ref().map(ToString::to_string),
        touched: None,
    };
    Some(LostRun { process: process.to_owned(), call })
}
