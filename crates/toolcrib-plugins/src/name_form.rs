//! The form of a plugin's name.

use toolcrib_core::escape;

use crate::plugin_error::{PluginError, PluginErrorKind};

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 40;

/// Fails unless a name has the form of a plugin's name. Names become the names of files, so nothing else may pass; and
/// two underscores stand for the slash after a catalogue.
pub fn check_form(name: &str) -> Result<(), PluginError> {
    let is_fine = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    let has_form = name.len() <= MAX_NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(is_fine)
        && !name.contains("__")
        && !name.ends_with('_');
    if has_form {
        return Ok(());
    }
    let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
    let message = format!("`{}` cannot be the name of a tool", escape::line(&shown));
    Err(PluginError::new(PluginErrorKind::BadName, message).hint(
        "use 1 to 40 lower-case letters, digits and single underscores, and begin with a letter",
    ))
}
