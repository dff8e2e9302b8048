//! The figures of all tools as tables, whether they come from the state folder or from a server.

use serde_json::{Value, json};
use toolcrib_core::command::show_bytes;
use toolcrib_core::{ToolName, escape};
use toolcrib_ledger::{
    ComparedStats, FEWEST_COMPARED_CALLS, RegressionSeverity, ToolFigures, ToolStats, WindowStats,
    report,
};
use toolcrib_serve::ReportError;

use super::columns::{duration, name_width, quantile, shorten, sparkline};
use super::named_tool::find_tool;
use crate::cli::{StatsArgs, StatsCommand, StatsOf};
use crate::command::layout::fit_all;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines, width};
use crate::wiring::{self, name_in_contract};

/// The figures of all tools, as tables.
pub(super) struct StatsTables {
    terminal: Terminal,
    tools: Vec<(ToolName, ToolStats)>,
}

impl StatsTables {
    pub(super) fn new(terminal: Terminal, tools: Vec<ToolStats>) -> Self {
        let tools = tools.into_iter().map(|it| (it.tool.clone(), it)).collect();
        Self { terminal, tools }
    }

    /// Finds a tool by `catalogue/tool` or by `tool`.
    pub(super) fn find(&self, wanted: &str) -> Result<&ToolName, ReportError> {
        wiring::find_tool(&self.tools, wanted).map(|(name, _)| name)
    }

    /// Prints a table, or the JSON that has its figures.
    pub(super) fn print(&self, args: &StatsArgs) -> Exit {
        match &args.command {
            None if args.json => self.print_overview_json(),
            _ if self.tools.is_empty() && !names_tool(args) => {
                print_lines(&["No tool has been called yet.".to_owned()]);
            }
            None => self.print_overview(),
            Some(StatsCommand::Errors(of)) => return self.errors(of),
            Some(StatsCommand::Regression(of)) => return self.regression(of),
            Some(StatsCommand::Resources(of)) => return self.resources(of),
            Some(StatsCommand::Clear { .. } | StatsCommand::Rebuild { .. }) => {}
        }
        Exit::Done
    }

    fn print_overview_json(&self) {
        let all: Vec<Value> = self
            .tools
            .iter()
            .map(|(name, it)| {
                json!({
                    "toolName": name, "totalCalls": call_count(it),
                    "errors": it.errors.errors, "refused": it.errors.refused, "failedCommands": it.errors.failed_commands,
                    "p50Ms": report::ms(it.p50_us),
                    "p95Ms": report::ms(it.p95_us), "keptOutSince": it.quarantined_since,
                    "severity": severity_of(it).map_or("none", RegressionSeverity::as_str),
                })
            })
            .collect();
        let mut report = json!({"ok": true, "tools": all});
        name_in_contract(&mut report);
        print_json(&report.to_string());
    }

    fn print_overview(&self) {
        let width = name_width(&self.tools);
        let mut lines = vec![self.heading(&format!(
            "{:<width$} {:>9} {:>7} {:>9} {:>8} {:>10} {:>10}  {:<24}  {}",
            "tool",
            "calls",
            "errors",
            "cmd fails",
            "refused",
            "p50",
            "p95",
            "last 24 hours",
            "health"
        ))];
        for (name, it) in &self.tools {
            let health = match it.quarantined_since {
                Some(since) => {
                    self.terminal.paint(Paint::Bad, &format!("in quarantine since {since:.0}"))
                }
                None => self.health(severity_of(it)),
            };
            lines.push(format!(
                "{:<width$} {:>9} {:>7} {:>9} {:>8} {:>10} {:>10}  {}  {health}",
                escape::line(name.as_str()),
                call_count(it),
                it.errors.errors,
                it.errors.failed_commands,
                it.errors.refused,
                quantile(it.timed_calls, it.p50_us),
                quantile(it.timed_calls, it.p95_us),
                sparkline(&it.hours),
            ));
        }
        print_table(&lines);
    }

    fn errors(&self, of: &StatsOf) -> Exit {
        let tools = &self.tools;
        let Some(wanted) = &of.tool else {
            let width = name_width(tools);
            let mut lines = vec![self.heading(&format!(
                "{:<width$} {:>9} {:>7} {:>8}  {}",
                "tool", "calls", "errors", "rate", "last"
            ))];
            for (name, figures) in tools {
                let it = &figures.errors;
                let rate = it.errors as f64 / it.calls.max(1) as f64 * 100.0;
                let last = it.last.as_ref().map_or_else(String::new, |last| {
                    format!("{:.0} {}: {}", last.at, last.kind, last.message)
                });
                lines.push(format!(
                    "{:<width$} {:>9} {:>7} {rate:>7.2}%  {}",
                    escape::line(name.as_str()),
                    it.calls,
                    it.errors,
                    shorten(&last)
                ));
            }
            print_table(&lines);
            return Exit::Done;
        };
        let (name, figures) = match find_tool(self.terminal, tools, wanted) {
            Ok(found) => found,
            Err(exit) => return exit,
        };
        let of_errors = ToolFigures { errors: figures.errors.clone(), ..ToolFigures::default() };
        let value = serde_json::json!(report::errors_of(name, &of_errors));
        let it = &figures.errors;
        let mut lines = vec![format!(
            "{name}: {} of {} calls failed, {} were refused, {} ran a command that failed",
            it.errors, it.calls, it.refused, it.failed_commands
        )];
        for (kind, count) in &it.kinds {
            lines.push(format!("  {count:>7}  {}", escape::line(kind)));
        }
        for top in value["stats"]["topErrors"].as_array().into_iter().flatten() {
            let shape = top["shape"].as_str().unwrap_or_default();
            lines.push(format!("  {:>6}%  {}", top["percentage"], shorten(shape)));
        }
        for (label, failed) in [("first", &it.first), ("last", &it.last)] {
            if let Some(failed) = failed {
                let args = failed.args.as_deref().unwrap_or_default();
                lines.push(format!("  {label}: {:.0} {}", failed.at, escape::line(&failed.call)));
                lines.push(format!("    {}", shorten(&failed.message)));
                lines.push(format!("    {}", shorten(args)));
            }
        }
        print_table(&lines);
        Exit::Done
    }

