//! `toolcrib rules`: lists, tests, adds and removes rules.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::policy::{Layer, Rule, rules_in};
use toolcrib_core::{Note, RecordError, escape};
use toolcrib_ledger::{Act, EventKind};

use super::policy::{explain, place, shown_rule};
use super::rule_removal::{RemovalFault, without_rule};
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
        RulesCommand::Remove { rule } => remove(&open(global, terminal)?, terminal, rule),
    }
}

fn as_value(rule: &Rule) -> Value {
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
    let own = own_file(crib)?;
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
                terminal.fail_in_lines(&err.lines(), Some("no rule was added"));
                return Ok(Exit::Failed);
            }
        };
    locked_file.replace(&all)?;
    drop(locked_file);
    let ids: Vec<&str> = said.rules.iter().map(|rule| rule.id.as_str()).collect();
    let detail = json!({"file": own.display().to_string(), "rules": ids, "text": text});
    if let Err(why) = record(crib, &EventKind::Added, detail) {
        terminal.warn(&format!("the rules were added, but that could not be recorded: {why}"));
    }
    let names = escape::line(&ids.join(", ")).into_owned();
    print_lines(&[format!("Added to {}: {names}", own.display())]);
    Ok(Exit::Done)
}

fn remove(crib: &Crib, terminal: Terminal, wanted: &str) -> Result<Exit, CliError> {
    let own = own_file(crib)?;
    let locked_file = LockedFile::lock(own)?;
    let all = locked_file.read()?.unwrap_or_default();
    let removed = match without_rule(&all, wanted) {
        Ok(removed) => removed,
        Err(fault) => {
            let (message, hint) = not_removed(crib, own, wanted, fault);
            terminal.fail(&message, Some(&hint));
            return Ok(Exit::Failed);
        }
    };
    locked_file.replace(&removed.text)?;
    drop(locked_file);
    let file = own.display().to_string();
    let detail = json!({"file": file, "rules": [removed.id], "text": removed.taken});
    if let Err(why) = record(crib, &EventKind::Removed, detail) {
        terminal.warn(&format!("the rule was removed, but that could not be recorded: {why}"));
    }
    print_lines(&[format!("Removed from {file}: {}", escape::line(&removed.id))]);
    Ok(Exit::Done)
}

/// Returns why a rule was not removed, and what to do.
fn not_removed(crib: &Crib, own: &Path, wanted: &str, fault: RemovalFault) -> (String, String) {
    let file = own.display();
    match fault {
        RemovalFault::Unusual => (
            format!("`{wanted}` cannot be removed from `{file}` without a change to other lines"),
            "remove it with an editor".to_owned(),
        ),
        RemovalFault::NotFound => {
            let message = format!("`{file}` has no rule `{wanted}`");
            let rule = crib.rules.policy.rules().iter().find(|rule| rule.id == wanted);
            let hint = match rule {
                Some(rule) if rule.layer == Layer::Shipped => {
                    format!(
                        "it is a shipped rule; the setting `policy.without` leaves `{wanted}` out"
                    )
                }
                Some(rule) => format!("it is in {}", place(&rule.source)),
                None => "`toolcrib rules list` shows the id and the line of each rule".to_owned(),
            };
            (message, hint)
        }
    }
}

fn own_file(crib: &Crib) -> Result<&Path, CliError> {
    crib.rules.user_file.as_deref().ok_or_else(|| {
        CliError::usage(
            "Toolcrib cannot tell where your rules file belongs: set HOME or XDG_CONFIG_HOME",
        )
    })
}

/// Records a change of the rules.
fn record(crib: &Crib, event: &EventKind, detail: Value) -> Result<(), RecordError> {
    crib.recorder.note(&Note {
        at: crib.clock.now(),
        actor: "user",
        act: Act::Rules.as_str(),
        event: event.as_str(),
        tool: None,
        call: "",
        detail,
    })
}
