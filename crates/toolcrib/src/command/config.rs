//! `toolcrib config`: what holds, and why.

use serde_json::{Value, json};
use toolcrib_core::escape;

use super::{print_lines, read};
use crate::cli::{ConfigArgs, ConfigCommand, Global};
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json};
use crate::wiring::WiringError;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &ConfigArgs,
) -> Result<Exit, WiringError> {
    let plans = read(global, terminal)?;
    let ConfigCommand::Show { origin, json } = &args.command;
    let places = [
        ("workspace", plans.root.path().display().to_string()),
        (
            "state",
            plans.state.as_ref().map_or_else(|err| err.0.clone(), |it| it.display().to_string()),
        ),
    ];
    if *json {
        let mut all = serde_json::Map::new();
        for (name, place) in places {
            all.insert(name.to_owned(), json!({"value": place}));
        }
        for (key, value, origin) in plans.settings.all() {
            let value = serde_json::to_value(value).unwrap_or(Value::Null);
            all.insert(key.name.to_owned(), json!({"value": value, "origin": origin.to_string()}));
        }
        print_json(&Value::Object(all).to_string());
        return Ok(Exit::Done);
    }
    let mut lines = Vec::new();
    for (name, place) in places {
        lines.push(terminal.paint(Paint::Dim, &format!("# {name}: {place}")));
    }
    for (key, value, from) in plans.settings.all() {
        let line = escape::line(&format!("{} = {value}", key.name)).into_owned();
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
