//! One entry of the record: its schema, written and read by the same table of keys.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess};
use serde_json::{Number, Value};
use toolcrib_core::command::{ChangedFiles, End, NetworkAccount};
use toolcrib_core::{Caller, Door, ErrorKind, Principal, Role, ToolName, Usage};

use crate::record::event_kind::{Act, EventKind};
use crate::record::json::JsonFields;
use crate::record::json_value;

/// An entry of the record: one line. A reader skips fields that a later version adds.
#[derive(Clone, Debug, Default)]
pub struct RecordEntry<'a> {
    /// The id of the line.
    pub id: Cow<'a, str>,
    /// When it happened.
    pub at: Timestamp,
    /// Who did it: `tool`, `user` or `system`.
    pub actor: Cow<'a, str>,
    /// What the entry is about.
    pub act: Act,
    /// What happened.
    pub event: EventKind,
    /// The call it happened to.
    pub call: CallFields<'a>,
    /// The beginning of what was sent or replied.
    pub preview: PreviewFields<'a>,
    /// What was decided.
    pub decision: DecisionFields<'a>,
    /// What was known when the tool started.
    pub start: StartFields<'a>,
    /// How the call or its task ended.
    pub end: EndFields<'a>,
    /// Anything else about an event that is not a moment of a call.
    pub detail: Option<Value>,
    /// The number of the line. The appender gives it.
    pub seq: u64,
}

/// The fields that name a call and its tool.
#[derive(Clone, Debug, Default)]
pub struct CallFields<'a> {
    /// The conversation.
    pub conversation: Cow<'a, str>,
    /// The call id.
    pub id: Cow<'a, str>,
    /// The caller's own name for the trace, if it has one.
    pub trace: Option<Cow<'a, str>>,
    /// The iteration of the agent's loop.
    pub iteration: u32,
    /// The tool's catalogue.
    pub catalogue: Cow<'a, str>,
    /// The tool's name in its catalogue.
    pub name: Cow<'a, str>,
    /// The number of the user who asked.
    pub user: Option<u32>,
    /// Who asked, if that is not the user at a terminal.
    pub caller: CallerFields<'a>,
    /// The tool's version.
    pub version: Option<Cow<'a, str>>,
    /// What the tool does to the world.
    pub effect: Option<Cow<'a, str>>,
    /// The digest of tool and arguments.
    pub digest: Option<Cow<'a, str>>,
}

impl CallFields<'_> {
    /// Turns what a line on disk has into what the fields mean, and back. If the caller has a trace of its own, the
    /// contract's `trace_id` is that trace, and the call id stands beside it as `call`.
    pub(crate) fn swap_trace(&mut self) {
        if let Some(trace) = &mut self.trace {
            std::mem::swap(&mut self.id, trace);
        }
    }
}

/// The fields that say who asked for a call, through which door.
#[derive(Clone, Debug, Default)]
pub struct CallerFields<'a> {
    /// The name of the principal.
    pub principal: Option<Cow<'a, str>>,
    /// The role of the principal.
    pub role: Option<Cow<'a, str>>,
    /// The door.
    pub door: Option<Cow<'a, str>>,
    /// What the client calls itself.
    pub client: Option<Cow<'a, str>>,
    /// The connection that the caller chose.
    pub connection: Option<Cow<'a, str>>,
}

impl<'a> CallerFields<'a> {
    /// Returns the fields of a caller. `client` is what may be shown of its client's name.
    pub(crate) fn of(caller: &'a Caller, client: Option<Cow<'a, str>>) -> Self {
        Self {
            principal: Some(caller.principal.name.as_str().into()),
            role: Some(caller.principal.role.as_str().into()),
            door: Some(caller.door.as_str().into()),
            client,
            connection: None,
        }
    }

    /// Returns the caller, if the fields say who it is.
    pub fn to_caller(&self) -> Option<Caller> {
        let name = self.principal.as_deref()?.to_owned();
        Some(Caller {
            principal: Principal { name, role: Role::parse(self.role.as_deref()?)? },
            door: Door::parse(self.door.as_deref()?)?,
            client: self.client.as_deref().map(str::to_owned),
            connection: self.connection.as_deref().map(str::to_owned),
            via: None,
        })
    }
}

/// The fields that show the beginning of arguments and replies.
#[derive(Clone, Debug, Default)]
pub struct PreviewFields<'a> {
    /// The beginning of the arguments.
    pub args: Option<Cow<'a, str>>,
    /// The beginning of the reply.
    pub result: Option<Cow<'a, str>>,
    /// How many bytes the arguments or the reply have.
    pub bytes: Option<u64>,
}

