//! `toolcrib stats`: how every tool does.

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::command::show_bytes;
use toolcrib_core::{Note, escape};
use toolcrib_ledger::report::{self, Spans};
use toolcrib_ledger::{
    Comparison, Hour, HourKey, Quarantine, Severity, Sketch, Stats, ToolFigures, Window,
};

use super::codes::in_contract;
use super::setup::open;
use crate::cli::{Global, StatsArgs, StatsCommand, StatsOf};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Paint, Terminal, print_json, print_lines};
use crate::wiring::Crib;

/// More bytes of the record than this take a moment to fold, which is said.
const MUCH: u64 = 20 << 20;

/// How many hours the line of calls shows.
const HOURS: i64 = 24;

pub(super) fn run(global: &Global, terminal: Terminal, args: &StatsArgs) -> Result<Exit, CliError> {
    let crib = open(global, terminal)?;
    let mut stats = Stats::open(&crib.state)?;
    for warning in &stats.warnings {
        terminal.warn(warning);
    }
    if let Some(StatsCommand::Rebuild { json }) = &args.command {
        let lines = stats.rebuild()?;
        tell_passed_over(terminal, &crib);
        if *json {
            print_json(&json!({"ok": true, "lines": lines}).to_string());
        } else {
            print_lines(&[format!("Folded {lines} lines of the record again.")]);
        }
        return Ok(Exit::Done);
    }
    let behind = stats.behind()?;
    if behind > MUCH {
        terminal.note(&format!("folding {} of the record …", show_bytes(behind)));
    }
    crib.maintenance.run(&mut stats)?;
    tell_passed_over(terminal, &crib);
    let is_list = match &args.command {
        None => !args.json,
        Some(
            StatsCommand::Errors(of) | StatsCommand::Regression(of) | StatsCommand::Resources(of),
        ) => of.tool.is_none() && !of.json,
        Some(StatsCommand::Clear { .. } | StatsCommand::Rebuild { .. }) => false,
    };
    if is_list && stats.tools()?.is_empty() {
        print_lines(&["No tool was called yet.".to_owned()]);
        return Ok(Exit::Done);
    }
    let view = View { terminal, crib: &crib, spans: crib.spans(), now: crib.clock.now() };
    match &args.command {
        None => view.overview(&stats, args.json),
        Some(StatsCommand::Errors(of)) => view.errors(&stats, of),
        Some(StatsCommand::Regression(of)) => view.regression(&stats, of),
        Some(StatsCommand::Resources(of)) => view.resources(&stats, of),
        Some(StatsCommand::Clear { what, tool, json }) => view.clear(&mut stats, what, tool, *json),
        Some(StatsCommand::Rebuild { .. }) => Ok(Exit::Done),
    }
}

/// Says which files of the record were not folded.
fn tell_passed_over(terminal: Terminal, crib: &Crib) {
    for warning in crib.state.passed_over() {
        terminal.warn(&warning);
    }
}

struct View<'a> {
    terminal: Terminal,
    crib: &'a Crib,
    spans: Spans,
    now: Timestamp,
}

