//! `toolcrib rules`: lists, tests, adds and removes rules.

use std::fs;
use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::policy::{Layer, ParsedRules, Rule, rules_in};
use toolcrib_core::{Note, Principal, escape};
use toolcrib_ledger::{Act, EventKind};

use super::policy::{explain, place, shown_rule};
use super::rule_removal::{RemovalFault, without_rule};
use super::setup::open;
use crate::cli::{Global, RulesArgs, RulesCommand};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::LockedFile;
use crate::terminal::{Terminal, print_json, print_lines};
use crate::wiring::{Crib, call_at_terminal, session, user_at_terminal};

pub(super) fn run(global: &Global, terminal: Terminal, args: &RulesArgs) -> Result<Exit, CliError> {
    match &args.command {
        RulesCommand::Test { tool, args, json } => {
            let call = call_at_terminal(session(), tool, Value::Null);
            explain(global, terminal, call, args, (*json).into())
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
    match add_rules(crib, &text, &shown, &user_at_terminal().principal)? {
        Ok(edit) => Ok(told("Added to", &edit)),
        Err(fault) => {
            terminal.fail_in_lines(&fault.message, Some(&fault.hint));
            Ok(Exit::Failed)
        }
    }
}

fn remove(crib: &Crib, terminal: Terminal, wanted: &str) -> Result<Exit, CliError> {
    match remove_rule(crib, wanted, &user_at_terminal().principal)? {
        Ok(edit) => Ok(told("Removed from", &edit)),
        Err(fault) => {
            terminal.fail_in_lines(&fault.message, Some(&fault.hint));
            Ok(Exit::Failed)
        }
    }
}

fn told(what: &str, edit: &RuleEdit) -> Exit {
    let names = escape::line(&edit.ids.join(", ")).into_owned();
    print_lines(&[format!("{what} {}: {names}", edit.file)]);
    Exit::Done
}

/// A change of the operator's rules that was made.
pub(super) struct RuleEdit {
    file: String,
    pub(super) ids: Vec<String>,
}

/// Why the rules were not changed.
pub(super) struct RuleEditFault {
    /// What is wrong, one line for each error.
    pub(super) message: String,
    pub(super) hint: String,
    pub(super) kind: RuleEditFaultKind,
}

/// What kept the rules from being changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RuleEditFaultKind {
    /// There is no such rule.
    NotFound,
    /// The rule is not written as lines of its own.
    Unusual,
    /// The new rules cannot be used.
    Wrong,
}

/// Adds rules to the operator's own file. `shown` is how the text is called in messages.
pub(super) fn add_rules(
    crib: &Crib,
    text: &str,
    shown: &str,
    by: &Principal,
) -> Result<Result<RuleEdit, RuleEditFault>, CliError> {
    // Locked from the first look to the change, so that two commands at once do not lose one of the two changes.
    let locked_file = LockedFile::lock(own_file(crib)?)?;
    let (all, said) = match with_rules(crib, &locked_file, text, shown)? {
        Ok(added) => added,
        Err(fault) => return Ok(Err(fault)),
    };
    let ids: Vec<String> = said.rules.iter().map(|rule| rule.id.clone()).collect();
    let edit = recorded(crib, &EventKind::Added, by, ids, text)?;
    locked_file.replace(&all)?;
    Ok(Ok(edit))
}

/// Checks rules as if they were added to the operator's own file, and returns them.
pub(super) fn check_rules(
    crib: &Crib,
    text: &str,
    shown: &str,
) -> Result<Result<Vec<Rule>, RuleEditFault>, CliError> {
    let locked_file = LockedFile::lock(own_file(crib)?)?;
    Ok(with_rules(crib, &locked_file, text, shown)?.map(|(_, said)| said.rules))
}

/// Returns the text that the operator's own file has with more rules, and these rules.
fn with_rules(
    crib: &Crib,
    locked_file: &LockedFile,
    text: &str,
    shown: &str,
) -> Result<Result<(String, ParsedRules), RuleEditFault>, CliError> {
    let own = own_file(crib)?;
    let mut all = locked_file.read()?.unwrap_or_default();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push('\n');
    }
    all.push_str(text);
    let fault = |message: String, hint: &str| RuleEditFault {
        message,
        hint: hint.to_owned(),
        kind: RuleEditFaultKind::Wrong,
    };
    // The old and the new rules are also parsed together, because a name may be taken.
    Ok(
        match rules_in(text, shown, Layer::Operator, Some(&*crib.rules.shell)).and_then(|said| {
            rules_in(&all, &own.display().to_string(), Layer::Operator, None).map(|_| said)
        }) {
            Ok(said) if said.rules.is_empty() => {
                let message = format!("`{shown}` contains no rule");
                Err(fault(message, "a rule begins with [[rule]]"))
            }
            Ok(said) => Ok((all, said)),
            Err(err) => Err(fault(err.lines(), "no rule was added")),
        },
    )
}

/// Removes a rule from the operator's own file.
pub(super) fn remove_rule(
    crib: &Crib,
    wanted: &str,
    by: &Principal,
) -> Result<Result<RuleEdit, RuleEditFault>, CliError> {
    let own = own_file(crib)?;
    let locked_file = LockedFile::lock(own)?;
    let all = locked_file.read()?.unwrap_or_default();
    let removed = match without_rule(&all, wanted) {
        Ok(removed) => removed,
        Err(fault) => {
            let kind = match fault {
                RemovalFault::NotFound => RuleEditFaultKind::NotFound,
                RemovalFault::Unusual => RuleEditFaultKind::Unusual,
            };
            let (message, hint) = not_removed(crib, own, wanted, fault);
            return Ok(Err(RuleEditFault { message, hint, kind }));
        }
    };
    let edit = recorded(crib, &EventKind::Removed, by, vec![removed.id], &removed.taken)?;
    locked_file.replace(&removed.text)?;
    Ok(Ok(edit))
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

/// Records a change of the rules, before it is made: a change that cannot be recorded is not made.
fn recorded(
    crib: &Crib,
    event: &EventKind,
    by: &Principal,
    ids: Vec<String>,
    text: &str,
) -> Result<RuleEdit, CliError> {
    let file = own_file(crib)?.display().to_string();
    let noted = crib.recorder.note(&Note {
        at: crib.clock.now(),
        actor: by.role.as_str(),
        act: Act::Rules.as_str(),
        event: event.as_str(),
        tool: None,
        call: "",
        detail: json!({"file": file, "rules": ids, "text": text, "by": by.name}),
    });
    noted.map_err(|err| {
        let message = format!("nothing was changed: the record cannot be written: {err}");
        CliError::new(CliErrorKind::State, message)
    })?;
    Ok(RuleEdit { file, ids })
}
