//! The rules that hold: those that come with the program, the machine's, the user's and the project's.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::Mode;
use toolcrib_core::policy::{Layer, ParsedRules, Policy, Rule, Source, rules_in};
use toolcrib_core::reading::ReadShell;
use toolcrib_host::Root;
use toolcrib_ledger::{State, TallyFile, UserBounds, hash_of};
use toolcrib_runtime::{ConfirmationWeight, QuotaLimits, SessionLimits, TaintPolicy, UserQuota};
use toolcrib_tools::CATALOGUES;

use super::WiringError;
use crate::settings::{Places, Settings, read_trusted};

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
    let bound = |name: &str| Some(settings.count(name)).filter(|most| *most > 0);
    let bounds = UserBounds {
        calls_per_minute: bound("policy.user_calls_per_minute"),
        bytes: bound("policy.user_bytes"),
        time: bound("policy.user_seconds").map(Duration::from_secs),
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
    let calls_per_minute = match settings.text("policy.calls_per_minute") {
        "preset" => Some(preset(settings.mode())),
        text => text.parse().ok(),
    };
    let confirmation = match settings.text("policy.confirm") {
        "model" => ConfirmationWeight::Model,
        _ => ConfirmationWeight::Person,
    };
    let taint = match settings.text("policy.tainted") {
        "ask" => TaintPolicy::Ask,
        _ => TaintPolicy::Ignore,
    };
    let bound = |name: &str| Some(settings.count(name)).filter(|most| *most > 0);
    let quota = QuotaLimits {
        tool_bytes: bound("policy.tool_bytes"),
        tool_time: bound("policy.tool_seconds").map(Duration::from_secs),
        session_bytes: bound("policy.session_bytes"),
        session_time: bound("policy.session_seconds").map(Duration::from_secs),
    };
    SessionLimits { calls_per_minute, quota, confirmation, taint }
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
    places: &Places,
    root: &Root,
    shell: &dyn ReadShell,
    warnings: &mut Vec<String>,
) -> Result<Rulebook, WiringError> {
    let mut rules: Vec<Rule> = Vec::new();
    let mut files = Vec::new();
    let mut add = |parsed: ParsedRules| {
        rules.extend(parsed.rules);
        warnings.extend(parsed.warnings);
    };
    let pace = settings.text("policy.calls_per_minute");
    if !matches!(pace, "off" | "preset") && !pace.parse::<u32>().is_ok_and(|most| most > 0) {
        let message = format!(
            "`policy.calls_per_minute` must be a number above 0, `preset` or `off`, not `{pace}`"
        );
        return Err(WiringError(message));
    }
    let sets = settings.names("policy.shipped");
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
    let path = root.path().join(IN_PROJECT).display().to_string();
    let refuse = |what: String| WiringError(format!("`{path}`: {what}"));
    if let Some(bytes) = root
        .read_small(Path::new(IN_PROJECT), MOST_PROJECT)
        .map_err(|err| refuse(err.to_string()))?
    {
        let text = String::from_utf8(bytes).map_err(|_| refuse("not UTF-8".to_owned()))?;
        files.push((path.clone(), hash_of(text.as_bytes())));
        add(rules_in(&text, &path, Layer::Project, Some(shell))?);
    }
    for rule in rules.iter().filter(|rule| rule.layer != Layer::Shipped) {
        if let Some(odd) = rule.tools.iter().find(|name| !is_known(name)) {
            let Source { file, line } = &rule.source;
            warnings.push(format!("`{file}`, line {line}: there is no tool or catalogue `{odd}`"));
        }
    }
    let without = settings.names("policy.without");
    if let Some(odd) = without.iter().find(|id| !rules.iter().any(|rule| rule.id == **id)) {
        warnings.push(format!("`policy.without`: there is no rule `{odd}`"));
    }
    rules.retain(|rule| rule.layer == Layer::Project || !without.contains(&rule.id));
    Ok(Rulebook { policy: Policy::new(settings.mode(), rules), files })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shipped_rules_do_what_their_examples_say() {
        let shell = toolcrib_shell::BashReader::default();
        for (name, text) in SHIPPED {
            let said = rules_in(text, name, Layer::Shipped, Some(&shell));
            let said = said.unwrap_or_else(|err| panic!("{err}"));
            assert!(!said.rules.is_empty() && said.warnings.is_empty(), "{name}");
        }
    }
}
