//! The rate limit and the quotas of sessions and users, as the settings have them.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::{Mode, ToolName};
use toolcrib_ledger::{StateFolder, UserLimits, UserQuotaFile};
use toolcrib_runtime::{QuotaLimits, SessionLimits, UserQuota};

use crate::error::CliError;
use crate::settings::{Settings, table};

/// Refuses a rate limit that is neither a number nor one of the words.
pub(super) fn check_rate(settings: &Settings) -> Result<(), CliError> {
    let rate = settings.get(table::POLICY_CALLS_PER_MINUTE);
    let is_number = || rate.parse::<u32>().is_ok_and(|calls| calls > 0);
    if matches!(rate.as_str(), "off" | "preset") || is_number() {
        return Ok(());
    }
    Err(CliError::settings(format!(
        "`policy.calls_per_minute` must be a number above 0, `preset` or `off`, not `{rate}`"
    )))
}

/// Returns the calls per minute of one tool in a session that `preset` stands for, as nachos has them.
fn preset(mode: Mode) -> u32 {
    match mode {
        Mode::Strict => 5,
        Mode::Standard => 15,
        Mode::Permissive => 60,
    }
}

/// Returns the limits of a session.
pub(super) fn session_limits(settings: &Settings) -> SessionLimits {
    let calls_per_minute = match settings.get(table::POLICY_CALLS_PER_MINUTE).as_str() {
        "preset" => Some(preset(settings.get(table::MODE))),
        text => text.parse().ok(),
    };
    let quota = QuotaLimits {
        tool_bytes: settings.get(table::POLICY_TOOL_BYTES),
        tool_time: settings.get(table::POLICY_TOOL_SECONDS),
        session_bytes: settings.get(table::POLICY_SESSION_BYTES),
        session_time: settings.get(table::POLICY_SESSION_SECONDS),
    };
    let confirmation = settings.get(table::POLICY_CONFIRM);
    SessionLimits {
        calls_per_minute,
        quota,
        confirmation,
        taint: settings.get(table::POLICY_TAINTED),
    }
}

/// Returns the quota of the user across all processes, if one is set.
pub(super) fn user_quota(settings: &Settings, state: &StateFolder) -> Option<Arc<dyn UserQuota>> {
    let limits = UserLimits {
        calls_per_minute: settings.get(table::POLICY_USER_CALLS_PER_MINUTE),
        bytes: settings.get(table::POLICY_USER_BYTES),
        time: settings.get(table::POLICY_USER_SECONDS),
    };
    UserQuotaFile::new(state, limits).map(|file| Arc::new(QuotaFile(file)) as Arc<dyn UserQuota>)
}

/// The ledger's file, as the runtime counts with it.
struct QuotaFile(UserQuotaFile);

impl UserQuota for QuotaFile {
    fn count(
        &self,
        tool: &ToolName,
        now: Timestamp,
        running: Duration,
        planned: u64,
    ) -> Option<String> {
        self.0.count(tool, now, running, planned)
    }

    fn spend(&self, bytes: u64, time: Duration, now: Timestamp) {
        self.0.spend(bytes, time, now);
    }
}
