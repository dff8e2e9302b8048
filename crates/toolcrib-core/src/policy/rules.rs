//! All rules together, and the decision about a call.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;

use crate::caller::Caller;
use crate::command_reading::{Proven, Reading, Step};
use crate::program::base_name;
use crate::tool_name::ToolName;

use super::decision::{Confirmation, Decision, Verdict, by_tier};
use super::denied_paths::{DeniedPaths, DenyingRules, PathsMeant};
use super::path_index::PathIndex;
use super::policy_text::PolicyText;
use super::rule::{Layer, Rule, RuleEffect, When};
use super::subject::Subject;
use super::tier::Mode;

/// All rules, and the mode that decides where no rule does.
pub struct Policy {
    mode: Mode,
    rules: Vec<Rule>,
    /// The numbers of the rules that name a program, by its name.
    by_program: HashMap<String, Vec<usize>>,
    /// The numbers of the rules that name a tool, by its name.
    by_tool: HashMap<String, Vec<usize>>,
    /// The numbers of all other rules but those about paths.
    others: Vec<usize>,
    /// The rules about paths, by path; built when the first call with a path comes.
    by_path: OnceLock<PathIndex>,
    /// The tools and catalogues whose paths some rule is about; an empty name stands for all of them.
    with_paths: HashSet<String>,
    /// The numbers of the rules about hosts.
    with_hosts: Vec<usize>,
    /// The rules that deny paths.
    denying: DenyingRules,
    /// The rules as they were written, and the digest of that, if other machines decide by them too.
    text: Option<Arc<(PolicyText, String)>>,
}

impl Policy {
    /// Builds a policy of rules and the mode below them.
    pub fn new(mode: Mode, rules: Vec<Rule>) -> Self {
        let mut policy = Self {
            mode,
            rules: Vec::new(),
            by_program: HashMap::new(),
            by_tool: HashMap::new(),
            others: Vec::new(),
            by_path: OnceLock::new(),
            with_paths: HashSet::new(),
            with_hosts: Vec::new(),
            denying: DenyingRules::among(&rules),
            text: None,
        };
        for (number, rule) in rules.iter().enumerate() {
            if !rule.when.hosts.is_empty() {
                policy.with_hosts.push(number);
            }
            match (&rule.when.argv, &rule.tools[..]) {
                (Some(argv), tools) if !argv.is_empty() => {
                    if rule.when.is_about_paths() {
                        let all = tools.is_empty().then(String::new);
                        policy.with_paths.extend(all.into_iter().chain(tools.iter().cloned()));
                    }
                    for program in &argv[0] {
                        policy.by_program.entry(program.clone()).or_default().push(number);
                    }
                }
                (_, []) if rule.when.is_about_paths() => {
                    policy.with_paths.insert(String::new());
                }
                (_, tools) if rule.when.is_about_paths() => {
                    policy.with_paths.extend(tools.iter().cloned());
                }
                (_, []) => policy.others.push(number),
                (_, tools) => {
                    for tool in tools {
                        policy.by_tool.entry(tool.clone()).or_default().push(number);
                    }
                }
            }
        }
        policy.rules = rules;
        policy
    }

    /// Whether any rule is about some callers and not about others.
    pub fn looks_at_callers(&self) -> bool {
        self.rules.iter().any(|rule| !rule.callers.is_everybody())
    }

    /// Returns the policy of the rules that apply to this caller.
    pub fn of_caller(&self, caller: &Caller) -> Self {
        // A plugin or a subagent is allowed what its own door allows, and forbidden what the door of its caller forbids.
        let rules = self.rules.iter().filter(|rule| match rule.effect {
            RuleEffect::Allow => rule.callers.include(caller),
            _ => rule.callers.include_origin(caller),
        });
        Self { text: self.text.clone(), ..Self::new(self.mode, rules.cloned().collect()) }
    }

    /// Returns this policy with the text that it was made of.
    pub fn with_text(self, text: PolicyText) -> Self {
        let digest = text.digest();
        Self { text: Some(Arc::new((text, digest))), ..self }
    }

    /// Returns the text that the policy was made of and its digest, if they are known.
    pub fn text(&self) -> Option<(&PolicyText, &str)> {
        self.text.as_deref().map(|(text, digest)| (text, digest.as_str()))
    }

    /// Whether any rule is about the paths of this tool.
    pub fn looks_at_paths(&self, tool: &ToolName) -> bool {
        self.with_paths.contains("")
            || tool.groups().iter().any(|group| self.with_paths.contains(*group))
    }

