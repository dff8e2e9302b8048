//! `toolcrib policy`: what would be decided, and why.

use std::path::Path;

use serde_json::{Value, json};
use toolcrib_core::policy::{Layer, Says, Source, rules_in};
use toolcrib_core::{Call, Cancel, Verdict, escape};
use toolcrib_runtime::{Nobody, Preview};
use toolcrib_shell::Bash;

use super::call::{arguments, unreadable};
use super::{block_on, open, print_lines, render};
use crate::cli::{Global, PolicyArgs, PolicyCommand};
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json};
use crate::wiring::{WiringError, session};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &PolicyArgs,
) -> Result<Exit, WiringError> {
    match &args.command {
        PolicyCommand::Explain { tool, args, json } => explain(global, terminal, tool, args, *json),
        PolicyCommand::Check { file } => check(terminal, file),
    }
}

fn explain(
    global: &Global,
    terminal: Terminal,
    tool: &str,
    words: &[String],
    as_json: bool,
) -> Result<Exit, WiringError> {
    let crib = open(global, terminal)?;
    let runtime = crib.runtime(std::sync::Arc::new(Nobody))?;
    let mut call = Call {
        id: toolcrib_ledger::new_call_id(),
        session: session(),
        tool: tool.to_owned(),
        args: Value::Null,
    };
    let explained = match arguments(words) {
        Ok(args) => {
            call.args = args;
            block_on(runtime.explain(call, Cancel::default()))?
        }
        Err(reason) => Err(runtime.reject(&call, &unreadable(&reason))),
    };
    match explained {
        Ok(preview) if as_json => {
            print_json(&as_value(&preview).to_string());
        }
        Ok(preview) => print_lines(&told(terminal, &preview)),
        Err(outcome) => {
            if as_json {
                print_json(&outcome.text);
            } else {
                render::outcome(terminal, &crib, &outcome);
            }
            return Ok(outcome.error.map_or(Exit::Done, |err| Exit::of(err.kind)));
        }
    }
    Ok(Exit::Done)
}

fn as_value(preview: &Preview) -> Value {
    let decision = &preview.decision;
    let source = decision.source.as_ref().map(|it| json!({"file": it.file, "line": it.line}));
    json!({
        "tool": preview.tool,
        "decision": decision.verdict.as_str(),
        "rule": decision.rule,
        "because": decision.because,
        "source": source,
        "reading": decision.reading,
        "confirm": decision.confirm,
        "audited": decision.audited,
        "trouble": preview.trouble.as_ref().map(|trouble| &trouble.message),
    })
}

fn told(terminal: Terminal, preview: &Preview) -> Vec<String> {
    let decision = &preview.decision;
    let verdict = match decision.verdict {
        Verdict::Allow => terminal.paint(Paint::Good, "would run"),
        Verdict::Ask => terminal.paint(Paint::Warn, "would ask a person"),
        Verdict::Deny => terminal.paint(Paint::Bad, "would be refused"),
    };
    let mut lines = vec![format!("{} {verdict}", preview.tool)];
    let mut add = |name: &str, text: &str| lines.push(format!("  {name:<9}{text}"));
    add("rule:", &decision.rule);
    add("from:", &decision.source.as_ref().map_or_else(|| "tier and mode".to_owned(), place));
    if let Some(reading) = &decision.reading {
        add("reading:", reading);
    }
    if decision.confirm {
        add("first:", "the agent is to confirm that it means it");
    }
    if !decision.audited.is_empty() {
        add("noted:", &decision.audited.join(", "));
    }
    if let Some(trouble) = &preview.trouble {
        add("but:", &format!("the call would fail before: {}", escape::line(&trouble.message)));
    }
    lines
}

fn place(source: &Source) -> String {
    format!("{}, line {}", source.file, source.line)
}

fn check(terminal: Terminal, file: &Path) -> Result<Exit, WiringError> {
    let shown = file.display().to_string();
    let text = std::fs::read_to_string(file)
        .map_err(|err| WiringError(format!("`{shown}` cannot be read: {err}")))?;
    match rules_in(&text, &shown, Layer::Operator, Some(&Bash::default())) {
        Ok(said) => {
            let mut lines: Vec<String> = Vec::new();
            for rule in &said.rules {
                let paint = match rule.says {
                    Says::Allow => Paint::Good,
                    Says::Ask | Says::Audit => Paint::Warn,
                    Says::Deny => Paint::Bad,
                };
                let says = terminal.paint(paint, &format!("{:<5}", rule.says.as_str()));
                let tools =
                    if rule.tools.is_empty() { "all".to_owned() } else { rule.tools.join(", ") };
                lines.push(format!(
                    "  line {:<4} {says}  {} (tools: {tools})",
                    rule.source.line, rule.id
                ));
            }
            let count = said.rules.len();
            lines.push(format!("{shown}: {count} rules, and every example holds"));
            print_lines(&lines);
            Ok(Exit::Done)
        }
        Err(err) => {
            terminal.fail(&err.0, Some("correct the file and check it again"));
            Ok(Exit::Failed)
        }
    }
}
