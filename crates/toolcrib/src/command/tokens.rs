//! `toolcrib tokens`: makes, lists and revokes the tokens of the server.

use serde_json::json;
use toolcrib_core::{Note, Role};
use toolcrib_ledger::{Act, EventKind, TokenFile};

use super::setup::open_state;
use crate::cli::{Global, TokensArgs, TokensCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json, print_lines};
use crate::wiring::{StateAccess, user_at_terminal};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &TokensArgs,
) -> Result<Exit, CliError> {
    let access = open_state(global, terminal)?;
    let tokens = TokenFile::new(&access.state);
    match &args.command {
        TokensCommand::Add { name, role, json } => {
            let role = Role::parse(role).unwrap_or(Role::Agent);
            let token = tokens.add(name, role, access.clock.now())?;
            note(&access, EventKind::Added, name, Some(role))?;
            if *json {
                let made = json!({"name": name, "role": role.as_str(), "token": token});
                print_json(&made.to_string());
            } else {
                print_lines(&[token]);
                terminal.note(&format!(
                    "this is the token of `{name}` ({}); it is not shown again",
                    role.as_str()
                ));
            }
        }
        TokensCommand::List { all: with_revoked, json } => {
            let mut all = tokens.all()?;
            all.retain(|it| *with_revoked || it.revoked_at.is_none());
            if *json {
                let all: Vec<_> = all
                    .iter()
                    .map(|it| {
                        let at = format!("{:.0}", it.created_at);
                        let mut token = json!({"name": it.principal.name, "role": it.principal.role.as_str(), "created_at": at});
                        if let Some(at) = it.revoked_at {
                            token["revoked_at"] = format!("{at:.0}").into();
                        }
                        token
                    })
                    .collect();
                print_json(&json!(all).to_string());
            } else if all.is_empty() {
                print_lines(&[
                    "No tokens. `toolcrib tokens add NAME --role agent` makes one.".to_owned()
                ]);
            } else {
                let width = all.iter().map(|it| it.principal.name.len()).max().unwrap_or_default();
                let line = |it: &toolcrib_ledger::StoredToken| {
                    let (name, role) = (&it.principal.name, it.principal.role.as_str());
                    let revoked = it.revoked_at.map(|at| format!("  revoked {at:.0}"));
                    let revoked = revoked.unwrap_or_default();
                    format!("{name:<width$}  {role:<8}  made {:.0}{revoked}", it.created_at)
                };
                print_lines(&all.iter().map(line).collect::<Vec<_>>());
            }
        }
        TokensCommand::Revoke { name } => {
            if !tokens.revoke(name, access.clock.now())? {
                let hint = "`toolcrib tokens list` lists the tokens";
                terminal.fail(&format!("there is no token with the name `{name}`"), Some(hint));
                return Ok(Exit::Failed);
            }
            // The token is refused now, also if the disk is too full for the record.
            if let Err(err) = note(&access, EventKind::Revoked, name, None) {
                terminal.warn(&format!("that could not be recorded: {err}"));
            }
            print_lines(&[format!(
                "Revoked the token of `{name}`. The server refuses it now, and ends its calls."
            )]);
        }
    }
    Ok(Exit::Done)
}

/// Records that a token was made or revoked.
pub(super) fn note(
    access: &StateAccess,
    event: EventKind,
    name: &str,
    role: Option<Role>,
) -> Result<(), CliError> {
    let by = &user_at_terminal().principal.name;
    let note = Note {
        at: access.clock.now(),
        actor: "user",
        act: Act::Token.as_str(),
        event: event.as_str(),
        tool: None,
        call: "",
        detail: json!({"name": name, "role": role.map(Role::as_str), "by": by}),
    };
    access.recorder.note(&note).map_err(|err| CliError::usage(err.to_string()))
}