    /// Returns the paths that rules deny to this tool now, whatever it does there; nothing if no rule does. Globs
    /// without a leading slash start from `root`.
    pub fn denied_paths(
        &self,
        tool: &ToolName,
        now: Timestamp,
        root: impl FnOnce() -> PathBuf,
    ) -> Option<DeniedPaths> {
        self.denying.paths(&self.rules, tool, now, root, PathsMeant::Denied)
    }

    /// Returns the paths that a command of this tool does not see now: those that rules deny, and those that rules ask
    /// about unless the rule is among `answered`.
    pub fn masked_paths(
        &self,
        tool: &ToolName,
        now: Timestamp,
        root: impl FnOnce() -> PathBuf,
        answered: &[String],
    ) -> Option<DeniedPaths> {
        self.denying.paths(&self.rules, tool, now, root, PathsMeant::Masked { answered })
    }

    /// Whether any rule of the operator or the project asks about, or denies, paths of this tool.
    pub fn keeps_from_paths(&self, tool: &ToolName) -> bool {
        self.looks_at_paths(tool) && self.restricts(tool, When::is_about_paths)
    }

    /// Whether a rule of the operator or the project asks about, or denies, calls of this tool that write `path`.
    pub fn keeps_from_writing(&self, tool: &ToolName, root: &str, path: &str) -> bool {
        let below = path.strip_prefix(root).map(|rest| rest.trim_start_matches('/'));
        self.restricts(tool, |when| {
            let globs = || when.paths.iter().chain(&when.writes);
            [Some(path), below]
                .into_iter()
                .flatten()
                .any(|it| globs().any(|glob| glob.is_match(it)))
        })
    }

    /// Whether any rule is about the hosts of this tool.
    pub fn looks_at_hosts(&self, tool: &ToolName) -> bool {
        let rules = self.with_hosts.iter().filter_map(|number| self.rules.get(*number));
        rules.into_iter().any(|rule| rule.is_about(tool))
    }

    /// Returns the rule that denies a host to commands of this tool, if one does. A rule that has other conditions too
    /// counts: what else the connection carries, nobody can see.
    pub fn denies_host(&self, tool: &ToolName, host: &str, now: Timestamp) -> Option<&str> {
        let rules = self.with_hosts.iter().filter_map(|number| self.rules.get(*number));
        let denies = |rule: &&Rule| {
            let holds = rule.expires.is_none_or(|expires| now < expires);
            rule.effect == RuleEffect::Deny && holds && rule.is_about(tool) && rule.has_host(host)
        };
        rules.into_iter().find(denies).map(|rule| rule.id.as_str())
    }

    /// Returns the rule that asks about a step of a command, if one does. Only all words of the step answer it, and
    /// no beginning of them.
    pub fn asks_about(
        &self,
        tool: &ToolName,
        reading: &Reading,
        step: &Step,
        now: Timestamp,
    ) -> Option<String> {
        let is_about = |rule: &&Rule| {
            rule.applies_to_step(step) || rule.when.is_about_commands() && rule.finds(reading)
        };
        self.asking(tool, now).find(is_about).map(|rule| rule.id.clone())
    }

    /// Returns the rules that ask about calls of this tool now.
    fn asking(&self, tool: &ToolName, now: Timestamp) -> impl Iterator<Item = &Rule> {
        let asks = move |rule: &&Rule| {
            rule.effect == RuleEffect::Ask && rule.is_about(tool) && rule.holds(now)
        };
        self.rules.iter().filter(asks)
    }

    /// Whether a rule of the operator or the project with such conditions asks about, or denies, calls of this tool.
    fn restricts(&self, tool: &ToolName, is_so: impl Fn(&When) -> bool) -> bool {
        let tightens = |rule: &&Rule| {
            matches!(rule.effect, RuleEffect::Ask | RuleEffect::Deny)
                && rule.layer != Layer::Shipped
        };
        let rules = self.rules.iter().filter(tightens);
        rules.into_iter().any(|rule| is_so(&rule.when) && rule.is_about(tool))
    }

    /// Whether a rule allows one step of a command, whatever else is in the call.
    pub fn lets_through(&self, tool: &ToolName, step: &Step, now: Timestamp) -> bool {
        if self.asking(tool, now).any(|rule| rule.applies_to_step(step)) {
            return false;
        }
        let program = step.words.first().map_or("", String::as_str);
        let rules = self.by_program.get(program).into_iter().flatten();
        rules.filter_map(|number| self.rules.get(*number)).any(|rule| {
            let may = rule.effect == RuleEffect::Allow && rule.layer != Layer::Project;
            let is_plain = rule.when.is_about_words_alone() && rule.holds(now);
            may && is_plain && rule.is_about(tool) && rule.allows_step(step)
        })
    }

