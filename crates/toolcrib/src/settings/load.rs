//! Puts the layers together: defaults, machine, user, project, environment, flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use toml::Value;
use toolcrib_core::nearest::nearest;
use toolcrib_host::Root;

use super::error::{SettingsError, SettingsErrorKind};
use super::layer::{Assignment, Origin, find, from_text, parse};
use super::mcp_servers::merged;
use super::setting::{Setting, SettingKey, SettingKind};
use super::table::settings;
use super::tighten::tightened;
use super::trusted::read_trusted;

/// Where a project's own settings are.
const PROJECT_SETTINGS_FILE: &str = ".toolcrib/config.toml";

/// The most bytes that a project's settings file may have.
const MOST_PROJECT_FILE_BYTES: u64 = 64 << 10;

/// Settings that confine or decide begin with these; the environment can only tighten them.
const TIGHTEN_ONLY: [&str; 3] = ["sandbox.", "policy.", "mode"];

/// A value that a flag of the command line sets.
pub struct FlagValue {
    flag: &'static str,
    setting: &'static str,
    text: String,
}

impl FlagValue {
    /// Sets `key` to `text`, as `flag` says.
    pub fn new<T>(flag: &'static str, key: SettingKey<T>, text: String) -> Self {
        Self { flag, setting: key.setting.name, text }
    }
}

/// The values in force, and where each came from.
#[derive(Clone)]
pub struct Settings {
    /// A value for each row of the table, in its order.
    values: Vec<(Value, Origin)>,
    /// A sentence for each value that was set and is ignored.
    pub warnings: Vec<String>,
}

/// Where the operator's settings files are.
#[derive(Clone, Default)]
pub struct SettingsFiles {
    /// The file of the machine.
    pub machine: PathBuf,
    /// The file of the user, if there is a place for it.
    pub user: Option<PathBuf>,
    /// The text that the user's file is going to have, to be checked before it is written.
    pub user_text: Option<String>,
    /// What the project's files are taken to say, in place of those on disk.
    pub project: Option<ProjectTexts>,
}

/// What the files of a project say. A file that is missing has no text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProjectTexts {
    /// The text of its settings file.
    pub settings: Option<String>,
    /// The text of its rules file.
    pub rules: Option<String>,
}

impl SettingsFiles {
    /// Returns the settings files that exist, each with its text.
    fn texts(&self) -> impl Iterator<Item = Result<(&Path, String), SettingsError>> {
        let machine = (&self.machine, None);
        let user = self.user.as_ref().map(|path| (path, self.user_text.clone()));
        [Some(machine), user].into_iter().flatten().filter_map(|(path, given)| {
            let text = given.map_or_else(|| read_trusted(path), |text| Ok(Some(text)));
            text.map(|text| Some((path.as_path(), text?))).transpose()
        })
    }
}

impl Settings {
    /// Returns every setting at its default.
    pub fn defaults() -> Self {
        let defaults = settings().map(|setting| (setting.default.value(), Origin::Default));
        Self { values: defaults.collect(), warnings: Vec::new() }
    }

    /// Loads the settings for `workspace`. Without a workspace there is no project file to read.
    pub fn load(
        files: &SettingsFiles,
        workspace: Option<&Root>,
        environment: &BTreeMap<String, OsString>,
        flags: &[FlagValue],
        assignments: &[String],
    ) -> Result<Self, SettingsError> {
        let (mut settings, mut errors) = (Self::defaults(), Vec::new());
        for file in files.texts() {
            let parsed = file.and_then(|(path, text)| parse(&text, path));
            parsed.map_or_else(|err| errors.push(err), |assignments| settings.set(assignments));
        }
        if let Some(workspace) = workspace {
            let text = match &files.project {
                Some(given) => Ok(given.settings.clone()),
                None => project_settings(workspace),
            };
            let applied = text.and_then(|text| settings.apply_project(workspace, text.as_deref()));
            errors.extend(applied.err());
        }
        match from_environment(environment) {
            Ok(assignments) => settings.apply_environment(assignments),
            Err(err) => errors.push(err),
        }
        settings.warnings.extend(unknown_variables(environment));
        match from_flags(flags, assignments) {
            Ok(assignments) => settings.set(assignments),
            Err(err) => errors.push(err),
        }
        SettingsError::all(errors).map(|()| settings)
    }

    fn set(&mut self, assignments: Vec<Assignment>) {
        for Assignment { setting, value, origin } in assignments {
            let value = match setting.kind {
                SettingKind::Servers => merged(&self.values[setting.position].0, value),
                SettingKind::Choice(_)
                | SettingKind::Count(..)
                | SettingKind::Names
                | SettingKind::Text
                | SettingKind::Schemas => value,
            };
            self.values[setting.position] = (value, origin);
        }
    }

    /// Applies the environment. The environment can only tighten the settings that confine and decide, because
    /// too many programs can set a variable.
    fn apply_environment(&mut self, assignments: Vec<Assignment>) {
        for Assignment { setting, value, origin } in assignments {
            let held = &self.values[setting.position];
            let value = if TIGHTEN_ONLY.iter().any(|it| setting.name.starts_with(it)) {
                tightened(setting, held, value).map_err(|_| {
                    "the environment can only tighten this setting; use a settings file or `-c`"
                })
            } else {
                Ok(value)
            };
            match value {
                Ok(value) => self.values[setting.position] = (value, origin),
                Err(why) => self
                    .warnings
                    .push(format!("`{}` in the {origin} is ignored: {why}", setting.name)),
            }
        }
    }

