//! What a session has used of its limits, for those who watch it.

use std::time::Duration;

use toolcrib_core::ToolName;
use toolcrib_core::command::TaskSpent;

use super::judge::Judge;
use super::quota::QuotaLimits;

/// What a session has used of its limits. What has no limit is not counted.
#[derive(Clone, Debug, Default)]
pub struct SessionUse {
    /// Calls a minute of one tool; no limit without.
    pub calls_per_minute: Option<u32>,
    /// The quotas.
    pub quota: QuotaLimits,
    /// Bytes written.
    pub bytes: u64,
    /// How long its calls ran, together.
    pub time: Duration,
    /// The same for each tool.
    pub tools: Vec<ToolUse>,
    /// Whether calls that would be allowed are asked about, because a command could reach the network.
    pub is_tainted: bool,
}

/// What a session has used of its limits with one tool.
#[derive(Clone, Debug, Default)]
pub struct ToolUse {
    /// The tool.
    pub tool: ToolName,
    /// Calls in the last minute.
    pub calls: u32,
    /// Bytes written.
    pub bytes: u64,
    /// How long its calls ran, together.
    pub time: Duration,
}

impl Judge {
    /// Returns what a session has used of its limits. `tasks` is what background tasks took.
    pub fn session_use(&self, session: &str, tasks: &[TaskSpent], now: Duration) -> SessionUse {
        let (rate, quota, taint) = self.limits();
        let (quota, spent, by_tool) = quota.used_by_session(session, tasks);
        let mut tools: Vec<ToolUse> = by_tool
            .into_iter()
            .map(|(tool, spent)| ToolUse { tool, calls: 0, bytes: spent.bytes, time: spent.time })
            .collect();
        let (calls_per_minute, counts) = rate.used(session, now).unzip();
        for (tool, calls) in counts.unwrap_or_default() {
            match tools.iter_mut().find(|known| known.tool == tool) {
                Some(known) => known.calls = calls,
                None => tools.push(ToolUse { tool, calls, ..ToolUse::default() }),
            }
        }
        tools.sort_unstable_by(|one, other| one.tool.cmp(&other.tool));
        let is_tainted = taint.counts_for(session);
        SessionUse {
            calls_per_minute,
            quota,
            bytes: spent.bytes,
            time: spent.time,
            tools,
            is_tainted,
        }
    }
}
