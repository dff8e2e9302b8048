//! The settings that lines of the record are written under.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;

use crate::record::chain::LineHash;
use crate::record::redact::Redactor;

/// The settings that lines are written under. They can change while a process writes. A clone has the same ones.
#[derive(Clone)]
pub struct RecordedSettings(Arc<Mutex<SettingsLine>>);

/// What the record says about settings.
struct SettingsLine {
    /// The hash of the settings.
    hash: LineHash,
    /// The settings that differ from their defaults.
    shown: Value,
}

impl RecordedSettings {
    /// Begins with these settings, which are those that differ from their defaults.
    pub(crate) fn new(settings: &Value, redactor: &Redactor) -> Self {
        Self(Arc::new(Mutex::new(SettingsLine::new(settings, redactor))))
    }

    /// Writes the next lines under other settings. A line that says so comes before them.
    pub fn replace(&self, settings: &Value, redactor: &Redactor) {
        *self.lock() = SettingsLine::new(settings, redactor);
    }

    /// Returns settings that need no line at the beginning of a record.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        let line = SettingsLine { hash: LineHash::FIRST, shown: serde_json::json!({}) };
        Self(Arc::new(Mutex::new(line)))
    }

    /// Returns the hash, and what is shown if `last` is not the same.
    pub(crate) fn since(&self, last: LineHash) -> (LineHash, Option<Value>) {
        let line = self.lock();
        (line.hash, (line.hash != last).then(|| line.shown.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, SettingsLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SettingsLine {
    fn new(settings: &Value, redactor: &Redactor) -> Self {
        let hash = LineHash::of(settings.to_string().as_bytes());
        Self { hash, shown: redactor.clean_json(settings) }
    }
}
