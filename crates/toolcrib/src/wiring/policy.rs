//! The rules that hold: those that come with the program, the machine's, the user's and the project's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::Mode;
use toolcrib_core::policy::{Layer, Policy, Rule, Said, Source, rules_in};
use toolcrib_core::reading::ReadShell;
use toolcrib_host::Root;
use toolcrib_ledger::{State, TallyFile, UserBounds, hash_of};
use toolcrib_runtime::{QuotaLimits, SessionLimits, UserQuota};
use toolcrib_tools::CATALOGUES;

use super::WiringError;
use crate::settings::key;
use crate::settings::{Settings, SettingsFiles, read_trusted};

/// Rules that come with the program, by the names that settings have for them.
pub(super) const SHIPPED: [(&str, &str); 3] = [
    ("blocked", include_str!("../../rules/blocked.toml")),
    ("caution", include_str!("../../rules/caution.toml")),
    ("harmless", include_str!("../../rules/harmless.toml")),
];

/// Whether a catalogue, a tool or both have this name.
fn is_known(name: &str) -> bool {
    let (catalogue, tool) = name.split_once('/').map_or((None, name), |it| (Some(it.0), it.1));
    CATALOGUES.iter().any(|it| {
        let has_tool = it.tools.iter().any(|known| known.declaration().name == tool);
        catalogue.is_none() && it.name == name
            || has_tool && catalogue.is_none_or(|name| name == it.name)
    })
}

/// Calls a minute of one tool in a session, by mode, as nachos has them.
fn preset(mode: Mode) -> u32 {
    match mode {
        Mode::Strict => 5,
        Mode::Standard => 15,
        Mode::Permissive => 60,
    }
}

/// Returns the quota of the user across all processes, if one is set.
pub(super) fn user_quota(settings: &Settings, state: &State) -> Option<Arc<dyn UserQuota>> {
    let bounds = UserBounds {
        calls_per_minute: settings.get(key::POLICY_USER_CALLS_PER_MINUTE),
        bytes: settings.get(key::POLICY_USER_BYTES),
        time: settings.get(key::POLICY_USER_SECONDS),
    };
    TallyFile::new(state, bounds).map(|file| Arc::new(QuotaFile(file)) as Arc<dyn UserQuota>)
}

/// The ledger's file, as the runtime counts with it.
struct QuotaFile(TallyFile);

impl UserQuota for QuotaFile {
    fn count(&self, tool: &str, now: Timestamp, running: Duration, planned: u64) -> Option<String> {
        self.0.count(tool, now, running, planned)
    }

    fn spend(&self, bytes: u64, time: Duration, now: Timestamp) {
        self.0.spend(bytes, time, now);
    }
}

/// Returns the limits of a session.
pub(super) fn session_limits(settings: &Settings) -> SessionLimits {
    let calls_per_minute = match settings.get(key::POLICY_CALLS_PER_MINUTE).as_str() {
        "preset" => Some(preset(settings.get(key::MODE))),
        text => text.parse().ok(),
    };
    let quota = QuotaLimits {
        tool_bytes: settings.get(key::POLICY_TOOL_BYTES),
        tool_time: settings.get(key::POLICY_TOOL_SECONDS),
        session_bytes: settings.get(key::POLICY_SESSION_BYTES),
        session_time: settings.get(key::POLICY_SESSION_SECONDS),
    };
    let confirmation = settings.get(key::POLICY_CONFIRM);
    SessionLimits { calls_per_minute, quota, confirmation, taint: settings.get(key::POLICY_TAINTED) }
}

/// The largest file of rules that a project may have.
const MOST_PROJECT: u64 = 1 << 20;

/// Where a project's own rules are.
const IN_PROJECT: &str = ".toolcrib/rules.toml";

/// The rules that hold, and the files that people wrote them in, each with its hash.
pub(super) struct Rulebook {
    pub(super) policy: Policy,
    pub(super) files: Vec<(String, String)>,
}

