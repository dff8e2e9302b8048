//! `toolcrib stats`: shows how healthy every tool is.

mod columns;
mod named_tool;

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::command::show_bytes;
use toolcrib_core::{ToolName, counted, escape};
use toolcrib_ledger::{
    Comparison, FEWEST_COMPARED_CALLS, Histogram, Hour, HourKey, QuarantineList,
    RegressionSeverity, Spans, Stats, ToolFigures, Window, comparisons, report,
};

use toolcrib_serve::{ReportError, ReportKind, Statistics};

use columns::{duration, name_width, quantile, shorten, sparkline};

use named_tool::{ReportForm, find_tool, tell};

use super::layout::fit_all;
use super::setup::open_state;
use crate::cli::{Global, StatsArgs, StatsCommand, StatsOf};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines, width};
use crate::wiring::{StateAccess, name_in_contract, user_at_terminal};

/// More unfolded bytes of the record than this take a while to fold, and a note says so.
const SLOW_FOLD_BYTES: u64 = 20 << 20;

pub(super) fn run(global: &Global, terminal: Terminal, args: &StatsArgs) -> Result<Exit, CliError> {
    let access = open_state(global, terminal)?;
    let mut stats = Stats::open(&access.state)?;
    for warning in &stats.warnings {
        terminal.warn(warning);
    }
    if let Some(StatsCommand::Rebuild { json }) = &args.command {
        let lines = stats.rebuild()?;
        warn_of_skipped_files(terminal, &access);
        if *json {
            print_json(&json!({"ok": true, "lines": lines}).to_string());
        } else {
            let lines = counted(lines, "line");
            print_lines(&[format!("Rebuilt the statistics from {lines} of the record.")]);
        }
        return Ok(Exit::Done);
    }
    let unfolded = stats.unfolded_bytes()?;
    if unfolded > SLOW_FOLD_BYTES {
        terminal.note(&format!("reading {} of the record …", show_bytes(unfolded)));
    }
    access.maintenance.run(&mut stats)?;
    warn_of_skipped_files(terminal, &access);
    let is_list = match &args.command {
        None => !args.json,
        Some(
            StatsCommand::Errors(of) | StatsCommand::Regression(of) | StatsCommand::Resources(of),
        ) => of.tool.is_none() && !of.json,
        Some(StatsCommand::Clear { .. } | StatsCommand::Rebuild { .. }) => false,
    };
    if is_list && stats.tools()?.is_empty() {
        print_lines(&["No tool has been called yet.".to_owned()]);
        return Ok(Exit::Done);
    }
    let view =
        StatsView { terminal, access: &access, spans: access.spans(), now: access.clock.now() };
    match &args.command {
        None if args.json => view.print_overview_json(&stats),
        None => view.print_overview(&stats),
        Some(StatsCommand::Errors(of)) if of.json => print_kind(&access, ReportKind::Errors, of),
        Some(StatsCommand::Regression(of)) if of.json => {
            print_kind(&access, ReportKind::Regression, of)
        }
        Some(StatsCommand::Resources(of)) if of.json => {
            print_kind(&access, ReportKind::Resources, of)
        }
        Some(StatsCommand::Errors(of)) => view.errors(&stats, of),
        Some(StatsCommand::Regression(of)) => view.regression(&stats, of),
        Some(StatsCommand::Resources(of)) => view.resources(&stats, of),
        Some(StatsCommand::Clear { what, tool, json }) => {
            view.clear(what, tool, if *json { ReportForm::Json } else { ReportForm::Text })
        }
        Some(StatsCommand::Rebuild { .. }) => Ok(Exit::Done),
    }
}

/// Prints a table that fits the terminal.
fn print_table(lines: &[String]) {
    print_lines(&fit_all(lines, width()));
}

/// Warns of each file of the record that was not folded.
fn warn_of_skipped_files(terminal: Terminal, access: &StateAccess) {
    for warning in access.state.skipped_files() {
        terminal.warn(&warning);
    }
}

/// Prints a report with the names that the contract has for tools.
fn print_report(mut report: Value) {
    name_in_contract(&mut report);
    print_json(&report.to_string());
}

/// Prints a report in the contract's form.
fn print_kind(access: &StateAccess, kind: ReportKind, of: &StatsOf) -> Result<Exit, CliError> {
    match access.reports().report(kind, of.tool.as_deref()) {
        Ok(report) => {
            print_json(&report.to_string());
            Ok(Exit::Done)
        }
        Err(err) => fail_in_json(err),
    }
}

