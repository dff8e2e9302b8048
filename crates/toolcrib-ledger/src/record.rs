//! The record: what was asked, decided and done, as a hash chain of signed JSON lines.

pub(crate) mod appender;
pub(crate) mod call_story;
pub(crate) mod call_summary;
pub(crate) mod chain;
pub(crate) mod csv;
pub(crate) mod entry;
pub(crate) mod event_kind;
pub(crate) mod head;
pub(crate) mod history;
pub(crate) mod json;
pub(crate) mod late_segments;
pub(crate) mod legacy_file;
pub(crate) mod presence_file;
pub(crate) mod reader;
pub(crate) mod recent_use;
pub(crate) mod recorded_settings;
pub(crate) mod recovery;
pub(crate) mod redact;
pub(crate) mod replay;
pub(crate) mod replayed_entries;
pub(crate) mod retention;
pub(crate) mod segment;
pub(crate) mod tail;
pub(crate) mod unsigned_line;
pub(crate) mod verify;
pub(crate) mod writer;
