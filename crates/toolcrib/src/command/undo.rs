//! `toolcrib undo`: lists the calls that changed files, and undoes them.

mod changed_calls;
mod here;
mod hint;
mod preview;
mod served;
mod shown;

use toolcrib_core::change::UndoLog;
use toolcrib_core::{Change, ToolError};
use toolcrib_runtime::undo::UndoScope;
use toolcrib_serve::{ChangedCall, ChangesScope, WantedChanges};

pub(super) use changed_calls::{gather, reaches_elsewhere};
use here::Here;
pub(super) use hint::over_http;
pub(super) use preview::preview;
use shown::DoneUndo;

use super::past_call;
use super::remote;
use super::setup::open_state;
use super::short_id::IdError;
use crate::cli::{Global, UndoArgs};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::Terminal;
use crate::wiring::{StateAccess, user_at_terminal};

/// How many calls are listed, unless all are asked for.
const LISTED_CALLS: usize = 20;

pub(super) fn run(global: &Global, terminal: Terminal, args: &UndoArgs) -> Result<Exit, CliError> {
    if let Some(client) = remote::chosen(global, terminal)? {
        return served::run(&client, terminal, args);
    }
    let access = open_state(global, terminal)?;
    if args.call.is_none() && !args.last {
        let wanted = if args.all {
            WantedChanges { scope: ChangesScope::All, limit: usize::MAX, with_commands: true }
        } else {
            let scope = ChangesScope::Workspace;
            WantedChanges { scope, limit: LISTED_CALLS, with_commands: true }
        };
        shown::list(terminal, args, &gather(&access, &wanted)?);
        return Ok(Exit::Done);
    }
    let all = WantedChanges { scope: ChangesScope::All, limit: usize::MAX, with_commands: false };
    let calls = gather(&access, &all)?.calls;
    let here = Here::of(&access);
    let wanted = match &args.call {
        None => changed_calls::last(&calls, &here),
        Some(given) => resolve(&access, &calls, given)?,
    };
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(err) => return Ok(shown::not_found(terminal, args, &err)),
    };
    let by = toolcrib_ledger::new_call_id();
    let scope = if args.force { UndoScope::Everything } else { UndoScope::Unchanged };
    match access.undo(&by, user_at_terminal(), &wanted, scope) {
        Ok(restored) => {
            let has_other_changes = has_other_changes(&access, &wanted);
            let done = DoneUndo { by, wanted, restored, has_other_changes };
            shown::done(terminal, args, &done, &here);
            Ok(Exit::Done)
        }
        Err(ToolError { kind, message, hint, .. }) => {
            shown::failed(terminal, args, &message, kind.as_str(), hint.as_deref());
            Ok(Exit::of(kind))
        }
    }
}

/// Returns the id of the call that a person means. A call that changed nothing is found in the record, so that undo
/// can say why it cannot be undone.
fn resolve(
    access: &StateAccess,
    calls: &[ChangedCall],
    given: &str,
) -> Result<Result<String, IdError>, CliError> {
    let err = match changed_calls::find(calls, given) {
        Err(err) if err.code == IdError::NOT_FOUND => err,
        found => return Ok(found),
    };
    Ok(past_call::find(&access.state, given)?.map(|call| call.id().to_owned()).map_err(|_| err))
}

/// Returns whether the command of a call changed more than can be undone.
pub(super) fn has_other_changes(access: &StateAccess, call: &str) -> bool {
    let (Some(history), Ok((changes, _))) = (access.history_of(call), access.journal.history())
    else {
        return false;
    };
    let mine: Vec<Change> = changes.into_iter().filter(|it| it.call.0 == call).collect();
    !super::call_history::other_changes(&history, &mine).is_empty()
}
