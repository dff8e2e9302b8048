//! `toolcrib held`: lists, shows, releases and discards what commands left behind for git to run.

use serde_json::json;
use toolcrib_core::{Note, escape};
use toolcrib_host::{HeldItem, HeldKind, HeldStore, Root, root_path};
use toolcrib_ledger::{Act, EventKind};

use super::setup::open;
use crate::cli::{Global, HeldArgs, HeldCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Escapes, Terminal, print_foreign, print_json, print_lines};
use crate::wiring::Crib;

pub(super) fn run(global: &Global, terminal: Terminal, args: &HeldArgs) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let store = HeldStore::new(crib.state.folder());
    let items = store.all()?;
    match &args.command {
        HeldCommand::List { json } => {
            if *json {
                print_json(&serde_json::to_string(&items)?);
            } else if items.is_empty() {
                print_lines(&["Nothing is held.".to_owned()]);
            } else {
                print_lines(&items.iter().map(describe).collect::<Vec<_>>());
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
            note(&crib, item, &EventKind::Released)?;
            print_lines(&[format!("Released: {}", line(item))]);
            Ok(Exit::Done)
        }
        HeldCommand::Discard { id } => {
            let Some(item) = find(terminal, &items, id) else { return Ok(Exit::Failed) };
            store.discard(item)?;
            note(&crib, item, &EventKind::Discarded)?;
            print_lines(&[format!("Discarded: {}", line(item))]);
            Ok(Exit::Done)
        }
    }
}

/// Finds the item with this id, or the only one whose id begins or ends so.
fn find<'i>(terminal: Terminal, items: &'i [HeldItem], wanted: &str) -> Option<&'i HeldItem> {
    let id = wanted.to_uppercase();
    // No id is not the beginning of every id.
    let fits = |item: &&HeldItem| item.id.starts_with(&id) || item.id.ends_with(&id);
    let is_near = |item: &&HeldItem| !id.is_empty() && fits(item);
    let near: Vec<&HeldItem> = items.iter().filter(is_near).collect();
    let exact = items.iter().find(|item| item.id == id);
    let found = exact.or_else(|| near.first().copied().filter(|_| near.len() == 1));
    if found.is_none() {
        let why = if near.is_empty() {
            "is not the id of anything that is held"
        } else {
            "fits more than one id"
        };
        let hint = "`toolcrib held list` lists what is held";
        terminal.fail(&format!("`{}` {why}", escape::line(wanted)), Some(hint));
    }
    found
}

fn note(crib: &Crib, item: &HeldItem, event: &EventKind) -> Result<(), CliError> {
    let note = Note {
        at: crib.clock.now(),
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
    crib.recorder.note(&note).map_err(|err| CliError::usage(err.to_string()))
}

fn line(item: &HeldItem) -> String {
    format!("{}: {}", escape::line(&item.whole_path()), escape::line(&item.what))
}

/// Returns an item in two lines.
fn describe(item: &HeldItem) -> String {
    format!("{}  {:.0}\n    {}", escape::line(&item.id), item.at, line(item))
}

/// Prints an item in full.
fn show(store: &HeldStore, item: &HeldItem) {
    let how = match &item.kind {
        HeldKind::Setting(text) => {
            let text = text.trim_end().replace('\t', "  ");
            format!("setting, removed from the file:\n{text}")
        }
        HeldKind::Plan(_) => {
            "lines, removed from the plan of a rebase. The whole plan was:".to_owned()
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
