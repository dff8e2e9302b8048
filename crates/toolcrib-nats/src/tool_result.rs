//! The contract's `ToolResult`: what a tool of any catalogue replied, in the one form that clients of the bus know.

use serde_json::{Value, json};
use toolcrib_core::Outcome;
use toolcrib_tools::BUS;

use crate::refusal::BusRefusal;

/// The catalogue of the contract's own tools. Its replies have this form already.
pub(crate) const CONTRACT_CATALOGUE: &str = "nachos";

/// Returns the outcome of a call.
pub(crate) fn of_outcome(outcome: Outcome) -> Value {
    let catalogue = outcome.tool.catalogue();
    if catalogue == Some(CONTRACT_CATALOGUE) || catalogue == Some(BUS.name) {
        return outcome.reply;
    }
    let duration = u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX);
    let metadata = json!({"duration": duration});
    match outcome.error {
        None => json!({"success": true, "result": outcome.reply, "metadata": metadata}),
        Some(error) => json!({
            "success": false,
            "error": {
                "code": error.kind.as_str().to_uppercase(),
                "message": error.message,
                "details": outcome.reply,
            },
            "metadata": metadata,
        }),
    }
}

/// Returns the result of a request for which no call was made.
pub(crate) fn of_refusal(refusal: &BusRefusal) -> Value {
    json!({"success": false, "error": {"code": refusal.code.as_str(), "message": refusal.message}})
}
