//! The limits of a session that the operator set, put together.

use super::confirm::ConfirmationWeight;
use super::quota::QuotaLimits;
use super::taint::TaintPolicy;

/// What a session may do, and how fast.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionLimits {
    /// Calls a minute of one tool; no limit without.
    pub calls_per_minute: Option<u32>,
    /// Bytes written and time run.
    pub quota: QuotaLimits,
    /// What an agent's confirmation is worth.
    pub confirmation: ConfirmationWeight,
    /// What becomes of a session that has seen the network.
    pub taint: TaintPolicy,
}
