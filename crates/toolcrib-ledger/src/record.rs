//! The record of calls: what is asked, decided, begun and done, a JSON line each.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use toolcrib_core::command::ChangedFiles;
use toolcrib_core::{Durability, Event, Moment, Note, Recorder, escape};

use crate::line::Line;
use crate::link::Link;
use crate::live::Live;
use crate::log::{Appended, Body, Log, Settings};
use crate::redact::Redactor;
use crate::state::{State, open_append};

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
    state: State,
    previews: Previews,
    redactor: Redactor,
    settings: Value,
    /// The arguments of calls under way, for the line that the legacy form has of each.
    legacy: Option<Mutex<HashMap<String, String>>>,
    user: u32,
    ink: Mutex<Ink>,
    /// The conversation of the last line, and what is shown of its name.
    conversation: Mutex<(String, String)>,
    /// The file of the last line that is written, and its number. What is in files before it is on the disk.
    written: Mutex<Option<(Arc<File>, u64)>>,
    /// The number of the last line that is on the disk.
    synced: Mutex<u64>,
}

/// What is written with.
#[derive(Default)]
struct Ink {
    log: Option<Log>,
    live: Option<Live>,
    held: Vec<Body>,
    /// When the last of them was.
    at: Option<jiff::Timestamp>,
    /// How many lines could not be written.
    lost: u64,
}

impl RecordFile {
    /// Writes to the record in `state`. `settings` are those that are not as they are shipped.
    pub fn new(state: &State, previews: Previews, redactor: Redactor, settings: Value) -> Self {
        Self {
            state: state.clone(),
            previews,
            redactor,
            settings,
            legacy: None,
            user: rustix::process::getuid().as_raw(),
            ink: Mutex::default(),
            conversation: Mutex::default(),
            written: Mutex::default(),
            synced: Mutex::default(),
        }
    }

    /// The same with `tools_audit.jsonl` beside it.
    pub fn with_legacy(mut self) -> Self {
        self.legacy = Some(Mutex::default());
        self
    }

    /// Adds to the legacy form what it has of a call: one line, when it is over.
    fn add_legacy(&self, line: &Line<'_>) -> io::Result<()> {
        let Some(legacy) = &self.legacy else { return Ok(()) };
        let mut under_way = legacy.lock().unwrap_or_else(PoisonError::into_inner);
        let args = line.args_preview.as_deref().unwrap_or_default();
        if line.event == "asked" {
            under_way.insert(line.trace_id.to_owned(), args.to_owned());
        }
        if line.event != "ended" {
            return Ok(());
        }
        let args = under_way.remove(line.trace_id).unwrap_or_default();
        let said = json!({
            "ts": line.ts, "name": line.name, "status": line.status, "elapsed_ms": line.elapsed_ms,
            "conv_id": line.conv_id, "trace_id": line.trace_id, "iter": line.iter,
            "args_preview": args, "result_preview": line.result_preview, "bytes": line.bytes,
            "error": line.error,
        });
        let mut file = open_append(&self.state.folder().join("tools_audit.jsonl"))?;
        let said = escape::json(&said.to_string()).into_owned();
        io::Write::write_all(&mut file, format!("{said}\n").as_bytes())
    }

    fn written(&self) -> MutexGuard<'_, Option<(Arc<File>, u64)>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ink(&self) -> MutexGuard<'_, Ink> {
        self.ink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, at: jiff::Timestamp, body: Body, durability: Durability) -> io::Result<()> {
        let mut ink = self.ink();
        ink.held.push(body);
        ink.at = Some(at);
        if durability == Durability::Buffered {
            return Ok(());
        }
        let appended = self.write_held(&mut ink, at)?;
        drop(ink);
        if durability == Durability::Synced {
            self.sync(&appended.file, appended.seq)?;
        }
        Ok(())
    }

