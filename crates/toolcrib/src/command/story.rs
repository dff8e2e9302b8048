//! The story of one call, as people and programs are told it.

use std::fmt::Write as _;

use serde_json::{Value, json};
use toolcrib_core::command::{ChangedFiles, End, Limit, show_bytes};
use toolcrib_core::{Change, escape};
use toolcrib_ledger::{Entry, Fate, Story, report};

use crate::terminal::{Paint, Terminal};

/// What was seen to have changed beside what copies were kept of.
pub(super) fn also(story: &Story, changes: &[Change]) -> Vec<String> {
    let known: Vec<String> = changes.iter().map(Change::place).collect();
    let is_known = |path: &str| known.iter().any(|known| known == path);
    // A folder that something of this came to or went from is explained by it.
    let is_above = |folder: &str| {
        let below = |it: &String| it.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        known.iter().any(below)
    };
    let mut said = Vec::new();
    for touched in touched(story) {
        for (what, path) in touched.named() {
            match what {
                "thinned" if !is_above(path) => {
                    said.push(format!("something was removed or moved in {path}"));
                }
                "removed" if !is_known(path) && !is_above(path) => {
                    said.push(format!("removed {path}"));
                }
                "made" if !is_known(path) => said.push(format!("new {path}")),
                "changed" if !is_known(path) => said.push(format!("changed {path}")),
                _ => {}
            }
        }
        if touched.more > 0 {
            said.push(format!("{} more", touched.more));
        }
        if touched.unkept > 0 {
            said.push(format!(
                "of at least {} that its words name no copy was kept: too many, too large, not readable, or not known before it ran",
                files(touched.unkept)
            ));
        }
        if touched.is_partial {
            said.push("perhaps others: not all of the workspace was looked at".to_owned());
        }
    }
    said
}

fn files(count: u64) -> String {
    if count == 1 { "one file".to_owned() } else { format!("{count} files") }
}

/// What was seen to have changed while it ran, or since it was lost.
pub(super) fn touched(story: &Story) -> Vec<ChangedFiles> {
    let told = story.entries.iter().filter_map(|entry| entry.touched.clone());
    let lost =
        story.moment("lost").and_then(|entry| entry.detail.as_ref()?.get("touched").cloned());
    told.chain(lost.and_then(|value| serde_json::from_value(value).ok())).collect()
}

/// A line of a call's story, for programs.
pub(super) fn moment_json(entry: &Entry) -> Value {
    json!({
        "event": entry.event, "at": report::stamp(entry.ts), "rule": entry.rule, "decision": entry.decision,
        "by": entry.by.as_deref().or(entry.answered_by()), "terms": entry.terms,
        "status": entry.status, "error": entry.error, "detail": entry.detail,
    })
}

/// The story of a call, for people.
pub(super) fn told(terminal: Terminal, story: &Story) -> String {
    let fate = story.fate();
    let mut text = format!(
        "{} {} {}\n",
        terminal.paint(Paint::Strong, story.id()),
        escape::line(&story.tool()),
        terminal.paint(colour(fate), fate.as_str())
    );
    let mut add = |name: &str, said: &str| say(&mut text, name, said);
    let start = story.at();
    for entry in &story.entries {
        let after = entry.ts.duration_since(start).as_secs_f64() * 1e3;
        match entry.event.as_str() {
            "asked" => {
                let user = entry.user.map(|user| format!(" by user {user}")).unwrap_or_default();
                add("asked", &format!("{:.3}{user} in {}", entry.ts, entry.conv_id));
                add("arguments", entry.args_preview.as_deref().unwrap_or_default());
            }
            "waits" => add("waited", &format!("from +{after:.0} ms, since {}", rule(entry))),
            "decided" => {
                let by = entry.by.as_ref().map(|by| format!(", said {by}")).unwrap_or_default();
                let verdict = entry.decision.as_deref().unwrap_or_default();
                add("decided", &format!("+{after:.0} ms {verdict}: {}{by}", rule(entry)));
            }
            "started" => {
                let directory = entry.directory.as_deref().unwrap_or_default();
                add("started", format!("+{after:.0} ms {}", entry.places.join(" ")).trim_end());
                add("directory", directory);
                add("sandbox", entry.terms.as_deref().unwrap_or_default());
            }
            "ended" | "task_ended" => {
                let took = entry.elapsed_ms.unwrap_or_default();
                let how = match (&entry.error, &entry.end) {
                    (Some(kind), _) => {
                        format!(", {kind}: {}", entry.message.as_deref().unwrap_or_default())
                    }
                    (None, Some(end)) => format!(", {}", how(*end)),
                    (None, None) => String::new(),
                };
                let name = if entry.event == "ended" { "ended" } else { "task" };
                add(name, &format!("+{after:.0} ms, took {took} ms{how}"));
                add("reply", entry.result_preview.as_deref().unwrap_or_default());
                if let Some(used) = entry.used {
                    let said = format!(
                        "{} ms processor, {} memory at most, {} read, {} written, {} processes",
                        used.cpu_us / 1000,
                        show_bytes(used.peak_memory),
                        show_bytes(used.read_bytes),
                        show_bytes(used.written_bytes),
                        used.processes
                    );
                    add("used", &said);
                    add("limit", used.struck.map_or("", Limit::as_str));
                }
                add("version", entry.version.as_deref().unwrap_or_default());
            }
            "lost" => add("lost", "its process died at it: what it did is not known"),
            event if entry.act == "approval" => {
                let by = entry.answered_by().unwrap_or_default();
                let words = entry.detail.as_ref().and_then(|it| it["words"].as_str());
                let words = words.filter(|it| !it.is_empty()).map(|it| format!(": {it}"));
                add(event, &format!("+{after:.0} ms by {by}{}", words.unwrap_or_default()));
            }
            _ => {}
        }
    }
    if story.is_dead {
        add("lost", "its process died at it: what it did is not known; the next call settles it");
    }
    text
}

/// How a task ended, in words.
fn how(end: End) -> String {
    match end {
        End::Exited(code) => format!("exit code {code}"),
        End::Signalled(signal) => format!("ended by signal {signal}"),
        End::TimedOut => "ended: its time was up".to_owned(),
        End::Limited => "ended: a limit struck".to_owned(),
        End::Killed => "ended by us".to_owned(),
    }
}

/// Adds a line about one thing, if there is something to say.
pub(super) fn say(text: &mut String, name: &str, said: &str) {
    if !said.is_empty() {
        let _ = writeln!(text, "  {:<11}{}", format!("{name}:"), escape::line(said));
    }
}

fn rule(entry: &Entry) -> &str {
    entry.rule.as_deref().unwrap_or_default()
}

/// The colour of what came of a call.
pub(super) fn colour(fate: Fate) -> Paint {
    match fate {
        Fate::Ok => Paint::Good,
        Fate::Failed | Fate::Refused => Paint::Bad,
        Fate::Unknown | Fate::Open => Paint::Warn,
    }
}
