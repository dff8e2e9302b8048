//! Changes and checks the user's settings file.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use toml::Value;

use super::edit::set_value;
use super::error::{SettingsError, SettingsErrorKind};
use super::layer::{find, from_text, parse};
use super::quantity::Unit;
use super::setting::SettingKind;
use super::trusted::read_trusted;

/// What to do if a file cannot be changed by itself.
const EDIT: &str = "`toolcrib config edit` opens the file";

/// Sets a setting in the file at `path`, and returns the value as the file has it. The file is made if it is missing.
pub(crate) fn set_in_file(path: &Path, name: &str, text: &str) -> Result<String, SettingsError> {
    let place = format!("`{}`", path.display());
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
    let old = read_trusted(path)?.unwrap_or_default();
    parse(&old, path).map_err(|err| err.hint(EDIT))?;
    let new = set_value(&old, name, &value).ok_or_else(|| {
        let message = format!("`{name}` cannot be set without changing other lines of the file");
        SettingsError::new(SettingsErrorKind::File, message).at(&place).hint(EDIT)
    })?;
    parse(&new, path)?;
    replace(path, &new).map_err(|err| {
        let message = format!("cannot write the file: {err}");
        SettingsError::new(SettingsErrorKind::File, message).at(&place)
    })?;
    Ok(value.to_string())
}

/// Fails if the file at `path` cannot be used. A missing file can.
pub(crate) fn check_file(path: &Path) -> Result<(), SettingsError> {
    let text = read_trusted(path)?.unwrap_or_default();
    parse(&text, path).map(drop)
}

/// Replaces the file in one step, so that no reader sees half of it. A link stays a link.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let path = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(err) if err.kind() == io::ErrorKind::NotFound => path.to_owned(),
        Err(err) => return Err(err),
    };
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mode = fs::metadata(&path).map_or(0o600, |meta| meta.permissions().mode() & 0o7777);
    let fresh = path.with_extension(format!("toml.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&fresh, &path));
    if written.is_err() {
        let _ = fs::remove_file(&fresh);
    }
    written
}
