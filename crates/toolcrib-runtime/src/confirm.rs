//! What an agent is to confirm before a person is asked: its word counts only for a call that it was
//! itself told to confirm, in the same session.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::Call;
use toolcrib_core::canonical::Digest;

/// The argument by which an agent confirms.
const CONFIRMED: &str = "confirmed";

/// More than these are forgotten, and asked for again.
const MOST: usize = 10_000;

/// The calls that agents were told to confirm.
#[derive(Clone, Default)]
pub(crate) struct Confirmations(Arc<Mutex<HashSet<String>>>);

/// How a call stands to being confirmed.
pub(crate) enum Confirmation {
    /// Its tool has no way to confirm, or a person has said yes already.
    NotNeeded,
    /// It has to be one of these.
    Needed(Confirmations),
    /// It has to say so.
    Said,
}

/// What an agent's confirmation is worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Weight {
    /// A person is then asked.
    #[default]
    Person,
    /// It is enough.
    Model,
}

impl Confirmation {
    /// Whether a call is confirmed. One that is not is remembered: its repetition may be.
    pub(crate) fn is_given(&self, call: &Call) -> bool {
        let told = match self {
            Self::NotNeeded => return true,
            Self::Said => return call.args.get(CONFIRMED) == Some(&true.into()),
            Self::Needed(Confirmations(told)) => told,
        };
        let mut args = call.args.clone();
        let confirmed = args.as_object_mut().and_then(|args| args.shift_remove(CONFIRMED));
        let key = format!("{} {}", call.session.0, Digest::of(&call.tool, &args));
        let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
        if confirmed == Some(true.into()) && told.remove(&key) {
            return true;
        }
        if told.len() >= MOST {
            told.clear();
        }
        told.insert(key);
        false
    }
}

/// Whether a tool's arguments have a word for it.
pub(crate) fn can_confirm(keys: &[String]) -> bool {
    keys.iter().any(|key| key == CONFIRMED)
}
