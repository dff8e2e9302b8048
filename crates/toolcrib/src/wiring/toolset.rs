//! Which tools are on offer, and within which limits.

use serde_json::{Value, json};
use toolcrib_core::Toolset;
use toolcrib_core::toolset::Offer;
use toolcrib_tools::CATALOGUES;

use crate::error::CliError;
use crate::settings::{SettingKey, Settings, key};

/// Returns the tools that the settings offer, within the limits that the settings give.
pub fn toolset(settings: &Settings) -> Result<Toolset, CliError> {
    let choices = settings.get(key::TOOLSET);
    let mut toolset = if choices.is_empty() {
        Toolset::everything(CATALOGUES)
    } else {
        Toolset::choose(CATALOGUES, &choices)?
    };
    let allowed = settings.get(key::FORGEKEEPER_ALLOW);
    toolset.adjust(|offer| {
        lower(offer, settings.get(key::LIMITS_DEADLINE_MS), settings.get(key::LIMITS_OUTPUT_BYTES));
        if offer.catalogue.name != "forgekeeper" {
            return true;
        }
        let deadline_ms = settings.get(key::FORGEKEEPER_TIMEOUT_MS);
        lower(offer, deadline_ms, settings.get(key::FORGEKEEPER_MAX_OUTPUT_BYTES));
        let name = offer.tool.declaration().name;
        let is_open = match name {
            "run_bash" => settings.get(key::FORGEKEEPER_BASH),
            "run_powershell" => settings.get(key::FORGEKEEPER_POWERSHELL),
            _ => true,
        };
        is_open && (allowed.is_empty() || allowed.iter().any(|allowed| allowed == name))
    });
    Ok(toolset)
}

/// Lowers the limits of a tool to these, where they are higher.
fn lower(offer: &mut Offer, deadline_ms: u64, output_bytes: u64) {
    let limits = &mut offer.limits;
    limits.deadline_ms = limits.deadline_ms.min(deadline_ms);
    limits.output_bytes = (limits.output_bytes as u64).min(output_bytes) as usize;
}

/// The limits of a command: the name that reports have for each, and the setting.
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

/// Returns the limits of a tool as reports show them.
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