    /// Returns the mode below the rules.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns every rule.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Decides about a call. The strictest rule that applies decides; without one, the tier and the mode do. Where a
    /// person would be asked, `grants` answer if they cover the call.
    pub fn decide(&self, subject: &Subject<'_>, now: Timestamp, grants: &[Rule]) -> Decision {
        let rules = self.candidates(subject, now);
        let touching: Vec<&Rule> = rules
            .iter()
            .filter(|rule| rule.effect != RuleEffect::Allow && rule.applies_to(subject))
            .copied()
            .collect();
        let audited = touching.iter().filter(|rule| rule.effect == RuleEffect::Audit);
        let audited: Vec<String> = audited.map(|rule| rule.id.clone()).collect();
        let asking = touching.iter().filter(|rule| rule.effect == RuleEffect::Ask);
        let asking: Vec<String> = asking.map(|rule| rule.id.clone()).collect();
        let floor = by_tier(subject.tier, self.mode);
        // Among rules that ask, one that wants a person comes before one that an agent may confirm.
        let strictest = touching.iter().max_by_key(|rule| (rule.effect, !rule.confirm));
        let decision = match strictest.map(|rule| (rule.effect, rule)) {
            Some((RuleEffect::Deny, rule)) => rule.decision(Verdict::Deny),
            Some((RuleEffect::Ask, rule)) => {
                let asks: Vec<&Rule> = touching
                    .iter()
                    .filter(|rule| rule.effect == RuleEffect::Ask)
                    .copied()
                    .collect();
                // A call that tier and mode refuse is not asked about because a rule asks.
                let is_refused = floor.verdict == Verdict::Deny;
                if is_refused
                    && find_allowing_rule(&rules, &[], &[], subject, floor.verdict).is_none()
                {
                    floor
                } else {
                    find_allowing_rule(&rules, grants, &asks, subject, Verdict::Ask).map_or_else(
                        || {
                            let decision = rule.decision_about(subject);
                            let suffices = rule.confirm
                                && is_confirmation_enough(
                                    &rules,
                                    grants,
                                    &asks,
                                    subject,
                                    floor.verdict,
                                );
                            let confirmation = if suffices {
                                Confirmation::MaySuffice
                            } else {
                                decision.confirmation
                            };
                            Decision { confirmation, ..decision }
                        },
                        |it| it.decision(Verdict::Allow),
                    )
                }
            }
            _ if floor.verdict == Verdict::Allow => floor,
            _ => find_allowing_rule(&rules, grants, &[], subject, floor.verdict)
                .map_or(floor, |rule| rule.decision(Verdict::Allow)),
        };
        let reading = subject.reading.map(Reading::summary);
        Decision { reading, audited, asking, ..decision }
    }

    /// Returns the rules that could apply to a call, in the order they were given.
    fn candidates(&self, subject: &Subject<'_>, now: Timestamp) -> Vec<&Rule> {
        let mut numbers: Vec<usize> = self.others.clone();
        for group in subject.tool.groups() {
            numbers.extend(self.by_tool.get(group).into_iter().flatten());
        }
        if let Some(reading) = subject.reading {
            let proven = reading.proven.iter().flat_map(|it| &it.steps).map(|step| &step.words);
            for program in reading.found.iter().chain(proven).filter_map(|words| words.first()) {
                numbers.extend(self.by_program.get(program).into_iter().flatten());
                numbers.extend(self.by_program.get(base_name(program)).into_iter().flatten());
            }
        }
        if subject.has_paths() && self.looks_at_paths(subject.tool) {
            let by_path = self.by_path.get_or_init(|| PathIndex::new(&self.rules));
            numbers.extend(by_path.rules(subject));
        }
        if subject.reading.is_some_and(|reading| !reading.removes.is_empty()) {
            // A folder that is removed can hold the paths that rules are about.
            let rules = self.rules.iter().enumerate();
            numbers.extend(rules.filter(|it| it.1.when.is_about_paths()).map(|it| it.0));
        }
        numbers.sort_unstable();
        numbers.dedup();
        let rules = numbers.into_iter().filter_map(|number| self.rules.get(number));
        let holds = |rule: &&Rule| rule.is_about(subject.tool) && rule.holds(now);
        rules.filter(holds).collect()
    }
}

