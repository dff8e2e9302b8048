//! Error codes in statistics, as a tool's contract names them.

use serde_json::Value;
use toolcrib_core::{ErrorKind, ToolName};
use toolcrib_tools::CATALOGUES;

/// Replaces our error codes in the statistics of a tool by those of the tool's contract. Statistics of
/// a catalogue whose contract has no such codes stay as they are.
pub(super) fn in_contract(tool: &ToolName, stats: &mut Value) {
    let catalogue = tool.catalogue().and_then(|name| CATALOGUES.iter().find(|it| it.name == name));
    let Some(contract_code) = catalogue.and_then(|catalogue| catalogue.error_code) else { return };
    let code = |ours: &str| {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == ours);
        // A code that is not ours any more stands in a record of another version.
        contract_code(*kind.unwrap_or(&ErrorKind::Failed)).to_owned()
    };
    if let Some(types) = stats["errorTypes"].as_object() {
        stats["errorTypes"] =
            types.iter().map(|(ours, count)| (code(ours), count.clone())).collect();
    }
    for place in ["lastError", "firstErrorDetail"] {
        if let Some(ours) = stats.get(place).and_then(|it| it["code"].as_str()) {
            stats[place]["code"] = code(ours).into();
        }
    }
}
