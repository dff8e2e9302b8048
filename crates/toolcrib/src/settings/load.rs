//! Puts the layers together: defaults, machine, user, project, environment, flags.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use toml::Value;
use toolcrib_core::Mode;
use toolcrib_core::nearest::nearest;
use toolcrib_host::Root;

use super::key::keys;
use super::kind::{Key, Kind, Project};
use super::layer::{Origin, Set, SettingsError, find, from_text, parse};

/// The most bytes a project's file may have.
const MAX_PROJECT_FILE: u64 = 64 << 10;

/// What the command line sets: a flag, the key it is for, and its value.
pub type Overrides = Vec<(&'static str, &'static str, String)>;

/// What holds, and why.
pub struct Settings {
    values: BTreeMap<&'static str, (Value, Origin)>,
    /// What was set and does not hold, in words.
    pub warnings: Vec<String>,
}

/// Where files are looked for.
pub struct Places {
    /// The machine's own file.
    pub machine: PathBuf,
    /// The user's.
    pub user: Option<PathBuf>,
}

impl Settings {
    /// Returns every setting at its default.
    pub fn defaults() -> Self {
        let defaults = keys().map(|key| (key.name, (default(key), Origin::Default)));
        Self { values: defaults.collect(), warnings: Vec::new() }
    }

    /// Loads the settings for `workspace`. Without a workspace there is no project file to read.
    pub fn load(
        places: &Places,
        workspace: Option<&Root>,
        environment: &BTreeMap<String, OsString>,
        flags: &Overrides,
        assignments: &[String],
    ) -> Result<Self, SettingsError> {
        let mut settings = Self::defaults();
        for path in [Some(&places.machine), places.user.as_ref()].into_iter().flatten() {
            if let Some(text) = read_trusted(path)? {
                settings.set(parse(&text, path)?);
            }
        }
        if let Some(workspace) = workspace {
            settings.tighten(workspace)?;
        }
        settings.adopt(from_environment(environment)?);
        settings.warnings.extend(unknown_variables(environment));
        settings.set(from_flags(flags, assignments)?);
        Ok(settings)
    }

    fn set(&mut self, sets: Vec<Set>) {
        for (key, value, origin) in sets {
            self.values.insert(key.name, (value, origin));
        }
    }

    /// Applies the environment. What confines and decides it can only tighten: too much else can set it.
    fn adopt(&mut self, sets: Vec<Set>) {
        for (key, value, origin) in sets {
            let confines = ["sandbox.", "policy.", "mode"];
            let value = if confines.iter().any(|it| key.name.starts_with(it)) {
                tightened_here(key, self.value(key.name), value)
            } else {
                Ok(value)
            };
            match value {
                Ok(value) => {
                    self.values.insert(key.name, (value, origin));
                }
                Err(why) => {
                    self.warnings.push(format!("`{}` in the {origin} is ignored: {why}", key.name));
                }
            }
        }
    }

    /// Applies the project's own file, as far as it tightens.
    fn tighten(&mut self, workspace: &Root) -> Result<(), SettingsError> {
        let name = Path::new(".toolcrib/config.toml");
        let path = workspace.path().join(name);
        let refuse = |what: String| SettingsError(format!("`{}`: {what}", path.display()));
        let bytes = workspace.read_small(name, MAX_PROJECT_FILE);
        let Some(bytes) = bytes.map_err(|err| refuse(err.to_string()))? else { return Ok(()) };
        let text = String::from_utf8(bytes).map_err(|_| refuse("not UTF-8".to_owned()))?;
        for (key, value, origin) in parse(&text, &path)? {
            let current = self.value(key.name).clone();
            match tightened(key, &current, value) {
                Ok(value) => {
                    self.values.insert(key.name, (value, origin));
                }
                Err(why) => self.warnings.push(format!(
                    "`{}` in `{}` is ignored: {why}",
                    key.name,
                    path.display()
                )),
            }
        }
        Ok(())
    }

    fn value(&self, name: &str) -> &Value {
        static NOTHING: Value = Value::Boolean(false);
        self.values.get(name).map_or(&NOTHING, |(value, _)| value)
    }

    /// Every setting with its value and origin, in the order of the table.
    pub fn all(&self) -> impl Iterator<Item = (&'static Key, &Value, &Origin)> {
        keys()
            .filter_map(|key| self.values.get(key.name).map(|(value, origin)| (key, value, origin)))
    }

    /// How strict to be.
    pub fn mode(&self) -> Mode {
        Mode::parse(self.text("mode")).unwrap_or(Mode::Strict)
    }

    /// A setting that is a word or a text.
    pub fn text(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_default()
    }

    /// A setting that is a number.
    pub fn count(&self, name: &str) -> u64 {
        self.value(name).as_integer().and_then(|it| u64::try_from(it).ok()).unwrap_or_default()
    }

