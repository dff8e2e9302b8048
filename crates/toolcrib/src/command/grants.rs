//! `toolcrib grants`: lists and revokes grants, which answers of "always" make.

use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::policy::{Grant, Scope};
use toolcrib_core::{Note, escape};
use toolcrib_ledger::{Act, EventKind, GrantFile};

use super::setup::open;
use crate::cli::{Global, GrantsArgs, GrantsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json, print_lines};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &GrantsArgs,
) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let grants = GrantFile::new(&crib.state);
    match &args.command {
        GrantsCommand::List { json } => {
            let all = grants.all()?;
            if *json {
                print_json(&serde_json::to_string(&all)?);
            } else if all.is_empty() {
                print_lines(&["No grants. An answer of \"always\" makes one.".to_owned()]);
            } else {
                let now = crib.clock.now();
                print_lines(&all.iter().map(|grant| describe(grant, now)).collect::<Vec<_>>());
            }
            Ok(Exit::Done)
        }
        GrantsCommand::Revoke { id } => {
            if grants.revoke(id)? {
                let note = Note {
                    at: crib.clock.now(),
                    actor: "user",
                    act: Act::Grant.as_str(),
                    event: EventKind::Revoked.as_str(),
                    tool: None,
                    call: "",
                    detail: json!({"id": id, "by": format!("user {}", rustix::process::getuid().as_raw())}),
                };
                crib.recorder.note(&note).map_err(|err| CliError::usage(err.to_string()))?;
                print_lines(&[format!("Revoked: {}", escape::line(id))]);
                return Ok(Exit::Done);
            }
            let hint = "`toolcrib grants list` lists the grants";
            terminal.fail(&format!("there is no grant `{}`", escape::line(id)), Some(hint));
            Ok(Exit::Failed)
        }
    }
}

/// Returns a grant in two lines.
fn describe(grant: &Grant, now: Timestamp) -> String {
    let scope = match &grant.scope {
        Scope::Session(id) => format!("session {id}"),
        Scope::Project(path) => format!("project {}", escape::line(path)),
        Scope::User => "everywhere".to_owned(),
    };
    let until = match grant.expires_at {
        Some(at) if at <= now => format!("expired {at:.0}"),
        Some(at) => format!("until {at:.0}"),
        None => "until revoked".to_owned(),
    };
    let used = match grant.last_used_at {
        Some(at) => format!("used {} times, last {at:.0}", grant.use_count),
        None => "never used".to_owned(),
    };
    format!(
        "{}  {}  {}\n    {scope}, {until}; by {} at {:.0}; {used}",
        escape::line(&grant.id),
        escape::line(grant.tool_name.as_str()),
        // The text is made from what the grant covers; a comment in the file could say something else.
        escape::line(&grant.covers.text()),
        escape::line(&grant.by),
        grant.created_at,
    )
}
