//! What a client brings back with a call that it was asked about. It is sealed, and bound to who calls and what is called:
//! a client cannot make one up, change it, or use it for another call.

use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::SealOptions;
use serde::{Deserialize, Serialize};
use toolcrib_core::Call;
use toolcrib_core::calling_client::Answers;

use super::server::McpServer;

/// What a client brings back.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum CallState {
    /// The id of the question whether the call may run.
    Approval(String),
    /// What the client has answered to the tool so far.
    Answers(Answers),
}

impl McpServer {
    /// Seals what a client brings back with this call within `time`.
    pub(super) fn seal_state(&self, state: &CallState, call: &Call, time: Duration) -> String {
        let binding = binding(call);
        let options = SealOptions::new().associated_data(&binding).ttl(time);
        let bytes = serde_json::to_vec(state).unwrap_or_default();
        self.seal.seal_with(&bytes, &options)
    }

    /// Opens what a client brought back with this call.
    pub(super) fn open_state(&self, state: &str, call: &Call) -> Result<CallState, ErrorData> {
        let opened = self.seal.open_with(state, &binding(call));
        opened.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).ok_or_else(|| {
            let message =
                "`requestState` is not of this call, or is too old; make the call again without it";
            ErrorData::invalid_params(message, None)
        })
    }
}

/// Returns what a state is bound to: who calls, and what is called.
fn binding(call: &Call) -> Vec<u8> {
    let digest = call.digest();
    format!("{}\n{}\n{digest}", call.caller.principal.name, call.session.0).into_bytes()
}
