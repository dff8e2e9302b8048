//! Changes the settings of a process that runs, for callers: checked as the settings file is, written to it, and in force
//! before the reply.

use std::path::Path;

use serde_json::{Map, Value};
use toolcrib_core::{Principal, escape};
use toolcrib_ledger::hash_of;
use toolcrib_serve::{
    CONTRACT_CATALOGUE, ChangeWay, ChangedValue, ConfigChanged, ConfigError, ConfigErrorKind,
    EditedSettings, LiveConfig, SettingsReport, ShownSetting, ToolConfig, ToolConfigChange, Wanted,
};
use toolcrib_tools::catalogues;

use super::live_settings::{ChangedBy, LiveSettings, PreparedSettings, changed_value, lines_of};
use crate::error::CliError;
use crate::settings::{FileEdit, Origin, Setting, SettingKind, Settings, checked_value, table};

/// A field of the tool configuration.
struct ConfigField {
    name: &'static str,
    /// The name of its setting.
    setting: &'static str,
    /// Returns what a change wants of it.
    wanted: fn(&ToolConfigChange) -> Option<Value>,
}

/// The fields of the tool configuration that have a setting.
const FIELDS: [ConfigField; 8] = [
    ConfigField {
        name: "enabled",
        setting: table::TOOLS_ENABLED.setting.name,
        wanted: |change| value(&change.enabled),
    },
    ConfigField {
        name: "allowlist",
        setting: table::FORGEKEEPER_ALLOW.setting.name,
        wanted: |change| value(&change.allowlist),
    },
    ConfigField {
        name: "sandboxRoot",
        setting: table::FORGEKEEPER_ROOT.setting.name,
        wanted: |change| value(&change.sandbox_root),
    },
    ConfigField {
        name: "maxReadBytes",
        setting: table::FORGEKEEPER_MAX_READ_BYTES.setting.name,
        wanted: |change| value(&change.max_read_bytes),
    },
    ConfigField {
        name: "maxWriteBytes",
        setting: table::FORGEKEEPER_MAX_WRITE_BYTES.setting.name,
        wanted: |change| value(&change.max_write_bytes),
    },
    ConfigField {
        name: "powershellEnabled",
        setting: table::FORGEKEEPER_POWERSHELL.setting.name,
        wanted: |change| value(&change.powershell_enabled),
    },
    ConfigField {
        name: "bashEnabled",
        setting: table::FORGEKEEPER_BASH.setting.name,
        wanted: |change| value(&change.bash_enabled),
    },
    ConfigField {
        name: "httpFetchEnabled",
        setting: table::FORGEKEEPER_HTTP_FETCH.setting.name,
        wanted: |change| value(&change.http_fetch_enabled),
    },
];

/// Returns the name of the field that a setting has in the tool configuration.
fn field_of(setting: &str) -> Option<&'static str> {
    FIELDS.iter().find(|field| field.setting == setting).map(|field| field.name)
}

/// A setting that somebody wants to change.
struct WantedSetting {
    setting: &'static Setting,
    /// The value; nothing to take it out of the file.
    value: Option<toml::Value>,
}

impl LiveConfig for LiveSettings {
    fn config(&self) -> ToolConfig {
        let settings = self.settings();
        let capabilities = self.capabilities();
        let root = capabilities.root_of(CONTRACT_CATALOGUE);
        let allowed = settings.get(table::FORGEKEEPER_ALLOW);
        ToolConfig {
            enabled: settings.get(table::TOOLS_ENABLED),
            allowlist: if allowed.is_empty() { contract_tools() } else { allowed },
            sandbox_root: root.map(|root| root.display().to_string()).unwrap_or_default(),
            max_read_bytes: settings.get(table::FORGEKEEPER_MAX_READ_BYTES),
            max_write_bytes: settings.get(table::FORGEKEEPER_MAX_WRITE_BYTES),
            powershell_enabled: settings.get(table::FORGEKEEPER_POWERSHELL),
            bash_enabled: settings.get(table::FORGEKEEPER_BASH),
            http_fetch_enabled: settings.get(table::FORGEKEEPER_HTTP_FETCH),
        }
    }