/// Reads every rule that holds. What cannot be read stops everything: no rules are not fewer rules.
pub(super) fn policy(
    settings: &Settings,
    places: &SettingsFiles,
    root: Option<&Root>,
    shell: &dyn ReadShell,
    warnings: &mut Vec<String>,
) -> Result<Rulebook, WiringError> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut files = Vec::new();
    let mut add = |said: Said| {
        rules.extend(said.rules);
        warnings.extend(said.warnings);
    };
    let pace = settings.get(key::POLICY_CALLS_PER_MINUTE);
    if !matches!(pace.as_str(), "off" | "preset") && !pace.parse::<u32>().is_ok_and(|most| most > 0)
    {
        let message = format!(
            "`policy.calls_per_minute` must be a number above 0, `preset` or `off`, not `{pace}`"
        );
        return Err(WiringError(message));
    }
    let sets = settings.get(key::POLICY_SHIPPED);
    if let Some(odd) = sets.iter().find(|set| !SHIPPED.iter().any(|(name, _)| name == set)) {
        let message = format!(
            "`policy.shipped`: no rules `{odd}`; there are `blocked`, `caution` and `harmless`"
        );
        return Err(WiringError(message));
    }
    for (name, text) in SHIPPED.iter().filter(|(name, _)| sets.iter().any(|set| set == name)) {
        add(rules_in(text, &format!("shipped:{name}.toml"), Layer::Shipped, None)?);
    }
    for path in [Some(&places.machine), places.user.as_ref()].into_iter().flatten() {
        let path = path.with_file_name("rules.toml");
        if let Some(text) = read_trusted(&path)? {
            let name = path.display().to_string();
            files.push((name.clone(), hash_of(text.as_bytes())));
            add(rules_in(&text, &name, Layer::Operator, Some(shell))?);
        }
    }
    if let Some((name, text)) = root.map(project_rules).transpose()?.flatten() {
        files.push((name.clone(), hash_of(text.as_bytes())));
        add(rules_in(&text, &name, Layer::Project, Some(shell))?);
    }
    for rule in rules.iter().filter(|rule| rule.layer != Layer::Shipped) {
        if let Some(odd) = rule.tools.iter().find(|name| !is_known(name)) {
            let Source { file, line } = &rule.source;
            warnings.push(format!("`{file}`, line {line}: there is no tool or catalogue `{odd}`"));
        }
    }
    let without = settings.get(key::POLICY_WITHOUT);
    if let Some(odd) = without.iter().find(|id| !rules.iter().any(|rule| rule.id == **id)) {
        warnings.push(format!("`policy.without`: there is no rule `{odd}`"));
    }
    rules.retain(|rule| rule.layer == Layer::Project || !without.contains(&rule.id));
    Ok(Rulebook { policy: Policy::new(settings.get(key::MODE), rules), files })
}

/// Returns the path and the text of the project's own file of rules, if it has one.
fn project_rules(root: &Root) -> Result<Option<(String, String)>, WiringError> {
    let path = root.path().join(IN_PROJECT).display().to_string();
    let refuse = |what: String| WiringError(format!("`{path}`: {what}"));
    let bytes = root.read_small(Path::new(IN_PROJECT), MOST_PROJECT);
    let Some(bytes) = bytes.map_err(|err| refuse(err.to_string()))? else { return Ok(None) };
    let text = String::from_utf8(bytes).map_err(|_| refuse("not UTF-8".to_owned()))?;
    Ok(Some((path, text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rules_do_what_their_examples_say() {
        let shell = toolcrib_shell::Bash::default();
        for (name, text) in SHIPPED {
            let said = rules_in(text, name, Layer::Shipped, Some(&shell));
            let said = said.unwrap_or_else(|err| panic!("{err}"));
            assert!(!said.rules.is_empty() && said.warnings.is_empty(), "{name}");
        }
    }
}
