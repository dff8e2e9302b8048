//! The policy of each caller: the rules that apply to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::policy::Policy;
use toolcrib_core::{Caller, Door, Principal};

/// The most callers whose policy is remembered. When there are more, all are forgotten and built again.
const MOST_POLICIES: usize = 256;

/// What rules can tell callers apart by: the principal, the door, and the door of the outer call.
type PolicyKey = (Principal, Door, Option<Door>);

/// The policies of callers, built from all rules when they first call.
pub(crate) struct CallerPolicies {
    all: Arc<Policy>,
    /// Whether any rule is about some callers only.
    looks_at_callers: bool,
    by_caller: Mutex<HashMap<PolicyKey, Arc<Policy>>>,
}

impl CallerPolicies {
    pub(crate) fn new(all: &Arc<Policy>) -> Self {
        let looks_at_callers = all.looks_at_callers();
        Self { all: Arc::clone(all), looks_at_callers, by_caller: Mutex::default() }
    }

    /// Returns the policy of a caller.
    pub(crate) fn of(&self, caller: &Caller) -> Arc<Policy> {
        if !self.looks_at_callers {
            return Arc::clone(&self.all);
        }
        let mut policies = self.by_caller.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (caller.principal.clone(), caller.door, caller.via);
        if !policies.contains_key(&key) && policies.len() >= MOST_POLICIES {
            policies.clear();
        }
        let policy = policies.entry(key).or_insert_with(|| Arc::new(self.all.of_caller(caller)));
        Arc::clone(policy)
    }
}