    fn change_config(
        &self,
        change: &ToolConfigChange,
        by: &Principal,
    ) -> Result<ConfigChanged, ConfigError> {
        let mut warnings = Vec::new();
        let wanted = settings_of(change, &mut warnings)?;
        let mut changed = self.change(&wanted, &ChangeWay::Make { version: None }, by)?;
        changed.warnings.splice(0..0, warnings);
        Ok(changed)
    }

    fn settings(&self) -> SettingsReport {
        let settings = LiveSettings::settings(self);
        let redactor = &self.crib().redactor;
        let shown = |(setting, value, origin): (&Setting, &toml::Value, &Origin)| {
            let value = redactor.clean_json(&serde_json::to_value(value).unwrap_or_default());
            (setting.name.to_owned(), shown_setting(setting, value, origin))
        };
        let file = self.files().user.as_deref().map(|path| path.display().to_string());
        SettingsReport { settings: settings.all().map(shown).collect(), file, state: self.state() }
    }

    fn change_settings(
        &self,
        change: &Map<String, Value>,
        way: &ChangeWay,
        by: &Principal,
    ) -> Result<ConfigChanged, ConfigError> {
        let wanted = checked(change.iter().map(|(name, value)| (name.as_str(), value.clone())))?;
        self.change(&wanted, way, by)
    }
}

impl LiveSettings {
    /// Writes settings to the user's file and puts them in force, or does neither.
    fn change(
        &self,
        wanted: &[WantedSetting],
        way: &ChangeWay,
        by: &Principal,
    ) -> Result<ConfigChanged, ConfigError> {
        let _changing = self.begin_change();
        let path = self.files().user.as_deref().ok_or_else(|| {
            let message = "there is no place for the settings file: the server has neither HOME nor XDG_CONFIG_HOME";
            refused(ConfigErrorKind::Unavailable, message, Vec::new())
        })?;
        let unavailable = |err: CliError| {
            let message = format!("nothing was changed: {err}");
            refused(ConfigErrorKind::Unavailable, message, Vec::new())
        };
        let edit = self.sources().read(|| FileEdit::begin(path));
        let mut edit = edit.map_err(|err| unavailable(err.into()))?;
        let before = edit.text().to_owned();
        let version = hash_of(before.as_bytes());
        check_version(way, &version)?;
        // What somebody wrote to the files a moment ago is not part of this change.
        self.take_up(ChangedBy::Files).map_err(|err| wrong_files(&err))?;
        for WantedSetting { setting, value } in wanted {
            let edited = match value {
                Some(value) => edit.set(setting.name, value),
                None => edit.unset(setting.name).map(drop),
            };
            edited.map_err(|err| wrong_files(&err.into()))?;
        }
        edit.check().map_err(|err| wrong_files(&err.into()))?;
        let mut prepared =
            self.prepare(Some(edit.text())).map_err(|err| invalid(lines_of(&err)))?;
        let start_errors = self.new_start_errors(&prepared);
        if !start_errors.is_empty() {
            return Err(invalid(start_errors));
        }
        self.check_effect(wanted, prepared.settings(), prepared.needs_restart())?;
        let is_made = edit.is_changed() && *way != ChangeWay::Try;
        if is_made {
            edit.write().map_err(|err| unavailable(err.into()))?;
            let by = ChangedBy::Principal(by);
            if let Err(err) = self.record(&mut prepared, by) {
                let left = match edit.take_back() {
                    Ok(()) => String::new(),
                    Err(err) => format!("; the file could not be put back: {err}"),
                };
                let message =
                    format!("nothing was changed: the record cannot be written: {err}{left}");
                return Err(refused(ConfigErrorKind::Unavailable, message, Vec::new()));
            }
        }
        let after = edit.text().to_owned();
        let file = EditedSettings { path: path.display().to_string(), version, before, after };
        let mut changed = self.changed(&prepared, file);
        changed.warnings.extend(prepared.project_warning());
        if !edit.lost_comments().is_empty() {
            let comments = escape::line(&edit.lost_comments().join(", ")).into_owned();
            changed.warnings.push(format!("these comments within old values are gone: {comments}"));
        }
        if is_made {
            self.put_in_force(prepared, ChangedBy::Principal(by));
        }
        changed.config = self.config();
        Ok(changed)
    }

