//! What the binary must tell about the settings of the server, and how they are changed while it runs.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use toolcrib_core::Principal;

/// The settings in force. The binary has them, because it reads the files.
pub trait LiveConfig: Send + Sync {
    /// Returns what the contract calls the tool configuration.
    fn config(&self) -> ToolConfig;

    /// Changes what the contract calls the tool configuration: all of it, or nothing.
    fn change_config(
        &self,
        change: &ToolConfigChange,
        by: &Principal,
    ) -> Result<ConfigChanged, ConfigError>;

    /// Returns every setting.
    fn settings(&self) -> SettingsReport;

    /// Changes settings by their own names: all of them, or none. `null` removes one from the settings file.
    fn change_settings(
        &self,
        change: &Map<String, Value>,
        way: &ChangeWay,
        by: &Principal,
    ) -> Result<ConfigChanged, ConfigError>;
}

/// What is done with a change of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeWay {
    /// It is checked, and not made.
    Try,
    /// It is made.
    Make {
        /// Only if the settings file still has this version.
        version: Option<String>,
    },
}

/// The tool configuration of the contract.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "the contract's fields")]
pub struct ToolConfig {
    /// Whether tools can be called.
    pub enabled: bool,
    /// The tools of the contract that may be on offer.
    pub allowlist: Vec<String>,
    /// The directory that the tools of the contract work in.
    pub sandbox_root: String,
    /// The most bytes that a tool of the contract reads from a file.
    pub max_read_bytes: u64,
    /// The most bytes that a tool of the contract writes to a file.
    pub max_write_bytes: u64,
    /// Whether `run_powershell` is on offer.
    pub powershell_enabled: bool,
    /// Whether `run_bash` is on offer.
    pub bash_enabled: bool,
    /// Whether `http_fetch` is on offer.
    pub http_fetch_enabled: bool,
}

/// A change of the tool configuration. A field that is left out stays as it is; `null` takes its value out of the
/// settings file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ToolConfigChange {
    /// Whether tools can be called.
    pub enabled: Wanted<bool>,
    /// The tools of the contract that may be on offer. At least one; `null` allows all.
    pub allowlist: Wanted<Vec<String>>,
    /// The directory that the tools of the contract work in. `null` stands for the workspace.
    pub sandbox_root: Wanted<String>,
    /// The most bytes that a tool of the contract reads from a file.
    pub max_read_bytes: Wanted<u64>,
    /// The most bytes that a tool of the contract writes to a file.
    pub max_write_bytes: Wanted<u64>,
    /// Whether `run_powershell` is on offer.
    pub powershell_enabled: Wanted<bool>,
    /// Whether `run_bash` is on offer.
    pub bash_enabled: Wanted<bool>,
    /// Whether `http_fetch` is on offer.
    pub http_fetch_enabled: Wanted<bool>,
}

/// What a change wants of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Wanted<T> {
    /// It stays as it is.
    #[default]
    Unchanged,
    /// It is taken out of the settings file.
    Unset,
    /// It becomes this.
    Set(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Wanted<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(|value| value.map_or(Self::Unset, Self::Set))
    }
}

impl<T: JsonSchema> JsonSchema for Wanted<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<T>::json_schema(generator)
    }
}

/// What a change of settings did.
#[derive(Clone, Debug)]
pub struct ConfigChanged {
    /// The tool configuration that holds now.
    pub config: ToolConfig,
    /// The values that are not what they were.
    pub changed: Vec<ChangedValue>,
    /// The settings that are in the file now and hold only after a restart.
    pub needs_restart: Vec<ChangedValue>,
    /// What the one who changed them should know.
    pub warnings: Vec<String>,
    /// The settings file.
    pub file: EditedSettings,
}

/// A settings file before and after a change.
#[derive(Clone, Debug)]
pub struct EditedSettings {
    /// Its path.
    pub path: String,
    /// The version before the change.
    pub version: String,
    /// The text before.
    pub before: String,
    /// The text after.
    pub after: String,
}

/// A value that changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ChangedValue {
    /// The name of the setting.
    pub setting: String,
    /// The field of the tool configuration that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// The value before.
    pub old: Value,
    /// The value now.
    pub new: Value,
    /// Where the value comes from: a file, an environment variable, a flag, or `default`.
    pub from: String,
}

/// Every setting, and how the settings of the server stand.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SettingsReport {
    /// The settings that hold, by name.
    pub settings: BTreeMap<String, ShownSetting>,
    /// The file that changes are written to.
    pub file: Option<String>,
    /// How they stand.
    pub state: SettingsState,
}

/// A setting.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShownSetting {
    /// The value that holds.
    pub value: Value,
    /// Where the value comes from: a file, an environment variable, a flag, or `default`.
    pub origin: String,
    /// Whether a new value holds only after a restart.
    pub needs_restart: bool,
    /// What it is for.
    pub about: String,
    /// The value if nobody sets it.
    pub default: Value,
    /// What it may be: `choice`, `number`, `list`, `text` or `table`.
    pub kind: &'static str,
    /// The words to choose from, strictest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<&'static str>,
    /// The smallest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min: Option<i64>,
    /// The largest number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<i64>,
}

/// How the settings of the server stand against those on disk.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub struct SettingsState {
    /// When settings or rules last changed while the server ran.
    pub changed_at: Option<String>,
    /// Who changed them then: a principal, or nobody if it was a change of the files.
    pub changed_by: Option<String>,
    /// What is wrong with the files on disk. The server then goes on with what it had.
    pub errors: Vec<String>,
    /// The settings that are in the files and hold only after a restart.
    pub needs_restart: Vec<ChangedValue>,
}

/// Why settings were not changed. Nothing of the change holds.
#[derive(Debug)]
pub struct ConfigError {
    /// What is in the way.
    pub kind: ConfigErrorKind,
    /// What a person is told.
    pub message: String,
    /// Each thing that is wrong.
    pub errors: Vec<String>,
}

/// What is in the way of a change of settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigErrorKind {
    /// A value or a name is wrong.
    Invalid,
    /// The settings or rules on disk have errors already.
    WrongFiles,
    /// An environment variable, a flag or a project's file decides in place of the settings file.
    Overridden,
    /// Somebody else has changed the settings file meanwhile.
    ChangedMeanwhile,
    /// The settings file cannot be written, or the change cannot be recorded.
    Unavailable,
}
