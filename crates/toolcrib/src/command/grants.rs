//! `toolcrib grants`: lists and revokes grants, which answers of "always" make.

use jiff::Timestamp;
use serde_json::json;
use toolcrib_core::policy::{Grant, Scope};
use toolcrib_core::{Note, counted, escape};
use toolcrib_ledger::{Act, EventKind, GrantFile};

use super::layout::fit;
use super::setup::open_state;
use super::short_id::{self, Candidate, IdError, IdNoun, ShortIds};
use crate::cli::{Global, GrantsArgs, GrantsCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json, print_lines, width};

const GRANTS: IdNoun = IdNoun { one: "grant", many: "grants", listed_by: "toolcrib grants list" };

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &GrantsArgs,
) -> Result<Exit, CliError> {
    let access = open_state(global, terminal)?;
    let grants = GrantFile::new(&access.state);
    match &args.command {
        GrantsCommand::List { json } => {
            let all = grants.all()?;
            if *json {
                print_json(&serde_json::to_string(&all)?);
            } else if all.is_empty() {
                print_lines(&["No grants. An answer of \"always\" makes one.".to_owned()]);
            } else {
                let now = access.clock.now();
                let ids = ShortIds::of(all.iter().map(|grant| grant.id.as_str()));
                let lines: Vec<String> =
                    all.iter().map(|it| describe(it, ids.short(&it.id), now)).collect();
                let lines: Vec<String> =
                    lines.iter().flat_map(|it| it.lines()).map(|it| fit(it, width())).collect();
                print_lines(&lines);
            }
            Ok(Exit::Done)
        }
        GrantsCommand::Revoke { id } => {
            let candidates = grants.all()?.into_iter().map(|grant| Candidate {
                id: grant.id.clone(),
                at: format!("{:.0}", grant.created_at),
                what: format!("{}  {}", grant.tool_name, grant.covers.text()),
                item: grant,
            });
            let grant = match short_id::find(GRANTS, id, candidates) {
                Ok(found) => found.item,
                Err(err) => return Ok(err.tell(terminal)),
            };
            if !grants.revoke(&grant.id)? {
                return Ok(IdError::unknown(GRANTS, id).tell(terminal));
            }
            let note = Note {
                at: access.clock.now(),
                actor: "user",
                act: Act::Grant.as_str(),
                event: EventKind::Revoked.as_str(),
                tool: None,
                call: "",
                detail: json!({
                    "id": grant.id,
                    "by": format!("user {}", rustix::process::getuid().as_raw()),
                }),
            };
            access.recorder.note(&note).map_err(|err| CliError::usage(err.to_string()))?;
            let covers = grant.covers.text();
            let told = format!("Revoked: {} {} {covers}", grant.id, grant.tool_name);
            print_lines(&[escape::line(&told).into_owned()]);
            Ok(Exit::Done)
        }
    }
}

/// Returns a grant in two lines.
fn describe(grant: &Grant, id: &str, now: Timestamp) -> String {
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
    let whose = grant.principal.as_ref();
    let whose =
        whose.map(|it| format!("calls of {}, ", escape::line(&it.name))).unwrap_or_default();
    let used = match grant.last_used_at {
        Some(at) => format!("used {}, last {at:.0}", counted(grant.use_count, "time")),
        None => "never used".to_owned(),
    };
    format!(
        "{}  {}  {}\n    {whose}{scope}, {until}; by {} at {:.0}; {used}",
        escape::line(id),
        escape::line(grant.tool_name.as_str()),
        // The text is made from what the grant covers; a comment in the file could say something else.
        escape::line(&grant.covers.text()),
        escape::line(&grant.by),
        grant.created_at,
    )
}