impl View<'_> {
    fn overview(&self, stats: &Stats, as_json: bool) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let hours = self.hours(stats)?;
        let compared = report::comparisons(&tools, &hours, self.now, self.spans);
        let barred = Quarantine::new(&self.crib.state).all()?;
        let kept_out = |name: &str| barred.iter().find(|it| it.tool == name).map(|it| it.since);
        if as_json {
            let all: Vec<Value> = tools.iter().map(|(name, figures)| {
                let of = |it: &&(HourKey, Hour)| it.0.tool == *name;
                let all = whole(hours.iter().filter(of));
                let severity = severity_of(&compared, name);
                json!({
                    "toolName": name, "totalCalls": calls(figures, &all), "errors": figures.errors.errors,
                    "refused": figures.errors.refused, "p50Ms": report::ms(all.quantile(0.5)),
                    "p95Ms": report::ms(all.quantile(0.95)), "keptOutSince": kept_out(name),
                    "severity": severity.map_or("none", Severity::as_str),
                })
            }).collect();
            print_json(&json!({"ok": true, "tools": all}).to_string());
            return Ok(Exit::Done);
        }
        let width = width_of(&tools);
        let mut lines = vec![self.head(&format!(
            "{:<width$} {:>9} {:>7} {:>8} {:>10} {:>10}  {:<24}  {}",
            "tool", "calls", "errors", "refused", "p50", "p95", "last 24 hours", "health"
        ))];
        for (name, figures) in &tools {
            let rows: Vec<_> = hours.iter().filter(|it| it.0.tool == *name).collect();
            let all = whole(rows.iter().copied());
            lines.push(format!(
                "{:<width$} {:>9} {:>7} {:>8} {:>10} {:>10}  {}  {}",
                escape::line(name),
                calls(figures, &all),
                figures.errors.errors,
                figures.errors.refused,
                time_of(&all, 0.5),
                time_of(&all, 0.95),
                sparkline(&rows, self.now),
                match kept_out(name) {
                    Some(since) =>
                        self.terminal.paint(Paint::Bad, &format!("kept out since {since:.0}")),
                    None => self.health(severity_of(&compared, name)),
                },
            ));
        }
        print_lines(&lines);
        Ok(Exit::Done)
    }

    fn errors(&self, stats: &Stats, of: &StatsOf) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let Some(wanted) = &of.tool else {
            if of.json {
                let mut value = report::errors(&tools);
                for one in value["stats"].as_array_mut().into_iter().flatten() {
                    let tool = one["toolName"].as_str().unwrap_or_default().to_owned();
                    in_contract(&tool, one);
                }
                print_json(&value.to_string());
                return Ok(Exit::Done);
            }
            let width = width_of(&tools);
            let mut lines = vec![self.head(&format!(
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
                    escape::line(name),
                    it.calls,
                    it.errors,
                    short(&last)
                ));
            }
            print_lines(&lines);
            return Ok(Exit::Done);
        };
        let Some((name, figures)) = self.find(&tools, wanted) else { return Ok(Exit::Failed) };
        let mut value = report::errors_of(name, figures);
        if of.json {
            in_contract(name, &mut value["stats"]);
            print_json(&value.to_string());
            return Ok(Exit::Done);
        }
        let it = &figures.errors;
        let mut lines = vec![format!(
            "{name}: {} of {} calls failed, {} were refused",
            it.errors, it.calls, it.refused
        )];
        for (kind, count) in &it.kinds {
            lines.push(format!("  {count:>7}  {kind}"));
        }
        for top in value["stats"]["topErrors"].as_array().into_iter().flatten() {
            let shape = top["shape"].as_str().unwrap_or_default();
            lines.push(format!("  {:>6}%  {}", top["percentage"], short(shape)));
        }
        for (label, failed) in [("first", &it.first), ("last", &it.last)] {
            if let Some(failed) = failed {
                let args = failed.args.as_deref().unwrap_or_default();
                lines.push(format!("  {label}: {:.0} {}", failed.at, failed.call));
                lines.push(format!("    {}", short(&failed.message)));
                lines.push(format!("    {}", short(args)));
            }
        }
        print_lines(&lines);
        Ok(Exit::Done)
    }

    fn regression(&self, stats: &Stats, of: &StatsOf) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let mut compared = report::comparisons(&tools, &self.hours(stats)?, self.now, self.spans);
        if let Some(wanted) = &of.tool {
            let Some((name, _)) = self.find(&tools, wanted) else { return Ok(Exit::Failed) };
            compared.retain(|(tool, _)| tool == name);
        }
        if of.json {
            let value = match (&of.tool, &compared[..]) {
                (Some(_), [(name, it)]) => {
                    json!({"ok": true, "tool": name, "regression": report::regression(name, it)})
                }
                _ => report::regressions(&compared),
            };
            print_json(&value.to_string());
            return Ok(Exit::Done);
        }
        let width = width_of(&tools);
        let mut lines = vec![self.head(&format!(
            "{:<width$} {:>23} {:>23} {:>17}  {}",
            "tool", "mean, was and is", "p95, was and is", "failures", "health"
        ))];
        // Of no calls there is no mean.
        let of =
            |window: &Window, said: String| if window.calls == 0 { "-".to_owned() } else { said };
        let mean = |window: &Window| of(window, time(window.average_ms() * 1e3));
        let high = |window: &Window| of(window, time(window.quantile_ms(0.95) * 1e3));
        let failed = |window: &Window| of(window, format!("{:.2}%", window.error_rate() * 100.0));
        for (name, it) in &compared {
            let (was, is) = (&it.baseline, &it.current);
            lines.push(format!(
                "{:<width$} {:>10} > {:>10} {:>10} > {:>10} {:>7} > {:>7}  {}",
                escape::line(name),
                mean(was),
                mean(is),
                high(was),
                high(is),
                failed(was),
                failed(is),
                self.told(it),
            ));
        }
        print_lines(&lines);
        Ok(Exit::Done)
    }

    fn resources(&self, stats: &Stats, of: &StatsOf) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let limits = |tool: &str| self.crib.limits_of(tool);
        let shown: Vec<(String, ToolFigures)> = match &of.tool {
            Some(wanted) => {
                let Some(found) = self.find(&tools, wanted) else { return Ok(Exit::Failed) };
                vec![found.clone()]
            }
            None => tools,
        };
        if of.json {
            let value = match (&of.tool, &shown[..]) {
                (Some(_), [(name, figures)]) => {
                    json!({"ok": true, "tool": name, "resources": report::resources_of(name, figures, &limits)})
                }
                _ => report::resources(&shown, &limits),
            };
            print_json(&value.to_string());
            return Ok(Exit::Done);
        }
        let width = width_of(&shown);
        let mut lines = vec![self.head(&format!(
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
                escape::line(name),
                it.calls,
                time(it.cpu.total as f64),
                time(it.cpu.quantile(0.95)),
                show_bytes(it.memory.most),
                show_bytes(it.memory.sketch.at_most(0.95).min(it.memory.most)),
                show_bytes(it.read.total),
                show_bytes(it.written.total),
                hit.join(", "),
            ));
        }
        print_lines(&lines);
        Ok(Exit::Done)
    }

    fn clear(
        &self,
        stats: &mut Stats,
        what: &str,
        tool: &str,
        as_json: bool,
    ) -> Result<Exit, CliError> {
        let tools = stats.tools()?;
        let Some((name, figures)) = self.find(&tools, tool) else { return Ok(Exit::Failed) };
        // The record is the truth: it is cleared by a line there, which is folded like any other.
        let by = format!("user {}", rustix::process::getuid().as_raw());
        let note = Note {
            at: self.now,
            actor: "user",
            act: "statistics",
            event: "cleared",
            tool: name,
            call: "",
            detail: json!({"what": what, "by": by}),
        };
        self.crib.recorder.note(&note).map_err(CliError::usage)?;
        if what == "regression" {
            Quarantine::new(&self.crib.state).lift(name)?;
        }
        stats.fold()?;
        let baseline =
            report::comparisons(&stats.tools()?, &self.hours(stats)?, self.now, self.spans)
                .into_iter()
                .find(|(tool, _)| tool == name)
                .map(|(_, it)| it.baseline);
        let reply = match (what, baseline) {
            ("regression", Some(window)) => json!({
                "ok": true, "tool": name, "action": "baseline_reset",
                "newBaseline": {
                    "avgExecutionMs": report::ms(window.average_ms() * 1e3),
                    "p95ExecutionMs": report::ms(window.quantile_ms(0.95) * 1e3),
                    "errorRate": window.error_rate(),
                    "timestamp": report::stamp(self.now),
                },
            }),
            ("errors", _) => json!({
                "ok": true, "tool": name,
                "cleared": {"errors": figures.errors.errors, "timestamp": report::stamp(self.now)},
            }),
            _ => {
                json!({"ok": true, "tool": name, "cleared": {"timestamp": report::stamp(self.now)}})
            }
        };
        if as_json {
            print_json(&reply.to_string());
        } else if what == "regression" {
            print_lines(&[format!("What {name} does now is its baseline.")]);
        } else {
            print_lines(&[format!("The {what} of {name} are counted anew.")]);
        }
        Ok(Exit::Done)
    }

    /// The hours that anything here is about.
    fn hours(&self, stats: &Stats) -> Result<Vec<(HourKey, Hour)>, CliError> {
        let now = self.now.as_second().div_euclid(3600);
        let oldest = now - self.spans.current_hours - 2 * self.spans.baseline_days * 24;
        Ok(stats.hours(oldest)?)
    }

    fn find<'t>(
        &self,
        tools: &'t [(String, ToolFigures)],
        wanted: &str,
    ) -> Option<&'t (String, ToolFigures)> {
        let is_it = |it: &&(String, ToolFigures)| it.0 == wanted;
        let named = |it: &&(String, ToolFigures)| it.0.rsplit('/').next() == Some(wanted);
        let found: Vec<_> = match tools.iter().find(is_it) {
            Some(it) => vec![it],
            None => tools.iter().filter(named).collect(),
        };
        match found[..] {
            [it] => return Some(it),
            [] => self.terminal.fail(
                &format!("nothing is known of a tool `{}`", escape::line(wanted)),
                Some("`toolcrib stats` lists the tools that were called"),
            ),
            _ => {
                let names: Vec<_> = found.iter().map(|it| it.0.as_str()).collect();
                let message = format!("`{}` is the name of several tools", escape::line(wanted));
                self.terminal.fail(&message, Some(&format!("say which: {}", names.join(", "))));
            }
        }
        None
    }

    fn head(&self, text: &str) -> String {
        self.terminal.paint(Paint::Strong, text)
    }

    fn health(&self, severity: Option<Severity>) -> String {
        match severity {
            None => self.terminal.paint(Paint::Good, "ok"),
            Some(severity) => {
                let paint = if severity == Severity::Low { Paint::Warn } else { Paint::Bad };
                self.terminal.paint(paint, &format!("regression: {}", severity.as_str()))
            }
        }
    }

    fn told(&self, it: &Comparison) -> String {
        if it.severity.is_some() {
            return format!("{}: {}", self.health(it.severity), it.because.join(", "));
        }
        let few = it.baseline.calls.min(it.current.calls);
        if few < 20 {
            return self.terminal.paint(Paint::Dim, &format!("too few calls to tell ({few})"));
        }
        self.health(None)
    }
}

