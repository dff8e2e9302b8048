//! Confirmation: what an agent must repeat with `confirmed: true` before a person is asked. Its word counts only
//! for a call that it was itself told to confirm, in the same session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::Call;
use toolcrib_core::canonical;

/// The argument by which an agent confirms.
const CONFIRMED: &str = "confirmed";

/// The most calls that are remembered. When there are more, all are forgotten, and agents are told again.
const MOST_REMEMBERED_CALLS: usize = 10_000;

/// The calls that agents were told to confirm.
#[derive(Clone, Default)]
pub(crate) struct Confirmations(Arc<Mutex<HashSet<String>>>);

/// What a call needs in order to be confirmed.
pub(crate) enum ConfirmationNeed {
    /// Nothing: its tool has no way to confirm, or a person has said yes already.
    Nothing,
    /// The agent was told to confirm this call.
    Told(Confirmations),
    /// The call says that it is confirmed.
    Said,
}

/// What an agent's confirmation is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfirmationWeight {
    /// A person is asked then.
    #[default]
    Person,
    /// It is enough.
    Model,
}

impl Confirmations {
    /// Returns how many calls are to be confirmed.
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}

impl ConfirmationNeed {
    /// Returns whether a call is confirmed. A call that is not is remembered, so that repeating it can confirm it.
    pub(crate) fn is_met_by(&self, call: &Call) -> bool {
        let told = match self {
            Self::Nothing => return true,
            Self::Said => return call.args.get(CONFIRMED) == Some(&true.into()),
            Self::Told(Confirmations(told)) => told,
        };
        let mut args = call.args.clone();
        let confirmed = args.as_object_mut().and_then(|args| args.shift_remove(CONFIRMED));
        let digest = call.digest_of(&call.tool, &canonical::text(&args));
        let key = format!("{} {digest}", call.session.0);
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if confirmed == Some(true.into()) && told.remove(&key) {
            return true;
        }
        if told.len() >= MOST_REMEMBERED_CALLS {
            told.clear();
        }
        told.insert(key);
        false
    }
}

/// Returns whether a tool has an argument to confirm with.
pub(crate) fn can_confirm(keys: &[String]) -> bool {
    keys.iter().any(|key| key == CONFIRMED)
}
