//! The history of one call, as people and programs are shown it.

use std::fmt::Write as _;

use toolcrib_core::command::{End, Limit, Usage, show_bytes};
use toolcrib_core::{Change, counted, escape};
use toolcrib_ledger::{Act, CallHistory, CallOutcome, EventKind, RecordEntry};

use crate::terminal::{Paint, Terminal};

/// Returns a line for each file that changed during a call and is not among the `changes` that can be undone.
pub(super) fn other_changes(history: &CallHistory, changes: &[Change]) -> Vec<String> {
    let known: Vec<String> = changes.iter().map(Change::place).collect();
    let is_known = |path: &str| known.iter().any(|known| known == path);
    // A known change in a folder explains why the folder changed.
    let is_above_known = |folder: &str| {
        let below = |it: &String| it.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        known.iter().any(below)
    };
    let mut lines = Vec::new();
    for changed in history.changed_files() {
        for (what, path) in changed.named() {
            match what {
                "thinned" if !is_above_known(path) => {
                    lines.push(format!("something was removed from or moved out of {path}"));
                }
                "removed" if !is_known(path) && !is_above_known(path) => {
                    lines.push(format!("removed {path}"));
                }
                "made" if !is_known(path) => lines.push(format!("new {path}")),
                "changed" if !is_known(path) => lines.push(format!("changed {path}")),
                _ => {}
            }
        }
        if changed.more > 0 {
            lines.push(format!("{} more", changed.more));
        }
        if changed.without_snapshot > 0 {
            lines.push(format!(
                "Toolcrib has no copy of at least {} named on its command line: too many, too large, not readable, or not known before it ran",
                counted(changed.without_snapshot, "file")
            ));
        }
        if changed.is_partial {
            lines.push(
                "there may be others: Toolcrib checked only a part of the workspace".to_owned(),
            );
        }
    }
    lines
}

/// Returns the history of a call, for people.
pub(super) fn describe(terminal: Terminal, history: &CallHistory) -> String {
    let outcome = history.outcome();
    let mut text = format!(
        "{} {} {}\n",
        terminal.paint(Paint::Strong, &escape::line(history.id())),
        escape::line(history.tool().as_str()),
        terminal.paint(colour(outcome), outcome.as_str())
    );
    for entry in &history.entries {
        let after_ms = entry.at.duration_since(history.at()).as_secs_f64() * 1e3;
        describe_entry(&mut text, entry, after_ms);
    }
    if history.is_dead {
        let lost = "Toolcrib was killed during the call, so it is not known what the call did; the next call records this";
        add_field(&mut text, "lost", lost);
    }
    text
}

/// Returns who asked for a call: a principal through a door, or the user at a terminal.
fn asker(entry: &RecordEntry<'_>) -> String {
    let Some(caller) = entry.call.caller.to_caller() else {
        return entry.call.user.map(|user| format!(" by user {user}")).unwrap_or_default();
    };
    let client = caller.client.map(|client| format!(", {client}")).unwrap_or_default();
    let (role, door) = (caller.principal.role.as_str(), caller.door.as_str());
    format!(" by {} ({role} over {door}{client})", caller.principal)
}

