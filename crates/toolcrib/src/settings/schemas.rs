//! JSON Schemas in the settings.

use std::fs;

use toml::{Table, Value};

use super::error::{SettingsError, SettingsErrorKind};

/// JSON Schemas by name: each is written inline, or is the path of a file that holds it.
pub struct SchemaTable(Table);

impl SchemaTable {
    /// Makes the table from a setting's value.
    pub(crate) fn new(table: Table) -> Self {
        Self(table)
    }

    /// Returns the paths of the files that hold schemas.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.0.values().filter_map(Value::as_str)
    }

    /// Returns every schema by its name, reading the files. `setting` is the name that errors give.
    pub fn load(&self, setting: &str) -> Result<Vec<(String, serde_json::Value)>, SettingsError> {
        let load = |(name, value): (&String, &Value)| {
            let schema = schema(value).map_err(|err| err.at(&format!("`{setting}.{name}`")))?;
            Ok((name.clone(), schema))
        };
        self.0.iter().map(load).collect()
    }
}

fn schema(value: &Value) -> Result<serde_json::Value, SettingsError> {
    let Value::String(path) = value else {
        return serde_json::to_value(value)
            .map_err(|err| SettingsError::new(SettingsErrorKind::Value, err.to_string()));
    };
    let unreadable = |err: &dyn std::error::Error| {
        SettingsError::new(SettingsErrorKind::File, format!("`{path}`: {err}"))
    };
    let bytes = fs::read(path).map_err(|err| unreadable(&err))?;
    serde_json::from_slice(&bytes).map_err(|err| unreadable(&err))
}
