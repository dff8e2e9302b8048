//! The record of calls: append-only JSON lines, a file for each hour.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use serde::Serialize;
use toolcrib_core::command::End;
use toolcrib_core::{Event, Moment, Recorder, Usage};

use crate::state::{State, is_torn, open_append};

/// The most bytes of arguments or reply that one line shows.
const PREVIEW: usize = 2048;

/// Whether lines show the beginning of arguments and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previews {
    /// They do.
    On,
    /// They do not.
    Off,
}

/// Writes the record.
pub struct RecordFile {
    folder: PathBuf,
    previews: Previews,
    current: Mutex<Option<(i64, File)>>,
}

impl RecordFile {
    /// Writes to the record in `state`.
    pub fn new(state: &State, previews: Previews) -> Self {
        Self { folder: state.folder().join("context_log"), previews, current: Mutex::new(None) }
    }

    fn append(&self, at: Timestamp, line: &[u8]) -> Result<(), String> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let hour = at.as_second().div_euclid(3600);
        if current.as_ref().is_none_or(|(open, _)| *open != hour) {
            let name = at.strftime("ctx-%Y%m%d-%H.jsonl").to_string();
            let path = self.folder.join(name);
            let failed = |err: std::io::Error| format!("`{}`: {err}", path.display());
            let mut file = open_append(&path).map_err(failed)?;
            if is_torn(&file).map_err(failed)? {
                file.write_all(b"\n").map_err(failed)?;
            }
            *current = Some((hour, file));
        }
        let Some((_, file)) = current.as_mut() else { return Err("no file".to_owned()) };
        // One write for a line: several processes append to this file.
        file.write_all(line).map_err(|err| {
            // Opened anew next time, and looked at.
            *current = None;
            err.to_string()
        })
    }

    fn preview<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        if self.previews == Previews::Off {
            return None;
        }
        if text.len() <= PREVIEW {
            return Some(Cow::Borrowed(text));
        }
        let end = text.floor_char_boundary(PREVIEW);
        Some(Cow::Owned(format!("{} [TRUNCATED] ({} bytes)", &text[..end], text.len())))
    }
}

/// Cuts a name that a caller made up.
fn cut(name: &str) -> &str {
    &name[..name.floor_char_boundary(256)]
}

/// A line, with the names that the contract gives to its fields.
#[derive(Serialize)]
struct Line<'a> {
    id: String,
    ts: String,
    actor: &'static str,
    act: &'static str,
    conv_id: &'a str,
    trace_id: &'a str,
    iter: u32,
    event: &'static str,
    catalogue: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args_preview: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result_preview: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<End>,
}

impl Recorder for RecordFile {
    fn record(&self, event: &Event<'_>) -> Result<(), String> {
        let (catalogue, name) = event.tool.split_once('/').unwrap_or(("", event.tool));
        let mut line = Line {
            id: ulid::Ulid::generate().to_string(),
            ts: format!("{:.3}", event.at),
            actor: "tool",
            act: "tool_call",
            conv_id: cut(&event.session.0),
            trace_id: &event.call.0,
            iter: 0,
            event: "",
            catalogue: cut(catalogue),
            name: cut(name),
            status: None,
            elapsed_ms: None,
            used: None,
            args_preview: None,
            result_preview: None,
            bytes: None,
            effect: None,
            digest: None,
            decision: None,
            rule: None,
            by: None,
            error: None,
            message: None,
            end: None,
        };
        match &event.moment {
            Moment::Asked { args, digest, effect } => {
                line.event = "asked";
                line.args_preview = self.preview(args);
                line.digest = Some(digest);
                line.effect = Some(effect.as_str());
                line.bytes = Some(args.len());
            }
            Moment::Decided { verdict, rule, by } => {
                line.event = "decided";
                line.decision = Some(verdict);
                line.rule = Some(rule);
                line.by = *by;
            }
            Moment::Ended { error, elapsed_us, reply, usage } => {
                line.used = Some(*usage);
                line.event = "ended";
                line.status = Some(if error.is_none() { "ok" } else { "error" });
                line.elapsed_ms = Some(*elapsed_us as f64 / 1000.0);
                line.result_preview = self.preview(reply);
                line.bytes = Some(reply.len());
                if let Some((kind, message)) = error {
                    line.error = Some(kind.as_str());
                    line.message = self.preview(message);
                }
            }
            Moment::TaskEnded { end, elapsed_us, usage } => {
                line.event = "task_ended";
                line.status = Some(if end.exit_code() == 0 { "ok" } else { "error" });
                line.end = Some(*end);
                line.elapsed_ms = Some(*elapsed_us as f64 / 1000.0);
                line.used = Some(*usage);
            }
        }
        let mut bytes = serde_json::to_vec(&line).map_err(|err| err.to_string())?;
        bytes.push(b'\n');
        self.append(event.at, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{CallId, Effect, SessionId};

    #[test]
    fn lines_have_the_fields_of_the_contract_and_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        let record = RecordFile::new(&state, Previews::On);
        let event = Event {
            at: "2025-11-04T12:34:56.789Z".parse().unwrap(),
            call: &CallId("01A".to_owned()),
            session: &SessionId("conv".to_owned()),
            tool: "wink/read_file",
            moment: Moment::Asked {
                args: &"ä".repeat(PREVIEW),
                digest: "d".to_owned(),
                effect: Effect::Read,
            },
        };
        record.record(&event).unwrap();
        record.record(&event).unwrap();

        let path = state.folder().join("context_log/ctx-20251104-12.jsonl");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let text = std::fs::read_to_string(path).unwrap();
        assert_eq!(text.lines().count(), 2);
        let line: serde_json::Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(line["ts"], "2025-11-04T12:34:56.789Z");
        assert_eq!((&line["act"], &line["name"]), (&"tool_call".into(), &"read_file".into()));
        assert_eq!(line["bytes"], PREVIEW * 2);
        assert!(line["args_preview"].as_str().unwrap().ends_with("[TRUNCATED] (4096 bytes)"));
    }
}
