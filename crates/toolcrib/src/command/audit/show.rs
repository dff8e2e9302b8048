//! `toolcrib audit show`: everything about one call.

use serde_json::{Value, json};
use toolcrib_core::Change;
use toolcrib_core::change::UndoLog;
use toolcrib_ledger::{
    CallHistory, EventKind, Journal, Redactor, StateFolder, call_summary, entry_summary,
};

use crate::command::call_history;
use crate::command::render;
use crate::error::CliError;
use crate::terminal::Terminal;

/// Everything that `audit show` shows about one call.
pub(super) struct ShownCall {
    history: CallHistory,
    journal: Journal,
    changes: Vec<Change>,
    /// The undo that undid the call.
    undone_by: Option<String>,
    /// Whether the output of its command is stored.
    has_output: bool,
}

impl ShownCall {
    /// Gathers everything about a call.
    pub(super) fn gather(state: &StateFolder, history: CallHistory) -> Result<Self, CliError> {
        let call = history.id();
        let journal = Journal::new(state);
        let (changes, undone) = journal.history()?;
        let changes = changes.into_iter().filter(|it| it.call.0 == call).collect();
        let undone_by = undone.into_iter().find(|it| it.call.0 == call).map(|it| it.by.0);
        let output = state.folder().join("output").join(history.id());
        let has_output = output.join("stdout").exists() || output.join("stderr").exists();
        Ok(Self { history, journal, changes, undone_by, has_output })
    }

    /// Returns the call, for programs.
    pub(super) fn to_json(&self) -> Value {
        let history = &self.history;
        let started = history.last(&EventKind::Started);
        let ended = history.last(&EventKind::Ended);
        let task_ended = history.last(&EventKind::TaskEnded);
        let mut value = call_summary(history);
        value["result"] = json!(ended.and_then(|entry| entry.preview.result.as_ref()));
        value["moments"] = history.entries.iter().map(entry_summary).collect();
        value["places"] = json!(started.map(|entry| &entry.start.places));
        value["directory"] = json!(started.and_then(|entry| entry.start.directory.as_ref()));
        value["task"] = json!(task_ended.and_then(|entry| entry.end.command_end));
        value["changes"] = json!(self.changes);
        value["touched"] = json!(call_history::changed_files(history));
        value["network"] = json!(call_history::network(history));
        value["taken_back_by"] = json!(self.undone_by);
        value["output_saved"] = json!(self.has_output);
        value
    }

    /// Returns the call, for people.
    pub(super) fn describe(&self, terminal: Terminal, redactor: &Redactor) -> String {
        let Self { history, journal, changes, .. } = self;
        let mut text = call_history::describe(terminal, history);
        for change in changes {
            let place = change.place();
            let value = match change.doubt {
                Some(doubt) => format!("{place}, perhaps: {}", doubt.words()),
                None => place,
            };
            call_history::add_field(&mut text, render::done(change.kind), &value);
            text.push_str(&render::difference(terminal, journal, redactor, change));
        }
        for line in call_history::other_changes(history, changes) {
            call_history::add_field(&mut text, "also", &line);
        }
        if self.has_output {
            let command = format!("toolcrib output {}", history.id());
            call_history::add_field(&mut text, "printed", &command);
        }
        match &self.undone_by {
            Some(by) => call_history::add_field(&mut text, "undone", &format!("by {by}")),
            None if !changes.is_empty() => {
                call_history::add_field(&mut text, "undo", &self.undo_command());
            }
            None => {}
        }
        text
    }

    /// Returns the command that undoes the call.
    fn undo_command(&self) -> String {
        let started = self.history.last(&EventKind::Started);
        let is_command = started.is_some_and(|entry| entry.start.directory.is_some());
        let scope = if is_command { " (only the files that Toolcrib copied)" } else { "" };
        let is_doubtful = self.changes.iter().any(|change| change.doubt.is_some());
        let force = if is_doubtful { "--force " } else { "" };
        format!("toolcrib undo {force}{}{scope}", self.history.id())
    }
}