/// Prints why there is no report, in the contract's form.
fn fail_in_json(err: ReportError) -> Result<Exit, CliError> {
    let exit = match err {
        ReportError::NotFound(_) => Exit::NoTool,
        ReportError::NeverCalled(_) | ReportError::Ambiguous(_) => Exit::Failed,
        ReportError::Unreadable(message) => return Err(CliError::usage(message)),
    };
    let reply = json!({"ok": false, "error": err.code(), "message": err.message()});
    print_json(&reply.to_string());
    Ok(exit)
}

/// What every table needs.
struct StatsView<'a> {
    terminal: Terminal,
    access: &'a StateAccess,
    spans: Spans,
    now: Timestamp,
}

impl StatsView<'_> {
    fn print_overview_json(&self, stats: &Stats) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let hours = self.hours(stats)?;
        let compared = comparisons(&tools, &hours, self.now, self.spans);
        let quarantined = QuarantineList::new(&self.access.state).all()?;
        let all: Vec<Value> = tools
            .iter()
            .map(|(name, figures)| {
                let durations = durations_of(hours.iter().filter(|it| it.0.tool == *name));
                let severity = severity_of(&compared, name);
                let since = quarantined.iter().find(|it| it.tool == *name).map(|it| it.since);
                json!({
                    "toolName": name, "totalCalls": call_count(figures, &durations),
                    "errors": figures.errors.errors, "refused": figures.errors.refused, "failedCommands": figures.errors.failed_commands,
                    "p50Ms": report::ms(durations.quantile(0.5)),
                    "p95Ms": report::ms(durations.quantile(0.95)), "keptOutSince": since,
                    "severity": severity.map_or("none", RegressionSeverity::as_str),
                })
            })
            .collect();
        print_report(json!({"ok": true, "tools": all}));
        Ok(Exit::Done)
    }

    fn print_overview(&self, stats: &Stats) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let hours = self.hours(stats)?;
        let compared = comparisons(&tools, &hours, self.now, self.spans);
        let quarantined = QuarantineList::new(&self.access.state).all()?;
        let width = name_width(&tools);
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
        for (name, figures) in &tools {
            let rows: Vec<_> = hours.iter().filter(|it| it.0.tool == *name).collect();
            let durations = durations_of(rows.iter().copied());
            let health = match quarantined.iter().find(|it| it.tool == *name) {
                Some(it) => {
                    self.terminal.paint(Paint::Bad, &format!("in quarantine since {:.0}", it.since))
                }
                None => self.health(severity_of(&compared, name)),
            };
            lines.push(format!(
                "{:<width$} {:>9} {:>7} {:>9} {:>8} {:>10} {:>10}  {}  {health}",
                escape::line(name.as_str()),
                call_count(figures, &durations),
                figures.errors.errors,
                figures.errors.failed_commands,
                figures.errors.refused,
                quantile(&durations, 0.5),
                quantile(&durations, 0.95),
                sparkline(&rows, self.now),
            ));
        }
        print_table(&lines);
        Ok(Exit::Done)
    }

    fn errors(&self, stats: &Stats, of: &StatsOf) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let Some(wanted) = &of.tool else {
            let width = name_width(&tools);
            let mut lines = vec![self.heading(&format!(
                "{:<width$} {:>9} {:>7} {:>8}  {}",
                "tool", "calls", "errors", "rate", "last"
            ))];
            for (name, figures) in &tools {
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
            return Ok(Exit::Done);
        };
        let (name, figures) = match find_tool(self.terminal, &tools, wanted) {
            Ok(found) => found,
            Err(exit) => return Ok(exit),
        };
        let value = serde_json::json!(report::errors_of(name, figures));
        let it = &figures.errors;
        let mut lines = vec![format!(
            "{name}: {} of {} calls failed, {} were refused, {} ran a command that failed",
            it.errors, it.calls, it.refused, it.failed_commands
        )];
        for (kind, count) in &it.kinds {
            lines.push(format!("  {count:>7}  {kind}"));
        }
        for top in value["stats"]["topErrors"].as_array().into_iter().flatten() {
            let shape = top["shape"].as_str().unwrap_or_default();
            lines.push(format!("  {:>6}%  {}", top["percentage"], shorten(shape)));
        }
        for (label, failed) in [("first", &it.first), ("last", &it.last)] {
            if let Some(failed) = failed {
                let args = failed.args.as_deref().unwrap_or_default();
                lines.push(format!("  {label}: {:.0} {}", failed.at, failed.call));
                lines.push(format!("    {}", shorten(&failed.message)));
                lines.push(format!("    {}", shorten(args)));
            }
        }
        print_table(&lines);
        Ok(Exit::Done)
    }

    fn regression(&self, stats: &Stats, of: &StatsOf) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let mut compared = comparisons(&tools, &self.hours(stats)?, self.now, self.spans);
        if let Some(wanted) = &of.tool {
            match find_tool(self.terminal, &tools, wanted) {
                Ok((name, _)) => compared.retain(|(tool, _)| tool == name),
                Err(exit) => return Ok(exit),
            }
        }
        let width = name_width(&tools);
        let mut lines = vec![self.heading(&format!(
            "{:<width$} {:>23} {:>23} {:>17}  {}",
            "tool", "mean, before > now", "p95, before > now", "failures", "health"
        ))];
        // Without calls there is no mean.
        let or_dash =
            |window: &Window, text: String| if window.calls == 0 { "-".to_owned() } else { text };
        let mean = |window: &Window| or_dash(window, duration(window.average_ms() * 1e3));
        let high = |window: &Window| or_dash(window, duration(window.quantile_ms(0.95) * 1e3));
        let failed =
            |window: &Window| or_dash(window, format!("{:.2}%", window.error_rate() * 100.0));
        for (name, it) in &compared {
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
        Ok(Exit::Done)
    }

    fn resources(&self, stats: &Stats, of: &StatsOf) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let shown: Vec<(ToolName, ToolFigures)> = match &of.tool {
            Some(wanted) => match find_tool(self.terminal, &tools, wanted) {
                Ok(found) => vec![found.clone()],
                Err(exit) => return Ok(exit),
            },
            None => tools,
        };
        let width = name_width(&shown);
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
        for (name, figures) in &shown {
            let it = &figures.resources;
            let hit: Vec<String> =
                it.violations.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
            lines.push(format!(
                "{:<width$} {:>8} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}  {}",
                escape::line(name.as_str()),
                it.calls,
                duration(it.cpu.total as f64),
                duration(it.cpu.quantile(0.95)),
                show_bytes(it.memory.most),
                show_bytes(it.memory.histogram.whole_quantile(0.95).min(it.memory.most)),
                show_bytes(it.read.total),
                show_bytes(it.written.total),
                hit.join(", "),
            ));
            let network = it.network.describe();
            if !network.is_empty() {
                lines.push(format!("{:<width$}   network: {network}", ""));
            }
        }
        print_table(&lines);
        Ok(Exit::Done)
    }

    /// Clears figures of a tool.
    fn clear(&self, what: &str, tool: &str, form: ReportForm) -> Result<Exit, CliError> {
        let Some(kind) = ReportKind::parse(what) else {
            return Err(CliError::usage(format!("there are no figures called `{what}`")));
        };
        let by = &user_at_terminal().principal;
        match (self.access.reports().clear(kind, tool, by), form) {
            (Ok(reply), ReportForm::Json) => print_json(&reply.to_string()),
            (Ok(reply), ReportForm::Text) => {
                let name = reply["tool"].as_str().unwrap_or(tool);
                print_lines(&[if kind == ReportKind::Regression {
                    format!("The recent calls of {name} are its new baseline.")
                } else {
                    format!("Cleared the {what} of {name}; counting starts again from zero.")
                }]);
                return Ok(Exit::Done);
            }
            (Err(err), ReportForm::Json) => return fail_in_json(err),
            (Err(err), ReportForm::Text) => {
                return Ok(tell(self.terminal, &err));
            }
        };
        Ok(Exit::Done)
    }

    fn hours(&self, stats: &Stats) -> Result<Vec<(HourKey, Hour)>, CliError> {
        Ok(stats.hours(self.spans.oldest_hour(self.now))?)
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
    fn describe(&self, it: &Comparison) -> String {
        if it.severity.is_some() {
            return format!("{}: {}", self.health(it.severity), it.because.join(", "));
        }
        let few = it.baseline.calls.min(it.current.calls);
        if few < FEWEST_COMPARED_CALLS {
            return self.terminal.paint(Paint::Dim, &format!("too few calls to tell ({few})"));
        }
        self.health(None)
    }
}

fn severity_of(compared: &[(ToolName, Comparison)], name: &ToolName) -> Option<RegressionSeverity> {
    compared.iter().find(|(tool, _)| tool == name).and_then(|(_, it)| it.severity)
}

/// Returns how many calls there were. Calls whose errors were cleared still count as calls.
fn call_count(figures: &ToolFigures, durations: &Histogram) -> u64 {
    figures.errors.calls.max(durations.count())
}

/// Returns the durations of all these hours together.
fn durations_of<'a>(hours: impl Iterator<Item = &'a (HourKey, Hour)>) -> Histogram {
    let mut all = Histogram::default();
    hours.for_each(|(_, hour)| all.merge(&hour.latency));
    all
}
