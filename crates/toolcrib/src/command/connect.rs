//! `toolcrib connect`: adds, lists, tests and removes the repositories that tools can be connected to.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::nearest::{either, nearest};
use toolcrib_core::{Cancel, Listing, ToolError, Tree, counted, escape};
use toolcrib_host::Root;
use toolcrib_repositories::RepositoryPlace;

use super::setup::{open_options, read_config};
use crate::cli::{ConnectArgs, ConnectCommand, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::{Settings, set_in_file, table, unset_in_file};
use crate::terminal::{Format, Terminal, print_json, print_lines};
use crate::wiring::{
    Config, NamedPlace, RepositoryOpener, connected_place, user_settings_file, written_place,
};

/// The setting with all connections.
const CONNECTIONS: &str = "connections";

/// The setting that chooses one.
const CHOSEN: &str = "hikai.connection";

/// The session for which a connection is tested.
const TEST_SESSION: &str = "connect test";

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ConnectArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        ConnectCommand::Add { name, place, is_used } => {
            let chosen = if *is_used { Chosen::Now } else { Chosen::AsBefore };
            add(global, terminal, name, place, chosen)
        }
        ConnectCommand::List { json } => list(global, terminal, Format::from(*json)),
        ConnectCommand::Test { name, json } => {
            test(global, terminal, name.as_deref(), Format::from(*json))
        }
        ConnectCommand::Remove { name } => remove(global, terminal, name),
    }
}

/// Whether tools read a connection from now on that is added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chosen {
    Now,
    AsBefore,
}

fn add(
    global: &Global,
    terminal: Terminal,
    name: &str,
    place: &str,
    chosen: Chosen,
) -> Result<Exit, CliError> {
    NamedPlace::check_name(name)?;
    let place = written_place(place)?;
    let entry = format!("{name}={place}");
    NamedPlace::parse(&entry)?;
    if entry.contains(',') {
        return Err(CliError::usage(format!("`{place}` has a comma, which separates connections")));
    }
    let path = user_settings_file(&open_options(global))?;
    let mut all = own_entries(&path)?;
    let had = all.len();
    all.retain(|known| name_in(known) != name);
    let verb = if all.len() < had { "Changed" } else { "Added" };
    all.push(entry);
    set_in_file(&path, CONNECTIONS, &all.join(","))?;
    let mut lines = vec![escape::line(&format!("{verb}: {name} is {place}")).into_owned()];
    if chosen == Chosen::Now {
        set_in_file(&path, CHOSEN, name)?;
        lines.push("hikai's tools read it from now on.".to_owned());
    }
    print_lines(&lines);
    terminal.note(&format!("`toolcrib connect test {name}` opens it"));
    if chosen == Chosen::AsBefore {
        terminal.note(&format!("`toolcrib config set {CHOSEN} {name}` lets hikai's tools read it"));
    }
    Ok(Exit::Done)
}

fn list(global: &Global, terminal: Terminal, format: Format) -> Result<Exit, CliError> {
    let settings = read_config(global, terminal)?.settings;
    let (all, chosen) = (NamedPlace::all(&settings)?, settings.get(table::HIKAI_CONNECTION));
    if format == Format::Json {
        let all: Vec<Value> = all
            .iter()
            .map(|it| json!({"name": it.name, "place": it.place.to_string(), "chosen": it.name == chosen}))
            .collect();
        print_json(&Value::Array(all).to_string());
        return Ok(Exit::Done);
    }
    if all.is_empty() {
        print_lines(&["There are no connections.".to_owned()]);
        terminal.note("`toolcrib connect add NAME PLACE` adds one");
        return Ok(Exit::Done);
    }
    let longest = all.iter().map(|it| it.name.len()).max().unwrap_or(0);
    let line = |it: &NamedPlace| {
        let mark = if it.name == chosen { '*' } else { ' ' };
        escape::line(&format!("{mark} {:<longest$}  {}", it.name, it.place)).into_owned()
    };
    print_lines(&all.iter().map(line).collect::<Vec<_>>());
    if !all.iter().any(|it| it.name == chosen) {
        terminal.note(&format!(
            "hikai's tools read `{}`, which is none of these",
            escape::line(&chosen)
        ));
    }
    Ok(Exit::Done)
}

fn remove(global: &Global, terminal: Terminal, name: &str) -> Result<Exit, CliError> {
    let settings = read_config(global, terminal)?.settings;
    known(&settings, name)?;
    let path = user_settings_file(&open_options(global))?;
    let mut all = own_entries(&path)?;
    let had = all.len();
    all.retain(|entry| name_in(entry) != name);
    if all.len() == had {
        let message = format!("`{}` is not in your own settings", escape::line(name));
        return Err(CliError::settings(message)
            .hint("`toolcrib config show --origin` shows where `connections` is from"));
    }
    if all.is_empty() {
        unset_in_file(&path, CONNECTIONS)?;
    } else {
        set_in_file(&path, CONNECTIONS, &all.join(","))?;
    }
    print_lines(&[format!("Removed: {}", escape::line(name))]);
    if settings.get(table::HIKAI_CONNECTION) == name {
        unset_in_file(&path, CHOSEN)?;
        terminal.note("hikai's tools read the workspace again");
    }
    Ok(Exit::Done)
}

