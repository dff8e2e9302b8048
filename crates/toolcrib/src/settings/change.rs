//! What changed between two readings of the settings, and what of it holds only after a restart.

use toml::Value;

use super::layer::Origin;
use super::load::Settings;
use super::setting::{EmptyList, Project, Setting};

/// A setting whose value changed.
#[derive(Clone, Debug)]
pub struct ChangedSetting {
    /// The setting.
    pub setting: &'static Setting,
    /// The value before.
    pub old: Value,
    /// The value now.
    pub new: Value,
    /// Where the new value came from.
    pub origin: Origin,
}

impl Settings {
    /// Returns the settings whose values differ from those in `old`.
    pub fn changes_since(&self, old: &Self) -> Vec<ChangedSetting> {
        let pairs = self.all().zip(old.all());
        let changed = pairs.filter(|((setting, value, origin), (_, before, from))| {
            let is_set = |origin: &Origin| *origin != Origin::Default;
            // A list that somebody set to be empty is not the empty list of one that nobody set.
            let is_other =
                matches!(setting.project, Project::Subset(EmptyList::EverythingUntilSet))
                    && is_set(origin) != is_set(from);
            value != before || is_other
        });
        changed
            .map(|((setting, new, origin), (_, old, _))| ChangedSetting {
                setting,
                old: old.clone(),
                new: new.clone(),
                origin: origin.clone(),
            })
            .collect()
    }

    /// Puts the values of a running process back where a new value needs a restart. Returns what the restart will change.
    pub fn keep_until_restart(&mut self, running: &Self) -> Vec<ChangedSetting> {
        let mut changes = self.changes_since(running);
        changes.retain(|change| change.setting.needs_restart);
        for change in &changes {
            self.take_from(running, change.setting);
        }
        changes
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::table::settings;

    #[test]
    fn what_the_server_itself_begins_with_needs_a_restart() {
        let is_kept = |name: &str| {
            let setting = settings().find(|setting| setting.name == name).unwrap();
            setting.needs_restart
        };
        assert!(is_kept("serve.address") && !is_kept("mode") && !is_kept("forgekeeper.root"));
        for setting in settings() {
            let (group, _) = setting.name.split_once('.').unwrap_or((setting.name, ""));
            let starts = ["files", "log", "otlp", "record", "roots", "serve", "stats", "undo"];
            assert!(!starts.contains(&group) || setting.needs_restart, "{}", setting.name);
        }
    }
}
