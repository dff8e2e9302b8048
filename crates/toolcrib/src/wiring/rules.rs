//! Reads the rules in force: the shipped ones, the machine's, the user's and the project's.

use std::path::Path;
use std::sync::OnceLock;

use toolcrib_core::ToolName;
use toolcrib_core::command_reading::ReadShell;
use toolcrib_core::policy::{
    Layer, ParsedRules, Policy, PolicyText, Rule, RulesText, Source, later_rules, rules_in,
};
use toolcrib_host::Root;
use toolcrib_ledger::hash_of;
use toolcrib_tools::catalogues;

use super::quota::check_rate;
use crate::error::{CliError, CliErrorKind};
use crate::settings::table;
use crate::settings::{Settings, SettingsFiles, read_trusted};

/// The shipped sets of rules, by the names that settings have for them.
static SHIPPED_SETS: [ShippedSet; 3] = [
    ShippedSet::new("blocked", include_str!("../../rules/blocked.toml")),
    ShippedSet::new("caution", include_str!("../../rules/caution.toml")),
    ShippedSet::new("harmless", include_str!("../../rules/harmless.toml")),
];

struct ShippedSet {
    name: &'static str,
    text: &'static str,
    read: OnceLock<ParsedRules>,
}

impl ShippedSet {
    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, read: OnceLock::new() }
    }

    /// Returns the rules of the set. A process reads them once, so that it compiles each pattern once, however many
    /// workspaces it opens.
    fn rules(&self) -> Result<ParsedRules, CliError> {
        if let Some(rules) = self.read.get() {
            return Ok(rules.clone());
        }
        let file = format!("shipped:{}.toml", self.name);
        let rules = rules_in(self.text, &file, Layer::Shipped, None)?;
        Ok(self.read.get_or_init(|| rules).clone())
    }

    fn text(&self) -> RulesText {
        let (file, text) = (format!("shipped:{}.toml", self.name), self.text.to_owned());
        RulesText { file, layer: Layer::Shipped, text }
    }
}

/// The most bytes that a project's rules file may have.
const MOST_PROJECT_RULES_BYTES: u64 = 1 << 20;

/// Where a project's own rules are.
const PROJECT_RULES_FILE: &str = ".toolcrib/rules.toml";

/// The policy that the rules make, and the files that people wrote rules in.
pub(super) struct LoadedRules {
    pub(super) policy: Policy,
    /// The path and the hash of each file.
    pub(super) files: Vec<(String, String)>,
}

/// Loads every rule in force. A file that cannot be read is an error: if Toolcrib went on without its
/// rules, calls that the file denies would run.
pub(super) fn load(
    settings: &Settings,
    settings_files: &SettingsFiles,
    root: Option<&Root>,
    shell: &dyn ReadShell,
    warnings: &mut Vec<String>,
) -> Result<LoadedRules, CliError> {
    check_rate(settings)?;
    let mut rules: Vec<Rule> = later_rules().collect();
    let files = read_files(settings_files, root)?;
    let mut add = |said: ParsedRules| {
        rules.extend(said.rules);
        warnings.extend(said.warnings);
    };
    let mut texts = Vec::new();
    for set in chosen_sets(settings)? {
        add(set.rules()?);
        texts.push(set.text());
    }
    let mut errors: Vec<CliError> = Vec::new();
    for RulesFile { name, text, layer } in &files {
        match rules_in(text, name, *layer, Some(shell)) {
            Ok(said) => add(said),
            Err(err) => errors.push(err.into()),
        }
    }
    CliError::all(errors)?;
    for rule in rules.iter().filter(|rule| rule.layer != Layer::Shipped) {
        if let Some(unknown) = rule.tools.iter().find(|name| !is_known(name)) {
            let Source { file, line } = &rule.source;
            warnings
                .push(format!("`{file}`, line {line}: there is no tool or catalogue `{unknown}`"));
        }
    }
    let without: Vec<String> = settings.get(table::POLICY_WITHOUT);
    if let Some(unknown) = without.iter().find(|id| !rules.iter().any(|rule| rule.id == **id)) {
        warnings.push(format!("`policy.without`: there is no rule `{unknown}`"));
    }
    rules.retain(|rule| rule.layer == Layer::Project || !without.contains(&rule.id));
    texts.extend(files.iter().filter_map(RulesFile::to_share));
    let mode = settings.get(table::MODE);
    let policy = Policy::new(mode, rules).with_text(PolicyText { mode, files: texts, without });
    Ok(LoadedRules { policy, files: files.iter().map(RulesFile::hashed).collect() })
}

/// Builds the policy of another machine for the files of this one: its rules, and those of the project here, which only
/// tighten.
pub(crate) fn policy_for_another(
    text: &PolicyText,
    root: Option<&Root>,
    shell: &dyn ReadShell,
) -> Result<Policy, CliError> {
    let own = root.map(project_rules).transpose()?.flatten();
    let parse = |text: String| rules_in(&text, PROJECT_RULES_FILE, Layer::Project, Some(shell));
    let own = own.map(parse).transpose()?.map(|parsed| parsed.rules).unwrap_or_default();
    Ok(Policy::of_text(text, own, shell)?)
}

/// Returns what tells the rules of a project from what they were.
pub(crate) fn project_rules_stamp(root: Option<&Root>) -> Result<String, CliError> {
    let rules = root.map(project_rules).transpose()?.flatten();
    Ok(rules.map_or_else(String::new, |text| hash_of(text.as_bytes())))
}

