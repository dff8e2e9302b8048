//! Past calls as people name them: by the beginning of their id, or as the last one of this workspace.

use std::io;
use std::path::Path;

use serde_json::Value;
use toolcrib_ledger::{CallFilter, CallHistory, EventKind, StateFolder, call_time, find_calls};

use super::short_id::{self, Candidate, IdError, IdNoun};
use crate::error::CliError;

/// What call ids of the record are ids of.
pub(super) const CALLS: IdNoun =
    IdNoun { one: "call", many: "calls", listed_by: "toolcrib audit search" };

/// The most calls that are looked through for one whose id begins as a person typed.
const MOST_FITTING_CALLS: usize = 100;

/// The most of the newest calls that are looked through for the last one of a workspace.
const MOST_LAST_CALLS: usize = 10_000;

/// Returns the call of the record whose id is, or begins with, the given text.
pub(super) fn find(
    state: &StateFolder,
    given: &str,
) -> Result<Result<CallHistory, IdError>, CliError> {
    let beginning = given.to_uppercase();
    let since = call_time(&beginning);
    let filter = CallFilter { call: Some(beginning), since, ..CallFilter::default() };
    let calls = find_calls(state, &filter, MOST_FITTING_CALLS)?;
    Ok(short_id::find(CALLS, given, calls.into_iter().map(candidate)).map(|found| found.item))
}

fn candidate(call: CallHistory) -> Candidate<CallHistory> {
    Candidate {
        id: call.id().to_owned(),
        at: shown_time(&call.at().to_string()),
        what: format!("{}  {}", call.tool(), what_of(&call)),
        item: call,
    }
}

/// Returns the newest call that was not made in another workspace. The record has no workspace of a call that
/// only read.
pub(super) fn last(state: &StateFolder, directory: &Path) -> io::Result<Option<CallHistory>> {
    let newest = find_calls(state, &CallFilter::default(), 1)?.pop();
    if newest.as_ref().is_none_or(|call| is_here(call, directory)) {
        return Ok(newest);
    }
    let calls = find_calls(state, &CallFilter::default(), MOST_LAST_CALLS)?;
    Ok(calls.into_iter().find(|call| is_here(call, directory)))
}

/// Returns whether nothing says that a call was made in another workspace.
fn is_here(call: &CallHistory, directory: &Path) -> bool {
    let Some(started) = call.last(&EventKind::Started) else { return true };
    let mut places = started.start.places.iter().chain(&started.start.directory).peekable();
    places.peek().is_none() || places.any(|place| Path::new(&**place).starts_with(directory))
}

/// Returns the command or the file of a call, from the beginning of its arguments.
pub(super) fn what_of(call: &CallHistory) -> String {
    let args = call.first().and_then(|entry| entry.preview.args.as_deref()).unwrap_or_default();
    what(args)
}

/// Returns what says most about a call: its command, else its first argument that is a text.
pub(super) fn what(args: &str) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(args) else { return args.to_owned() };
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let named = ["command", "script", "path", "file_path", "filePath", "pattern", "query", "call"];
    let first = named.into_iter().find_map(text);
    let first = first.or_else(|| fields.values().find_map(Value::as_str));
    first.map_or_else(|| args.to_owned(), str::to_owned)
}

/// Returns a time of the record as lists show it.
pub(super) fn shown_time(at: &str) -> String {
    at.get(..19).unwrap_or(at).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_told_by_its_command_or_its_file() {
        for (args, expect) in [
            (r#"{"timeout": "5", "command": "make all"}"#, "make all"),
            (r#"{"content": "x", "path": "a.txt"}"#, "a.txt"),
            (r#"{"n": 1, "expression": "2 + 2"}"#, "2 + 2"),
            (r#"{"n": 1}"#, r#"{"n": 1}"#),
            // The record has only the beginning of long arguments.
            (r#"{"path": "a.txt", "cont"#, r#"{"path": "a.txt", "cont"#),
        ] {
            assert_eq!(what(args), expect);
        }
    }
}
