//! What a session has used of its limits, as the API tells it.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::ToolName;
use toolcrib_runtime::{SessionUse, ToolUse};

/// The limits that the operator set for each session, and what this one has used. All calls that a principal makes to the
/// server count together, whatever it calls its sessions. Figures begin with the server.
#[derive(Serialize, JsonSchema)]
pub(super) struct SessionBudget {
    /// Calls a minute with one tool.
    calls_per_minute: Option<u32>,
    /// Bytes that may be written.
    bytes: Option<UsedLimit>,
    /// Seconds that calls may run, together.
    seconds: Option<UsedLimit>,
    /// Bytes that may be written with one tool.
    tool_bytes: Option<u64>,
    /// Seconds that calls of one tool may run, together.
    tool_seconds: Option<u64>,
    tools: Vec<UsedByTool>,
    /// Whether calls that would be allowed are asked about, because a command could reach the network.
    tainted: bool,
}

/// A limit, and how much of it is used.
#[derive(Serialize, JsonSchema)]
struct UsedLimit {
    used: u64,
    limit: u64,
}

/// What was used with one tool.
#[derive(Serialize, JsonSchema)]
struct UsedByTool {
    tool: ToolName,
    /// Calls in the last minute.
    calls: u32,
    bytes: u64,
    seconds: u64,
}

impl From<SessionUse> for SessionBudget {
    fn from(used: SessionUse) -> Self {
        let SessionUse { calls_per_minute, quota, bytes, time, tools, is_tainted } = used;
        let of_tool = |ToolUse { tool, calls, bytes, time }| UsedByTool {
            tool,
            calls,
            bytes,
            seconds: time.as_secs(),
        };
        let seconds = quota.session_time.map(|limit| limit.as_secs());
        Self {
            calls_per_minute,
            bytes: quota.session_bytes.map(|limit| UsedLimit { used: bytes, limit }),
            seconds: seconds.map(|limit| UsedLimit { used: time.as_secs(), limit }),
            tool_bytes: quota.tool_bytes,
            tool_seconds: quota.tool_time.map(|limit| limit.as_secs()),
            tools: tools.into_iter().map(of_tool).collect(),
            tainted: is_tainted,
        }
    }
}
