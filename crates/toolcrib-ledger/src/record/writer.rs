//! Writes the record of calls: what is asked, decided, started and ended, one JSON line each, without secrets.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde_json::{Value, json};
use toolcrib_core::command::{ChangedFiles, End, HostTraffic, NetworkAccount};
use toolcrib_core::{
    Caller, Door, Durability, Event, HeldCounts, Moment, Note, RecordError, RecordErrorKind,
    Recorder, ToolName,
};

use crate::id::{id_at, new_call_id};
use crate::record::appender::{Appended, Appender};
use crate::record::entry::{
    CallFields, CallerFields, DecisionFields, EndFields, PreviewFields, RecordEntry, is_of_command,
};
use crate::record::event_kind::{Act, EventKind};
use crate::record::legacy_file::{self, LegacyFile};
use crate::record::presence_file::Presence;
use crate::record::recorded_settings::RecordedSettings;
use crate::record::redact::Redactor;
use crate::record::unsigned_line::UnsignedLine;
use crate::state::StateFolder;

/// The most bytes of arguments or reply that one line shows.
const PREVIEW_BYTES: usize = 2048;

/// The most calls in progress whose arguments are remembered.
const MOST_OPEN_CALLS: usize = 10_000;

/// The most bytes of a name that a line shows.
const NAME_BYTES: usize = 256;

/// Whether lines show the beginning of arguments and replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Previews {
    /// Lines show previews.
    On,
    /// Lines show no previews.
    Off,
}

/// The recorder that writes the record in the state folder.
pub struct RecordWriter {
    state: StateFolder,
    previews: Previews,
    redactor: Redactor,
    settings: RecordedSettings,
    /// What is shown of the arguments of calls in progress: the line that ends a call has it too.
    open_args: Mutex<HashMap<String, String>>,
    legacy: LegacyFile,
    user: u32,
    pending: Mutex<PendingLines>,
    /// The conversation of the last line, and what is shown of its name.
    conversation: Mutex<(String, String)>,
    /// The segment and the number of the last line that is written. Earlier segments are on the disk.
    written: Mutex<Option<(Arc<File>, u64)>>,
    /// The number of the last line that is on the disk.
    synced: Mutex<u64>,
}

/// The lines that wait to be written, and what they are written with.
#[derive(Default)]
struct PendingLines {
    appender: Option<Appender>,
    presence: Option<Presence>,
    lines: Vec<UnsignedLine>,
    /// The time of the last line.
    at: Option<Timestamp>,
    /// How many lines could not be written.
    lost: u64,
}

impl RecordWriter {
    /// Writes to the record in `state`. `settings` are those that differ from their defaults.
    pub fn new(
        state: &StateFolder,
        previews: Previews,
        redactor: Redactor,
        settings: &Value,
    ) -> Self {
        Self {
            state: state.clone(),
            previews,
            settings: RecordedSettings::new(settings, &redactor),
            redactor,
            open_args: Mutex::default(),
            legacy: LegacyFile::Off,
            user: rustix::process::getuid().as_raw(),
            pending: Mutex::default(),
            conversation: Mutex::default(),
            written: Mutex::default(),
            synced: Mutex::default(),
        }
    }

    /// Also writes `tools_audit.jsonl`, the legacy format.
    pub fn with_legacy(mut self) -> Self {
        self.legacy = LegacyFile::On;
        self
    }

    /// Returns the settings that lines are written under.
    pub fn settings(&self) -> &RecordedSettings {
        &self.settings
    }

