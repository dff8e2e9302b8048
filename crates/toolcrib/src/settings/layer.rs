//! Reads values from one place: a file's text, an environment variable, a flag.

use std::fmt;
use std::path::{Path, PathBuf};

use toml::{Table, Value};
use toolcrib_core::nearest::{either, nearest};

use super::error::{SettingsError, SettingsErrorKind};
use super::mcp_servers::{SERVERS, check_servers, server_name};
use super::quantity::Unit;
use super::setting::{Setting, SettingKind};
use super::table::settings;

/// How many errors of one file are named. A file of a project must not keep people waiting.
const MOST_NAMED_ERRORS: usize = 20;

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set the value.
    Default,
    /// The settings file of the machine, the user or the project.
    File(PathBuf),
    /// The environment variable of this name.
    Environment(String),
    /// The flag of this name on the command line.
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
pub(super) struct Assignment {
    pub(super) setting: &'static Setting,
    pub(super) value: Value,
    pub(super) origin: Origin,
}

/// Reads the text of a settings file. An unknown name is an error, because a typing error in a settings
/// file must not pass in silence.
pub(super) fn parse(text: &str, path: &Path) -> Result<Vec<Assignment>, SettingsError> {
    let place = format!("`{}`", path.display());
    let table: Table = text.parse().map_err(|err: toml::de::Error| {
        let line = err.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
        let message = format!("line {line}: {}", err.message().trim_end());
        SettingsError::new(SettingsErrorKind::Syntax, message).at(&place)
    })?;
    let mut flat = Vec::new();
    flatten("", table, &mut flat);
    let (mut assignments, mut errors) = (Vec::new(), Vec::new());
    for (name, value) in flat {
        match find(&name).and_then(|setting| Ok((setting, check(setting, value)?))) {
            Ok((setting, value)) => {
                let origin = Origin::File(path.to_owned());
                assignments.push(Assignment { setting, value, origin });
            }
            Err(err) => errors.push(err.at(&place)),
        }
        if errors.len() >= MOST_NAMED_ERRORS {
            break;
        }
    }
    SettingsError::all(errors).map(|()| assignments)
}

/// Turns nested tables into dotted names, except for a table that is itself the value of a setting, or an MCP server.
fn flatten(prefix: &str, table: Table, flat: &mut Vec<(String, Value)>) {
    for (name, value) in table {
        let name = if prefix.is_empty() { name } else { format!("{prefix}.{name}") };
        let is_value = settings().any(|setting| setting.name == name);
        match value {
            Value::Table(table) if !is_value && server_name(&name).is_some() => {
                let server = server_name(&name).unwrap_or_default().to_owned();
                let servers = Table::from_iter([(server, Value::Table(table))]);
                flat.push((SERVERS.to_owned(), Value::Table(servers)));
            }
            Value::Table(table) if !is_value => flatten(&name, table, flat),
            value => flat.push((name, value)),
        }
    }
}

/// Returns the setting of that name.
pub(super) fn find(name: &str) -> Result<&'static Setting, SettingsError> {
    settings().find(|setting| setting.name == name).ok_or_else(|| {
        let near = nearest(name, settings().map(|setting| setting.name), 2);
        let hint = if near.is_empty() {
            "`toolcrib config show` lists every setting".to_owned()
        } else {
            format!("did you mean {}?", either(&near))
        };
        SettingsError::new(SettingsErrorKind::Unknown, format!("no setting `{name}`")).hint(hint)
    })
}

/// Reads a value from the text of an environment variable or a flag.
pub(super) fn from_text(setting: &Setting, text: &str) -> Result<Value, SettingsError> {
    let refuse = |wanted: &str| {
        let message = format!("`{}` must be {wanted}, not `{text}`", setting.name);
        SettingsError::new(SettingsErrorKind::Value, message)
    };
    let value = match setting.kind {
        // The contract's way to write a switch.
        SettingKind::Choice(["off", "on"] | ["on", "off"]) if matches!(text, "1" | "true") => {
            "on".into()
        }
        SettingKind::Choice(["off", "on"] | ["on", "off"]) if matches!(text, "0" | "false") => {
            "off".into()
        }
        SettingKind::Choice(_) | SettingKind::Text => Value::String(text.to_owned()),
        SettingKind::Count(..) => match Unit::of(setting).parse(text) {
            Some(number) => Value::Integer(number),
            None => return Err(refuse(Unit::of(setting).wanted())),
        },
        // As files write a list, and as `config show` prints it.
        SettingKind::Names if text.trim_start().starts_with('[') => {
            let table: Result<Table, _> = format!("it = {text}").parse();
            match table.ok().and_then(|mut table| table.remove("it")) {
                Some(value) => value,
                None => return Err(refuse("a list")),
            }
        }
        SettingKind::Names => {
            let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
            Value::Array(names.map(|name| Value::String(name.to_owned())).collect())
        }
        SettingKind::Schemas | SettingKind::Servers => {
            let message = format!("`{}` can only be set in a settings file", setting.name);
            return Err(SettingsError::new(SettingsErrorKind::Value, message));
        }
    };
    check(setting, value)
}