impl<'a> PreviewFields<'a> {
    /// Returns the fields about the arguments of a call. `shown` is what may be shown of them.
    pub(crate) fn of(shown: Option<Cow<'a, str>>, args: &str) -> Self {
        Self { args: shown, result: None, bytes: Some(args.len() as u64) }
    }
}

/// The fields of a decision.
#[derive(Clone, Debug, Default)]
pub struct DecisionFields<'a> {
    /// `allow` or `deny`.
    pub verdict: Option<Cow<'a, str>>,
    /// The rule that decided.
    pub rule: Option<Cow<'a, str>>,
    /// The person who answered.
    pub by: Option<Cow<'a, str>>,
}

/// The fields of a tool's start.
#[derive(Clone, Debug, Default)]
pub struct StartFields<'a> {
    /// The files that the call was about to change.
    pub places: Vec<Cow<'a, str>>,
    /// The directory in which its command started.
    pub directory: Option<Cow<'a, str>>,
    /// The sandbox and the limits of its command.
    pub terms: Option<Cow<'a, str>>,
    /// The process that ran the call.
    pub process: Option<Cow<'a, str>>,
}

/// The fields of an end.
#[derive(Clone, Debug, Default)]
pub struct EndFields<'a> {
    /// `ok`, `error` or `unknown`.
    pub status: Option<Cow<'a, str>>,
    /// How long it took, in whole milliseconds. Earlier versions wrote fractions, and no microseconds.
    pub whole_ms: Option<Number>,
    /// How long it took, in microseconds.
    pub elapsed_us: Option<u64>,
    /// What it used.
    pub used: Option<Usage>,
    /// The kind of the error.
    pub error: Option<Cow<'a, str>>,
    /// The message of the error.
    pub message: Option<Cow<'a, str>>,
    /// Whether the call left a command running.
    pub has_task: Option<bool>,
    /// How the command of the call or its task ended.
    pub command_end: Option<End>,
    /// The files that its command was seen to have changed.
    pub changed_files: Option<ChangedFiles>,
    /// What passed between its command and the network.
    pub network: Option<NetworkAccount>,
    /// The id under which the whole reply is saved.
    pub saved_as: Option<Cow<'a, str>>,
}

impl EndFields<'_> {
    /// Returns how long it took, in milliseconds and their fractions.
    pub fn elapsed_ms(&self) -> Option<f64> {
        let us = self.elapsed_us.map(|us| us as f64 / 1000.0);
        us.or_else(|| self.whole_ms.as_ref()?.as_f64())
    }
}

/// Makes the writer and the reader of entries from one table. A row has the key on disk, how the value is written
/// and read, and the field that holds it.
macro_rules! schema {
    ($($key:literal $kind:ident $($field:ident).+;)*) => {
        impl RecordEntry<'_> {
            /// Returns the entry as a JSON object without its closing brace.
            pub(crate) fn to_open_json(&self) -> serde_json::Result<Vec<u8>> {
                let mut fields = JsonFields::new();
                $(fields.$kind(concat!(",\"", $key, "\":\""), &self.$($field).+)?;)*
                Ok(fields.into_open_object())
            }
        }

        impl<'a> RecordEntry<'a> {
            /// Reads the value of one key.
            fn read_field<M: MapAccess<'a>>(&mut self, key: &str, map: &mut M) -> Result<(), M::Error> {
                match key {
                    $($key => self.$($field).+ = json_value::$kind(map)?,)*
                    _ => drop(map.next_value::<IgnoredAny>()?),
                }
                Ok(())
            }
        }
    };
}