    /// Applies the project's settings file as far as it tightens.
    fn apply_project(&mut self, workspace: &Root, text: Option<&str>) -> Result<(), SettingsError> {
        let path = workspace.path().join(PROJECT_SETTINGS_FILE);
        let Some(text) = text else { return Ok(()) };
        for Assignment { setting, value, origin } in parse(text, &path)? {
            match tightened(setting, &self.values[setting.position], value) {
                Ok(value) => self.values[setting.position] = (value, origin),
                Err(why) => self.warnings.push(format!(
                    "`{}` in `{}` is ignored: {why}",
                    setting.name,
                    path.display()
                )),
            }
        }
        Ok(())
    }

    /// Takes the value of one setting from others.
    pub(super) fn take_from(&mut self, others: &Self, setting: &Setting) {
        self.values[setting.position] = others.values[setting.position].clone();
    }

    /// Returns every setting with its value and origin, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (&'static Setting, &Value, &Origin)> {
        settings().zip(&self.values).map(|(setting, (value, origin))| (setting, value, origin))
    }

    /// Returns the value of the setting with this name. Catalogues name their settings by text;
    /// everybody else reads a setting by its key.
    pub fn named(&self, name: &str) -> Option<&Value> {
        self.all().find(|(setting, ..)| setting.name == name).map(|(_, value, _)| value)
    }

    /// Whether somebody set a setting.
    pub fn is_set<T>(&self, key: SettingKey<T>) -> bool {
        self.values[key.setting.position].1 != Origin::Default
    }

    /// Returns the value of a setting.
    pub fn get<T>(&self, key: SettingKey<T>) -> T {
        key.read(&self.values[key.setting.position].0)
    }
}

/// Returns the text of the project's settings file, if there is one.
pub(crate) fn project_settings(workspace: &Root) -> Result<Option<String>, SettingsError> {
    let refuse = |what: String| {
        let place = format!("`{}`", workspace.path().join(PROJECT_SETTINGS_FILE).display());
        SettingsError::new(SettingsErrorKind::File, what).at(&place)
    };
    let bytes = workspace.read_small(Path::new(PROJECT_SETTINGS_FILE), MOST_PROJECT_FILE_BYTES);
    let Some(bytes) = bytes.map_err(|err| refuse(err.to_string()))? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| refuse("not UTF-8".to_owned()))
}

fn from_environment(
    environment: &BTreeMap<String, OsString>,
) -> Result<Vec<Assignment>, SettingsError> {
    let mut assignments = Vec::new();
    for setting in settings() {
        let own = setting.variable();
        // Our own name comes last, so that it wins over the contract's.
        for name in setting.contract_name.into_iter().chain([own.as_str()]) {
            let Some(text) = environment.get(name).filter(|text| !text.is_empty()) else {
                continue;
            };
            let place = format!("environment {name}");
            let not_text = || SettingsError::new(SettingsErrorKind::Value, "not UTF-8").at(&place);
            let text = text.to_str().ok_or_else(not_text)?;
            let value = from_text(setting, text).map_err(|err| err.at(&place))?;
            let origin = Origin::Environment(name.to_owned());
            assignments.push(Assignment { setting, value, origin });
        }
    }
    Ok(assignments)
}

/// The environment variables that are no settings.
const OTHER_VARIABLES: [&str; 6] = [
    "TOOLCRIB_STATE",
    "TOOLCRIB_SERVER",
    "TOOLCRIB_TOKEN_FILE",
    "TOOLCRIB_CA_FILE",
    "TOOLCRIB_MODEL_KEY",
    "TOOLCRIB_SEARCH_KEY",
];

/// Returns a warning for each environment variable that looks like a setting and is none.
fn unknown_variables(environment: &BTreeMap<String, OsString>) -> Vec<String> {
    let others = OTHER_VARIABLES.map(str::to_owned);
    let known: Vec<String> = settings().map(Setting::variable).chain(others).collect();
    let unknown =
        environment.keys().filter(|name| name.starts_with("TOOLCRIB_") && !known.contains(name));
    unknown
        .map(|name| {
            let near = nearest(name, known.iter().map(String::as_str), 1);
            let hint =
                near.first().map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("the environment variable `{name}` is not a setting{hint}")
        })
        .collect()
}

fn from_flags(
    flags: &[FlagValue],
    assignments: &[String],
) -> Result<Vec<Assignment>, SettingsError> {
    let mut sets = Vec::new();
    let refuse = |what: &str| SettingsError::new(SettingsErrorKind::Syntax, what);
    for assignment in assignments {
        let place = format!("-c {assignment}");
        let pair = assignment.split_once('=').ok_or_else(|| refuse("write it as KEY=VALUE"));
        let (name, text) = pair.map_err(|err| err.at(&place))?;
        let setting = find(name.trim()).map_err(|err| err.at(&place))?;
        let value = from_text(setting, text.trim()).map_err(|err| err.at(&place))?;
        sets.push(Assignment { setting, value, origin: Origin::Flag("-c".to_owned()) });
    }
    for FlagValue { flag, setting, text } in flags {
        let setting = find(setting).map_err(|err| err.at(flag))?;
        let value = from_text(setting, text).map_err(|err| err.at(flag))?;
        if value.as_array().is_some_and(Vec::is_empty) {
            return Err(refuse("the list is empty; name at least one").at(flag));
        }
        sets.push(Assignment { setting, value, origin: Origin::Flag((*flag).to_owned()) });
    }
    Ok(sets)
}
