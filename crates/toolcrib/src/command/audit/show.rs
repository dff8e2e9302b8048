//! `toolcrib audit show`: everything about one call.

use toolcrib_ledger::{CallHistory, CallStory, EventKind, Journal, Redactor, StateFolder};
use toolcrib_serve::ShownChange;

use crate::command::call_history;
use crate::command::difference;
use crate::command::render;
use crate::error::CliError;
use crate::terminal::{Format, Terminal, print, print_json};

/// Everything that `audit show` shows about one call.
pub(super) struct ShownCall {
    pub(super) history: CallHistory,
    /// The call, for programs.
    pub(super) json: String,
    pub(super) changes: Vec<ShownChange>,
    pub(super) undone_by: Option<String>,
    pub(super) is_output_saved: bool,
}

impl ShownCall {
    /// Gathers everything about a call.
    pub(super) fn gather(
        state: &StateFolder,
        redactor: &Redactor,
        history: CallHistory,
    ) -> Result<Self, CliError> {
        let story = CallStory::gather(state, &history)?;
        let json = serde_json::to_string(&story)?;
        let journal = Journal::new(state);
        let shown = |change| ShownChange {
            difference: difference::of_change(&journal, redactor, &change),
            change,
        };
        let CallStory { changes, undone_by, output_saved, .. } = story;
        let changes = changes.into_iter().map(shown).collect();
        Ok(Self { history, json, changes, undone_by, is_output_saved: output_saved })
    }

    /// Prints the call.
    pub(super) fn print(&self, terminal: Terminal, format: Format) {
        match format {
            Format::Json => print_json(&self.json),
            Format::Text => print(&self.describe(terminal)),
        };
    }

    /// Returns the call, for people.
    fn describe(&self, terminal: Terminal) -> String {
        let Self { history, changes, undone_by, is_output_saved, .. } = self;
        let mut text = call_history::describe(terminal, history);
        for ShownChange { change, difference } in changes {
            let place = change.place();
            let value = match change.doubt {
                Some(doubt) => format!("{place}, perhaps: {}", doubt.words()),
                None => place,
            };
            call_history::add_field(&mut text, render::done(change.kind), &value);
            if let Some(found) = difference {
                text.push_str(&difference::show_change(terminal, change, found));
            }
        }
        let changes: Vec<_> = changes.iter().map(|it| it.change.clone()).collect();
        for line in call_history::other_changes(history, &changes) {
            call_history::add_field(&mut text, "also", &line);
        }
        if *is_output_saved {
            let command = format!("toolcrib output {}", history.id());
            call_history::add_field(&mut text, "printed", &command);
        }
        match undone_by {
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
        let is_doubtful = self.changes.iter().any(|it| it.change.doubt.is_some());
        let force = if is_doubtful { "--force " } else { "" };
        format!("toolcrib undo {force}{}{scope}", self.history.id())
    }
}
