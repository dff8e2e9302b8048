//! Columns of the database whose text or bytes stand for something else.

use rusqlite::Row;
use serde::de::DeserializeOwned;

/// Reads a column that holds JSON.
pub(crate) fn json_of<T: DeserializeOwned>(
    row: &Row<'_>,
    at: usize,
    name: &str,
) -> rusqlite::Result<T> {
    let text = row.get_ref(at)?.as_str()?;
    serde_json::from_str(text).map_err(|_| unreadable(name))
}

/// Returns the error for a column that cannot be decoded.
pub(crate) fn unreadable(what: &str) -> rusqlite::Error {
    rusqlite::Error::InvalidColumnName(format!("{what}, which cannot be read"))
}
