//! `toolcrib policy`: shows what would be decided about a call, and why.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::policy::{Confirmation, Layer, Policy, Rule, RuleEffect, Source, rules_in};
use toolcrib_core::{Call, Caller, Cancel, Door, Principal, Role, Verdict, counted, escape};
use toolcrib_ledger::recorded_calls;
use toolcrib_runtime::{ChangedDecision, Nobody, Preview, Replay};
use toolcrib_serve::session_of;
use toolcrib_shell::BashReader;

use super::arguments::arguments;
use super::event_loop::block_on;
use super::live_output::OutputShown;
use super::outcome_gathering;
use super::setup::open;
use crate::cli::{Global, PolicyArgs, PolicyCommand};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Paint, Terminal, print_json, print_lines};
use crate::wiring::{call_at_terminal, session, user_at_terminal};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &PolicyArgs,
) -> Result<Exit, CliError> {
    match &args.command {
        PolicyCommand::Explain { tool, args, principal, role, json } => {
            let role = role.as_deref().and_then(Role::parse);
            let principal =
                principal.clone().zip(role).map(|(name, role)| Principal { name, role });
            let call = match principal {
                None => call_at_terminal(session(), tool, Value::Null),
                Some(principal) => call_over_http(principal, tool),
            };
            explain(global, terminal, call, args, (*json).into())
        }
        PolicyCommand::Check { file } => check(terminal, file),
        PolicyCommand::Replay { file, days, json } => {
            replay(global, terminal, file.as_deref(), *days, (*json).into())
        }
    }
}

pub(super) fn explain(
    global: &Global,
    terminal: Terminal,
    mut call: Call,
    words: &[String],
    format: Format,
) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let runtime = crib.runtime(Arc::new(Nobody))?;
    let explained = match arguments(words, &runtime.toolset, &call.tool) {
        Ok(args) => {
            call.args = args;
            block_on(runtime.explain(call, Cancel::default()))?
        }
        Err(error) => Err(runtime.reject(&call, &error)),
    };
    match explained {
        Ok(preview) if format == Format::Json => {
            print_json(&serde_json::to_string(&preview.explanation())?);
        }
        Ok(preview) => print_lines(&explanation(terminal, &preview)),
        Err(outcome) => {
            if format == Format::Json {
                print_json(&outcome.text);
            } else {
                outcome_gathering::show(terminal, &crib, &outcome, OutputShown::NotYet);
            }
            return Ok(outcome.error.map_or(Exit::Done, |err| Exit::of(err.kind)));
        }
    }
    Ok(Exit::Done)
}

/// Returns a call as a server would take it from a principal.
fn call_over_http(principal: Principal, tool: &str) -> Call {
    let session = session_of(&principal);
    let caller =
        Arc::new(Caller { principal, door: Door::Http, client: None, connection: None, via: None });
    Call::new(toolcrib_ledger::new_call_id(), session, caller, tool.into(), Value::Null)
}

fn explanation(terminal: Terminal, preview: &Preview) -> Vec<String> {
    let decision = &preview.decision;
    let verdict = match decision.verdict() {
        Verdict::Allow => terminal.paint(Paint::Good, "would run"),
        Verdict::Ask => terminal.paint(Paint::Warn, "would ask a person"),
        Verdict::Deny => terminal.paint(Paint::Bad, "would be refused"),
    };
    let mut lines = vec![format!("{} {verdict}", preview.tool)];
    let mut add = |name: &str, text: &str| lines.push(format!("  {name:<9}{}", escape::line(text)));
    add("rule:", &decision.rule);
    add("from:", &decision.source.as_ref().map_or_else(|| "tier and mode".to_owned(), place));
    if let Some(reading) = &decision.reading {
        add("reading:", &reading.to_string());
    }
    if decision.confirmation() != Confirmation::NotNeeded {
        add("first:", "the agent must confirm that it means the call");
    }
    if !decision.audited.is_empty() {
        add("audit:", &decision.audited.join(", "));
    }
    if let Some(trouble) = &preview.trouble {
        add("but:", &format!("the call would fail anyway: {}", trouble.message));
    }
    lines
}

pub(super) fn place(source: &Source) -> String {
    format!("{}, line {}", source.file, source.line)
}