    fn write_held(&self, ink: &mut Ink, at: jiff::Timestamp) -> io::Result<Appended> {
        let bodies = std::mem::take(&mut ink.held);
        let count = bodies.len() as u64;
        let appended = self.append(ink, at, bodies);
        if let Ok(appended) = &appended {
            ink.lost = 0;
            *self.written() = Some((Arc::clone(&appended.file), appended.seq));
        } else {
            ink.lost += count;
            if let Some(live) = &mut ink.live {
                live.leave_behind();
            }
            // Opened anew next time, and looked at.
            ink.log = None;
        }
        appended
    }

    fn append(
        &self,
        ink: &mut Ink,
        at: jiff::Timestamp,
        mut bodies: Vec<Body>,
    ) -> io::Result<Appended> {
        if ink.lost > 0 {
            bodies.insert(0, Body::about(at, "lines_lost", &json!({"lines": ink.lost})));
        }
        if ink.log.is_none() {
            ink.log = Some(self.open()?);
        }
        let Some(log) = &mut ink.log else { return Err(io::Error::other("no log")) };
        log.append(at, &bodies)
    }

    fn open(&self) -> io::Result<Log> {
        let folder = self.state.folder();
        let text = self.settings.to_string();
        let shown = self.redactor.clean_json(&self.settings);
        let settings = Settings { hash: Link::of(text.as_bytes()), shown };
        Log::open(&folder.join("context_log"), &folder.join("record.key"), settings)
    }

    /// Puts lines on the disk up to `seq`: one goes, and takes the others' along.
    fn sync(&self, file: &Arc<File>, seq: u64) -> io::Result<()> {
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if *synced >= seq {
            return Ok(());
        }
        // Only those in the same file go along.
        let upto = match &*self.written() {
            Some((newest, last)) if Arc::ptr_eq(newest, file) => *last,
            _ => seq,
        };
        file.sync_data()?;
        *synced = upto.max(seq);
        Ok(())
    }

    /// What a conversation is called, without secrets. It is mostly the one of the line before.
    fn conversation(&self, name: &str) -> String {
        let mut last = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != name {
            *last = (name.to_owned(), self.redactor.clean_start(name, 256).into_owned());
        }
        last.1.clone()
    }

    /// A name that a caller may have made up, cut and without secrets.
    fn name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if is_plain(name) { name.into() } else { self.redactor.clean_start(name, 256) }
    }

    /// Names of files, which callers choose, without secrets.
    fn clean_touched(&self, touched: &ChangedFiles) -> ChangedFiles {
        let clean = |paths: &[String]| {
            paths.iter().map(|path| self.redactor.clean(path).into_owned()).collect()
        };
        ChangedFiles {
            made: clean(&touched.made),
            changed: clean(&touched.changed),
            removed: clean(&touched.removed),
            thinned: clean(&touched.thinned),
            ..*touched
        }
    }

    fn preview<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        (self.previews == Previews::On).then(|| self.shown(text))
    }

    /// Returns the beginning of a text, without secrets.
    fn shown<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let clean = self.redactor.clean_start(text, PREVIEW);
        if text.len() <= PREVIEW {
            return clean;
        }
        let end = clean.floor_char_boundary(PREVIEW);
        Cow::Owned(format!("{} [TRUNCATED] ({} bytes)", &clean[..end], text.len()))
    }
}

impl Drop for RecordFile {
    fn drop(&mut self) {
        self.flush();
    }
}

thread_local! {
    /// The last moment that was written down here: those of one call are often the same.
    static STAMP: RefCell<(i64, String)> = const { RefCell::new((i64::MIN, String::new())) };
}

/// A moment as the contract writes it, to the millisecond.
fn stamp(at: jiff::Timestamp) -> String {
    STAMP.with_borrow_mut(|(last, text)| {
        if *last != at.as_millisecond() {
            (*last, *text) = (at.as_millisecond(), format!("{at:.3}"));
        }
        text.clone()
    })
}

