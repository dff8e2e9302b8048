//! Leads what was in force to what is in force by now.

use std::sync::{Arc, PoisonError, RwLock, Weak};

/// Leads to what is in force by now. Without a place to look, nothing takes the place of what was.
pub struct Latest<T>(Option<Weak<RwLock<Arc<T>>>>);

impl<T> Latest<T> {
    /// Leads to what `place` holds.
    pub(crate) fn of(place: &Weak<RwLock<Arc<T>>>) -> Self {
        Self(Some(Weak::clone(place)))
    }

    /// Returns what is in force, if something can take the place of what was.
    pub(crate) fn get(&self) -> Option<Arc<T>> {
        let place = self.0.as_ref()?.upgrade()?;
        let held = place.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&held))
    }
}

impl<T> Default for Latest<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Clone for Latest<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}
