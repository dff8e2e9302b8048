//! The resources that a client subscribed to, in protocols before 2026-07-28.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The resources that a client subscribed to.
#[derive(Default)]
pub(super) struct SubscribedResources(Mutex<Subscribed>);

/// What a client subscribed to.
#[derive(Default)]
pub(super) struct Subscribed {
    /// The addresses.
    pub(super) uris: BTreeSet<String>,
    /// Whether something tells the client of changes.
    pub(super) has_teller: bool,
}

impl SubscribedResources {
    pub(super) fn lock(&self) -> MutexGuard<'_, Subscribed> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
