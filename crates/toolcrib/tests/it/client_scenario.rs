//! What the scripts of the official clients play.

use crate::scratch::Scratch;

/// A scenario that every script knows.
#[derive(Clone, Copy)]
pub(crate) enum Scenario {
    /// List, call, follow, decline, approve and cancel.
    Use,
    /// Answer after the question is gone.
    Expire,
}

impl Scenario {
    /// Returns the word that the scripts know it by.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Use => "use",
            Self::Expire => "expire",
        }
    }

    /// Sets what the servers of the scenario need.
    pub(crate) fn prepare(self, scratch: &Scratch) {
        let set = |setting: &str, value: &str| {
            let ran = scratch.run(["config", "set", setting, value]);
            assert_eq!(ran.code, 0, "{}", ran.stderr);
        };
        set("mcp.approve_over_http", "on");
        if matches!(self, Self::Expire) {
            set("policy.approval_seconds", "1");
            set("policy.park_seconds", "1");
        }
    }
}
