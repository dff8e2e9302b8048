//! Applies the settings that a catalogue declares: which tools it offers, and within which limits.

use serde_json::{Map, Value, json};
use toml::Value as SettingValue;
use toolcrib_core::catalogue::CatalogueSettings;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Catalogue, ToolSettings};

use crate::error::CliError;
use crate::settings::{SchemaTable, Settings, table};

/// Narrows the limits of an offer to the operator's settings. Returns whether the tool is offered.
pub(super) fn narrow(settings: &Settings, offer: &mut Offer) -> bool {
    let CatalogueSettings { allow, switches, timeout_ms, output_bytes, .. } =
        &offer.catalogue.settings;
    let limits = &mut offer.limits;
    let lower = |limit: u64, most: u64, own: Option<&str>| {
        limit.min(most).min(own.map_or(u64::MAX, |name| count(settings, name)))
    };
    limits.deadline_ms =
        lower(limits.deadline_ms, settings.get(table::LIMITS_DEADLINE_MS), *timeout_ms);
    let output = settings.get(table::LIMITS_OUTPUT_BYTES);
    limits.output_bytes = lower(limits.output_bytes as u64, output, *output_bytes) as usize;
    let tool = offer.tool.declaration().name;
    let is_on = |(name, setting): &(&str, &str)| *name != tool || text(settings, setting) == "on";
    let allowed = allow.map(|setting| names(settings, setting)).unwrap_or_default();
    switches.iter().all(is_on) && (allowed.is_empty() || allowed.iter().any(|name| name == tool))
}

/// Returns the settings that a catalogue's tools read.
pub(super) fn tool_settings(
    settings: &Settings,
    catalogue: &Catalogue,
) -> Result<ToolSettings, CliError> {
    let CatalogueSettings { output_lines, read_bytes, write_bytes, output_types, .. } =
        &catalogue.settings;
    let default = ToolSettings::default();
    let count =
        |name: Option<&str>, default: u64| name.map_or(default, |name| count(settings, name));
    Ok(ToolSettings {
        search_time: settings.get(table::SEARCH_TIME_MS),
        search_count_limit: match settings.get(table::SEARCH_COUNT_LIMIT) {
            0 => u64::MAX,
            limit => limit,
        },
        max_read_bytes: count(*read_bytes, default.max_read_bytes),
        max_write_bytes: count(*write_bytes, default.max_write_bytes),
        max_output_lines: count(*output_lines, default.max_output_lines as u64) as usize,
        output_types: match output_types {
            Some(name) => schemas(settings, name).load(name)?.into_iter().collect(),
            None => Map::new(),
        },
    })
}

/// Adds the limits that a catalogue's settings put on files, as reports name them.
pub(super) fn report_limits(settings: &Settings, catalogue: &Catalogue, limits: &mut Value) {
    let CatalogueSettings { read_bytes, write_bytes, .. } = &catalogue.settings;
    for (limit, setting) in [("maxReadBytes", read_bytes), ("maxWriteBytes", write_bytes)] {
        if let Some(setting) = setting {
            limits[limit] = json!(count(settings, setting));
        }
    }
}

/// Returns the number that a catalogue's setting holds. An unknown setting allows nothing.
fn count(settings: &Settings, name: &str) -> u64 {
    let number = settings.named(name).and_then(SettingValue::as_integer);
    number.and_then(|number| u64::try_from(number).ok()).unwrap_or_default()
}

/// Returns the text that a catalogue's setting holds.
pub(super) fn text<'a>(settings: &'a Settings, name: &str) -> &'a str {
    settings.named(name).and_then(SettingValue::as_str).unwrap_or_default()
}

/// Returns the words that a catalogue's setting lists.
fn names(settings: &Settings, name: &str) -> Vec<String> {
    let words = settings.named(name).and_then(SettingValue::as_array).into_iter().flatten();
    words.filter_map(SettingValue::as_str).map(str::to_owned).collect()
}

/// Returns the schemas that a catalogue's setting holds.
pub(super) fn schemas(settings: &Settings, name: &str) -> SchemaTable {
    let table = settings.named(name).and_then(SettingValue::as_table);
    SchemaTable::new(table.cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use toolcrib_tools::CATALOGUES;

    use crate::settings::table;

    /// A catalogue names its settings by text, and a setting that does not exist has no limit.
    #[test]
    fn every_setting_that_a_catalogue_names_exists() {
        for catalogue in CATALOGUES {
            let settings = &catalogue.settings;
            let names = [
                settings.root,
                settings.connection,
                settings.allow,
                settings.timeout_ms,
                settings.output_bytes,
                settings.output_lines,
                settings.read_bytes,
                settings.write_bytes,
                settings.output_types,
            ];
            let switches = settings.switches.iter().map(|(_, setting)| *setting);
            for name in names.into_iter().flatten().chain(switches) {
                assert!(
                    table::settings().any(|setting| setting.name == name),
                    "{}: {name}",
                    catalogue.name
                );
            }
            for (tool, _) in settings.switches {
                assert!(catalogue.tool(tool).is_some(), "{}: {tool}", catalogue.name);
            }
        }
    }
}