// The keys are the contract's. The order is that of the fields on disk.
schema! {
    "id" text id;
    "ts" time at;
    "actor" text actor;
    "act" act act;
    "conv_id" text call.conversation;
    "trace_id" text call.id;
    "call" optional_text call.trace;
    "iter" number call.iteration;
    "event" event event;
    "catalogue" text_unless_empty call.catalogue;
    "name" text_unless_empty call.name;
    "user" optional_number call.user;
    "principal" optional_text call.caller.principal;
    "role" optional_text call.caller.role;
    "door" optional_text call.caller.door;
    "client" optional_text call.caller.client;
    "connection" optional_text call.caller.connection;
    "status" optional_text end.status;
    "elapsed_ms" optional_value end.whole_ms;
    "elapsed_us" optional_number end.elapsed_us;
    "version" optional_text call.version;
    "used" optional_value end.used;
    "args_preview" optional_text preview.args;
    "result_preview" optional_text preview.result;
    "bytes" optional_number preview.bytes;
    "output" optional_text end.saved_as;
    "effect" optional_text call.effect;
    "digest" optional_text call.digest;
    "decision" optional_text decision.verdict;
    "rule" optional_text decision.rule;
    "by" optional_text decision.by;
    "places" list start.places;
    "directory" optional_text start.directory;
    "terms" optional_text start.terms;
    "process" optional_text start.process;
    "error" optional_text end.error;
    "message" optional_text end.message;
    "task" optional_value end.has_task;
    "end" optional_value end.command_end;
    "touched" optional_value end.changed_files;
    "network" optional_value end.network;
    "detail" optional_value detail;
    "seq" chained seq;
}

/// Returns the text that a line of this event contains.
pub(crate) fn event_field(event: &EventKind) -> String {
    format!("\"event\":\"{}\"", event.as_str())
}

/// Returns the text that every line about this call contains, as `trace_id` or as `call`.
pub(crate) fn call_value(call: &str) -> String {
    format!(":\"{call}\"")
}

/// Returns the text that every line about a tool of this name contains.
pub(crate) fn name_field(name: &str) -> String {
    format!("\"name\":{}", Value::from(name))
}

/// Returns the text that every line of a session contains.
pub(crate) fn conversation_field(session: &str) -> String {
    format!("\"conv_id\":{}", Value::from(session))
}

/// Returns the text that every line about this contains.
pub(crate) fn act_field(act: &Act) -> String {
    format!("\"act\":{}", Value::from(act.as_str()))
}

impl<'a> RecordEntry<'a> {
    /// Parses a line. Texts are borrowed from the line where they have no escapes. Returns `None` if the line is
    /// not an entry.
    pub fn parse(line: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(line).ok()
    }

    /// Returns the entry with texts of its own.
    pub fn into_owned(self) -> RecordEntry<'static> {
        let Self { id, at, actor, act, event, call, preview, decision, start, end, detail, seq } =
            self;
        RecordEntry {
            id: own(id),
            at,
            actor: own(actor),
            act,
            event,
            call: CallFields {
                conversation: own(call.conversation),
                id: own(call.id),
                trace: call.trace.map(own),
                iteration: call.iteration,
                catalogue: own(call.catalogue),
                name: own(call.name),
                user: call.user,
                caller: CallerFields {
                    principal: call.caller.principal.map(own),
                    role: call.caller.role.map(own),
                    door: call.caller.door.map(own),
                    client: call.caller.client.map(own),
                    connection: call.caller.connection.map(own),
                },
                version: call.version.map(own),
                effect: call.effect.map(own),
                digest: call.digest.map(own),
            },
            preview: PreviewFields {
                args: preview.args.map(own),
                result: preview.result.map(own),
                bytes: preview.bytes,
            },
            decision: DecisionFields {
                verdict: decision.verdict.map(own),
                rule: decision.rule.map(own),
                by: decision.by.map(own),
            },
            start: StartFields {
                places: start.places.into_iter().map(own).collect(),
                directory: start.directory.map(own),
                terms: start.terms.map(own),
                process: start.process.map(own),
            },
            end: EndFields {
                status: end.status.map(own),
                error: end.error.map(own),
                message: end.message.map(own),
                whole_ms: end.whole_ms,
                elapsed_us: end.elapsed_us,
                used: end.used,
                has_task: end.has_task,
                command_end: end.command_end,
                changed_files: end.changed_files,
                network: end.network,
                saved_as: end.saved_as.map(own),
            },
            detail,
            seq,
        }
    }

    /// Returns who answered, if the entry is an answer to a pending approval.
    pub fn answered_by(&self) -> Option<&str> {
        self.detail.as_ref().filter(|_| self.act == Act::Approval)?["by"].as_str()
    }

    /// Returns whether the tool worked, and its command failed.
    pub fn has_failed_command(&self) -> bool {
        self.end.error.is_none() && self.end.command_end.is_some_and(End::is_failure)
    }

    /// Returns the tool as `catalogue/name`.
    pub fn tool(&self) -> ToolName {
        ToolName::new(&self.call.catalogue, &self.call.name)
    }

    /// Returns whether the call ended before its tool was entered, so that it says nothing about the tool.
    /// Search and statistics count the same calls as refused.
    pub(crate) fn is_refusal(&self) -> bool {
        let Some(error) = &self.end.error else { return false };
        let known = ErrorKind::ALL.iter().find(|kind| kind.as_str() == error);
        known.is_some_and(|kind| kind.is_refusal())
    }
}