    /// Returns what a change does.
    fn changed(&self, prepared: &PreparedSettings, file: EditedSettings) -> ConfigChanged {
        let changed = prepared.changes.iter().map(changed_value).map(|value| ChangedValue {
            field: field_of(&value.setting).map(str::to_owned),
            ..value
        });
        ConfigChanged {
            config: self.config(),
            changed: changed.collect(),
            needs_restart: prepared.needs_restart().to_vec(),
            warnings: prepared.warnings.clone(),
            file,
        }
    }

    /// Refuses a change that another place overrides: it would be written, and do nothing.
    fn check_effect(
        &self,
        wanted: &[WantedSetting],
        settings: &Settings,
        restarts: &[ChangedValue],
    ) -> Result<(), ConfigError> {
        let files = [Some(&self.files().machine), self.files().user.as_ref()];
        let overridden = wanted.iter().filter_map(|WantedSetting { setting, value }| {
            // What needs a restart is told, and holds after it.
            if restarts.iter().any(|it| it.setting == setting.name) {
                return None;
            }
            let (_, held, origin) = settings.all().find(|it| it.0.name == setting.name)?;
            let decides = match origin {
                Origin::Default => false,
                Origin::File(path) => !files.iter().flatten().any(|file| *file == path),
                Origin::Environment(_) | Origin::Flag(_) => true,
            };
            let is_other = value.as_ref() != Some(held);
            let name = field_of(setting.name).unwrap_or(setting.name);
            (decides && is_other).then(|| format!("`{name}` is {held}, as set by {origin}"))
        });
        let overridden: Vec<String> = overridden.collect();
        if overridden.is_empty() {
            return Ok(());
        }
        let message = format!(
            "nothing was changed, because the settings file does not decide: {}",
            overridden.join("; ")
        );
        Err(refused(ConfigErrorKind::Overridden, message, overridden))
    }
}

impl ChangedBy<'_> {
    /// Returns who it was, if it was a caller.
    pub(super) fn name(self) -> Option<String> {
        match self {
            Self::Files => None,
            Self::Principal(principal) => Some(principal.name.clone()),
        }
    }
}

/// Refuses a change of another version of the file than the one that the caller has seen.
fn check_version(way: &ChangeWay, version: &str) -> Result<(), ConfigError> {
    match way {
        ChangeWay::Make { version: Some(seen) } if seen != version => {
            let message = "nothing was changed, because somebody else has changed the settings file meanwhile";
            Err(refused(ConfigErrorKind::ChangedMeanwhile, message, Vec::new()))
        }
        ChangeWay::Make { .. } | ChangeWay::Try => Ok(()),
    }
}

/// Returns a setting as the API shows it.
fn shown_setting(setting: &Setting, value: Value, origin: &Origin) -> ShownSetting {
    let (kind, choices, range) = match setting.kind {
        SettingKind::Choice(words) => ("choice", words.to_vec(), None),
        SettingKind::Count(min, max) => ("number", Vec::new(), Some((min, max))),
        SettingKind::Names => ("list", Vec::new(), None),
        SettingKind::Text => ("text", Vec::new(), None),
        SettingKind::Schemas | SettingKind::Servers => ("table", Vec::new(), None),
    };
    ShownSetting {
        value,
        origin: origin.to_string(),
        needs_restart: setting.needs_restart,
        about: setting.about(),
        default: serde_json::to_value(setting.default.value()).unwrap_or_default(),
        kind,
        choices,
        min: range.map(|(min, _)| min),
        max: range.map(|(_, max)| max),
    }
}

