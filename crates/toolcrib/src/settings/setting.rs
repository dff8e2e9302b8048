//! What a setting is: its row in the table, and the typed key that its value is read by.

use std::fmt;
use std::time::Duration;

use toml::Value;
use toolcrib_plugins::mcp::server_spec::ServerSpec;

use super::mcp_servers::server_list;
use super::schemas::SchemaTable;

/// One row of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The name in settings files, with dots between tables.
    pub name: &'static str,
    /// The lines that describe the setting.
    about: &'static [&'static str],
    /// Which values are valid.
    pub kind: SettingKind,
    /// The value if nobody sets the setting.
    pub default: SettingDefault,
    /// What a project's settings file may do to the value.
    pub project: Project,
    /// The contract's name for the setting in the environment, beside `TOOLCRIB_…`.
    pub contract_name: Option<&'static str>,
    /// Whether the value is applied once, when a process opens the workspace, the record and the server. A new value
    /// holds only after a restart.
    pub needs_restart: bool,
    /// The index of the row in the table.
    pub(super) position: usize,
}

impl Setting {
    /// Returns Toolcrib's own name for the setting in the environment.
    pub fn variable(&self) -> String {
        format!("TOOLCRIB_{}", self.name.to_uppercase().replace('.', "_"))
    }

    /// Returns the description as one line of text.
    pub fn about(&self) -> String {
        let lines: Vec<&str> = self.about.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }
}

/// Which values of a setting are valid.
#[derive(Clone, Copy, Debug)]
pub enum SettingKind {
    /// One of these words, strictest first.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count(i64, i64),
    /// A list of words; in the environment, separated by commas.
    Names,
    /// Any text.
    Text,
    /// A table of JSON Schemas: inline, or as the path of a file.
    Schemas,
    /// A table of MCP servers, each a table of its own.
    Servers,
}

/// The value of a setting that nobody sets.
#[derive(Clone, Copy, Debug)]
pub enum SettingDefault {
    /// A word or a text.
    Word(&'static str),
    /// A whole number.
    Number(i64),
    /// A list of words.
    List(&'static [&'static str]),
    /// An empty table.
    EmptyTable,
}

impl SettingDefault {
    /// Returns the default as a value.
    pub(crate) fn value(self) -> Value {
        match self {
            Self::Word(word) => Value::String(word.to_owned()),
            Self::Number(number) => Value::Integer(number),
            Self::List(words) => {
                Value::Array(words.iter().map(|word| Value::String((*word).to_owned())).collect())
            }
            Self::EmptyTable => Value::Table(toml::Table::new()),
        }
    }
}

/// Writes the default as TOML.
impl fmt::Display for SettingDefault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.value())
    }
}

/// What a project's settings file may do to a value. None of these can loosen it.
#[derive(Clone, Copy, Debug)]
pub enum Project {
    /// Nothing: only the operator sets the value.
    OperatorOnly,
    /// Choose a stricter word.
    Stricter,
    /// Choose a smaller number.
    Smaller,
    /// Choose a subset of the list.
    Subset(EmptyList),
    /// Add to the list.
    More,
    /// Choose this word and no other.
    Only(&'static str),
}

/// What an empty list stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmptyList {
    /// Everything, so that an empty list is the widest.
    Everything,
    /// Everything if nobody set the list, and nothing if somebody set it to be empty.
    EverythingUntilSet,
    /// Nothing, so that an empty list is the narrowest.
    Nothing,
}

/// The key of a setting. Its type says what reading the setting returns, so that a wrong name or a
/// wrong type does not compile.
pub struct SettingKey<T: 'static> {
    /// The row in the table.
    pub setting: Setting,
    read: fn(&Value) -> T,
}

impl<T> Clone for SettingKey<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for SettingKey<T> {}

impl<T> SettingKey<T> {
    const fn new(
        name: &'static str,
        kind: SettingKind,
        default: SettingDefault,
        read: fn(&Value) -> T,
    ) -> Self {
        let project = Project::OperatorOnly;
        let setting = Setting {
            name,
            about: &[],
            kind,
            default,
            project,
            contract_name: None,
            needs_restart: false,
            position: 0,
        };
        Self { setting, read }
    }

    /// Lets a project's settings file change the value in this way.
    pub(super) const fn project(mut self, project: Project) -> Self {
        self.setting.project = project;
        self
    }

    /// Gives the setting a contract's name in the environment.
    pub(super) const fn contract_name(mut self, name: &'static str) -> Self {
        self.setting.contract_name = Some(name);
        self
    }