    /// A setting that is a list.
    pub fn names(&self, name: &str) -> Vec<String> {
        let items = self.value(name).as_array();
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// The files that JSON Schemas are read from.
    pub fn schema_files(&self, name: &str) -> Vec<String> {
        let table = self.value(name).as_table();
        table
            .into_iter()
            .flat_map(toml::Table::values)
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    }

    /// The JSON Schemas of output types, by name. A string is the path of a file that holds one.
    pub fn schemas(&self, name: &str) -> Result<Vec<(String, serde_json::Value)>, SettingsError> {
        let table = self.value(name).as_table();
        let mut schemas = Vec::new();
        for (kind, value) in table.into_iter().flatten() {
            let refuse =
                |what: &dyn fmt::Display| SettingsError(format!("`{name}.{kind}`: {what}"));
            let schema = if let Value::String(path) = value {
                let bytes = fs::read(path).map_err(|err| refuse(&format!("`{path}`: {err}")))?;
                serde_json::from_slice(&bytes).map_err(|err| refuse(&format!("`{path}`: {err}")))?
            } else {
                serde_json::to_value(value).map_err(|err| refuse(&err))?
            };
            schemas.push((kind.clone(), schema));
        }
        Ok(schemas)
    }
}

fn default(key: &Key) -> Value {
    // Most are plain, and this is done for each of them at every start.
    if let Ok(number) = key.default.parse() {
        return Value::Integer(number);
    }
    let plain = key.default.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
    if let Some(plain) = plain.filter(|it| !it.contains(['\\', '"'])) {
        return Value::String(plain.to_owned());
    }
    if key.default == "[]" {
        return Value::Array(Vec::new());
    }
    let text = format!("it = {}", key.default);
    let table = text.parse::<toml::Table>().ok();
    table.and_then(|mut table| table.remove("it")).unwrap_or(Value::Boolean(false))
}

/// Reads a file of the operator's. One that others could have written is no word of theirs.
pub(crate) fn read_trusted(path: &Path) -> Result<Option<String>, SettingsError> {
    let refuse = |what: &str| SettingsError(format!("`{}`: {what}", path.display()));
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(err) if err.kind() == std::io::ErrorKind::NotFound => {
            if fs::symlink_metadata(path).is_ok() {
                return Err(refuse("it is a link to nothing"));
            }
            return Ok(None);
        }
        Err(err) => return Err(refuse(&err.to_string())),
    };
    let folder = path.parent().and_then(|folder| fs::metadata(folder).ok());
    if folder.is_some_and(|folder| folder.mode() & 0o022 != 0 && folder.mode() & 0o1000 == 0) {
        return Err(refuse(
            "others can write its folder, so it is not trusted; run `chmod go-w` on that",
        ));
    }
    if !meta.is_file() {
        return Err(refuse("not a regular file"));
    }
    let ours = rustix::process::geteuid().as_raw();
    if meta.uid() != 0 && meta.uid() != ours {
        return Err(refuse("it belongs to another user, so it is not trusted"));
    }
    if meta.mode() & 0o022 != 0 {
        return Err(refuse("others can write it, so it is not trusted; run `chmod go-w` on it"));
    }
    fs::read_to_string(path).map(Some).map_err(|err| refuse(&err.to_string()))
}

fn from_environment(environment: &BTreeMap<String, OsString>) -> Result<Vec<Set>, SettingsError> {
    let mut sets = Vec::new();
    for key in keys() {
        let own = key.variable();
        // Our own name wins over the contract's.
        for name in key.contract_name.into_iter().chain([own.as_str()]) {
            let Some(text) = environment.get(name).filter(|text| !text.is_empty()) else {
                continue;
            };
            let refuse = |what: String| SettingsError(format!("environment {name}: {what}"));
            let text = text.to_str().ok_or_else(|| refuse("not UTF-8".to_owned()))?;
            let value = from_text(key, text).map_err(refuse)?;
            sets.push((key, value, Origin::Environment(name.to_owned())));
        }
    }
    Ok(sets)
}

/// Returns a warning for each name in the environment that looks like a setting and is none.
fn unknown_variables(environment: &BTreeMap<String, OsString>) -> Vec<String> {
    let known: Vec<String> =
        keys().map(Key::variable).chain(["TOOLCRIB_STATE".to_owned()]).collect();
    let strays =
        environment.keys().filter(|name| name.starts_with("TOOLCRIB_") && !known.contains(name));
    strays
        .map(|name| {
            let near = nearest(name, known.iter().map(String::as_str), 1);
            let hint =
                near.first().map_or(String::new(), |near| format!("; did you mean `{near}`?"));
            format!("the environment's `{name}` is no setting{hint}")
        })
        .collect()
}

fn from_flags(flags: &Overrides, assignments: &[String]) -> Result<Vec<Set>, SettingsError> {
    let mut sets = Vec::new();
    for assignment in assignments {
        let refuse = |what: String| SettingsError(format!("-c {assignment}: {what}"));
        let (name, text) =
            assignment.split_once('=').ok_or_else(|| refuse("write it as KEY=VALUE".to_owned()))?;
        let key = find(name.trim()).map_err(refuse)?;
        let value = from_text(key, text.trim()).map_err(refuse)?;
        sets.push((key, value, Origin::Flag("-c".to_owned())));
    }
    for (flag, name, text) in flags {
        let refuse = |what: String| SettingsError(format!("{flag}: {what}"));
        let key = find(name).map_err(refuse)?;
        let value = from_text(key, text).map_err(refuse)?;
        if value.as_array().is_some_and(Vec::is_empty) {
            return Err(refuse("it names nothing".to_owned()));
        }
        sets.push((key, value, Origin::Flag((*flag).to_owned())));
    }
    Ok(sets)
}

