//! Several changes of a settings file, made as one.

use std::path::{Path, PathBuf};

use toml::Value;

use super::edit::{has_value, set_value, unset_value};
use super::error::{SettingsError, SettingsErrorKind};
use super::layer::parse;
use super::locked_file::LockedFile;

/// What to do if a file cannot be changed by itself.
pub(super) const EDIT: &str = "`toolcrib config edit` opens the file";

/// A settings file that is being changed. It is locked from the first look to the change, so that two who change it at
/// once do not lose one of the changes. Comments and order stay.
pub(crate) struct FileEdit {
    path: PathBuf,
    file: LockedFile,
    old: Option<String>,
    text: String,
    lost_comments: Vec<String>,
}

impl FileEdit {
    /// Locks the file at `path`, which need not exist.
    pub(crate) fn begin(path: &Path) -> Result<Self, SettingsError> {
        let file = LockedFile::lock(path)?;
        let old = file.read()?;
        let text = old.clone().unwrap_or_default();
        Ok(Self { path: path.to_owned(), file, old, text, lost_comments: Vec::new() })
    }

    /// Returns the text that the file is going to have.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether the file is going to be another one.
    pub(crate) fn is_changed(&self) -> bool {
        self.old.as_deref().unwrap_or_default() != self.text
    }

    /// Returns the comments within old values that could not be kept.
    pub(crate) fn lost_comments(&self) -> &[String] {
        &self.lost_comments
    }

    /// Sets a setting to a value that was checked.
    pub(crate) fn set(&mut self, name: &str, value: &Value) -> Result<(), SettingsError> {
        let edited = set_value(&self.text, name, value).ok_or_else(|| self.not_edited(name))?;
        self.text = edited.text;
        self.lost_comments.extend(edited.lost_comments);
        Ok(())
    }

    /// Removes a setting. Returns whether it was there.
    pub(crate) fn unset(&mut self, name: &str) -> Result<bool, SettingsError> {
        if self.text.parse::<toml::Table>().is_ok() && !has_value(&self.text, name) {
            return Ok(false);
        }
        self.text = unset_value(&self.text, name).ok_or_else(|| self.not_edited(name))?;
        Ok(true)
    }

    /// Fails if the file would have errors. A value that was wrong may be the one that is set now; whatever else is wrong
    /// stays to be told.
    pub(crate) fn check(&self) -> Result<(), SettingsError> {
        parse(&self.text, &self.path).map(drop).map_err(|err| err.hint(EDIT))
    }

    /// Writes the file, in one step.
    pub(crate) fn write(&self) -> Result<(), SettingsError> {
        self.file.replace(&self.text)
    }

    /// Puts the file back as it was before `write`.
    pub(crate) fn take_back(&self) -> Result<(), SettingsError> {
        match &self.old {
            Some(old) => self.file.replace(old),
            None => self.file.remove(),
        }
    }

    /// Returns why a setting could not be changed by itself.
    fn not_edited(&self, name: &str) -> SettingsError {
        if let Err(err) = parse(&self.text, &self.path) {
            return err.hint(EDIT);
        }
        let message =
            format!("`{name}` cannot be changed without changing other lines of the file");
        let place = format!("`{}`", self.path.display());
        SettingsError::new(SettingsErrorKind::File, message).at(&place).hint(EDIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_changes_are_one_and_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.toml");
        let read = || std::fs::read_to_string(&path).ok();
        let mut edit = FileEdit::begin(&path).unwrap();
        edit.set("mode", &Value::String("strict".to_owned())).unwrap();
        edit.set("sandbox.processes", &Value::Integer(7)).unwrap();
        edit.check().unwrap();
        assert_eq!(read(), None, "nothing is written before all is");
        edit.write().unwrap();
        let both = "mode = \"strict\"\n\n[sandbox]\nprocesses = 7\n";
        assert_eq!(read().as_deref(), Some(both));
        edit.take_back().unwrap();
        assert_eq!(read(), None, "there was no file");
        drop(edit);
        std::fs::write(&path, format!("# mine\n{both}")).unwrap();
        let mut edit = FileEdit::begin(&path).unwrap();
        assert!(edit.unset("mode").unwrap() && !edit.unset("roots").unwrap());
        edit.write().unwrap();
        assert_eq!(read().as_deref(), Some("# mine\n\n[sandbox]\nprocesses = 7\n"));
        edit.take_back().unwrap();
        assert_eq!(read(), Some(format!("# mine\n{both}")));
    }
}