/// How wide the column of names has to be.
fn width_of<T>(tools: &[(String, T)]) -> usize {
    tools.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().clamp(4, 40)
}

fn severity_of(compared: &[(String, Comparison)], name: &str) -> Option<Severity> {
    compared.iter().find(|(tool, _)| tool == name).and_then(|(_, it)| it.severity)
}

/// The times of all these hours together.
/// How many calls there were: those that were cleared as errors were calls all the same.
fn calls(figures: &ToolFigures, all: &Sketch) -> u64 {
    figures.errors.calls.max(all.count())
}

fn whole<'a>(hours: impl Iterator<Item = &'a (HourKey, Hour)>) -> Sketch {
    let mut all = Sketch::default();
    hours.for_each(|(_, hour)| all.merge(&hour.latency));
    all
}

/// The calls of each of the last hours, as a line of bars.
fn sparkline(rows: &[&(HourKey, Hour)], now: Timestamp) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let now = now.as_second().div_euclid(3600);
    let calls: Vec<u64> = (now - HOURS + 1..=now)
        .map(|hour| rows.iter().filter(|it| it.0.hour == hour).map(|it| it.1.calls).sum())
        .collect();
    let most = calls.iter().copied().max().unwrap_or(0).max(1);
    let bar = |count: &u64| match *count {
        0 => ' ',
        count => BARS[((count * 8 - 1) / most).min(7) as usize],
    };
    calls.iter().map(bar).collect()
}

/// What this share of all took at most, if there are any.
fn time_of(all: &Sketch, share: f64) -> String {
    if all.count() == 0 { "-".to_owned() } else { time(all.quantile(share)) }
}

fn time(us: f64) -> String {
    match us {
        us if us < 1e3 => format!("{us:.0} µs"),
        us if us < 1e6 => format!("{:.1} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

fn short(text: &str) -> String {
    let text = escape::line(text);
    let cut = text.floor_char_boundary(100);
    let more = if cut < text.len() { "…" } else { "" };
    format!("{}{more}", &text[..cut])
}
