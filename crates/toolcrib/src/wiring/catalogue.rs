//! Applies the settings that a catalogue declares: which tools it offers, and within which limits.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_core::catalogue::CatalogueSettings;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{Catalogue, ToolSettings};

use super::WiringError;
use crate::settings::Settings;

/// Narrows the limits of an offer to the operator's settings. Returns whether the tool is offered.
pub(super) fn narrow(settings: &Settings, offer: &mut Offer) -> bool {
    let CatalogueSettings { allow, switches, timeout_ms, output_bytes, .. } =
        &offer.catalogue.settings;
    let least = |limit: u64, names: [Option<&str>; 2]| {
        names.into_iter().flatten().fold(limit, |limit, name| limit.min(settings.count(name)))
    };
    let limits = &mut offer.limits;
    limits.deadline_ms = least(limits.deadline_ms, [Some("limits.deadline_ms"), *timeout_ms]);
    let output = least(limits.output_bytes as u64, [Some("limits.output_bytes"), *output_bytes]);
    limits.output_bytes = output as usize;
    let tool = offer.tool.declaration().name;
    let is_on = |(name, setting): &(&str, &str)| *name != tool || settings.text(setting) == "on";
    let allowed = allow.map(|setting| settings.names(setting)).unwrap_or_default();
    switches.iter().all(is_on) && (allowed.is_empty() || allowed.iter().any(|name| name == tool))
}

/// Returns the settings that a catalogue's tools read.
pub(super) fn tool_settings(
    settings: &Settings,
    catalogue: &Catalogue,
) -> Result<ToolSettings, WiringError> {
    let CatalogueSettings { output_lines, read_bytes, write_bytes, output_types, .. } =
        &catalogue.settings;
    let default = ToolSettings::default();
    let count =
        |name: &Option<&str>, default: u64| name.map_or(default, |name| settings.count(name));
    Ok(ToolSettings {
        search_time: Duration::from_millis(settings.count("search.time_ms")),
        max_read_bytes: count(read_bytes, default.max_read_bytes),
        max_write_bytes: count(write_bytes, default.max_write_bytes),
        max_output_lines: count(output_lines, default.max_output_lines as u64) as usize,
        output_types: match output_types {
            Some(name) => settings.schemas(name)?.into_iter().collect(),
            None => Map::new(),
        },
    })
}

/// Adds the limits that a catalogue's settings put on files, as reports name them.
pub(super) fn report_limits(settings: &Settings, catalogue: &Catalogue, limits: &mut Value) {
    let CatalogueSettings { read_bytes, write_bytes, .. } = &catalogue.settings;
    for (limit, setting) in [("maxReadBytes", read_bytes), ("maxWriteBytes", write_bytes)] {
        if let Some(setting) = setting {
            limits[limit] = json!(settings.count(setting));
        }
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_tools::CATALOGUES;

    use crate::settings::keys;

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
                assert!(keys().any(|key| key.name == name), "{}: {name}", catalogue.name);
            }
            for (tool, _) in settings.switches {
                assert!(catalogue.tool(tool).is_some(), "{}: {tool}", catalogue.name);
            }
        }
    }
}