/// Returns the rule that allows a call, or of the rules that allow each part of it the one with the highest
/// precedence. A part that one of `asks` applies to only a grant allows.
fn find_allowing_rule<'r>(
    rules: &[&'r Rule],
    grants: &'r [Rule],
    asks: &[&Rule],
    subject: &Subject<'_>,
    floor: Verdict,
) -> Option<&'r Rule> {
    let may_allow = |rule: &&Rule| {
        rule.effect == RuleEffect::Allow
            && rule.is_about(subject.tool)
            && match rule.layer {
                Layer::Operator => true,
                Layer::Shipped | Layer::Grant => floor == Verdict::Ask,
                Layer::Project => false,
            }
    };
    let grants: Vec<&Rule> = grants.iter().filter(may_allow).collect();
    let mut allowing = grants.clone();
    allowing.extend(rules.iter().copied().filter(|rule| may_allow(rule)));
    // A grant for all edits below a folder answers tier and mode, but no rule that asks.
    let answers = |rule: &&Rule| rule.when.edits_below.is_none();
    let answering: Vec<&Rule> = grants.iter().copied().filter(answers).collect();
    let wholes = if asks.is_empty() { &allowing } else { &answering };
    if let Some(whole) = wholes.iter().find(|rule| rule.allows(subject)) {
        return Some(whole);
    }
    let proven = subject.reading?.proven.as_ref().ok()?;
    // A rule that asks and applies to no single step applies to the whole command. If it is about a program within
    // one of the steps, it applies to all of them.
    let mut all_asked = false;
    for ask in asks {
        if !proven.steps.iter().any(|step| ask.applies_to_step(step)) {
            if !ask.when.is_about_words_alone() {
                return None;
            }
            all_asked = true;
        }
    }
    let mut first: Option<&Rule> = None;
    for step in &proven.steps {
        let is_asked = all_asked || asks.iter().any(|ask| ask.applies_to_step(step));
        let may = if is_asked { &grants } else { &allowing };
        // A beginning of the words does not answer a rule that asks.
        let is_enough = |rule: &Rule| !is_asked || rule.has_all_words(step);
        let rule = may.iter().find(|rule| rule.allows_step_of(subject, step) && is_enough(rule))?;
        if first.is_none_or(|it| precedence(rule) > precedence(it)) {
            first = Some(*rule);
        }
    }
    for path in &proven.writes {
        allowing.iter().find(|rule| rule.allows_redirect(subject, path))?;
    }
    first
}

/// Returns which of several allowing rules a decision names: the one that somebody meant for this very call comes
/// before the ones that come with Toolcrib.
fn precedence(rule: &Rule) -> u8 {
    match rule.layer {
        Layer::Shipped | Layer::Project => 0,
        Layer::Operator => 1,
        Layer::Grant => 2,
    }
}

/// Whether an agent's confirmation is enough for a call that rules want confirmed. It is if no part of the call would
/// be asked about without those rules.
fn is_confirmation_enough(
    rules: &[&Rule],
    grants: &[Rule],
    asks: &[&Rule],
    subject: &Subject<'_>,
    floor: Verdict,
) -> bool {
    if floor == Verdict::Allow {
        return true;
    }
    let Some(Ok(proven)) = subject.reading.map(|reading| &reading.proven) else { return false };
    // A command that writes other files than its redirections say is not what was confirmed.
    if subject.reading.is_some_and(|it| {
        let mut places = it.writes.iter().filter(|path| path.starts_with('/'));
        places.any(|path| !proven.writes.contains(path))
    }) {
        return false;
    }
    let is_plain = |step: &Step| step.caveat.is_none() && step.is_said_elsewhere().is_none();
    let is_confirmed =
        |step: &&Step| is_plain(step) && asks.iter().any(|ask| ask.applies_to_step(step));
    let others = proven.steps.iter().filter(|step| !is_confirmed(step)).cloned().collect();
    let rest = Proven { steps: others, ..proven.clone() };
    if rest.steps.len() == proven.steps.len() {
        return false;
    }
    if rest.steps.is_empty() && rest.writes.is_empty() {
        return true;
    }
    let reading = Reading { proven: Ok(rest), ..Reading::unread("") };
    let subject = Subject { reading: Some(&reading), ..*subject };
    find_allowing_rule(rules, grants, &[], &subject, floor).is_some()
}

impl Rule {
    pub(super) fn holds(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    /// Returns the decision to ask about a call.
    fn decision_about(&self, subject: &Subject<'_>) -> Decision {
        self.decision_because(Verdict::Ask, self.reason(subject))
    }

    fn decision(&self, verdict: Verdict) -> Decision {
        self.decision_because(verdict, self.because.clone())
    }

    fn decision_because(&self, verdict: Verdict, reason: String) -> Decision {
        let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let is_grant = self.layer == Layer::Grant;
        let kind = if is_grant { "grant" } else { "rule" };
        Decision {
            verdict,
            rule: format!("{kind} `{}`{because}", self.id),
            because: reason,
            source: Some(self.source.clone()),
            grant: is_grant.then(|| self.id.clone()),
            confirmation: if self.confirm {
                Confirmation::ThenAsk
            } else {
                Confirmation::NotNeeded
            },
            reading: None,
            audited: Vec::new(),
            asking: Vec::new(),
        }
    }
}
