//! Error codes and tools in statistics, as a tool's contract names them.

use serde_json::Value;
use toolcrib_core::{Catalogue, ErrorKind, ToolName};
use toolcrib_tools::catalogues;

/// Replaces our error codes in the statistics of a tool by those of the tool's contract. Statistics of
/// a catalogue whose contract has no such codes stay as they are.
pub(crate) fn in_contract(tool: &ToolName, stats: &mut Value) {
    let Some(contract_code) = catalogue_of(tool).and_then(|it| it.error_code) else { return };
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

/// Whether the contract of a tool describes these statistics. They then have the tool by its bare name.
pub(crate) fn is_described(tool: &ToolName) -> bool {
    catalogue_of(tool).is_some_and(|catalogue| catalogue.error_code.is_some())
}

/// Replaces the full names of tools in a report by the bare ones where their contract describes the report.
pub(crate) fn name_in_contract(report: &mut Value) {
    rename(report, "tool");
    for list in ["stats", "regressions", "resources", "tools"] {
        for one in report.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            rename(one, "toolName");
        }
    }
    for one in ["regression", "resources"] {
        if let Some(one) = report.get_mut(one) {
            rename(one, "toolName");
        }
    }
}

fn rename(object: &mut Value, key: &str) {
    let Some(name) = object.get_mut(key) else { return };
    let tool = ToolName::from(name.as_str().unwrap_or_default());
    if is_described(&tool) {
        *name = tool.last_part().into();
    }
}

fn catalogue_of(tool: &ToolName) -> Option<&'static Catalogue> {
    let name = tool.catalogue()?;
    catalogues().iter().copied().find(|it| it.name == name)
}