/// Whether a name is too short and plain to hold a secret: those of all tools are.
fn is_plain(name: &str) -> bool {
    name.len() < 24 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

impl Recorder for RecordFile {
    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), String> {
        let (catalogue, name) = event.tool.split_once('/').unwrap_or(("", event.tool));
        // A caller chooses its conversation's name, too.
        let conversation = self.conversation(&event.session.0);
        // Whoever asks can ask for any name.
        let (catalogue, name) = (self.name(catalogue), self.name(name));
        let mut line = Line {
            id: crate::id_at(event.at).0,
            ts: stamp(event.at),
            actor: "tool",
            act: "tool_call",
            conv_id: &conversation,
            trace_id: &event.call.0,
            catalogue: &catalogue,
            name: &name,
            ..Line::default()
        };
        match &event.moment {
            Moment::Asked { args, digest, effect } => {
                line.event = "asked";
                line.user = Some(self.user);
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
            Moment::Waits { rule } => {
                line.event = "waits";
                line.rule = Some(rule);
            }
            Moment::Started { places, directory, terms } => {
                line.event = "started";
                line.places = places.iter().map(|place| self.redactor.clean(place)).collect();
                line.directory = *directory;
                line.terms = *terms;
                if durability == Durability::Synced {
                    line.process = Some(self.sign_in().map_err(|err| err.to_string())?);
                }
            }
            Moment::Ended { error, elapsed_us, reply, usage, version, has_task, touched } => {
                line.touched = touched.map(|touched| self.clean_touched(touched));
                line.task = has_task.then_some(true);
                line.used = Some(*usage);
                line.version = *version;
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
            Moment::TaskEnded { end, elapsed_us, usage, touched } => {
                line.touched = touched.map(|touched| self.clean_touched(touched));
                line.event = "task_ended";
                line.status = Some(if end.exit_code() == 0 { "ok" } else { "error" });
                line.end = Some(*end);
                line.elapsed_ms = Some(*elapsed_us as f64 / 1000.0);
                line.used = Some(*usage);
            }
        }
        let body = Body::of(&line).map_err(|err| err.to_string())?;
        self.write(event.at, body, durability).map_err(|err| err.to_string())?;
        // After what counts: that it fails takes nothing away.
        self.add_legacy(&line).map_err(|err| format!("`tools_audit.jsonl`: {err}"))
    }

    fn flush(&self) {
        let mut ink = self.ink();
        if let Some(at) = ink.at.filter(|_| !ink.held.is_empty()) {
            // What fails is counted, and said when it can be.
            let _ = self.write_held(&mut ink, at);
        }
    }

    fn note(&self, note: &Note<'_>) -> Result<(), String> {
        let (catalogue, name) = note.tool.split_once('/').unwrap_or(("", note.tool));
        let (catalogue, name) = (self.name(catalogue), self.name(name));
        // What we say ourselves and read again has no secrets.
        let is_own = matches!(note.act, "statistics" | "record");
        let detail =
            if is_own { note.detail.clone() } else { self.redactor.clean_json(&note.detail) };
        let line = Line {
            id: crate::new_call_id().0,
            ts: stamp(note.at),
            actor: note.actor,
            act: note.act,
            trace_id: note.call,
            event: note.event,
            catalogue: &catalogue,
            name: &name,
            detail: Some(&detail),
            ..Line::default()
        };
        let body = Body::of(&line).map_err(|err| err.to_string())?;
        self.write(note.at, body, Durability::Written).map_err(|err| err.to_string())
    }
}

impl RecordFile {
    /// Lets others know that this process changes things, so that they can tell when it died at it.
    fn sign_in(&self) -> io::Result<String> {
        let mut ink = self.ink();
        if ink.live.is_none() {
            ink.live = Some(Live::enter(&self.state)?);
        }
        Ok(ink.live.as_ref().map(|live| live.name().to_owned()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{CallId, Effect, SessionId};

    fn record(state: &State, settings: Value) -> RecordFile {
        RecordFile::new(state, Previews::On, Redactor::default(), settings)
    }

    fn asked(recorder: &RecordFile, args: &str, durability: Durability) {
        let event = Event {
            at: "2025-11-04T12:34:56.789Z".parse().unwrap(),
            call: &CallId("01A".to_owned()),
            session: &SessionId("conv".to_owned()),
            tool: "wink/read_file",
            moment: Moment::Asked { args, digest: "d".to_owned(), effect: Effect::Read },
        };
        recorder.record(&event, durability).unwrap();
    }

    fn lines(state: &State) -> Vec<Value> {
        let path = state.folder().join("context_log/ctx-20251104-12.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lines_have_the_fields_of_the_contract_and_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        asked(&record(&state, json!({})), &"ä".repeat(PREVIEW), Durability::Written);
        for name in ["context_log/ctx-20251104-12.jsonl", "context_log/head", "record.key"] {
            let mode = state.folder().join(name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let line = lines(&state).pop().unwrap();
        assert_eq!(line["ts"], "2025-11-04T12:34:56.789Z");
        assert_eq!((&line["act"], &line["name"]), (&"tool_call".into(), &"read_file".into()));
        assert_eq!((&line["actor"], &line["iter"]), (&"tool".into(), &0.into()));
        assert_eq!(line["bytes"], PREVIEW * 2);
        assert!(line["args_preview"].as_str().unwrap().ends_with("[TRUNCATED] (4096 bytes)"));
    }

    #[test]
    fn a_secret_at_the_cut_is_not_cut_in_two() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        let args =
            format!("{} AKIAIOSFODNN7EXAMPLE {}", "x".repeat(PREVIEW - 10), "y".repeat(5000));
        asked(&record(&state, json!({})), &args, Durability::Written);
        let shown = lines(&state).pop().unwrap()["args_preview"].as_str().unwrap().to_owned();
        assert!(!shown.contains("AKIA") && shown.contains("xxx [REDACTE"), "{shown}");
    }

    #[test]
    fn lines_that_may_wait_come_with_the_next_and_settings_with_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        let first = record(&state, json!({"mode": "strict"}));
        asked(&first, "held", Durability::Buffered);
        assert!(!state.folder().join("context_log/ctx-20251104-12.jsonl").exists());
        asked(&first, "written", Durability::Written);
        asked(&first, "left", Durability::Buffered);
        drop(first);
        asked(&record(&state, json!({"mode": "strict"})), "same", Durability::Synced);
        asked(&record(&state, json!({})), "other", Durability::Written);
        let shown: Vec<String> = lines(&state)
            .iter()
            .map(|line| line["args_preview"].as_str().unwrap_or("settings").to_owned())
            .collect();
        assert_eq!(shown, ["settings", "held", "written", "left", "same", "settings", "other"]);
        let verified = crate::verify(&state).unwrap();
        assert_eq!((verified.problems, verified.lines), (Vec::new(), 7));
    }

    #[test]
    fn what_is_in_a_later_file_is_not_on_the_disk_with_what_is_in_an_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::open(&folder.path().join("state")).unwrap();
        let recorder = record(&state, json!({}));
        let append = |at: &str| {
            let at = at.parse().unwrap();
            let mut ink = recorder.ink();
            ink.held.push(Body::about(at, "x", &json!({})));
            recorder.write_held(&mut ink, at).unwrap()
        };
        let first = append("2025-11-04T12:34:56Z");
        let second = append("2025-11-04T12:34:57Z");
        let third = append("2025-11-04T13:00:00Z");
        let synced = || *recorder.synced.lock().unwrap();
        recorder.sync(&first.file, first.seq).unwrap();
        assert_eq!(synced(), first.seq, "the newest line is in another file");
        recorder.sync(&third.file, third.seq).unwrap();
        assert_eq!(synced(), third.seq);
        // Those of one file go together.
        let fourth = append("2025-11-04T13:00:01Z");
        let fifth = append("2025-11-04T13:00:02Z");
        recorder.sync(&fourth.file, fourth.seq).unwrap();
        assert_eq!((synced(), second.seq), (fifth.seq, first.seq + 1));
    }
}