/// Returns the value if it is valid for the setting.
pub(super) fn check(setting: &Setting, value: Value) -> Result<Value, SettingsError> {
    let refuse = |wanted: &str, given: &str| {
        let message = format!("`{}` must be {wanted}, not {given}", setting.name);
        Err(SettingsError::new(SettingsErrorKind::Value, message))
    };
    let unit = Unit::of(setting);
    let value = match (&setting.kind, value) {
        (SettingKind::Count(..), Value::String(text)) if unit != Unit::Plain => {
            match unit.parse(&text) {
                Some(number) => Value::Integer(number),
                None => return refuse(unit.wanted(), &format!("`{text}`")),
            }
        }
        (_, value) => value,
    };
    let is_valid = match (&setting.kind, &value) {
        (SettingKind::Choice(words), Value::String(word)) => {
            if !words.contains(&word.as_str()) {
                return refuse(&either(words), &format!("`{word}`"));
            }
            true
        }
        (SettingKind::Count(min, max), Value::Integer(number)) => {
            if !(min..=max).contains(&number) {
                return refuse(&format!("between {min} and {max}"), &number.to_string());
            }
            true
        }
        (SettingKind::Names, Value::Array(items)) => items.iter().all(Value::is_str),
        (SettingKind::Servers, Value::Table(servers)) => {
            check_servers(servers)?;
            true
        }
        (SettingKind::Text, Value::String(_)) | (SettingKind::Schemas, Value::Table(_)) => true,
        _ => false,
    };
    if is_valid {
        return Ok(value);
    }
    let wanted = match setting.kind {
        SettingKind::Choice(words) => either(words),
        SettingKind::Count(..) => unit.wanted().to_owned(),
        SettingKind::Names => "a list of strings".to_owned(),
        SettingKind::Text => "a string".to_owned(),
        SettingKind::Schemas | SettingKind::Servers => "a table".to_owned(),
    };
    let refused = refuse(&wanted, value.type_str());
    match (&setting.kind, value) {
        (SettingKind::Names, Value::String(text)) => {
            let list = Value::Array(vec![Value::String(text)]);
            refused.map_err(|err| err.hint(format!("write {} = {list}", setting.name)))
        }
        _ => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_a_value_its_setting_allows() {
        for setting in settings() {
            let text = format!("{} = {}", setting.name, setting.default);
            assert!(parse(&text, Path::new("default")).is_ok(), "{text}");
        }
    }

    #[test]
    fn sizes_and_times_can_be_written_with_their_units() {
        let text =
            "sandbox.memory_bytes = '4G'\npolicy.park_seconds = '2h'\nsearch.time_ms = 250\n";
        let values: Vec<Value> =
            parse(text, Path::new("c.toml")).unwrap().into_iter().map(|it| it.value).collect();
        assert_eq!(values, [4 << 30, 7200, 250].map(Value::Integer));
        let setting = find("limits.deadline_ms").unwrap();
        assert_eq!(from_text(setting, "15m").unwrap(), Value::Integer(900_000));
        assert!(from_text(find("sandbox.processes").unwrap(), "4G").is_err(), "it has no unit");
    }

    #[test]
    fn a_typing_error_in_a_file_is_refused_with_the_nearest_name() {
        let err = parse("[files]\nhardlink = 'allow'\n", Path::new("c.toml")).err().unwrap();
        assert_eq!(err.kind, SettingsErrorKind::Unknown);
        assert_eq!(err.hint.as_deref(), Some("did you mean `files.hardlinks`?"), "{err}");
        let err = parse("mode = 'loose'", Path::new("c.toml")).err().unwrap();
        assert_eq!(err.kind, SettingsErrorKind::Value);
        assert!(err.message.contains("`strict`, `standard` or `permissive`, not `loose`"), "{err}");
        let err = parse("sandbox.memory_bytes = 'lots'", Path::new("c.toml")).err().unwrap();
        assert!(err.message.contains("must be a size, such as 512M, 4G"), "{err}");
        let err = parse("mod = 'strict'\nmode = 'loose'\n", Path::new("c.toml")).err().unwrap();
        assert_eq!((err.others.len(), err.others[0].kind), (1, SettingsErrorKind::Value), "{err}");
        let err = parse("\nmode = \n", Path::new("c.toml")).err().unwrap();
        assert_eq!(err.kind, SettingsErrorKind::Syntax);
        assert!(err.message.contains("line 2"), "{err}");
    }
}