    fn written(&self) -> MutexGuard<'_, Option<(Arc<File>, u64)>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pending(&self) -> MutexGuard<'_, PendingLines> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self, at: Timestamp, line: UnsignedLine, durability: Durability) -> io::Result<()> {
        let mut pending = self.pending();
        pending.lines.push(line);
        pending.at = Some(at);
        if durability == Durability::Buffered {
            return Ok(());
        }
        let appended = self.write_pending(&mut pending, at)?;
        drop(pending);
        if durability == Durability::Synced {
            self.sync(&appended.file, appended.seq)?;
        }
        Ok(())
    }

    fn write_pending(&self, pending: &mut PendingLines, at: Timestamp) -> io::Result<Appended> {
        let lines = std::mem::take(&mut pending.lines);
        let count = lines.len() as u64;
        let appended = self.append(pending, at, lines);
        if let Ok(appended) = &appended {
            pending.lost = 0;
            *self.written() = Some((Arc::clone(&appended.file), appended.seq));
        } else {
            pending.lost += count;
            if let Some(presence) = &mut pending.presence {
                presence.leave_behind();
            }
            // The record is opened again next time, and its end is checked.
            pending.appender = None;
        }
        appended
    }

    fn append(
        &self,
        pending: &mut PendingLines,
        at: Timestamp,
        mut lines: Vec<UnsignedLine>,
    ) -> io::Result<Appended> {
        if pending.lost > 0 {
            let lost = json!({"lines": pending.lost});
            lines.insert(0, UnsignedLine::about_record(at, EventKind::LinesLost, lost)?);
        }
        let appender = match &mut pending.appender {
            Some(appender) => appender,
            closed => closed.insert(self.open_appender()?),
        };
        appender.append(at, &lines)
    }

    fn open_appender(&self) -> io::Result<Appender> {
        let settings = self.settings.clone();
        Appender::open(&self.state.record_folder(), &self.state.record_key(), settings)
    }

    /// Syncs lines to the disk up to `seq`. One caller syncs for all that wait.
    fn sync(&self, file: &Arc<File>, seq: u64) -> io::Result<()> {
        let mut synced = self.synced.lock().unwrap_or_else(PoisonError::into_inner);
        if *synced >= seq {
            return Ok(());
        }
        // Only the lines of the same segment are synced together.
        let upto = match &*self.written() {
            Some((newest, last)) if Arc::ptr_eq(newest, file) => *last,
            _ => seq,
        };
        file.sync_data()?;
        *synced = upto.max(seq);
        Ok(())
    }

    /// Returns the name of a conversation, without secrets. It is usually the one of the line before.
    fn conversation(&self, name: &str) -> String {
        let mut last = self.conversation.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != name {
            *last = (name.to_owned(), self.redactor.clean_start(name, NAME_BYTES).into_owned());
        }
        last.1.clone()
    }

    /// Returns a name, which a caller may have made up, shortened and without secrets.
    fn clean_name<'a>(&self, name: &'a str) -> Cow<'a, str> {
        if is_plain_name(name) { name.into() } else { self.redactor.clean_start(name, NAME_BYTES) }
    }

    /// Returns the names of changed files, which callers choose, without secrets.
    fn clean_changed_files(&self, changed: &ChangedFiles) -> ChangedFiles {
        let clean = |paths: &[String]| {
            paths.iter().map(|path| self.redactor.clean(path).into_owned()).collect()
        };
        ChangedFiles {
            made: clean(&changed.made),
            changed: clean(&changed.changed),
            removed: clean(&changed.removed),
            folders_with_removals: clean(&changed.folders_with_removals),
            held: clean(&changed.held),
            ..*changed
        }
    }

    /// Returns the names of hosts, which commands choose, without secrets.
    fn clean_hosts(&self, network: &NetworkAccount) -> NetworkAccount {
        let clean = |it: &HostTraffic| HostTraffic {
            host: self.redactor.clean(&it.host).into_owned(),
            ..it.clone()
        };
        NetworkAccount { hosts: network.hosts.iter().map(clean).collect() }
    }

    fn preview<'a>(&self, text: &'a str) -> Option<Cow<'a, str>> {
        (self.previews == Previews::On).then(|| self.clean_preview(text))
    }

    /// Returns the beginning of a text, without secrets.
    fn clean_preview<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let clean = self.redactor.clean_start(text, PREVIEW_BYTES);
        if text.len() <= PREVIEW_BYTES {
            return clean;
        }
        let end = clean.floor_char_boundary(PREVIEW_BYTES);
        Cow::Owned(format!("{} [TRUNCATED] ({} bytes)", &clean[..end], text.len()))
    }

    /// Remembers what is shown of the arguments of a call that has begun.
    fn open_args(&self, call: &str, args: Option<&str>) {
        let Some(args) = args else { return };
        let mut open = self.open_args.lock().unwrap_or_else(PoisonError::into_inner);
        // A call that is asked for and never ends must not cost memory for ever.
        if open.len() >= MOST_OPEN_CALLS {
            open.clear();
        }
        open.insert(call.to_owned(), args.to_owned());
    }

    /// Returns what is shown of the arguments of a call that ends, and forgets it.
    fn close_args(&self, call: &str) -> Option<String> {
        self.open_args.lock().unwrap_or_else(PoisonError::into_inner).remove(call)
    }

    /// Makes the presence file of this process, so that others can tell when it died while changing something.
    /// Returns the name of the process.
    fn announce_presence(&self) -> io::Result<String> {
        let mut pending = self.pending();
        let presence = match &mut pending.presence {
            Some(presence) => presence,
            absent => absent.insert(Presence::enter(&self.state)?),
        };
        Ok(presence.name().to_owned())
    }

    /// Returns the fields that say who asked. The user at a terminal is in another field, as a number.
    fn caller_fields<'a>(&self, caller: &'a Caller) -> CallerFields<'a> {
        let shown = |name: &'a Option<String>| name.as_deref().map(|name| self.clean_name(name));
        let fields = if caller.door == Door::Terminal {
            CallerFields::default()
        } else {
            CallerFields::of(caller, shown(&caller.client))
        };
        CallerFields { connection: shown(&caller.connection), ..fields }
    }

    /// Fills in the fields that belong to one moment of a call.
    fn add_moment<'a>(
        &self,
        entry: &mut RecordEntry<'a>,
        moment: &'a Moment<'a>,
        durability: Durability,
    ) -> io::Result<()> {
        match moment {
            Moment::Asked { args, digest, effect, caller } => {
                entry.event = EventKind::Asked;
                entry.call.user = Some(self.user);
                entry.call.caller = self.caller_fields(caller);
                let effect = effect.as_str().into();
                (entry.call.digest, entry.call.effect) = (Some(digest.into()), Some(effect));
                entry.preview = PreviewFields::of(self.preview(args), args);
                self.open_args(&entry.call.id, entry.preview.args.as_deref());
            }
            Moment::Decided { verdict, rule, by } => {
                entry.event = EventKind::Decided;
                entry.decision = DecisionFields {
                    verdict: Some((*verdict).into()),
                    rule: Some((*rule).into()),
                    by: by.map(Cow::Borrowed),
                };
            }
            Moment::Waits { rule } => {
                entry.event = EventKind::Waits;
                entry.decision.rule = Some((*rule).into());
            }
            Moment::Started { places, directory, terms } => {
                entry.event = EventKind::Started;
                entry.start.places =
                    places.iter().map(|place| self.redactor.clean(place)).collect();
                entry.start.directory = directory.map(Cow::Borrowed);
                entry.start.terms = terms.map(Cow::Borrowed);
                if durability == Durability::Synced {
                    entry.start.process = Some(self.announce_presence()?.into());
                }
            }
            Moment::Ended {
                error,
                elapsed_us,
                reply,
                usage,
                saved_as,
                version,
                has_task,
                command_end,
                touched,
                network,
            } => {
                let error = error.filter(|error| !is_of_command(error.0, *command_end));
                let has_failed = error.is_some() || command_end.is_some_and(End::is_failure);
                entry.event = EventKind::Ended;
                entry.call.version = version.map(Cow::Borrowed);
                entry.preview.args = self.close_args(&entry.call.id).map(Cow::Owned);
                entry.preview.result = self.preview(reply);
                entry.preview.bytes = Some(reply.len() as u64);
                entry.end = EndFields {
                    status: Some(if has_failed { "error" } else { "ok" }.into()),
                    whole_ms: Some((elapsed_us / 1000).into()),
                    elapsed_us: Some(*elapsed_us),
                    used: Some(*usage),
                    error: error.map(|(kind, _)| kind.as_str().into()),
                    message: error.and_then(|(_, message)| self.preview(message)),
                    has_task: has_task.then_some(true),
                    command_end: *command_end,
                    changed_files: touched.map(|touched| self.clean_changed_files(touched)),
                    network: network.map(|network| self.clean_hosts(network)),
                    saved_as: saved_as.map(Cow::Borrowed),
                };
            }
            Moment::TaskEnded { end, elapsed_us, usage, touched, network } => {
                entry.event = EventKind::TaskEnded;
                entry.end = EndFields {
                    status: Some(if end.exit_code() == 0 { "ok" } else { "error" }.into()),
                    whole_ms: Some((elapsed_us / 1000).into()),
                    elapsed_us: Some(*elapsed_us),
                    used: Some(*usage),
                    command_end: Some(*end),
                    changed_files: touched.map(|touched| self.clean_changed_files(touched)),
                    network: network.map(|network| self.clean_hosts(network)),
                    ..EndFields::default()
                };
            }
        }
        Ok(())
    }
}