    fn regression(&self, of: &StatsOf) -> Exit {
        let shown = match &of.tool {
            None => &self.tools[..],
            Some(wanted) => match find_tool(self.terminal, &self.tools, wanted) {
                Ok(found) => std::slice::from_ref(found),
                Err(exit) => return exit,
            },
        };
        let width = name_width(&self.tools);
        let mut lines = vec![self.heading(&format!(
            "{:<width$} {:>23} {:>23} {:>17}  {}",
            "tool", "mean, before > now", "p95, before > now", "failures", "health"
        ))];
        // Without calls there is no mean.
        let or_dash =
            |it: &WindowStats, text: String| if it.calls == 0 { "-".to_owned() } else { text };
        let mean = |it: &WindowStats| or_dash(it, duration(it.mean_ms * 1e3));
        let high = |it: &WindowStats| or_dash(it, duration(it.p95_ms * 1e3));
        let failed = |it: &WindowStats| or_dash(it, format!("{:.2}%", it.error_rate * 100.0));
        for (name, it) in shown.iter().filter_map(|(name, it)| Some((name, it.compared.as_ref()?)))
        {
            let (was, is) = (&it.baseline, &it.current);
            lines.push(format!(
                "{:<width$} {:>10} > {:>10} {:>10} > {:>10} {:>7} > {:>7}  {}",
                escape::line(name.as_str()),
                mean(was),
                mean(is),
                high(was),
                high(is),
                failed(was),
                failed(is),
                self.describe(it),
            ));
        }
        print_table(&lines);
        Exit::Done
    }

    fn resources(&self, of: &StatsOf) -> Exit {
        let shown = match &of.tool {
            None => &self.tools[..],
            Some(wanted) => match find_tool(self.terminal, &self.tools, wanted) {
                Ok(found) => std::slice::from_ref(found),
                Err(exit) => return exit,
            },
        };
        let width = name_width(shown);
        let mut lines = vec![self.heading(&format!(
            "{:<width$} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}",
            "tool",
            "calls",
            "cpu",
            "cpu p95",
            "memory",
            "memory p95",
            "read",
            "written",
            "limits hit"
        ))];
        for (name, figures) in shown {
            let it = &figures.resources;
            let hit: Vec<String> =
                it.violations.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            lines.push(format!(
                "{:<width$} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}",
                escape::line(name.as_str()),
                it.calls,
                duration(it.cpu_us as f64),
                duration(it.cpu_p95_us),
                show_bytes(it.memory),
                show_bytes(it.memory_p95),
                show_bytes(it.read),
                show_bytes(it.written),
                escape::line(&hit.join(", ")),
            ));
            let network = it.network.describe();
            if !network.is_empty() {
                lines.push(format!("{:<width$}   network: {network}", ""));
            }
        }
        print_table(&lines);
        Exit::Done
    }

    fn heading(&self, text: &str) -> String {
        self.terminal.paint(Paint::Strong, text)
    }

    fn health(&self, severity: Option<RegressionSeverity>) -> String {
        match severity {
            None => self.terminal.paint(Paint::Good, "ok"),
            Some(severity) => {
                let paint =
                    if severity == RegressionSeverity::Low { Paint::Warn } else { Paint::Bad };
                self.terminal.paint(paint, &format!("regression: {}", severity.as_str()))
            }
        }
    }

    /// Returns the health of a tool, with what got worse.
    fn describe(&self, it: &ComparedStats) -> String {
        if it.severity().is_some() {
            let because = it.because.join(", ");
            return format!("{}: {}", self.health(it.severity()), escape::line(&because));
        }
        let few = it.baseline.calls.min(it.current.calls);
        if few < FEWEST_COMPARED_CALLS {
            return self.terminal.paint(Paint::Dim, &format!("too few calls to tell ({few})"));
        }
        self.health(None)
    }
}

/// Whether the command line names one tool.
fn names_tool(args: &StatsArgs) -> bool {
    match &args.command {
        Some(
            StatsCommand::Errors(of) | StatsCommand::Regression(of) | StatsCommand::Resources(of),
        ) => of.tool.is_some(),
        None | Some(StatsCommand::Clear { .. } | StatsCommand::Rebuild { .. }) => false,
    }
}

/// Prints a table that fits the terminal.
fn print_table(lines: &[String]) {
    print_lines(&fit_all(lines, width()));
}

fn severity_of(it: &ToolStats) -> Option<RegressionSeverity> {
    it.compared.as_ref().and_then(ComparedStats::severity)
}

/// Returns how many calls there were. Calls whose errors were cleared still count as calls.
fn call_count(it: &ToolStats) -> u64 {
    it.errors.calls.max(it.timed_calls)
}