fn check(terminal: Terminal, file: &Path) -> Result<Exit, CliError> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|err| CliError::usage(format!("`{shown}` cannot be read: {err}")))?;
    match rules_in(&text, &shown, Layer::Operator, Some(&BashReader::default())) {
        Ok(parsed) => {
            let line = |rule: &Rule| {
                format!("  line {:<4} {}", rule.source.line, shown_rule(terminal, rule))
            };
            let mut lines: Vec<String> = parsed.rules.iter().map(line).collect();
            let rules = counted(parsed.rules.len() as u64, "rule");
            lines.push(format!("{shown}: {rules}, and all examples hold"));
            print_lines(&lines);
            Ok(Exit::Done)
        }
        Err(err) => {
            terminal.fail_in_lines(&err.lines(), Some("fix the file and check it again"));
            Ok(Exit::Failed)
        }
    }
}

/// Returns a rule in one line.
pub(super) fn shown_rule(terminal: Terminal, rule: &Rule) -> String {
    let paint = match rule.effect {
        RuleEffect::Allow => Paint::Good,
        RuleEffect::Ask | RuleEffect::Audit => Paint::Warn,
        RuleEffect::Deny => Paint::Bad,
    };
    let effect = terminal.paint(paint, &format!("{:<5}", rule.effect.as_str()));
    let tools = if rule.tools.is_empty() { "all tools".to_owned() } else { rule.tools.join(", ") };
    let because =
        if rule.because.is_empty() { String::new() } else { format!(": {}", rule.because) };
    let rest = format!("{} ({tools}){because}", rule.id);
    format!("{effect}  {}", escape::line(&rest))
}

/// Decides the calls on the record again, and shows those whose decision would change.
fn replay(
    global: &Global,
    terminal: Terminal,
    file: Option<&Path>,
    days: u16,
    format: Format,
) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let mut policy = Arc::clone(&crib.rules.policy);
    if let Some(file) = file {
        let shown = file.display().to_string();
        let text = std::fs::read_to_string(file)
            .map_err(|err| CliError::usage(format!("`{shown}` cannot be read: {err}")))?;
        let more = rules_in(&text, &shown, Layer::Operator, Some(&*crib.rules.shell))?;
        let rules = policy.rules().iter().cloned().chain(more.rules).collect();
        policy = Arc::new(Policy::new(policy.mode(), rules));
    }
    let runtime = crib.runtime_with(policy, Arc::new(Nobody))?;
    let span = jiff::SignedDuration::from_hours(i64::from(days) * 24);
    let since = crib.clock.now().checked_sub(span).unwrap_or(jiff::Timestamp::MIN);
    let (calls, unread) = recorded_calls(&crib.state, since)?;
    let Replay { same, unknown, changed } =
        block_on(Replay::run(&runtime, &session(), &user_at_terminal(), calls))?;
    // A line that cannot be parsed is a call that cannot be decided again.
    let unknown = unknown + unread;
    if format == Format::Json {
        let changed: Vec<Value> = changed
            .iter()
            .map(|ChangedDecision { call, before, now }| {
                json!({"call": call.id, "tool": call.tool, "args": call.args, "was": before.as_str(),
                    "would_be": now.verdict().as_str(), "rule": now.rule})
            })
            .collect();
        print_json(&json!({"same": same, "unknown": unknown, "changed": changed}).to_string());
        return Ok(Exit::Done);
    }
    let mut lines: Vec<String> = changed.iter().map(changed_line).collect();
    lines.push(format!(
        "{} would be decided differently, {same} the same way; {unknown} cannot be replayed, because the record \
         does not have all of their arguments",
        counted(changed.len() as u64, "call")
    ));
    print_lines(&lines);
    Ok(Exit::Done)
}

/// Returns a call that would be decided differently, in two lines.
fn changed_line(ChangedDecision { call, before, now }: &ChangedDecision) -> String {
    let args = call.args.as_ref().map(ToString::to_string).unwrap_or_default();
    let args: String = args.chars().take(100).collect();
    format!(
        "{:.0}  {}  {} -> {}  {}\n    {}",
        call.at,
        escape::line(call.tool.as_str()),
        before.as_str(),
        now.verdict().as_str(),
        escape::line(&now.rule),
        escape::line(&args)
    )
}