/// What a connection leads to.
struct Opened {
    place: RepositoryPlace,
    commit: Option<String>,
    notices: Vec<String>,
    top: Listing,
}

fn test(
    global: &Global,
    terminal: Terminal,
    name: Option<&str>,
    format: Format,
) -> Result<Exit, CliError> {
    let config = read_config(global, terminal)?;
    let settings = &config.settings;
    let chosen = settings.get(table::HIKAI_CONNECTION);
    let text = name.unwrap_or(&chosen);
    let place = match text {
        "none" => {
            if format == Format::Json {
                print_json(&json!({"place": null}).to_string());
            } else {
                print_lines(&[format!("`{CHOSEN}` is `none`: hikai's tools read no repository.")]);
            }
            return Ok(Exit::Done);
        }
        "workspace" => RepositoryPlace::Folder(config.root.path().to_owned()),
        name if !name.contains(['/', ':']) => known(settings, name)?.place,
        text => connected_place(settings, text)?,
    };
    let opened = match opened(global, &config, &place) {
        Ok(opened) => opened,
        Err(err) => {
            let message = format!(
                "`{}` cannot be opened: {}",
                escape::line(text),
                escape::line(&err.message)
            );
            terminal.fail(&message, err.hint.as_deref());
            return Ok(Exit::Failed);
        }
    };
    let Opened { place, commit, notices, top } = opened;
    for notice in &notices {
        terminal.warn(notice);
    }
    if format == Format::Json {
        let body = json!({"place": place.to_string(), "commit": commit,
            "directories": top.directories, "files": top.files});
        print_json(&body.to_string());
        return Ok(Exit::Done);
    }
    let mut lines = vec![escape::line(&place.to_string()).into_owned()];
    lines.extend(commit.map(|commit| format!("  commit:  {commit}")));
    let folders = counted(top.directories as u64, "folder");
    lines.push(format!("  at top:  {folders}, {}", counted(top.files as u64, "file")));
    print_lines(&lines);
    Ok(Exit::Done)
}

fn opened(global: &Global, config: &Config, place: &RepositoryPlace) -> Result<Opened, CliError> {
    if let RepositoryPlace::Folder(path) = place {
        Root::open(path)?;
        let mut top = Listing::default();
        for entry in std::fs::read_dir(path).map_err(CliError::from)?.flatten() {
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            *(if is_directory { &mut top.directories } else { &mut top.files }) += 1;
        }
        return Ok(Opened { place: place.clone(), commit: None, notices: Vec::new(), top });
    }
    let cancel = Cancel::default();
    let opener = RepositoryOpener::of_config(config, &open_options(global))?;
    let source = opener.source(place.clone());
    let told = |err: ToolError| {
        let told = CliError::settings(err.message);
        err.hint.into_iter().fold(told, CliError::hint)
    };
    let repository = source.open_for(TEST_SESSION, &cancel).map_err(told)?;
    let files = repository.connect(&cancel).files;
    let top = Tree::list(&*files, ".", 1).map_err(told)?;
    let (commit, notices) = (Some(repository.commit()), repository.notices());
    Ok(Opened { place: place.clone(), commit, notices, top })
}

/// Returns the connection of a name.
fn known(settings: &Settings, name: &str) -> Result<NamedPlace, CliError> {
    let all = NamedPlace::all(settings)?;
    let near = nearest(name, all.iter().map(|it| it.name.as_str()), 2);
    let hint = if near.is_empty() {
        "`toolcrib connect list` lists the connections".to_owned()
    } else {
        format!("did you mean {}?", either(&near))
    };
    let found = all.into_iter().find(|it| it.name == name);
    found.ok_or_else(|| {
        CliError::usage(format!("no connection `{}`", escape::line(name))).hint(hint)
    })
}

/// Returns the connections of the user's own file. Those of other places are not the user's to change here.
fn own_entries(path: &Path) -> Result<Vec<String>, CliError> {
    let text = match std::fs::read_to_string(path) {
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    // What is wrong with the file is said when it is changed.
    let file: toml::Table = text.parse().unwrap_or_default();
    let entries = file.get(CONNECTIONS).and_then(toml::Value::as_array);
    let texts = entries.into_iter().flatten().filter_map(toml::Value::as_str);
    Ok(texts.map(str::to_owned).collect())
}

fn name_in(entry: &str) -> &str {
    entry.split_once('=').map_or(entry, |(name, _)| name)
}