fn describe_entry(text: &mut String, entry: &RecordEntry<'_>, after_ms: f64) {
    let or_empty =
        |field: &Option<std::borrow::Cow<'_, str>>| field.as_deref().unwrap_or("").to_owned();
    let mut add = |name: &str, value: &str| add_field(text, name, value);
    match &entry.event {
        EventKind::Asked => {
            let by = asker(entry);
            add("asked", &format!("{:.3}{by} in {}", entry.at, entry.call.conversation));
            add("connected", &or_empty(&entry.call.caller.connection));
            add("arguments", &or_empty(&entry.preview.args));
        }
        EventKind::Waits => {
            let rule = or_empty(&entry.decision.rule);
            add("waited", &format!("from +{after_ms:.0} ms, because of {rule}"));
        }
        EventKind::Decided => {
            add("decided", &format!("+{after_ms:.0} ms {}", describe_decision(entry)));
        }
        EventKind::Started => {
            let places = entry.start.places.join(" ");
            add("started", format!("+{after_ms:.0} ms {places}").trim_end());
            add("directory", &or_empty(&entry.start.directory));
            add("sandbox", &or_empty(&entry.start.terms));
        }
        EventKind::Ended | EventKind::TaskEnded => {
            let took = entry.end.elapsed_ms().unwrap_or_default();
            let how = match (&entry.end.error, &entry.end.command_end) {
                (Some(kind), _) => format!(", {kind}: {}", or_empty(&entry.end.message)),
                // That a command succeeded is no news.
                (None, Some(end)) if entry.event == EventKind::TaskEnded || end.is_failure() => {
                    format!(", {}", describe_end(*end))
                }
                (None, _) => String::new(),
            };
            let name = if entry.event == EventKind::Ended { "ended" } else { "task" };
            add(name, &format!("+{after_ms:.0} ms, took {took} ms{how}"));
            add("reply", &or_empty(&entry.preview.result));
            if let Some(used) = entry.end.used {
                add("used", &describe_usage(&used));
                add("limit", used.struck.map_or("", Limit::as_str));
            }
            for held in entry.end.changed_files.iter().flat_map(|changed| &changed.held) {
                add("held", held);
            }
            for host in entry.end.network.iter().flat_map(|network| &network.hosts) {
                add("network", &format!("{}: {}", host.host, host.describe()));
            }
            add("version", &or_empty(&entry.call.version));
        }
        EventKind::Lost => {
            add(
                "lost",
                "Toolcrib was killed during the call, so it is not known what the call did",
            );
        }
        event if entry.act == Act::Approval => {
            let by = entry.answered_by().map_or_else(String::new, |by| format!(" by {by}"));
            let words = entry.detail.as_ref().and_then(|it| it["words"].as_str());
            let words = words.filter(|it| !it.is_empty()).map(|it| format!(": {it}"));
            let words = words.unwrap_or_default();
            add(event.as_str(), &format!("+{after_ms:.0} ms{by}{words}"));
        }
        _ => {}
    }
}

/// Returns a decision in words: the verdict, the rule and who answered.
pub(super) fn describe_decision(entry: &RecordEntry<'_>) -> String {
    let decision = &entry.decision;
    let by = decision.by.as_ref().map(|by| format!(", answered by {by}")).unwrap_or_default();
    let verdict = decision.verdict.as_deref().unwrap_or_default();
    format!("{verdict}: {}{by}", decision.rule.as_deref().unwrap_or_default())
}

fn describe_usage(used: &Usage) -> String {
    format!(
        "{} ms processor time, {} peak memory, {} read, {} written, {}",
        used.cpu_us / 1000,
        show_bytes(used.peak_memory),
        show_bytes(used.read_bytes),
        show_bytes(used.written_bytes),
        counted(used.processes, "process")
    )
}

/// Returns how a command ended, in words.
pub(super) fn describe_end(end: End) -> String {
    match end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("ended by signal {signal}"),
        End::TimedOut => "ended: it ran out of time".to_owned(),
        End::Limited => "ended: it hit a limit".to_owned(),
        End::Killed => "ended by toolcrib".to_owned(),
    }
}

/// Adds a line with a name and a value, unless the value is empty.
pub(super) fn add_field(text: &mut String, name: &str, value: &str) {
    if !value.is_empty() {
        let _ = writeln!(text, "  {:<11}{}", format!("{name}:"), escape::line(value));
    }
}