impl Drop for RecordWriter {
    fn drop(&mut self) {
        self.flush();
    }
}

/// Returns whether a name is too short and plain to hold a secret. The names of all tools are.
fn is_plain_name(name: &str) -> bool {
    name.len() < 24 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

impl Recorder for RecordWriter {
    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), RecordError> {
        let (catalogue, name) = event.tool.parts();
        let mut entry = RecordEntry {
            id: id_at(event.at).0.into(),
            at: event.at,
            actor: "tool".into(),
            act: Act::ToolCall,
            call: CallFields {
                // A caller chooses the name of its conversation.
                conversation: self.conversation(&event.session.0).into(),
                id: event.call.0.as_str().into(),
                // A caller can ask for a tool of any name.
                catalogue: self.clean_name(catalogue.unwrap_or_default()),
                name: self.clean_name(name),
                ..CallFields::default()
            },
            ..RecordEntry::default()
        };
        self.add_moment(&mut entry, &event.moment, durability).map_err(unprepared)?;
        if let Some(trace) = event.trace {
            entry.call.iteration = trace.iteration;
            entry.call.trace = trace.id.as_deref().map(|id| self.clean_name(id));
            entry.call.swap_trace();
        }
        let line = UnsignedLine::of(&entry).map_err(unprepared)?;
        self.write(event.at, line, durability).map_err(unwritten)?;
        // Written last: the record does not suffer if the legacy file fails.
        if self.legacy == LegacyFile::On && entry.event == EventKind::Ended {
            return legacy_file::add(self.state.folder(), &entry).map_err(|err| {
                let message = format!("`{}`: {err}", legacy_file::NAME);
                RecordError::new(RecordErrorKind::CopyUnwritten, message)
            });
        }
        Ok(())
    }

    fn flush(&self) {
        let mut pending = self.pending();
        if let Some(at) = pending.at.filter(|_| !pending.lines.is_empty()) {
            // Lines that cannot be written are counted, and the count is recorded when writing works again.
            let _ = self.write_pending(&mut pending, at);
        }
    }

    fn held_counts(&self) -> HeldCounts {
        let open = self.open_args.lock().unwrap_or_else(PoisonError::into_inner).len();
        vec![("arguments of open calls", open), ("unwritten lines", self.pending().lines.len())]
    }

    fn note(&self, note: &Note<'_>) -> Result<(), RecordError> {
        let (catalogue, name) = note.tool.map(ToolName::parts).unwrap_or_default();
        let act = Act::parse(note.act);
        // The details of these acts are our own and are read again. They hold no secrets.
        let is_own = matches!(act, Act::Statistics | Act::Record);
        let detail =
            if is_own { note.detail.clone() } else { self.redactor.clean_json(&note.detail) };
        let entry = RecordEntry {
            id: new_call_id().0.into(),
            at: note.at,
            actor: note.actor.into(),
            act,
            event: EventKind::parse(note.event),
            call: CallFields {
                id: note.call.into(),
                catalogue: self.clean_name(catalogue.unwrap_or_default()),
                name: self.clean_name(name),
                ..CallFields::default()
            },
            detail: Some(detail),
            ..RecordEntry::default()
        };
        let line = UnsignedLine::of(&entry).map_err(unprepared)?;
        self.write(note.at, line, Durability::Written).map_err(unwritten)
    }
}

