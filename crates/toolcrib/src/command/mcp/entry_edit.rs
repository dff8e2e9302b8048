//! The entry of a client's file, in whichever format the file is: is it there, add it, correct it, remove it.

use serde_json::{Map, Value};

use super::clients::{FileFormat, McpClient};
use super::edit_error::{EditError, EditErrorKind};
use super::server_entry::ServerEntry;
use super::{json_edit, toml_edit, yaml_edit};

/// Returns the entry of this name; nothing if the file has none.
pub(super) fn find(client: &McpClient, text: &str, name: &str) -> Result<Option<Value>, EditError> {
    match client.format {
        FileFormat::Json => json_edit::get(text, client.servers_key, name),
        FileFormat::Toml => toml_edit::get(text, client.servers_key, name),
        FileFormat::Yaml => yaml_edit::get(text, client.servers_key, name),
    }
}

/// Returns the text with the entry. An entry that is there keeps the fields that a user added.
pub(super) fn put(
    client: &McpClient,
    text: &str,
    name: &str,
    entry: &ServerEntry,
) -> Result<String, EditError> {
    let Some(old) = find(client, text, name)? else {
        return insert(client, text, name, &entry.whole());
    };
    let is_started = old.get("command").or(old.get("cmd")).is_some();
    if !is_started {
        let what = format!("`{name}` in `{}` is another server", client.servers_key);
        return Err(EditError::of_file(EditErrorKind::Foreign, what));
    }
    let mut stale = entry.required.iter().filter(|(key, value)| old.get(*key) != Some(*value));
    stale.try_fold(text.to_owned(), |text, (key, value)| {
        let place = [client.servers_key, name, key];
        match client.format {
            FileFormat::Json => json_edit::set_field(&text, place, value),
            FileFormat::Toml => toml_edit::set_field(&text, place, value),
            FileFormat::Yaml => yaml_edit::set_field(&text, place, value),
        }
    })
}

/// Returns the text without the entry; nothing if there is none.
pub(super) fn take(
    client: &McpClient,
    text: &str,
    name: &str,
) -> Result<Option<String>, EditError> {
    if find(client, text, name)?.is_none() {
        return Ok(None);
    }
    let edited = match client.format {
        FileFormat::Json => json_edit::remove(text, client.servers_key, name),
        FileFormat::Toml => toml_edit::remove(text, client.servers_key, name),
        FileFormat::Yaml => yaml_edit::remove(text, client.servers_key, name),
    };
    edited.map(Some)
}

fn insert(
    client: &McpClient,
    text: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, EditError> {
    match client.format {
        FileFormat::Json => json_edit::insert(text, client.servers_key, name, entry),
        FileFormat::Toml => toml_edit::insert(text, client.servers_key, name, entry),
        FileFormat::Yaml => yaml_edit::insert(text, client.servers_key, name, entry),
    }
}
