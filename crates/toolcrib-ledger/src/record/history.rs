//! The history of each call, put together from its lines.

use std::collections::HashSet;

use jiff::Timestamp;
use toolcrib_core::ToolName;
use toolcrib_core::command::{ChangedFiles, NetworkAccount};

use crate::record::entry::RecordEntry;
use crate::record::event_kind::EventKind;

/// Everything that the record has about one call, in the order in which it was written.
#[derive(Clone, Debug, Default)]
pub struct CallHistory {
    /// The lines of the call.
    pub entries: Vec<RecordEntry<'static>>,
    /// Whether the process that ran the call died, and no process has recorded that yet.
    pub is_dead: bool,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// It ran and succeeded.
    Ok,
    /// Its tool worked, and the command that it ran failed.
    CommandFailed,
    /// It ran and failed.
    Failed,
    /// It was not run: policy or a person refused it, nobody could be asked, or its arguments did not fit its tool.
    Refused,
    /// Its process died during the call.
    Unknown,
    /// It has not ended yet.
    Open,
}

impl CallOutcome {
    /// All outcomes.
    pub const ALL: [Self; 6] =
        [Self::Ok, Self::CommandFailed, Self::Failed, Self::Refused, Self::Unknown, Self::Open];

    /// Returns the outcome that the end of a call tells.
    pub fn of_end(ended: &RecordEntry<'_>) -> Self {
        if ended.has_failed_command() {
            Self::CommandFailed
        } else if ended.end.error.is_none() {
            Self::Ok
        } else if ended.is_refusal() {
            Self::Refused
        } else {
            Self::Failed
        }
    }

    /// Returns the spelling for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::CommandFailed => "command_failed",
            Self::Failed => "error",
            Self::Refused => "refused",
            Self::Unknown => "unknown",
            Self::Open => "open",
        }
    }
}

impl CallHistory {
    /// Returns the last entry of an event.
    pub fn last(&self, event: &EventKind) -> Option<&RecordEntry<'static>> {
        self.entries.iter().rev().find(|entry| entry.event == *event)
    }

    /// Returns the first entry.
    pub fn first(&self) -> Option<&RecordEntry<'static>> {
        self.entries.first()
    }

    /// Returns the files that were seen to have changed while the call ran, or since it was lost.
    pub fn changed_files(&self) -> Vec<ChangedFiles> {
        let recorded = self.entries.iter().filter_map(|entry| entry.end.changed_files.clone());
        let lost = self.last(&EventKind::Lost);
        let lost = lost.and_then(|entry| entry.detail.as_ref()?.get("touched").cloned());
        recorded.chain(lost.and_then(|value| serde_json::from_value(value).ok())).collect()
    }

    /// Returns what passed between the call's command and each host. A task has an entry of its own, with all of it.
    pub fn network(&self) -> NetworkAccount {
        let accounts = self.entries.iter().filter_map(|entry| entry.end.network.as_ref());
        NetworkAccount { hosts: accounts.flat_map(|account| account.hosts.clone()).collect() }
    }

    /// Returns the call id.
    pub fn id(&self) -> &str {
        self.first().map_or("", |entry| &entry.call.id)
    }

    /// Returns when the call was asked for.
    pub fn at(&self) -> Timestamp {
        self.first().map_or(Timestamp::UNIX_EPOCH, |entry| entry.at)
    }

    /// Returns the tool as `catalogue/name`.
    pub fn tool(&self) -> ToolName {
        self.first().map(RecordEntry::tool).unwrap_or_default()
    }

    /// Returns the outcome of the call.
    pub fn outcome(&self) -> CallOutcome {
        let is_lost = || self.is_dead || self.last(&EventKind::Lost).is_some();
        let Some(ended) = self.last(&EventKind::Ended) else {
            return if is_lost() { CallOutcome::Unknown } else { CallOutcome::Open };
        };
        let has_task = ended.end.has_task == Some(true);
        let task = self.last(&EventKind::TaskEnded);
        if has_task && is_lost() && task.is_none() {
            CallOutcome::Unknown
        } else if task.is_some_and(RecordEntry::has_failed_command) {
            CallOutcome::CommandFailed
        } else if task.is_some() && ended.end.error.is_none() {
            CallOutcome::Ok
        } else {
            CallOutcome::of_end(ended)
        }
    }

    /// Marks the call if its process is among the dead ones.
    pub(crate) fn mark_dead(&mut self, dead: &HashSet<String>) {
        let process = self.last(&EventKind::Started).and_then(|it| it.start.process.as_deref());
        self.is_dead = process.is_some_and(|process| dead.contains(process));
    }

    /// Returns the number of the line with which the call begins.
    pub fn seq(&self) -> u64 {
        self.first().map_or(0, |entry| entry.seq)
    }

    /// Whether a person was asked about the call.
    pub fn asked_person(&self) -> bool {
        let is_answer = |entry: &RecordEntry<'_>| {
            entry.event == EventKind::Waits
                || entry.decision.by.is_some()
                || entry.answered_by().is_some()
        };
        self.entries.iter().any(is_answer)
    }

    /// Whether the call changed files: its tool did as it was asked to, or its command was seen to.
    pub fn has_changes(&self) -> bool {
        let names_files = |event: &EventKind| {
            self.last(event).is_some_and(|entry| !entry.start.places.is_empty())
        };
        let is_done = self.last(&EventKind::Ended).is_some_and(|entry| entry.end.error.is_none());
        is_done && names_files(&EventKind::Started)
            || self.changed_files().iter().any(|changed| !changed.is_empty())
    }
}
