//! Changes and checks the user's settings file.

use std::path::Path;

use toml::Value;

use super::edit::{has_value, set_value, unset_value};
use super::error::{SettingsError, SettingsErrorKind};
use super::layer::{find, from_text, parse};
use super::locked_file::LockedFile;
use super::quantity::Unit;
use super::setting::SettingKind;
use super::trusted::read_trusted;

/// What to do if a file cannot be changed by itself.
const EDIT: &str = "`toolcrib config edit` opens the file";

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
        SettingKind::Schemas => err.hint(EDIT),
        _ => err,
    })?;
    let is_quantity = matches!(setting.kind, SettingKind::Count(..))
        && Unit::of(setting) != Unit::Plain
        && text.trim().parse::<i64>().is_err();
    // `4G` stays `4G`, because a person reads the file.
    let value = if is_quantity { Value::String(text.trim().to_owned()) } else { value };
    // Locked from the first look to the change, so that two commands at once do not lose one of the two changes.
    let file = LockedFile::lock(path)?;
    let old = file.read()?.unwrap_or_default();
    let Some(new) = set_value(&old, name, &value) else {
        return Err(not_edited(&old, path, name));
    };
    // A value that was wrong may be the one that is set now. Whatever else is wrong stays to be told.
    parse(&new.text, path).map_err(|err| err.hint(EDIT))?;
    file.replace(&new.text)?;
    Ok(SetValue { value: value.to_string(), lost_comments: new.lost_comments })
}

/// Removes a setting from the file at `path`. Returns whether it was there.
pub(crate) fn unset_in_file(path: &Path, name: &str) -> Result<bool, SettingsError> {
    find(name)?;
    let file = LockedFile::lock(path)?;
    let old = file.read()?.unwrap_or_default();
    if old.parse::<toml::Table>().is_ok() && !has_value(&old, name) {
        return Ok(false);
    }
    let new = unset_value(&old, name).ok_or_else(|| not_edited(&old, path, name))?;
    parse(&new, path).map_err(|err| err.hint(EDIT))?;
    file.replace(&new)?;
    Ok(true)
}

/// Returns why a file could not be edited by itself.
fn not_edited(old: &str, path: &Path, name: &str) -> SettingsError {
    if let Err(err) = parse(old, path) {
        return err.hint(EDIT);
    }
    let message = format!("`{name}` cannot be changed without changing other lines of the file");
    let place = format!("`{}`", path.display());
    SettingsError::new(SettingsErrorKind::File, message).at(&place).hint(EDIT)
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
