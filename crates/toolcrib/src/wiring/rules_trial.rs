//! The runtime as it would be with more rules, to decide recorded calls again.

use std::sync::Arc;

use toolcrib_core::policy::{Policy, Rule};
use toolcrib_ledger::StateFolder;
use toolcrib_runtime::{Nobody, Runtime};

use super::live_settings::LiveSettings;
use crate::error::CliError;

impl LiveSettings {
    /// Returns a runtime with the rules in force and more rules. Nothing is put in force.
    pub fn runtime_with_rules(&self, more: Vec<Rule>) -> Result<Runtime, CliError> {
        let current = self.runtime().current();
        let policy = current.judge.policy();
        let rules = policy.rules().iter().cloned().chain(more).collect();
        let policy = Arc::new(Policy::new(policy.mode(), rules));
        let (settings, capabilities) = (self.settings(), self.capabilities());
        self.crib().runtime_under(&settings, policy, &capabilities, Arc::new(Nobody))
    }

    /// Returns the state folder.
    pub fn state_folder(&self) -> &StateFolder {
        &self.crib().state
    }
}
