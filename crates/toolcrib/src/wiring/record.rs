//! Puts the record together: what it shows, and what it leaves out.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolcrib_ledger::{Previews, RecordWriter, Redactor, Spans, StateFolder, is_secret_name};

use crate::settings::{Origin, Settings, table};

/// Returns the recorder. `rules` are the paths of the rules files with their hashes.
pub(super) fn recorder(
    settings: &Settings,
    rules: &[(String, String)],
    redactor: Redactor,
    state: &StateFolder,
) -> Arc<RecordWriter> {
    let previews = if settings.get(table::RECORD_PREVIEWS) { Previews::On } else { Previews::Off };
    let record = RecordWriter::new(state, previews, redactor, &changed_settings(settings, rules));
    if settings.get(table::RECORD_LEGACY) {
        Arc::new(record.with_legacy())
    } else {
        Arc::new(record)
    }
}

/// Returns the redactor. It knows the values of all variables that are secret by their names or by the
/// settings.
pub(super) fn redactor(settings: &Settings, environment: &BTreeMap<String, OsString>) -> Redactor {
    let mut named = settings.get(table::RECORD_SECRETS);
    named.extend(settings.get(table::PLUGINS_SECRETS));
    let secrets = environment
        .iter()
        .filter(|(name, _)| is_secret_name(name) || named.contains(name))
        .filter_map(|(_, value)| value.to_str().map(str::to_owned));
    Redactor::new(secrets)
}

/// Returns the settings that somebody set, with their origins, and the rules files with their hashes.
pub(super) fn changed_settings(settings: &Settings, rules: &[(String, String)]) -> Value {
    let changed = settings.all().filter(|(_, _, origin)| !matches!(origin, Origin::Default));
    let mut all: Map<_, _> = changed
        .map(|(setting, value, origin)| {
            let value = serde_json::to_value(value).unwrap_or_default();
            (setting.name.to_owned(), json!({"value": value, "from": origin.to_string()}))
        })
        .collect();
    all.extend(rules.iter().map(|(file, hash)| (file.clone(), json!({"rules": hash}))));
    Value::Object(all)
}

/// Returns the spans of time that are compared to find tools that got worse.
pub(super) fn spans(settings: &Settings) -> Spans {
    Spans {
        current_hours: settings.get(table::STATS_CURRENT_HOURS).cast_signed(),
        baseline_days: settings.get(table::STATS_BASELINE_DAYS).cast_signed(),
    }
}