/// Returns what the environment's wish makes of the current value, or why it does not count.
fn tightened_here(key: &Key, current: &Value, wish: Value) -> Result<Value, &'static str> {
    tightened(key, current, wish)
        .map_err(|_| "the environment can only tighten this; use a settings file or `-c`")
}

/// Returns what a project's wish makes of the current value, or why it does not count.
fn tightened(key: &Key, current: &Value, wish: Value) -> Result<Value, &'static str> {
    let loosens = "a project can only tighten this";
    match &key.project {
        Project::Never => Err("a project may not set this"),
        Project::Only(word) => {
            if wish.as_str() == Some(*word) {
                Ok(wish)
            } else {
                Err(loosens)
            }
        }
        Project::Stricter => {
            let Kind::Choice(words) = key.kind else { return Err(loosens) };
            let rank = |value: &Value| words.iter().position(|word| value.as_str() == Some(word));
            if rank(&wish) <= rank(current) { Ok(wish) } else { Err(loosens) }
        }
        Project::Smaller => {
            if wish.as_integer() <= current.as_integer() {
                Ok(wish)
            } else {
                Err(loosens)
            }
        }
        Project::Fewer => {
            let (Value::Array(wished), Value::Array(held)) = (&wish, current) else {
                return Err(loosens);
            };
            // An empty list stands for everything.
            let is_narrower = !wished.is_empty()
                && (held.is_empty() || wished.iter().all(|item| is_within(item, held)));
            if is_narrower || wished == held { Ok(wish) } else { Err(loosens) }
        }
        Project::Less => {
            let (Value::Array(wished), Value::Array(held)) = (&wish, current) else {
                return Err(loosens);
            };
            if wished.iter().all(|item| held.contains(item)) { Ok(wish) } else { Err(loosens) }
        }
        Project::More => {
            let (Value::Array(wished), Value::Array(held)) = (wish, current) else {
                return Err(loosens);
            };
            let mut all = held.clone();
            all.extend(wished.into_iter().filter(|item| !held.contains(item)));
            Ok(Value::Array(all))
        }
    }
}

/// Whether a toolset holds this catalogue or tool.
fn is_within(item: &Value, held: &[Value]) -> bool {
    let name = item.as_str().unwrap_or_default();
    let catalogue = name.split_once('/').map(|(catalogue, _)| catalogue);
    held.iter().filter_map(Value::as_str).any(|held| held == name || Some(held) == catalogue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, current: &str, wish: &str, expect: Option<&str>) {
        let value = |text: &str| {
            let mut table: toml::Table = format!("it = {text}").parse().unwrap();
            table.remove("it").unwrap()
        };
        let key = find(name).unwrap();
        let got = tightened(key, &value(current), value(wish)).ok();
        assert_eq!(got, expect.map(value), "{name}: {current} to {wish}");
    }

    #[test]
    fn a_project_can_tighten_and_nothing_else() {
        check("mode", "'standard'", "'strict'", Some("'strict'"));
        check("mode", "'standard'", "'permissive'", None);
        check("mode", "'strict'", "'standard'", None);
        check("limits.deadline_ms", "1000", "500", Some("500"));
        check("limits.deadline_ms", "1000", "2000", None);
        check("toolset", "[]", "['wink']", Some("['wink']"));
        check("toolset", "['wink']", "['wink/read_file']", Some("['wink/read_file']"));
        check("toolset", "['wink']", "['clemini']", None);
        check("toolset", "['wink']", "[]", None);
        check("roots", "[]", "['/']", None);
        check("files.protected", "['a']", "['b']", Some("['a', 'b']"));
        check("files.hardlinks", "'refuse'", "'allow'", None);
        check("hikai.connection", "'workspace'", "'/etc'", None);
        check("hikai.connection", "'workspace'", "'none'", Some("'none'"));
    }

    #[test]
    fn every_default_is_a_value_its_key_allows() {
        for key in keys() {
            let text = format!("{} = {}", key.name, key.default);
            assert!(parse(&text, Path::new("default")).is_ok(), "{text}");
        }
    }

    #[test]
    fn a_typing_error_in_a_file_is_refused_with_the_nearest_name() {
        let err = parse("[files]\nhardlink = 'allow'\n", Path::new("c.toml")).unwrap_err();
        assert!(err.0.contains("did you mean `files.hardlinks`?"), "{err}");
        let err = parse("mode = 'loose'", Path::new("c.toml")).unwrap_err();
        assert!(err.0.contains("`strict`, `standard` or `permissive`, not `loose`"), "{err}");
        let err = parse("\nmode = \n", Path::new("c.toml")).unwrap_err();
        assert!(err.0.contains("line 2"), "{err}");
    }
}