/// Returns the settings that a change of the tool configuration means.
fn settings_of(
    change: &ToolConfigChange,
    warnings: &mut Vec<String>,
) -> Result<Vec<WantedSetting>, ConfigError> {
    let mut errors = Vec::new();
    if let Wanted::Set(names) = &change.allowlist {
        if names.is_empty() {
            errors.push("`allowlist` must name at least one tool; `\"enabled\": false` switches all tools off, and `null` allows all".to_owned());
        }
        let known = contract_tools();
        for name in names.iter().filter(|name| !known.contains(name)) {
            let name = escape::line(name).into_owned();
            warnings.push(format!("`allowlist`: the contract has no tool `{name}`"));
        }
    }
    if let Wanted::Set(root) = &change.sandbox_root
        && !Path::new(root).is_absolute()
    {
        errors
            .push("`sandboxRoot` must be an absolute path, or `null` for the workspace".to_owned());
    }
    let named = FIELDS.iter().filter_map(|field| Some((field.setting, (field.wanted)(change)?)));
    match checked(named) {
        Ok(wanted) if errors.is_empty() => Ok(wanted),
        Ok(_) => Err(invalid(errors)),
        Err(more) => {
            errors.extend(more.errors);
            Err(invalid(errors))
        }
    }
}

/// Returns a wanted value as JSON, `null` to take it out of the file; nothing if it stays.
fn value<T: Clone + Into<Value>>(wanted: &Wanted<T>) -> Option<Value> {
    match wanted {
        Wanted::Unchanged => None,
        Wanted::Unset => Some(Value::Null),
        Wanted::Set(value) => Some(value.clone().into()),
    }
}

/// Checks values as a settings file is checked. All errors are told at once.
fn checked<'a>(
    values: impl Iterator<Item = (&'a str, Value)>,
) -> Result<Vec<WantedSetting>, ConfigError> {
    let (mut wanted, mut errors) = (Vec::new(), Vec::new());
    for (name, value) in values {
        match wanted_setting(name, value) {
            Ok(setting) => wanted.push(setting),
            Err(err) => errors.push(match field_of(name) {
                Some(field) => format!("`{field}`: {err}"),
                None => err.to_string(),
            }),
        }
    }
    if errors.is_empty() { Ok(wanted) } else { Err(invalid(errors)) }
}

fn wanted_setting(name: &str, value: Value) -> Result<WantedSetting, CliError> {
    let is_switch = |setting: &Setting| matches!(setting.kind, SettingKind::Choice(["off", "on"]));
    let known = table::settings().find(|setting| setting.name == name);
    let value = match (value, known) {
        (Value::Null, Some(setting)) => return Ok(WantedSetting { setting, value: None }),
        (Value::Bool(value), Some(setting)) if is_switch(setting) => {
            toml::Value::from(if value { "on" } else { "off" })
        }
        (Value::Null, None) => toml::Value::from(""),
        (Value::Number(number), _) if number.is_u64() && !number.is_i64() => {
            toml::Value::Integer(i64::MAX)
        }
        (value, _) => toml::Value::try_from(value)
            .map_err(|err| CliError::settings(format!("`{name}`: {err}")))?,
    };
    let (setting, value) = checked_value(name, value)?;
    Ok(WantedSetting { setting, value: Some(value) })
}

/// Returns the names of the contract's own tools.
fn contract_tools() -> Vec<String> {
    let own = catalogues().iter().filter(|catalogue| catalogue.name == CONTRACT_CATALOGUE);
    let tools = own.flat_map(|catalogue| catalogue.tools.iter());
    tools.map(|tool| tool.declaration().name.to_owned()).collect()
}

fn invalid(errors: Vec<String>) -> ConfigError {
    let message = format!("nothing was changed: {}", errors.join("; "));
    refused(ConfigErrorKind::Invalid, message, errors)
}

fn wrong_files(err: &CliError) -> ConfigError {
    let errors = lines_of(err);
    let message = format!(
        "nothing was changed, because the settings and rules on disk have errors: {}",
        errors.join("; ")
    );
    refused(ConfigErrorKind::WrongFiles, message, errors)
}

fn refused(kind: ConfigErrorKind, message: impl Into<String>, errors: Vec<String>) -> ConfigError {
    ConfigError { kind, message: message.into(), errors }
}
