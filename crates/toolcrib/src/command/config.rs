//! `toolcrib config`: shows, sets and edits the settings.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::escape;
use toolcrib_core::nearest::{either, nearest};

use super::editor::{EDITOR_HINT, Editor};
use super::setup::{open_options, read_config};
use crate::cli::{ConfigArgs, ConfigCommand, Global};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::{
    Origin, SetValue, Setting, Settings, check_file, set_in_file, unset_in_file,
};
use crate::terminal::{Format, Paint, Terminal, print, print_json, print_lines};
use crate::wiring::{Config, user_settings_file};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ConfigArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        ConfigCommand::Show { origin, json } => {
            let config = read_config(global, terminal)?;
            if *json {
                print_json(&Value::Object(all_as_json(&config)).to_string());
            } else {
                let shown = if *origin { ShownOrigin::Yes } else { ShownOrigin::No };
                print_lines(&all_lines(terminal, &config, shown));
            }
            Ok(Exit::Done)
        }
        ConfigCommand::Get { key, json } => {
            let config = read_config(global, terminal)?;
            get(&config.settings, key, (*json).into())
        }
        ConfigCommand::Set { key, value } => set(global, terminal, key, value),
        ConfigCommand::Unset { key } => unset(global, terminal, key),
        ConfigCommand::Edit => edit(global),
        // Printed as it is, because a script may use it.
        ConfigCommand::Path => {
            print(&format!("{}\n", user_settings_file(&open_options(global))?.display()));
            Ok(Exit::Done)
        }
    }
}

/// Whether the origin of each value is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShownOrigin {
    Yes,
    No,
}

/// Returns the workspace and the state folder.
fn places(config: &Config) -> [(&'static str, String); 2] {
    let state = config.state.as_ref();
    [
        ("workspace", config.root.path().display().to_string()),
        ("state", state.map_or_else(ToString::to_string, |it| it.display().to_string())),
    ]
}

fn all_as_json(config: &Config) -> serde_json::Map<String, Value> {
    let mut all = serde_json::Map::new();
    for (name, place) in places(config) {
        all.insert(name.to_owned(), json!({"value": place}));
    }
    for (setting, value, origin) in config.settings.all() {
        all.insert(setting.name.to_owned(), as_json(value, origin));
    }
    all
}

fn as_json(value: &toml::Value, origin: &Origin) -> Value {
    let value = serde_json::to_value(value).unwrap_or(Value::Null);
    json!({"value": value, "origin": origin.to_string()})
}

fn all_lines(terminal: Terminal, config: &Config, shown: ShownOrigin) -> Vec<String> {
    let mut lines = Vec::new();
    for (name, place) in places(config) {
        lines.push(terminal.paint(Paint::Dim, &format!("# {name}: {place}")));
    }
    for (setting, value, from) in config.settings.all() {
        let line = escape::line(&format!("{} = {value}", setting.name)).into_owned();
        let note = format!("# {from}");
        lines.push(match shown {
            ShownOrigin::Yes => format!("{line:<44} {}", terminal.paint(Paint::Dim, &note)),
            ShownOrigin::No => line,
        });
    }
    lines
}

/// Prints one value: a text as it is, for scripts, and anything else as files write it.
fn get(settings: &Settings, key: &str, format: Format) -> Result<Exit, CliError> {
    let (_, value, origin) = named(settings, key)?;
    match format {
        Format::Json => print_json(&as_json(value, origin).to_string()),
        Format::Text => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            print(&format!("{}\n", escape::line(&text)))
        }
    };
    Ok(Exit::Done)
}

fn named<'s>(
    settings: &'s Settings,
    key: &str,
) -> Result<(&'static Setting, &'s toml::Value, &'s Origin), CliError> {
    settings.all().find(|(setting, ..)| setting.name == key).ok_or_else(|| {
        let near = nearest(key, settings.all().map(|(setting, ..)| setting.name), 2);
        let hint = if near.is_empty() {
            "`toolcrib config show` lists every setting".to_owned()
        } else {
            format!("did you mean {}?", either(&near))
        };
        CliError::settings(format!("no setting `{}`", escape::line(key))).hint(hint)
    })
}

/// Sets a value in the user's file, and warns if another place decides all the same.
fn set(global: &Global, terminal: Terminal, key: &str, value: &str) -> Result<Exit, CliError> {
    let path = user_settings_file(&open_options(global))?;
    let SetValue { value: written, lost_comments } = set_in_file(&path, key, value)?;
    let told = format!("Set {key} = {written} in {}", path.display());
    print_lines(&[escape::line(&told).into_owned()]);
    if !lost_comments.is_empty() {
        let comments = escape::line(&lost_comments.join(", ")).into_owned();
        terminal.warn(&format!(
            "these comments within the old value are gone: {comments}; `toolcrib config edit` opens the file"
        ));
    }
    let config = read_config(global, terminal)?;
    let (_, value, origin) = named(&config.settings, key)?;
    if *origin != Origin::File(path) {
        terminal.warn(&format!("{origin} overrides it here: the value in force is {value}"));
    }
    Ok(Exit::Done)
}

/// Removes a value from the user's file, and says what holds now.
fn unset(global: &Global, terminal: Terminal, key: &str) -> Result<Exit, CliError> {
    let path = user_settings_file(&open_options(global))?;
    let was_set = unset_in_file(&path, key)?;
    let config = read_config(global, terminal)?;
    let (_, value, origin) = named(&config.settings, key)?;
    let did = if was_set { "Removed" } else { "There is no" };
    let told =
        format!("{did} {key} in {}. The value in force is {value} ({origin}).", path.display());
    print_lines(&[escape::line(&told).into_owned()]);
    Ok(Exit::Done)
}

/// Opens the user's file in an editor, and checks it afterwards.
fn edit(global: &Global) -> Result<Exit, CliError> {
    let path = user_settings_file(&open_options(global))?;
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    run_editor(&path)?;
    check_file(&path).map_err(|err| {
        let err = CliError::from(err);
        if err.hint.is_some() { err } else { err.hint("run `toolcrib config edit` again") }
    })?;
    print_lines(&[format!("{} is valid.", path.display())]);
    Ok(Exit::Done)
}

fn run_editor(path: &Path) -> Result<(), CliError> {
    let editor = Editor::from_environment();
    let ended = editor.command(path).status()?;
    if ended.success() {
        return Ok(());
    }
    let message = format!("the editor `{}` failed: {ended}", editor.name());
    Err(CliError::new(CliErrorKind::System, message).hint(EDITOR_HINT))
}