fn unprepared(err: io::Error) -> RecordError {
    RecordError::new(RecordErrorKind::Unprepared, err.to_string())
}

fn unwritten(err: io::Error) -> RecordError {
    RecordError::new(RecordErrorKind::Unwritten, err.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{CallId, Caller, Effect, SessionId};

    fn record(state: &StateFolder, settings: Value) -> RecordWriter {
        RecordWriter::new(state, Previews::On, Redactor::default(), &settings)
    }

    fn asked(recorder: &RecordWriter, args: &str, durability: Durability) {
        let event = Event {
            at: "2025-11-04T12:34:56.789Z".parse().unwrap(),
            call: &CallId("01A".to_owned()),
            session: &SessionId("conv".to_owned()),
            trace: None,
            tool: &"wink/read_file".into(),
            moment: Moment::Asked {
                args,
                digest: "d".to_owned(),
                effect: Effect::Read,
                caller: &Caller::at_terminal("user 0"),
            },
        };
        recorder.record(&event, durability).unwrap();
    }

    fn lines(state: &StateFolder) -> Vec<Value> {
        let path = state.folder().join("context_log/ctx-20251104-12.jsonl");
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn lines_have_the_fields_of_the_contract_and_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        asked(&record(&state, json!({})), &"ä".repeat(PREVIEW_BYTES), Durability::Written);
        for name in ["context_log/ctx-20251104-12.jsonl", "context_log/head", "record.key"] {
            let mode = state.folder().join(name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
        let line = lines(&state).pop().unwrap();
        assert_eq!(line["ts"], "2025-11-04T12:34:56.789Z");
        assert_eq!((&line["act"], &line["name"]), (&"tool_call".into(), &"read_file".into()));
        assert_eq!((&line["actor"], &line["iter"]), (&"tool".into(), &0.into()));
        assert_eq!(line["bytes"], PREVIEW_BYTES * 2);
        assert!(line["args_preview"].as_str().unwrap().ends_with("[TRUNCATED] (4096 bytes)"));
    }

    #[test]
    fn a_secret_at_the_cut_is_not_cut_in_two() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let args =
            format!("{} AKIAIOSFODNN7EXAMPLE {}", "x".repeat(PREVIEW_BYTES - 10), "y".repeat(5000));
        asked(&record(&state, json!({})), &args, Durability::Written);
        let shown = lines(&state).pop().unwrap()["args_preview"].as_str().unwrap().to_owned();
        assert!(!shown.contains("AKIA") && shown.contains("xxx [REDACTE"), "{shown}");
    }

    #[test]
    fn lines_that_may_wait_come_with_the_next_and_settings_with_the_first() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
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
        let verified = crate::record::verify::verify(&state).unwrap();
        assert_eq!((verified.problems, verified.lines), (Vec::new(), 7));
    }

    #[test]
    fn what_is_in_a_later_file_is_not_on_the_disk_with_what_is_in_an_earlier_one() {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let recorder = record(&state, json!({}));
        let append = |at: &str| {
            let at = at.parse().unwrap();
            let mut pending = recorder.pending();
            let event = EventKind::parse("x");
            pending.lines.push(UnsignedLine::about_record(at, event, json!({})).unwrap());
            recorder.write_pending(&mut pending, at).unwrap()
        };
        let first = append("2025-11-04T12:34:56Z");
        let second = append("2025-11-04T12:34:57Z");
        let third = append("2025-11-04T13:00:00Z");
        let synced = || *recorder.synced.lock().unwrap();
        recorder.sync(&first.file, first.seq).unwrap();
        assert_eq!(synced(), first.seq, "the newest line is in another file");
        recorder.sync(&third.file, third.seq).unwrap();
        assert_eq!(synced(), third.seq);
        // Lines of one segment are synced together.
        let fourth = append("2025-11-04T13:00:01Z");
        let fifth = append("2025-11-04T13:00:02Z");
        recorder.sync(&fourth.file, fourth.seq).unwrap();
        assert_eq!((synced(), second.seq), (fifth.seq, first.seq + 1));
    }
}
