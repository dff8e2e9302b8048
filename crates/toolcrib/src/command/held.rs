//! `toolcrib held`: lists, shows, releases and discards what commands left behind for git to run.

use serde_json::json;
use toolcrib_core::{Note, escape};
use toolcrib_host::{HeldItem, HeldKind, HeldStore, Root, root_path};
use toolcrib_ledger::{Act, EventKind};

use super::layout::fit;
use super::setup::open_state;
use super::short_id::{self, Candidate, IdNoun, ShortIds};
use crate::cli::{Global, HeldArgs, HeldCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Escapes, Terminal, print_foreign, print_json, print_lines, width};
use crate::wiring::StateAccess;

const HELD: IdNoun =
    IdNoun { one: "held item", many: "held items", listed_by: "toolcrib held list" };

pub(super) fn run(global: &Global, terminal: Terminal, args: &HeldArgs) -> Result<Exit, CliError> {
    let access = open_state(global, terminal)?;
    let store = HeldStore::new(access.state.folder());
    let items = store.all()?;
    match &args.command {
        HeldCommand::List { json } => {
            if *json {
                print_json(&serde_json::to_string(&items)?);
            } else if items.is_empty() {
                print_lines(&["Nothing is held.".to_owned()]);
            } else {
                let ids = ShortIds::of(items.iter().map(|item| item.id.as_str()));
                let lines: Vec<String> =
                    items.iter().map(|item| describe(item, ids.short(&item.id))).collect();
                let lines: Vec<String> =
                    lines.iter().flat_map(|it| it.lines()).map(|it| fit(it, width())).collect();
                print_lines(&lines);
            }
            Ok(Exit::Done)
        }
        HeldCommand::Show { id, json } => {
            let Some(item) = find(terminal, &items, id) else { return Ok(Exit::Failed) };
            if *json {
                print_json(&serde_json::to_string(item)?);
            } else {
                show(&store, item);
            }
            Ok(Exit::Done)
        }
        HeldCommand::Release { id } => {
            let Some(item) = find(terminal, &items, id) else { return Ok(Exit::Failed) };
            let whole = item.whole_path();
            let released = Root::open(&root_path(&item.root))
                .map_err(|err| err.to_string())
                .and_then(|root| store.release(item, &root).map_err(|err| err.to_string()));
            if let Err(err) = released {
                let hint =
                    format!("`toolcrib held show {}` shows it, to put it back by hand", item.id);
                terminal.fail(&format!("`{whole}` cannot be put back: {err}"), Some(&hint));
                return Ok(Exit::Failed);
            }
            note(&access, item, &EventKind::Released)?;
            print_lines(&[format!("Released: {}", line(item))]);
            Ok(Exit::Done)
        }
        HeldCommand::Discard { id } => {
            let Some(item) = find(terminal, &items, id) else { return Ok(Exit::Failed) };
            store.discard(item)?;
            note(&access, item, &EventKind::Discarded)?;
            print_lines(&[format!("Discarded: {}", line(item))]);
            Ok(Exit::Done)
        }
    }
}

/// Finds the item whose id is, or begins with, this text.
fn find<'i>(terminal: Terminal, items: &'i [HeldItem], wanted: &str) -> Option<&'i HeldItem> {
    let candidates = items.iter().map(|item| Candidate {
        id: item.id.clone(),
        at: format!("{:.0}", item.at),
        what: line(item),
        item,
    });
    match short_id::find(HELD, wanted, candidates) {
        Ok(found) => Some(found.item),
        Err(err) => {
            err.tell(terminal);
            None
        }
    }
}

fn note(access: &StateAccess, item: &HeldItem, event: &EventKind) -> Result<(), CliError> {
    let note = Note {
        at: access.clock.now(),
        actor: "user",
        act: Act::Held.as_str(),
        event: event.as_str(),
        tool: None,
        call: &item.call,
        detail: json!({
            "id": item.id,
            "path": item.whole_path(),
            "what": item.what,
            "by": format!("user {}", rustix::process::getuid().as_raw()),
        }),
    };
    access.recorder.note(&note).map_err(|err| CliError::usage(err.to_string()))
}

fn line(item: &HeldItem) -> String {
    format!("{}: {}", escape::line(&item.whole_path()), escape::line(&item.what))
}

/// Returns an item in two lines.
fn describe(item: &HeldItem, id: &str) -> String {
    format!("{}  {:.0}\n    {}", escape::line(id), item.at, line(item))
}

/// Prints an item in full.
fn show(store: &HeldStore, item: &HeldItem) {
    let how = match &item.kind {
        HeldKind::Setting(text) => {
            let text = text.trim_end().replace('\t', "  ");
            format!("setting, removed from the file:\n{text}")
        }
        HeldKind::Plan(_) => {
            "lines, removed from a rebase's todo list. The whole list was:".to_owned()
        }
        HeldKind::File(mode) => format!("file with mode {mode:o}, moved away. Its content:"),
        HeldKind::Link(target) => format!("link to `{target}`, removed"),
        HeldKind::Renamed(name) => format!("renamed to `{name}` in its folder"),
    };
    print_lines(&[
        format!("id         {}", escape::line(&item.id)),
        format!("file       {}", escape::line(&item.whole_path())),
        format!("what       {}", escape::line(&item.what)),
        format!(
            "held since {:.0}, after the command of call {}",
            item.at,
            escape::line(&item.call)
        ),
        format!(
            "kind       {}",
            how.lines().map(escape::line).collect::<Vec<_>>().join("\n           ")
        ),
    ]);
    if let Ok(content) = store.content(item) {
        print_foreign(&String::from_utf8_lossy(&content), Escapes::OnTerminal);
    }
}
