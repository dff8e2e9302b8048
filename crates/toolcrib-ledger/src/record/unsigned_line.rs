//! A line that is not part of the hash chain yet.

use std::borrow::Cow;
use std::io;

use jiff::Timestamp;
use serde_json::Value;
use toolcrib_core::escape;

use crate::record::entry::RecordEntry;
use crate::record::event_kind::{Act, EventKind};

/// A line without a number, a predecessor and a signature: a JSON object without its closing brace.
pub(crate) struct UnsignedLine(Vec<u8>);

impl UnsignedLine {
    /// Makes the line of an entry.
    pub(crate) fn of(entry: &RecordEntry<'_>) -> io::Result<Self> {
        let mut bytes = entry.to_open_json()?;
        // Characters that could mislead a person who reads the file are written as escapes.
        if !bytes.is_ascii()
            && let Ok(text) = str::from_utf8(&bytes)
            && let Cow::Owned(text) = escape::json(text)
        {
            bytes = text.into_bytes();
        }
        Ok(Self(bytes))
    }

    /// Makes a line about the record itself.
    pub(crate) fn about_record(at: Timestamp, event: EventKind, detail: Value) -> io::Result<Self> {
        let entry = RecordEntry {
            id: ulid::Ulid::generate().to_string().into(),
            at,
            actor: "system".into(),
            act: Act::Record,
            event,
            detail: Some(detail),
            ..RecordEntry::default()
        };
        Ok(Self(entry.to_open_json()?))
    }

    /// Returns the bytes of the line.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
