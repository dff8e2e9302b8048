//! Puts the record together: what it shows, what it keeps out, what it says about the last process.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib_core::{Clock, Recorder, Toolset};
use toolcrib_host::{Workspace, changed_since};
use toolcrib_ledger::report::Spans;
use toolcrib_ledger::{
    Journal, LostCall, Previews, RecordFile, Redactor, State, find_lost, is_secret_name,
};

use crate::settings::key;
use crate::settings::{Origin, SettingKey, Settings};

/// Returns who keeps the record.
pub(super) fn recorder(
    settings: &Settings,
    rules: &[(String, String)],
    redactor: Redactor,
    state: &State,
) -> Arc<dyn Recorder> {
    let previews = if settings.get(key::RECORD_PREVIEWS) { Previews::On } else { Previews::Off };
    let record = RecordFile::new(state, previews, redactor, set(settings, rules));
    if settings.get(key::RECORD_LEGACY) { Arc::new(record.with_legacy()) } else { Arc::new(record) }
}

/// Returns who takes secrets out of what is kept and shown.
pub(super) fn redactor(settings: &Settings, environment: &BTreeMap<String, OsString>) -> Redactor {
    let named = settings.get(key::RECORD_SECRETS);
    let secrets = environment
        .iter()
        .filter(|(name, _)| is_secret_name(name) || named.contains(name))
        .filter_map(|(_, value)| value.to_str().map(str::to_owned));
    Redactor::new(secrets)
}

/// The settings that somebody set, and the files of rules that hold, by their hash.
fn set(settings: &Settings, rules: &[(String, String)]) -> Value {
    let set = settings.all().filter(|(_, _, origin)| !matches!(origin, Origin::Default));
    let shown = |value: &toml::Value, origin: &Origin| json!({"value": serde_json::to_value(value).unwrap_or_default(), "from": origin.to_string()});
    let mut set: Map<_, _> =
        set.map(|(key, value, origin)| (key.name.to_owned(), shown(value, origin))).collect();
    set.extend(rules.iter().map(|(file, hash)| (file.clone(), json!({"rules": hash}))));
    Value::Object(set)
}

/// Says which calls were under way when their process died.
pub(super) fn lost(
    workspace: &Arc<Workspace>,
    state: &State,
    recorder: &dyn Recorder,
    clock: &dyn Clock,
) -> Vec<String> {
    let root = workspace.root().map(|root| root.path().display().to_string());
    let look = |lost: &LostCall| {
        let directory = lost.directory.as_ref()?;
        let is_here = root.as_ref().is_some_and(|root| Path::new(directory).starts_with(root));
        is_here.then(|| changed_since(workspace, state.folder(), lost.at))
    };
    // What commands did to the files that they named can be told now.
    workspace.resolve_orphaned_snapshots();
    let lost = find_lost(state, recorder, clock.now(), &look);
    let has_changed = |lost: &LostCall| {
        let changes = Journal::new(state).read().unwrap_or_default().0;
        changes.iter().any(|change| change.call.0 == lost.call)
    };
    let said = |lost: &LostCall| {
        let (call, tool) = (&lost.call, &lost.tool);
        let has_changed = has_changed(lost);
        let undo = if has_changed && lost.places.is_empty() {
            format!(
                ", `toolcrib undo --force {call}` puts back the files it named; look at them and the others \
                 before you go on"
            )
        } else if has_changed {
            format!(", `toolcrib undo {call}` takes it back")
        } else if lost.places.is_empty() {
            "; look at the files of the workspace before you go on".to_owned()
        } else {
            ", and it had not begun to change them".to_owned()
        };
        format!(
            "`{tool}` was under way when its process died, so what it did is not known: \
             `toolcrib audit show {call}` shows it{undo}"
        )
    };
    match lost {
        Ok(lost) => lost.iter().map(said).collect(),
        Err(err) => vec![format!("the record cannot be looked at: {err}")],
    }
}

/// How long what is, and what was, are.
pub(super) fn spans(settings: &Settings) -> Spans {
    Spans {
        current_hours: settings.get(key::STATS_CURRENT_HOURS).cast_signed(),
        baseline_days: settings.get(key::STATS_BASELINE_DAYS).cast_signed(),
    }
}

/// What limits the commands that a tool runs: as reports call it, and as settings do.
const COMMAND_LIMITS: [(&str, SettingKey<u64>); 8] = [
    ("memoryBytes", key::SANDBOX_MEMORY_BYTES),
    ("processes", key::SANDBOX_PROCESSES),
    ("cpuSeconds", key::SANDBOX_CPU_SECONDS),
    ("fileBytes", key::SANDBOX_FILE_BYTES),
    ("growthBytes", key::SANDBOX_GROWTH_BYTES),
    ("newFiles", key::SANDBOX_GROWTH_FILES),
    ("openFiles", key::SANDBOX_OPEN_FILES),
    ("printedBytes", key::SANDBOX_OUTPUT_BYTES),
];

/// The limits of a tool, as reports show them.
pub(super) fn limits_of(settings: &Settings, toolset: Option<&Toolset>, tool: &str) -> Value {
    let Some(offer) = toolset.and_then(|toolset| toolset.find(tool).ok()) else { return json!({}) };
    let mut limits = json!({
        "timeoutMs": offer.limits.deadline_ms,
        "maxOutputBytes": offer.limits.output_bytes,
    });
    if offer.catalogue.name == "forgekeeper" {
        limits["maxReadBytes"] = json!(settings.get(key::FORGEKEEPER_MAX_READ_BYTES));
        limits["maxWriteBytes"] = json!(settings.get(key::FORGEKEEPER_MAX_WRITE_BYTES));
    }
    if offer.keys().iter().any(|key| key == "command" || key == "script") {
        for (name, setting) in COMMAND_LIMITS {
            limits[name] = json!(settings.get(setting));
        }
    }
    limits
}
