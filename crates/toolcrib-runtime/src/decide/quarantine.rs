//! The tools in quarantine: they got worse, and are refused until somebody looks.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use toolcrib_core::{Decision, ToolName};

/// The tools in quarantine, each with the reason.
pub type Quarantine = Arc<RwLock<HashMap<ToolName, String>>>;

/// Refuses a tool that is in quarantine.
pub(super) fn refused_by(quarantine: &Quarantine, tool: &ToolName) -> Option<Decision> {
    let quarantine = quarantine.read().unwrap_or_else(PoisonError::into_inner);
    quarantine.get(tool).map(|why| Decision::deny(why.clone(), String::new()))
}
