//! `toolcrib rules`: lists, tests and adds rules.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::json;
use toolcrib_core::policy::{Layer, Rule, rules_in};
use toolcrib_core::{Note, escape};
use toolcrib_ledger::{Act, EventKind};

use super::policy::{explain, place, shown_rule};
use super::setup::open;
use crate::cli::{Global, RulesArgs, RulesCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::settings::LockedFile;
use crate::terminal::{Terminal, print_json, print_lines};
use crate::wiring::Crib;

pub(super) fn run(global: &Global, terminal: Terminal, args: &RulesArgs) -> Result<Exit, CliError> {
    match &args.command {
        RulesCommand::Test { tool, args, json } => {
            explain(global, terminal, tool, args, (*json).into())
        }
        RulesCommand::List { json } => {
            let crib = open(global, terminal)?;
            if *json {
                let rules: Vec<_> = crib.rules.policy.rules().iter().map(as_value).collect();
                print_json(&json!(rules).to_string());
                return Ok(Exit::Done);
            }
            let line =
                |rule: &Rule| format!("{}  {}", shown_rule(terminal, rule), place(&rule.source));
            let mut lines: Vec<String> = crib.rules.policy.rules().iter().map(line).collect();
            lines.push(format!(
                "Calls that no rule matches are decided by tier and mode ({}).",
                crib.rules.policy.mode().as_str()
            ));
            print_lines(&lines);
            Ok(Exit::Done)
        }
        RulesCommand::Add { file } => add(&open(global, terminal)?, terminal, file),
    }
}

fn as_value(rule: &Rule) -> serde_json::Value {
    json!({
        "id": rule.id,
        "effect": rule.effect.as_str(),
        "tools": rule.tools,
        "because": rule.because,
        "expires": rule.expires,
        "confirm": rule.confirm,
        "file": rule.source.file,
        "line": rule.source.line,
    })
}

fn add(crib: &Crib, terminal: Terminal, file: &Path) -> Result<Exit, CliError> {
    let shown = file.display().to_string();
    let mut text = String::new();
    if file == Path::new("-") {
        std::io::stdin().lock().read_to_string(&mut text)?;
    } else {
        text = fs::read_to_string(file)
            .map_err(|err| CliError::usage(format!("`{shown}` cannot be read: {err}")))?;
    }
    let Some(own) = &crib.rules.user_file else {
        return Err(CliError::usage(
            "Toolcrib cannot tell where your rules file belongs: set HOME or XDG_CONFIG_HOME",
        ));
    };
    // Locked from the first look to the change, so that two commands at once do not lose one of the two changes.
    let locked_file = LockedFile::lock(own)?;
    let mut all = locked_file.read()?.unwrap_or_default();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(&text);
    // The old and the new rules are also parsed together, because a name may be taken.
    let said =
        match rules_in(&text, &shown, Layer::Operator, Some(&*crib.rules.shell)).and_then(|said| {
            rules_in(&all, &own.display().to_string(), Layer::Operator, None).map(|_| said)
        }) {
            Ok(said) if said.rules.is_empty() => {
                terminal.fail(
                    &format!("`{shown}` contains no rule"),
                    Some("a rule begins with [[rule]]"),
                );
                return Ok(Exit::Failed);
            }
            Ok(said) => said,
            Err(err) => {
                terminal.fail(&err.to_string(), Some("no rule was added"));
                return Ok(Exit::Failed);
            }
        };
    locked_file.replace(&all)?;
    drop(locked_file);
    let ids: Vec<&str> = said.rules.iter().map(|rule| rule.id.as_str()).collect();
    let note = Note {
        at: crib.clock.now(),
        actor: "user",
        act: Act::Rules.as_str(),
        event: EventKind::Added.as_str(),
        tool: None,
        call: "",
        detail: json!({"file": own.display().to_string(), "rules": ids, "text": text}),
    };
    if let Err(why) = crib.recorder.note(&note) {
        terminal.warn(&format!("the rules were added, but that could not be recorded: {why}"));
    }
    let names: Vec<&str> = said.rules.iter().map(|rule| rule.id.as_str()).collect();
    let names = escape::line(&names.join(", ")).into_owned();
    print_lines(&[format!("Added to {}: {names}", own.display())]);
    Ok(Exit::Done)
}
