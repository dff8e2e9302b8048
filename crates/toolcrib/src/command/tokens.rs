//! `toolcrib tokens`: makes, lists, rotates and revokes the tokens of the server.

use std::fmt::Write;

use serde_json::{Value, json};
use toolcrib_core::{Note, Principal, Role};
use toolcrib_ledger::{Act, EventKind, StoredToken, TokenFile};

use super::setup::open_state;
use crate::cli::{Global, TokensArgs, TokensCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json, print_lines};
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
            show_once(terminal, &Principal { name: name.clone(), role }, token, (*json).into());
        }
        TokensCommand::Rotate { name, json } => {
            let Some((principal, token)) = tokens.rotate(name, access.clock.now())? else {
                return Ok(no_token(terminal, name));
            };
            note(&access, EventKind::Rotated, name, Some(principal.role))?;
            show_once(terminal, &principal, token, (*json).into());
            terminal.note("the old one is refused from now on, and what runs with it ends");
        }
        TokensCommand::List { all: with_revoked, json } => {
            let mut all = tokens.all()?;
            all.retain(|it| *with_revoked || it.revoked_at.is_none());
            list(&all, (*json).into());
        }
        TokensCommand::Revoke { name } => {
            if !tokens.revoke(name, access.clock.now())? {
                return Ok(no_token(terminal, name));
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

/// Prints a token, which is not stored and cannot be shown again.
fn show_once(terminal: Terminal, owner: &Principal, token: String, format: Format) {
    let (name, role) = (&owner.name, owner.role.as_str());
    match format {
        Format::Json => {
            print_json(&json!({"name": name, "role": role, "token": token}).to_string());
        }
        Format::Text => {
            print_lines(&[token]);
            terminal
                .note(&format!("this is the token of `{name}` ({role}); it is not shown again"));
        }
    }
}

fn no_token(terminal: Terminal, name: &str) -> Exit {
    let hint = "`toolcrib tokens list` lists the tokens";
    terminal.fail(&format!("there is no token with the name `{name}`"), Some(hint));
    Exit::Failed
}

/// Prints who has tokens, without the tokens.
fn list(all: &[StoredToken], format: Format) {
    let later = |it: &StoredToken| [("rotated", it.rotated_at), ("revoked", it.revoked_at)];
    if format == Format::Json {
        let value = |it: &StoredToken| {
            let at = format!("{:.0}", it.created_at);
            let (name, role) = (&it.principal.name, it.principal.role.as_str());
            let mut token = json!({"name": name, "role": role, "created_at": at});
            for (what, at) in later(it) {
                if let Some(at) = at {
                    token[format!("{what}_at")] = format!("{at:.0}").into();
                }
            }
            token
        };
        print_json(&all.iter().map(value).collect::<Value>().to_string());
        return;
    }
    if all.is_empty() {
        let none = "No tokens. `toolcrib tokens add NAME --role agent` makes one.";
        print_lines(&[none.to_owned()]);
        return;
    }
    let width = all.iter().map(|it| it.principal.name.len()).max().unwrap_or_default();
    let line = |it: &StoredToken| {
        let (name, role) = (&it.principal.name, it.principal.role.as_str());
        let mut line = format!("{name:<width$}  {role:<8}  made {:.0}", it.created_at);
        for (what, at) in later(it) {
            if let Some(at) = at {
                let _ = write!(line, "  {what} {at:.0}");
            }
        }
        line
    };
    print_lines(&all.iter().map(line).collect::<Vec<_>>());
}

/// Records that a token was made, rotated or revoked.
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
