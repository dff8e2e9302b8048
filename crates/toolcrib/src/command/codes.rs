//! Codes of failures as a contract has them.

use std::time::Duration;

use serde_json::Value;
use toolcrib_core::catalogue::Failure;
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_tools::CATALOGUES;

/// Puts the codes that callers of a tool are answered with in the place of ours, where its contract has them.
pub(super) fn in_contract(tool: &str, stats: &mut Value) {
    let Some((catalogue, name)) = tool.split_once('/').filter(|it| it.0 == "forgekeeper") else {
        return;
    };
    let Some(catalogue) = CATALOGUES.iter().find(|it| it.name == catalogue) else { return };
    let code = |ours: &str| {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == ours);
        let error = ToolError::new(*kind.unwrap_or(&ErrorKind::Failed), "");
        let failure =
            Failure { tool: name, args: &Value::Null, error: &error, elapsed: Duration::ZERO };
        (catalogue.error_reply)(&failure)["error"].as_str().unwrap_or(ours).to_owned()
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