/// Returns the colour of an outcome.
pub(super) fn colour(outcome: CallOutcome) -> Paint {
    match outcome {
        CallOutcome::Ok => Paint::Good,
        CallOutcome::CommandFailed | CallOutcome::Failed | CallOutcome::Refused => Paint::Bad,
        CallOutcome::Unknown | CallOutcome::Open => Paint::Warn,
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use jiff::Timestamp;
    use std::sync::LazyLock;

    use toolcrib_core::{
        CallId, Caller, Durability, Effect, ErrorKind, Event, Moment, Recorder, SessionId,
    };
    use toolcrib_ledger::{CallFilter, Previews, RecordWriter, Redactor, StateFolder, find_calls};

    use super::*;
    use crate::cli::Cli;

    /// Puts the moments of one call on a record, a millisecond apart.
    fn record(recorder: &RecordWriter, call: &str, tool: &str, moments: Vec<Moment<'_>>) {
        let (call, session) = (CallId(call.to_owned()), SessionId("cli-1".to_owned()));
        let tool = tool.into();
        let start: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
        for (number, moment) in (0..).zip(moments) {
            let at = start.checked_add(jiff::SignedDuration::from_millis(number)).unwrap();
            let event =
                Event { at, call: &call, session: &session, trace: None, tool: &tool, moment };
            recorder.record(&event, Durability::Written).unwrap();
        }
    }

    fn asked(args: &str) -> Moment<'_> {
        static USER: LazyLock<Caller> = LazyLock::new(|| Caller::at_terminal("user 0"));
        Moment::Asked { args, digest: "d".to_owned(), effect: Effect::Write, caller: &USER }
    }

    fn ended(error: Option<(ErrorKind, &'static str)>, usage: Usage) -> Moment<'static> {
        let (version, reply) = (Some("abc"), r#"{"ok":true}"#);
        Moment::Ended {
            error,
            elapsed_us: 1500,
            version,
            reply,
            saved_as: None,
            usage,
            has_task: false,
            command_end: None,
            touched: None,
            network: None,
        }
    }

    #[test]
    fn calls_are_told_in_these_words() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let recorder =
            RecordWriter::new(&state, Previews::On, Redactor::default(), &serde_json::json!({}));
        let rule = "tier 2 in mode standard";
        let places = ["/proj/a".to_owned()];
        let usage = Usage {
            cpu_us: 12_000,
            peak_memory: 3 << 20,
            read_bytes: 10,
            written_bytes: 2048,
            processes: 3,
            struck: Some(Limit::Memory),
        };
        record(
            &recorder,
            "01KE000000000000000000000A",
            "wink/create_file",
            vec![
                asked(r#"{"path":"a"}"#),
                Moment::Waits { rule },
                Moment::Decided { verdict: "allow", rule, by: Some("terminal") },
                Moment::Started { places: &places, directory: None, terms: None },
                ended(None, Usage::default()),
            ],
        );
        record(
            &recorder,
            "01KE000000000000000000000B",
            "clemini/bash",
            vec![
                asked(r#"{"command":"make"}"#),
                Moment::Decided { verdict: "allow", rule: "`make` is allowed", by: None },
                Moment::Started { places: &[], directory: Some("/proj"), terms: Some("strict") },
                ended(Some((ErrorKind::Failed, "it hit a limit")), usage),
            ],
        );
        record(
            &recorder,
            "01KE000000000000000000000C",
            "clemini/bash",
            vec![
                asked(r#"{"command":"rm -rf /"}"#),
                Moment::Decided { verdict: "deny", rule: "recursive delete on root", by: None },
                ended(Some((ErrorKind::Refused, "policy refuses it")), Usage::default()),
            ],
        );
        drop(recorder);
        let cli = Cli::parse_from(["toolcrib", "--color", "never", "tour"]);
        let terminal = Terminal::new(&cli.global);
        let mut calls = find_calls(&state, &CallFilter::default(), 10).unwrap();
        calls.sort_by_key(|call| call.id().to_owned());
        let all: Vec<String> = calls.iter().map(|call| describe(terminal, call)).collect();
        let user = format!("by user {}", rustix::process::getuid().as_raw());
        insta::assert_snapshot!("calls", all.join("\n").replace(&user, "by user N"));
    }

    #[test]
    fn ends_of_tasks_are_told_in_these_words() {
        let all = [End::Exited(3), End::Signalled(9), End::TimedOut, End::Limited, End::Killed];
        insta::assert_snapshot!("ends", all.map(describe_end).join("\n"));
    }
}
