//! `toolcrib config`: the settings in force, and where each comes from.

use serde_json::{Value, json};
use toolcrib_core::escape;

use super::setup::read_config;
use crate::cli::{ConfigArgs, ConfigCommand, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ConfigArgs,
) -> Result<Exit, CliError> {
    let config = read_config(global, terminal)?;
    let ConfigCommand::Show { origin, json } = &args.command;
    let places = [
        ("workspace", config.root.path().display().to_string()),
        (
            "state",
            config.state.as_ref().map_or_else(ToString::to_string, |it| it.display().to_string()),
        ),
    ];
    if *json {
        let mut all = serde_json::Map::new();
        for (name, place) in places {
            all.insert(name.to_owned(), json!({"value": place}));
        }
        for (setting, value, origin) in config.settings.all() {
            let value = serde_json::to_value(value).unwrap_or(Value::Null);
            all.insert(
                setting.name.to_owned(),
                json!({"value": value, "origin": origin.to_string()}),
            );
        }
        print_json(&Value::Object(all).to_string());
        return Ok(Exit::Done);
    }
    let mut lines = Vec::new();
    for (name, place) in places {
        lines.push(terminal.paint(Paint::Dim, &format!("# {name}: {place}")));
    }
    for (setting, value, from) in config.settings.all() {
        let line = escape::line(&format!("{} = {value}", setting.name)).into_owned();
        let note = format!("# {from}");
        lines.push(if *origin {
            format!("{line:<44} {}", terminal.paint(Paint::Dim, &note))
        } else {
            line
        });
    }
    print_lines(&lines);
    Ok(Exit::Done)
}