    /// Says that the value is applied once, at the start of a process.
    pub(super) const fn at_start(mut self) -> Self {
        self.setting.needs_restart = true;
        self
    }

    /// Puts the setting into the table.
    pub(super) const fn at(mut self, position: usize, about: &'static [&'static str]) -> Self {
        self.setting.position = position;
        self.setting.about = about;
        self
    }

    /// Reads a value that is valid for the setting.
    pub(super) fn read(&self, value: &Value) -> T {
        (self.read)(value)
    }
}

/// A whole number, with its default and its range.
pub(super) const fn count(
    name: &'static str,
    default: i64,
    (min, max): (i64, i64),
) -> SettingKey<u64> {
    SettingKey::new(name, SettingKind::Count(min, max), SettingDefault::Number(default), number)
}

/// A user's number.
pub(super) const fn user_id(
    name: &'static str,
    default: i64,
    (min, max): (i64, i64),
) -> SettingKey<u32> {
    let read = |value: &Value| u32::try_from(number(value)).unwrap_or(u32::MAX - 1);
    SettingKey::new(name, SettingKind::Count(min, max), SettingDefault::Number(default), read)
}

/// A time in seconds.
pub(super) const fn seconds(
    name: &'static str,
    default: i64,
    (min, max): (i64, i64),
) -> SettingKey<Duration> {
    let read = |value: &Value| Duration::from_secs(number(value));
    SettingKey::new(name, SettingKind::Count(min, max), SettingDefault::Number(default), read)
}

/// A time in milliseconds.
pub(super) const fn milliseconds(
    name: &'static str,
    default: i64,
    (min, max): (i64, i64),
) -> SettingKey<Duration> {
    let read = |value: &Value| Duration::from_millis(number(value));
    SettingKey::new(name, SettingKind::Count(min, max), SettingDefault::Number(default), read)
}

/// A limit up to `max`, off by default: 0 means no limit.
pub(super) const fn limit(name: &'static str, max: i64) -> SettingKey<Option<u64>> {
    let read = |value: &Value| Some(number(value)).filter(|limit| *limit > 0);
    SettingKey::new(name, SettingKind::Count(0, max), SettingDefault::Number(0), read)
}

/// A limit in seconds, off by default: 0 means no limit.
pub(super) const fn limit_seconds(name: &'static str) -> SettingKey<Option<Duration>> {
    let read =
        |value: &Value| Some(number(value)).filter(|limit| *limit > 0).map(Duration::from_secs);
    SettingKey::new(name, SettingKind::Count(0, i64::MAX), SettingDefault::Number(0), read)
}

/// A list of words.
pub(super) const fn names(
    name: &'static str,
    default: &'static [&'static str],
) -> SettingKey<Vec<String>> {
    SettingKey::new(name, SettingKind::Names, SettingDefault::List(default), list)
}

/// Any text.
pub(super) const fn text(name: &'static str, default: &'static str) -> SettingKey<String> {
    let read = |value: &Value| word(value).to_owned();
    SettingKey::new(name, SettingKind::Text, SettingDefault::Word(default), read)
}

/// One of `words`, strictest first.
pub(super) const fn choice<T>(
    name: &'static str,
    words: &'static [&'static str],
    default: &'static str,
    read: fn(&Value) -> T,
) -> SettingKey<T> {
    SettingKey::new(name, SettingKind::Choice(words), SettingDefault::Word(default), read)
}

/// `off` or `on`, of which `off` is the stricter.
pub(super) const fn switch(name: &'static str, default: &'static str) -> SettingKey<bool> {
    choice(name, &["off", "on"], default, |value| word(value) == "on")
}

/// A table of JSON Schemas, empty by default.
pub(super) const fn schemas(name: &'static str) -> SettingKey<SchemaTable> {
    let read = |value: &Value| SchemaTable::new(value.as_table().cloned().unwrap_or_default());
    SettingKey::new(name, SettingKind::Schemas, SettingDefault::EmptyTable, read)
}

/// A table of MCP servers, empty by default.
pub(super) const fn servers(name: &'static str) -> SettingKey<Vec<ServerSpec>> {
    SettingKey::new(name, SettingKind::Servers, SettingDefault::EmptyTable, server_list)
}

/// Returns the word of a value that was checked to be one.
pub(super) fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> u64 {
    value.as_integer().and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
}

fn list(value: &Value) -> Vec<String> {
    let items = value.as_array();
    items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