/// Returns the path and the hash of each file that people wrote rules in, whether or not its rules can be used.
pub(super) fn hashes(
    settings_files: &SettingsFiles,
    root: Option<&Root>,
) -> Result<Vec<(String, String)>, CliError> {
    Ok(read_files(settings_files, root)?.iter().map(RulesFile::hashed).collect())
}

/// A file that people wrote rules in.
struct RulesFile {
    name: String,
    text: String,
    layer: Layer,
}

impl RulesFile {
    /// Returns the file as other machines get it. The rules of a project are about its files, which are here.
    fn to_share(&self) -> Option<RulesText> {
        let Self { name, text, layer } = self;
        (*layer != Layer::Project).then(|| RulesText {
            file: name.clone(),
            layer: *layer,
            text: text.clone(),
        })
    }

    /// Returns the path and the hash of the file.
    fn hashed(&self) -> (String, String) {
        (self.name.clone(), hash_of(self.text.as_bytes()))
    }
}

/// Reads the rules files of the machine, of the user and of the project.
fn read_files(
    settings_files: &SettingsFiles,
    root: Option<&Root>,
) -> Result<Vec<RulesFile>, CliError> {
    let mut files = Vec::new();
    let machine_and_user = [Some(&settings_files.machine), settings_files.user.as_ref()];
    for path in machine_and_user.into_iter().flatten() {
        let path = path.with_file_name("rules.toml");
        if let Some(text) = read_trusted(&path)? {
            let name = path.display().to_string();
            files.push(RulesFile { name, text, layer: Layer::Operator });
        }
    }
    if let Some(root) = root {
        let text = match &settings_files.project {
            Some(given) => given.rules.clone(),
            None => project_rules(root)?,
        };
        let name = root.path().join(PROJECT_RULES_FILE).display().to_string();
        files.extend(text.map(|text| RulesFile { name, text, layer: Layer::Project }));
    }
    Ok(files)
}

/// Returns the shipped sets of rules that the settings choose.
fn chosen_sets(settings: &Settings) -> Result<impl Iterator<Item = &'static ShippedSet>, CliError> {
    let chosen = settings.get(table::POLICY_SHIPPED);
    let is_shipped = |name: &String| SHIPPED_SETS.iter().any(|set| set.name == name);
    if let Some(unknown) = chosen.iter().find(|name| !is_shipped(name)) {
        let message = format!("`policy.shipped`: there are no shipped rules `{unknown}`");
        return Err(CliError::settings(message)
            .hint("the shipped rules are `blocked`, `caution` and `harmless`"));
    }
    Ok(SHIPPED_SETS.iter().filter(move |set| chosen.iter().any(|name| name == set.name)))
}

/// Returns the text of the project's rules file, if there is one.
pub(super) fn project_rules(root: &Root) -> Result<Option<String>, CliError> {
    let path = root.path().join(PROJECT_RULES_FILE).display().to_string();
    let refuse = |what: String| CliError::new(CliErrorKind::Rules, format!("`{path}`: {what}"));
    let bytes = root.read_small(Path::new(PROJECT_RULES_FILE), MOST_PROJECT_RULES_BYTES);
    let Some(bytes) = bytes.map_err(|err| refuse(err.to_string()))? else { return Ok(None) };
    String::from_utf8(bytes).map(Some).map_err(|_| refuse("not UTF-8".to_owned()))
}

/// Returns whether this is the name of a catalogue or a tool, `catalogue/tool` included. A tool of a catalogue without
/// compiled tools may come later.
fn is_known(name: &str) -> bool {
    let name = ToolName::from(name);
    let (catalogue, tool) = name.parts();
    catalogues().iter().any(|it| {
        let has_tool = it.tools.iter().any(|known| known.declaration().name == tool)
            || it.tools.is_empty() && catalogue.is_some();
        catalogue.is_none() && it.name == tool
            || has_tool && catalogue.is_none_or(|name| name == it.name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_the_machine_and_of_the_user_count_alike() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name).join("config.toml");
            std::fs::create_dir(path.parent().unwrap()).unwrap();
            let rule = format!("[[rule]]\nid = \"{name}\"\ntool = \"bash\"\neffect = \"allow\"\n");
            std::fs::write(path.with_file_name("rules.toml"), rule).unwrap();
            path
        };
        let files = SettingsFiles {
            machine: file("machine"),
            user: Some(file("user")),
            ..SettingsFiles::default()
        };
        let shell = toolcrib_shell::BashReader::default();
        let mut warnings = Vec::new();
        let loaded = load(&Settings::defaults(), &files, None, &shell, &mut warnings).unwrap();
        let layer = |id: &str| {
            let rules = loaded.policy.rules().iter();
            rules.into_iter().find(|rule| rule.id == id).map(|rule| rule.layer)
        };
        assert_eq!(
            (layer("machine"), layer("user")),
            (Some(Layer::Operator), Some(Layer::Operator))
        );
        assert_eq!(loaded.files.len(), 2, "the control: nothing else is read");
        let places = crate::wiring::locations::settings_files(&std::collections::BTreeMap::new());
        assert_eq!(places.machine, Path::new("/etc/toolcrib/config.toml"));
    }

    #[test]
    fn the_shipped_rules_do_what_their_examples_say() {
        let shell = toolcrib_shell::BashReader::default();
        for ShippedSet { name, text, .. } in &SHIPPED_SETS {
            let said = rules_in(text, name, Layer::Shipped, Some(&shell));
            let said = said.unwrap_or_else(|err| panic!("{err}"));
            assert!(!said.rules.is_empty() && said.warnings.is_empty(), "{name}");
        }
    }
}
