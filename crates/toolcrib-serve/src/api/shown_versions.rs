//! Which version of a proposed tool each principal was shown last, so that an approval without a hash is for what was
//! shown, and not for what was proposed meanwhile under the same name.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::Principal;

/// The most versions that are remembered. Beyond them, all are forgotten, and approvals name a hash or are as before.
const MAX_SHOWN: usize = 10_000;

/// The versions that were shown, by the principal's name and the tool's.
#[derive(Default)]
pub struct ShownVersions(Mutex<HashMap<(String, String), String>>);

impl ShownVersions {
    /// Remembers that a principal was shown a version of a tool.
    pub(super) fn remember(&self, principal: &Principal, tool: &str, hash: &str) {
        let mut shown = self.shown();
        if shown.len() >= MAX_SHOWN {
            shown.clear();
        }
        shown.insert((principal.name.clone(), tool.to_owned()), hash.to_owned());
    }

    /// Returns the version that a principal was shown last.
    pub(super) fn of(&self, principal: &Principal, tool: &str) -> Option<String> {
        self.shown().get(&(principal.name.clone(), tool.to_owned())).cloned()
    }

    /// Forgets it: the principal has answered.
    pub(super) fn forget(&self, principal: &Principal, tool: &str) {
        self.shown().remove(&(principal.name.clone(), tool.to_owned()));
    }

    fn shown(&self) -> MutexGuard<'_, HashMap<(String, String), String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_core::Role;

    use super::*;

    #[test]
    fn each_principal_has_seen_what_it_was_shown_last() {
        let shown = ShownVersions::default();
        let who = |name: &str| Principal { name: name.to_owned(), role: Role::Approver };
        shown.remember(&who("bob"), "hello", "1");
        shown.remember(&who("bob"), "hello", "2");
        shown.remember(&who("eve"), "hello", "3");
        assert_eq!(shown.of(&who("bob"), "hello").as_deref(), Some("2"));
        assert_eq!(shown.of(&who("eve"), "hello").as_deref(), Some("3"));
        shown.forget(&who("bob"), "hello");
        assert_eq!(shown.of(&who("bob"), "hello"), None);
        assert_eq!((shown.of(&who("bob"), "other"), shown.of(&who("ada"), "hello")), (None, None));
    }
}
