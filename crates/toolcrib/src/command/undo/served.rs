//! `toolcrib undo` with a server: the changes are there, and so are the files.

use serde::Deserialize;
use serde_json::json;
use toolcrib_core::ErrorKind;
use toolcrib_runtime::undo::Restored;
use toolcrib_serve::{ChangedCallList, RestoredFile, UndoReport};

use super::changed_calls;
use super::here::Here;
use super::hint::at_terminal;
use super::shown::{self, DoneUndo};
use crate::cli::UndoArgs;
use crate::command::audit;
use crate::command::remote::{ServerClient, ServerReply, path_part};
use crate::command::short_id::IdError;
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::Terminal;

/// The most calls that a server lists.
const MOST_SERVED_CALLS: usize = 1000;

#[derive(Deserialize)]
struct FailedUndo {
    error: String,
    message: String,
    hint: Option<String>,
}

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    args: &UndoArgs,
) -> Result<Exit, CliError> {
    if args.call.is_none() && !args.last {
        let path = if args.all {
            format!("/api/undo?commands=true&limit={MOST_SERVED_CALLS}")
        } else {
            "/api/undo?commands=true".to_owned()
        };
        shown::list(terminal, args, &client.get(&path)?);
        return Ok(Exit::Done);
    }
    let all: ChangedCallList = client.get(&format!("/api/undo?limit={MOST_SERVED_CALLS}"))?;
    let here = Here { roots: all.roots };
    let wanted = match &args.call {
        None => changed_calls::last(&all.calls, &here),
        Some(given) => match changed_calls::find(&all.calls, given) {
            Err(err) if err.code == IdError::NOT_FOUND => {
                audit::find_served(client, given)?.map_err(|_| err)
            }
            found => found,
        },
    };
    let wanted = match wanted {
        Ok(wanted) => wanted,
        Err(err) => return Ok(shown::not_found(terminal, args, &err)),
    };
    let path = format!("/api/undo/{}", path_part(&wanted));
    let reply = client.post_for_reply(&path, &json!({"force": args.force}), None)?;
    if let Some((kind, failed)) = failure(&reply) {
        let FailedUndo { error, message, hint } = failed;
        // The message has the hint too, for clients that show no more than it.
        let end = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
        let message = message.strip_suffix(&end).unwrap_or(&message);
        let hint = hint.as_deref().map(at_terminal);
        shown::failed(terminal, args, message, &error, hint.as_deref());
        return Ok(Exit::of(kind));
    }
    let UndoReport { undone, by, files, has_other_changes } = client.done(reply)?.parse()?;
    let restored = files.into_iter().map(restored).collect();
    let done = DoneUndo { by, wanted: undone, restored, has_other_changes };
    shown::done(terminal, args, &done, &here);
    Ok(Exit::Done)
}

/// Returns why nothing was undone, if the reply is about that and not about the request.
fn failure(reply: &ServerReply) -> Option<(ErrorKind, FailedUndo)> {
    let failed: FailedUndo = serde_json::from_slice(&reply.body).ok()?;
    let kind = ErrorKind::ALL.into_iter().find(|kind| kind.as_str() == failed.error)?;
    Some((kind, failed))
}

fn restored(file: RestoredFile) -> Restored {
    Restored { root: file.root, path: file.path, action: file.action }
}
