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

use crate::settings::{Origin, Settings};

/// Returns who keeps the record.
pub(super) fn recorder(
    settings: &Settings,
    rules: &[(String, String)],
    redactor: Redactor,
    state: &State,
) -> Arc<dyn Recorder> {
    let previews =
        if settings.text("record.previews") == "off" { Previews::Off } else { Previews::On };
    let record = RecordFile::new(state, previews, redactor, set(settings, rules));
    if settings.text("record.legacy") == "on" {
        Arc::new(record.with_legacy())
    } else {
        Arc::new(record)
    }
}

/// Returns who takes secrets out of what is kept and shown.
pub(super) fn redactor(settings: &Settings, environment: &BTreeMap<String, OsString>) -> Redactor {
    let named = settings.names("record.secrets");
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
        "timeoutMs": offer.limits.deadline_ms,
        "maxOutputBytes": offer.limits.output_bytes,
    });
    super::catalogue::report_limits(settings, offer.catalogue, &mut limits);
    if offer.keys().iter().any(|key| key == "command" || key == "script") {
        for (name, setting) in COMMAND_LIMITS {
            limits[name] = json!(settings.count(setting));
        }
    }
    limits
}
