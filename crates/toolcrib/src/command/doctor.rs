//! `toolcrib doctor`: what works here, what does not, and why.

use serde_json::{Map, Value, json};
use toolcrib_host::Enforcement;

use super::search::Facts;
use super::{print_lines, read, wishes};
use crate::cli::{DoctorArgs, Global};
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json};
use crate::wiring::{Crib, WiringError, toolset};

/// One thing that was looked at.
struct Finding {
    name: &'static str,
    is_good: bool,
    says: String,
}

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &DoctorArgs,
) -> Result<Exit, WiringError> {
    let plans = read(global, terminal)?;
    let good = |name, says: String| Finding { name, is_good: true, says };
    let mut findings = vec![
        good("version", env!("CARGO_PKG_VERSION").to_owned()),
        good("kernel", kernel()),
        good("workspace", plans.root.path().display().to_string()),
        good("mode", plans.settings.text("mode").to_owned()),
    ];
    findings.push(match toolset(&plans.settings) {
        Ok(toolset) => good("tools", format!("{} on offer", toolset.offers().len())),
        Err(err) => Finding { name: "tools", is_good: false, says: err.0 },
    });
    let facts = match &plans.state {
        Ok(state) => {
            let opened = toolcrib_ledger::State::open(state);
            findings.push(match opened {
                Ok(_) => good("state", state.display().to_string()),
                Err(err) => Finding { name: "state", is_good: false, says: err.0 },
            });
            Some(Facts::gather(&plans.settings, state, plans.root.path()))
        }
        Err(err) => {
            findings.push(Finding { name: "state", is_good: false, says: err.0.clone() });
            None
        }
    };
    let sandbox = Crib::open(&wishes(global)).map(|crib| crib.sandbox.examine());
    let sandbox = sandbox.unwrap_or_default();
    let is_well = findings.iter().all(|finding| finding.is_good)
        && sandbox.iter().all(|it| it.state == Enforcement::Enforced);
    if args.json {
        let mut all: Map<String, Value> = findings
            .iter()
            .map(|it| (it.name.to_owned(), json!({"ok": it.is_good, "says": it.says})))
            .collect();
        all.insert("sandbox".to_owned(), serde_json::to_value(&sandbox).unwrap_or_default());
        all.insert("search".to_owned(), facts.map_or(Value::Null, |facts| facts.json()));
        print_json(&Value::Object(all).to_string());
    } else {
        let mut lines: Vec<String> = findings.iter().map(|it| line(terminal, it)).collect();
        lines.push(String::new());
        lines.push("Sandbox".to_owned());
        for it in &sandbox {
            lines.extend(mechanism(terminal, it));
        }
        if let Some(facts) = facts {
            lines.push(String::new());
            lines.push("Search".to_owned());
            lines.extend(facts.lines().into_iter().skip(1).map(|line| format!("  {line}")));
        }
        print_lines(&lines);
    }
    Ok(if is_well { Exit::Done } else { Exit::Failed })
}

fn line(terminal: Terminal, finding: &Finding) -> String {
    let mark = if finding.is_good {
        terminal.paint(Paint::Good, "✓")
    } else {
        terminal.paint(Paint::Bad, "✗")
    };
    format!("{mark} {:<10} {}", finding.name, finding.says)
}

fn mechanism(terminal: Terminal, it: &toolcrib_host::SandboxFinding) -> Vec<String> {
    let mark = match it.state {
        Enforcement::Enforced => terminal.paint(Paint::Good, "✓"),
        Enforcement::Missing | Enforcement::Failed => terminal.paint(Paint::Bad, "✗"),
        Enforcement::Unknown => terminal.paint(Paint::Warn, "?"),
    };
    let mut lines = vec![format!("  {mark} {:<26} {}", it.name, it.says)];
    if let Some(fix) = &it.fix {
        lines.push(format!("    {:<26} fix: {fix}", ""));
    }
    lines
}

fn kernel() -> String {
    rustix::system::uname().release().to_string_lossy().into_owned()
}
