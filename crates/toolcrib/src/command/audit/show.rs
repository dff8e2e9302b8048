//! `toolcrib audit show`: everything about one call.

use toolcrib_ledger::{CallHistory, CallStory, EventKind, Journal, Redactor, StateFolder};

use crate::command::call_history;
use crate::command::render;
use crate::error::CliError;
use crate::terminal::Terminal;

/// Everything that `audit show` shows about one call.
pub(super) struct ShownCall {
    history: CallHistory,
    journal: Journal,
    story: CallStory,
}

impl ShownCall {
    /// Gathers everything about a call.
    pub(super) fn gather(state: &StateFolder, history: CallHistory) -> Result<Self, CliError> {
        let story = CallStory::gather(state, &history)?;
        Ok(Self { history, journal: Journal::new(state), story })
    }

    /// Returns the call, for programs.
    pub(super) fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string(&self.story)
    }

    /// Returns the call, for people.
    pub(super) fn describe(&self, terminal: Terminal, redactor: &Redactor) -> String {
        let Self { history, journal, story } = self;
        let CallStory { changes, undone_by, output_saved, .. } = story;
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
        if *output_saved {
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
        let is_doubtful = self.story.changes.iter().any(|change| change.doubt.is_some());
        let force = if is_doubtful { "--force " } else { "" };
        format!("toolcrib undo {force}{}{scope}", self.history.id())
    }
}
