//! One place that settings come from.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use toolcrib_core::nearest::{either, nearest};

use super::key::keys;
use super::kind::{Key, Kind};

/// Why the settings cannot be used.
#[derive(Debug)]
pub struct SettingsError(pub String);

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The machine's own file, a user's, or a project's.
    File(PathBuf),
    /// The environment, by this name.
    Environment(String),
    /// The command line, by this flag.
    Flag(String),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Environment(name) => write!(f, "environment {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// A value that somebody set.
pub(super) type Set = (&'static Key, Value, Origin);

/// Reads the settings in the text of a file. A key that is not known is refused: a typing error in a
/// file like this must not pass in silence.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Set>, SettingsError> {
    let refuse = |what: String| SettingsError(format!("`{}`: {what}", path.display()));
    let table: Table = text.parse().map_err(|err: toml::de::Error| {
        let line = err.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        refuse(format!("line {line}: {}", err.message().trim_end()))
    })?;
    let mut flat = Vec::new();
    flatten("", table, &mut flat);
    let mut sets = Vec::new();
    for (name, value) in flat {
        let key = find(&name).map_err(&refuse)?;
        let value = check(key, value).map_err(&refuse)?;
        sets.push((key, value, Origin::File(path.to_owned())));
    }
    Ok(sets)
}

/// Turns tables into dotted names, down to the tables that are values themselves.
fn flatten(prefix: &str, table: Table, flat: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        let is_value = keys().any(|key| key.name == name);
        match value {
            Value::Table(table) if !is_value => flatten(&name, table, flat),
            value => flat.push((name, value)),
        }
    }
}

/// Returns the key of that name.
pub(super) fn find(name: &str) -> Result<&'static Key, String> {
    keys().find(|key| key.name == name).ok_or_else(|| {
        let near = nearest(name, keys().map(|key| key.name), 2);
        if near.is_empty() {
            format!("no setting `{name}`; `toolcrib config show` lists them all")
        } else {
            format!("no setting `{name}`; did you mean {}?", either(&near))
        }
    })
}

/// Reads a value from the environment or the command line.
pub(super) fn from_text(key: &Key, text: &str) -> Result<Value, String> {
    let value = match key.kind {
        // The contract's way to say it.
        Kind::Choice(["off", "on"]) if matches!(text, "1" | "true") => "on".into(),
        Kind::Choice(["off", "on"]) if matches!(text, "0" | "false") => "off".into(),
        Kind::Choice(_) | Kind::Text => Value::String(text.to_owned()),
        Kind::Count(..) => match text.trim().parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => return Err(format!("`{}` must be a whole number, not `{text}`", key.name)),
        },
        // As files write it, and as `config show` prints it.
        Kind::Names if text.trim_start().starts_with('[') => {
            let table: Result<Table, _> = format!("it = {text}").parse();
            match table.ok().and_then(|mut table| table.remove("it")) {
                Some(value) => value,
                None => return Err(format!("`{}` must be a list, not `{text}`", key.name)),
            }
        }
        Kind::Names => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            Value::Array(names.map(|name| Value::String(name.to_owned())).collect())
        }
        Kind::Schemas => return Err(format!("`{}` can only be set in a file", key.name)),
    };
    check(key, value)
}

fn check(key: &Key, value: Value) -> Result<Value, String> {
    let name = key.name;
    let is_fine = match (&key.kind, &value) {
        (Kind::Choice(words), Value::String(word)) => {
            if !words.contains(&word.as_str()) {
                return Err(format!("`{name}` must be {}, not `{word}`", either(words)));
            }
            true
        }
        (Kind::Count(min, max), Value::Integer(number)) => {
            if !(min..=max).contains(&number) {
                return Err(format!("`{name}` must be between {min} and {max}, not {number}"));
            }
            true
        }
        (Kind::Names, Value::Array(items)) => items.iter().all(Value::is_str),
        (Kind::Text, Value::String(_)) | (Kind::Schemas, Value::Table(_)) => true,
        _ => false,
    };
    if is_fine {
        return Ok(value);
    }
    let wanted = match key.kind {
        Kind::Choice(words) => either(words),
        Kind::Count(..) => "a whole number".to_owned(),
        Kind::Names => "a list of strings".to_owned(),
        Kind::Text => "a string".to_owned(),
        Kind::Schemas => "a table".to_owned(),
    };
    Err(format!("`{name}` must be {wanted}, not {}", value.type_str()))
}
