//! Changes and checks the user's settings file.

use std::path::Path;

use toml::Value;

use super::error::SettingsError;
use super::file_edit::{EDIT, FileEdit};
use super::layer::{check, find, from_text, parse};
use super::quantity::Unit;
use super::setting::{Setting, SettingKind};
use super::trusted::read_trusted;

/// A setting that was set.
pub(crate) struct SetValue {
    /// The value as the file has it.
    pub(crate) value: String,
    /// The comments within the old value that could not be kept.
    pub(crate) lost_comments: Vec<String>,
}

/// Sets a setting in the file at `path`. The file is made if it is missing.
pub(crate) fn set_in_file(path: &Path, name: &str, text: &str) -> Result<SetValue, SettingsError> {
    let setting = find(name)?;
    let value = from_text(setting, text).map_err(|err| match setting.kind {
        SettingKind::Schemas | SettingKind::Servers => err.hint(EDIT),
        _ => err,
    })?;
    let is_quantity = matches!(setting.kind, SettingKind::Count(..))
        && Unit::of(setting) != Unit::Plain
        && text.trim().parse::<i64>().is_err();
    // `4G` stays `4G`, because a person reads the file.
    let value = if is_quantity { Value::String(text.trim().to_owned()) } else { value };
    let mut edit = FileEdit::begin(path)?;
    edit.set(name, &value)?;
    edit.check()?;
    edit.write()?;
    let lost_comments = edit.lost_comments().to_vec();
    Ok(SetValue { value: value.to_string(), lost_comments })
}

/// Removes a setting from the file at `path`. Returns whether it was there.
pub(crate) fn unset_in_file(path: &Path, name: &str) -> Result<bool, SettingsError> {
    find(name)?;
    let mut edit = FileEdit::begin(path)?;
    if !edit.unset(name)? {
        return Ok(false);
    }
    edit.check()?;
    edit.write()?;
    Ok(true)
}

/// Returns the setting of this name and the value as the setting has it, or why it is not valid.
pub(crate) fn checked_value(
    name: &str,
    value: Value,
) -> Result<(&'static Setting, Value), SettingsError> {
    let setting = find(name)?;
    Ok((setting, check(setting, value)?))
}

/// Fails if the file at `path` cannot be used. A missing file can.
pub(crate) fn check_file(path: &Path) -> Result<(), SettingsError> {
    let text = read_trusted(path)?.unwrap_or_default();
    parse(&text, path).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_value_can_be_set_right() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let wrong = "mode = \"strict\"\n[policy]\napproval_seconds = 999999999\n";
        std::fs::write(&path, wrong).unwrap();
        assert!(check_file(&path).is_err(), "the control");
        assert!(set_in_file(&path, "mode", "standard").is_err(), "the other value stays wrong");
        set_in_file(&path, "policy.approval_seconds", "30").map(drop).unwrap();
        check_file(&path).unwrap();
        std::fs::write(&path, "mode = \n").unwrap();
        assert!(set_in_file(&path, "mode", "strict").is_err(), "not TOML");
    }

    #[test]
    fn a_setting_is_removed_with_its_lines_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let text = "# mine\nmode = \"strict\" # why\n\n[sandbox]\n# hosts\negress = [\n  \"a.example\", # one\n]\nprocesses = 7\n";
        std::fs::write(&path, text).unwrap();
        assert!(!unset_in_file(&path, "sandbox.memory_bytes").unwrap(), "it is not there");
        assert!(unset_in_file(&path, "nothing.such").is_err());
        assert!(unset_in_file(&path, "sandbox.egress").unwrap());
        assert!(unset_in_file(&path, "mode").unwrap());
        let left = std::fs::read_to_string(&path).unwrap();
        assert_eq!(left, "# mine\n\n[sandbox]\n# hosts\nprocesses = 7\n");
        // A value that is wrong can be removed, and a file that is no TOML is left alone.
        std::fs::write(&path, "mode = 1\n").unwrap();
        assert!(unset_in_file(&path, "mode").unwrap());
        check_file(&path).unwrap();
        std::fs::write(&path, "mode = \n").unwrap();
        assert!(unset_in_file(&path, "mode").is_err());
    }

    #[test]
    fn settings_that_are_set_at_once_are_all_set() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let all = [
            ("mode", "strict"),
            ("sandbox.processes", "77"),
            ("policy.approval_seconds", "33"),
            ("ask.delay_ms", "700"),
            ("roots", "[]"),
        ];
        std::thread::scope(|scope| {
            for (name, value) in all {
                let path = &path;
                scope.spawn(move || set_in_file(path, name, value).map(drop).unwrap());
            }
        });
        let text = std::fs::read_to_string(&path).unwrap();
        let table: toml::Table = text.parse().unwrap();
        for (name, _) in all {
            let mut parts = name.split('.');
            let first = table.get(parts.next().unwrap());
            let found = parts.fold(first, |found, part| found?.as_table()?.get(part));
            assert!(found.is_some(), "{name}: {text}");
        }
    }
}
