//! Everything that the state folder has about one call: its entries, its changes and its output.

use std::io;

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::Change;
use toolcrib_core::change::UndoLog;
use toolcrib_core::command::{ChangedFiles, End, NetworkAccount};

use crate::record::call_summary::{CallSummary, EntrySummary, call_summary, entry_summary};
use crate::record::event_kind::EventKind;
use crate::record::history::CallHistory;
use crate::state::StateFolder;
use crate::undo::journal::Journal;

/// Everything about one call, for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallStory {
    /// The call.
    #[serde(flatten)]
    pub summary: CallSummary,
    /// The beginning of the reply.
    pub result: Option<String>,
    /// What happened, in its order.
    pub moments: Vec<EntrySummary>,
    /// The files that the call was about to change.
    pub places: Option<Vec<String>>,
    /// The directory in which its command started.
    pub directory: Option<String>,
    /// How the task ended that the call started.
    pub task: Option<End>,
    /// The changes that undo can take back.
    pub changes: Vec<Change>,
    /// The files that changed while its command ran.
    #[serde(rename = "touched")]
    pub changed_files: Vec<ChangedFiles>,
    /// What passed between its command and each host.
    pub network: NetworkAccount,
    /// The call that undid it.
    #[serde(rename = "taken_back_by")]
    pub undone_by: Option<String>,
    /// Whether its output is saved.
    pub output_saved: bool,
}

impl CallStory {
    /// Gathers what the state folder has about a call.
    pub fn gather(state: &StateFolder, history: &CallHistory) -> io::Result<Self> {
        let call = history.id();
        let (changes, undone) = Journal::new(state).history()?;
        let output = state.folder().join("output").join(call);
        let started = history.last(&EventKind::Started);
        let ended = history.last(&EventKind::Ended);
        let task_ended = history.last(&EventKind::TaskEnded);
        let result = ended.and_then(|entry| entry.preview.result.as_deref());
        let places = started.map(|entry| entry.start.places.iter());
        let directory = started.and_then(|entry| entry.start.directory.as_deref());
        Ok(Self {
            summary: call_summary(history),
            result: result.map(str::to_owned),
            moments: history.entries.iter().map(entry_summary).collect(),
            places: places.map(|places| places.map(ToString::to_string).collect()),
            directory: directory.map(str::to_owned),
            task: task_ended.and_then(|entry| entry.end.command_end),
            changes: changes.into_iter().filter(|it| it.call.0 == call).collect(),
            changed_files: history.changed_files(),
            network: history.network(),
            undone_by: undone.into_iter().find(|it| it.call.0 == call).map(|it| it.by.0),
            output_saved: output.join("stdout").exists() || output.join("stderr").exists(),
        })
    }
}
