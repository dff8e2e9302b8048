//! Deciding about a call: what it proposes to do, what policy says of that, and the limits of its session.

pub(crate) mod affected_files;
mod caller_policies;
mod command_files;
mod command_paths;
mod command_settings;
pub(crate) mod confirm;
mod driving_files;
mod elsewhere;
pub(crate) mod expected_changes;
mod git_programs;
mod grant_comparison;
pub(crate) mod grant_offers;
pub(crate) mod host_access;
pub(crate) mod judge;
pub(crate) mod limits;
mod path_cache;
pub(crate) mod proposal;
pub(crate) mod quarantine;
pub(crate) mod quota;
mod rate;
pub(crate) mod session_use;
mod sessions;
pub(crate) mod taint;
