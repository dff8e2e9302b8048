//! Puts the record together: what it shows, what it keeps out, what it says about the last process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib_core::{Clock, Recorder, Toolset};
use toolcrib_ledger::report::Spans;
use toolcrib_ledger::{Previews, RecordFile, Redactor, State, find_lost, is_secret_name};

use crate::settings::{Origin, Settings};

/// Returns who keeps the record.
pub(super) fn recorder(
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
    state: &State,
) -> Arc<dyn Recorder> {
    let previews =
        if settings.text("record.previews") == "off" { Previews::Off } else { Previews::On };
    let named = settings.names("record.secrets");
    let secrets = environment
        .iter()
        .filter(|(name, _)| is_secret_name(name) || named.contains(name))
        .filter_map(|(_, value)| value.to_str().map(str::to_owned));
    let record = RecordFile::new(state, previews, Redactor::new(secrets), set(settings));
    if settings.text("record.legacy") == "on" {
        Arc::new(record.with_legacy())
    } else {
        Arc::new(record)
    }
}

/// The settings that somebody set.
fn set(settings: &Settings) -> Value {
    let set = settings.all().filter(|(_, _, origin)| !matches!(origin, Origin::Default));
    let shown = |value: &toml::Value, origin: &Origin| json!({"value": serde_json::to_value(value).unwrap_or_default(), "from": origin.to_string()});
    let set: Map<_, _> =
        set.map(|(key, value, origin)| (key.name.to_owned(), shown(value, origin))).collect();
    Value::Object(set)
}

/// Says which calls were under way when their process died.
pub(super) fn lost(
    state: &State,
    recorder: &dyn Recorder,
    clock: &dyn Clock,
    warnings: &mut Vec<String>,
) {
    match find_lost(state, recorder, clock.now()) {
        Ok(lost) => warnings.extend(lost.iter().map(|lost| {
            let (call, tool) = (&lost.call, &lost.tool);
            let undo = if lost.places.is_empty() {
                String::new()
            } else {
                format!(", `toolcrib undo {call}` takes it back")
            };
            format!(
                "`{tool}` was under way when its process died, so what it did is not known: \
                 `toolcrib audit show {call}` shows it{undo}"
            )
        })),
        Err(err) => warnings.push(format!("the record cannot be looked at: {err}")),
    }
}

/// How long what is, and what was, are.
pub(super) fn spans(settings: &Settings) -> Spans {
    let count = |name: &str| settings.count(name).cast_signed();
    Spans {
        current_hours: count("stats.current_hours"),
        baseline_days: count("stats.baseline_days"),
    }
}

/// What limits the commands that a tool runs: as reports call it, and as settings do.
const COMMAND_LIMITS: [(&str, &str); 8] = [
    ("memoryBytes", "sandbox.memory_bytes"),
    ("processes", "sandbox.processes"),
    ("cpuSeconds", "sandbox.cpu_seconds"),
    ("fileBytes", "sandbox.file_bytes"),
    ("growthBytes", "sandbox.growth_bytes"),
    ("newFiles", "sandbox.growth_files"),
    ("openFiles", "sandbox.open_files"),
    ("printedBytes", "sandbox.output_bytes"),
];

/// The limits of a tool, as reports show them.
pub(super) fn limits_of(settings: &Settings, toolset: Option<&Toolset>, tool: &str) -> Value {
    let Some(offer) = toolset.and_then(|toolset| toolset.find(tool).ok()) else { return json!({}) };
    let mut limits = json!({
        "maxReadBytes": settings.count("forgekeeper.max_read_bytes"),
        "maxWriteBytes": settings.count("forgekeeper.max_write_bytes"),
        "timeoutMs": offer.limits.deadline_ms,
        "maxOutputBytes": offer.limits.output_bytes,
    });
    if offer.keys().iter().any(|key| key == "command" || key == "script") {
        for (name, setting) in COMMAND_LIMITS {
            limits[name] = json!(settings.count(setting));
        }
    }
    limits
}