fn own(text: Cow<'_, str>) -> Cow<'static, str> {
    Cow::Owned(text.into_owned())
}

impl<'de: 'a, 'a> Deserialize<'de> for RecordEntry<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryVisitor;
        impl<'de> de::Visitor<'de> for EntryVisitor {
            type Value = RecordEntry<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an entry of the record")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut entry = RecordEntry::default();
                let mut has_time = false;
                while let Some(key) = map.next_key::<json_value::BorrowedText<'de>>()? {
                    has_time |= key.0 == "ts";
                    entry.read_field(&key.0, &mut map)?;
                }
                entry.call.swap_trace();
                if has_time { Ok(entry) } else { Err(de::Error::missing_field("ts")) }
            }
        }
        deserializer.deserialize_map(EntryVisitor)
    }
}

/// Returns whether an error only says that a command failed. Some catalogues call that an error of the tool, others do
/// not. On the record it is the same for all: how the command ended.
pub(super) fn is_of_command(kind: ErrorKind, end: Option<End>) -> bool {
    matches!(kind, ErrorKind::Failed | ErrorKind::NotFound) && end.is_some_and(End::is_failure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(entry: &RecordEntry<'_>) -> String {
        String::from_utf8(entry.to_open_json().unwrap()).unwrap() + "}"
    }

    #[test]
    fn every_text_is_read_back_as_it_was() {
        let mut text: String = (0..=0x7f_u8).map(char::from).collect();
        text.push_str("\"\"\\\\ä\u{2028}\u{1f600}");
        for part in [text.as_str(), "", "\"", "plain"] {
            let call = CallFields { conversation: part.into(), ..CallFields::default() };
            let end = EndFields { message: Some(part.into()), ..EndFields::default() };
            let json = json(&RecordEntry { call, end, ..RecordEntry::default() });
            let value: Value = serde_json::from_str(&json).unwrap();
            assert_eq!((&value["conv_id"], &value["message"]), (&part.into(), &part.into()));
            let read = RecordEntry::parse(json.as_bytes()).unwrap();
            assert_eq!((&*read.call.conversation, read.end.message.as_deref()), (part, Some(part)));
        }
    }

    #[test]
    fn absent_fields_are_left_out() {
        let start = StartFields { places: vec!["a\"b".into()], ..StartFields::default() };
        let call = CallFields { user: Some(7), ..CallFields::default() };
        let end = EndFields { elapsed_us: Some(1500), ..EndFields::default() };
        let json = json(&RecordEntry { call, start, end, ..RecordEntry::default() });
        let fields = r#"{"id":"","ts":"1970-01-01T00:00:00.000Z","actor":"","act":"","conv_id":"","trace_id":"","iter":0,"event":"""#;
        assert_eq!(json, format!(r#"{fields},"user":7,"elapsed_us":1500,"places":["a\"b"]}}"#));
    }

    #[test]
    fn a_duration_of_an_earlier_version_is_read_with_its_fraction() {
        for (fields, expect) in [
            (r#""elapsed_ms":0.329"#, Some(0.329)),
            (r#""elapsed_ms":45"#, Some(45.0)),
            (r#""elapsed_ms":0,"elapsed_us":329"#, Some(0.329)),
            (r#""status":"ok""#, None),
        ] {
            let line = format!(r#"{{"ts":"2025-11-04T12:00:00Z",{fields},"seq":1}}"#);
            let entry = RecordEntry::parse(line.as_bytes()).unwrap();
            assert_eq!(entry.end.elapsed_ms(), expect, "{fields}");
        }
    }

    #[test]
    fn an_entry_needs_a_time_and_skips_what_it_does_not_know() {
        assert!(RecordEntry::parse(br#"{"event":"ended"}"#).is_none());
        let line = br#"{"ts":"2025-11-04T12:00:00Z","later":[1,{"x":2}],"event":"new","seq":9}"#;
        let entry = RecordEntry::parse(line).unwrap();
        assert_eq!((entry.event.as_str(), entry.seq), ("new", 9));
        assert!(RecordEntry::parse(br#"{"ts":"2025-11-04T12:00:00Z","seq":"x"}"#).is_none());
    }
}
