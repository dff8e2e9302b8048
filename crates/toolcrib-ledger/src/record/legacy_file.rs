//! The audit log in the contract's legacy format: one line for each call that ended.

use std::io;
use std::path::Path;

use serde_json::json;
use toolcrib_core::escape;

use crate::record::entry::RecordEntry;
use crate::state::open_append;

/// The name of the file in the state folder.
pub(crate) const NAME: &str = "tools_audit.jsonl";

/// Whether the file is written beside the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LegacyFile {
    On,
    Off,
}

/// Adds a call that ended.
pub(crate) fn add(folder: &Path, entry: &RecordEntry<'_>) -> io::Result<()> {
    let RecordEntry { call, preview, end, .. } = entry;
    // In this format a tool that ran a command worked, however the command ended.
    let status = if end.error.is_none() { "ok" } else { "error" };
    let line = json!({
        "ts": format!("{:.3}", entry.at), "name": call.name, "status": status,
        "elapsed_ms": end.whole_ms, "conv_id": call.conversation, "trace_id": call.id,
        "iter": call.iteration, "args_preview": preview.args, "result_preview": preview.result,
        "bytes": preview.bytes, "error": end.error,
    });
    let mut file = open_append(&folder.join(NAME))?;
    let line = escape::json(&line.to_string()).into_owned();
    io::Write::write_all(&mut file, format!("{line}\n").as_bytes())
}
