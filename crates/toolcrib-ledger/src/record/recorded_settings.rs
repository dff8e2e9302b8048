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
    /// The hash of the settings before, if a note has told the record of these, and no line was written under them yet.
    told_after: Option<LineHash>,
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

    /// Writes the next lines under other settings, which a note on the record has told already.
    pub fn replace_told(&self, settings: &Value, redactor: &Redactor) {
        let mut line = self.lock();
        let told_after = Some(line.hash);
        *line = SettingsLine { told_after, ..SettingsLine::new(settings, redactor) };
    }

    /// Returns settings that need no line at the beginning of a record.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        let shown = serde_json::json!({});
        let line = SettingsLine { hash: LineHash::FIRST, shown, told_after: None };
        Self(Arc::new(Mutex::new(line)))
    }

    /// Returns the hash, and what is shown if `last` is not the same.
    pub(crate) fn since(&self, last: LineHash) -> (LineHash, Option<Value>) {
        let mut line = self.lock();
        // Only the first time, and only if no other process wrote meanwhile: it may have other settings.
        let is_told = line.told_after.take() == Some(last);
        (line.hash, (line.hash != last && !is_told).then(|| line.shown.clone()))
    }

    fn lock(&self) -> MutexGuard<'_, SettingsLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SettingsLine {
    fn new(settings: &Value, redactor: &Redactor) -> Self {
        let hash = LineHash::of(settings.to_string().as_bytes());
        Self { hash, shown: redactor.clean_json(settings), told_after: None }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_that_were_told_need_no_line_until_another_process_writes() {
        let redactor = Redactor::default();
        let settings = RecordedSettings::new(&json!({"mode": "strict"}), &redactor);
        let (old, line) = settings.since(LineHash::FIRST);
        assert!(line.is_some());
        assert_eq!(settings.since(old).1, None, "nothing changed");
        settings.replace_told(&json!({"mode": "standard"}), &redactor);
        let (new, line) = settings.since(old);
        assert!(new != old && line.is_none());
        assert!(settings.since(old).1.is_some(), "another process wrote under the old ones");
        settings.replace_told(&json!({"mode": "strict"}), &redactor);
        assert!(settings.since(LineHash::FIRST).1.is_some(), "another process wrote meanwhile");
        settings.replace(&json!({}), &redactor);
        assert!(settings.since(old).1.is_some(), "the control: nobody told these");
    }
}
