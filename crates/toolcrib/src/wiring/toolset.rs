//! Which tools are on offer, and within which limits.

use serde_json::{Value, json};
use toolcrib_core::{Shelf, ToolName, Toolset};

use super::catalogue;
use crate::error::CliError;
use crate::settings::{SettingKey, Settings, table};

/// Returns the tools that the settings offer, within the limits that the settings give.
pub fn toolset(settings: &Settings, shelf: Shelf) -> Result<Toolset, CliError> {
    let mut toolset = if settings.is_set(table::TOOLSET) {
        Toolset::choose(shelf, &settings.get(table::TOOLSET))?
    } else {
        Toolset::everything(shelf)
    };
    let is_enabled = settings.get(table::TOOLS_ENABLED);
    toolset.adjust(|offer| is_enabled && catalogue::narrow(settings, offer));
    Ok(toolset)
}

/// The limits of a command: the name that reports have for each, and the setting.
const COMMAND_LIMITS: [(&str, SettingKey<u64>); 8] = [
    ("memoryBytes", table::SANDBOX_MEMORY_BYTES),
    ("processes", table::SANDBOX_PROCESSES),
    ("cpuSeconds", table::SANDBOX_CPU_SECONDS),
    ("fileBytes", table::SANDBOX_FILE_BYTES),
    ("growthBytes", table::SANDBOX_GROWTH_BYTES),
    ("newFiles", table::SANDBOX_GROWTH_FILES),
    ("openFiles", table::SANDBOX_OPEN_FILES),
    ("printedBytes", table::SANDBOX_OUTPUT_BYTES),
];

/// Returns the limits of a tool as reports show them.
pub(super) fn limits_of(settings: &Settings, toolset: Option<&Toolset>, tool: &ToolName) -> Value {
    let Some(offer) = toolset.and_then(|toolset| toolset.find(tool).ok()) else { return json!({}) };
    let mut limits = json!({
        "timeoutMs": offer.limits.deadline_ms,
        "maxOutputBytes": offer.limits.output_bytes,
    });
    catalogue::report_limits(settings, offer.catalogue, &mut limits);
    if offer.runs_commands() {
        for (name, setting) in COMMAND_LIMITS {
            limits[name] = json!(settings.get(setting));
        }
    }
    limits
}
