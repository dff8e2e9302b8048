//! All rules together, and the decision about a call.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use jiff::Timestamp;

use crate::reading::{Proven, Reading, Step};

use super::decision::{Confirmation, Decision, Verdict, by_tier};
use super::pattern::PathGlob;
use super::rule::{Layer, Rule, Says, When, name_of};
use super::tier::{Mode, Tier};

/// What is decided about: a call, as far as its tool can say beforehand what it would do.
pub struct Subject<'a> {
    /// `catalogue/tool`.
    pub tool: &'a str,
    /// How much harm it could do.
    pub tier: Tier,
    /// Its arguments as canonical text.
    pub canonical: &'a str,
    /// The directory that relative paths of rules are below.
    pub root: &'a str,
    /// Absolute paths that it would read.
    pub reads: &'a [String],
    /// Absolute paths that it would write.
    pub writes: &'a [String],
    /// Hosts that it would reach.
    pub hosts: &'a [String],
    /// The command that it would run.
    pub reading: Option<&'a Reading>,
}

impl Subject<'_> {
    fn has_paths(&self) -> bool {
        let proven = self.reading.and_then(|reading| reading.proven.as_ref().ok());
        !self.reads.is_empty()
            || !self.writes.is_empty()
            || proven.is_some_and(|proven| !proven.writes.is_empty())
    }

    /// Whether a path is in the workspace.
    pub(super) fn is_below_root(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.root).filter(|_| !self.root.is_empty());
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// A path as rules may spell it: absolute, and below the root.
    pub(super) fn spellings<'p>(&self, path: &'p str) -> impl Iterator<Item = &'p str> {
        let below = path.strip_prefix(self.root).map(|rest| rest.trim_start_matches('/'));
        std::iter::once(path).chain(below)
    }
}

/// Every rule that holds, and the mode below them.
pub struct Policy {
    mode: Mode,
    rules: Vec<Rule>,
    /// By the first word of the commands they are about.
    by_program: HashMap<String, Vec<usize>>,
    /// By the tool they are about.
    by_tool: HashMap<String, Vec<usize>>,
    others: Vec<usize>,
    /// Those that look at paths, by the paths they look at; put together when first asked.
    by_path: OnceLock<PathIndex>,
    /// The tools and catalogues whose paths some rule looks at; an empty name for all of them.
    with_paths: HashSet<String>,
}

/// Every glob of every rule, asked at once.
#[derive(Default)]
struct PathIndex {
    /// Sets of globs, with whose each glob is.
    sets: Vec<(GlobSet, Vec<usize>)>,
    /// Rules whose globs are too much for a set: they are always looked at.
    always: Vec<usize>,
}

/// How many globs go into one set: a set of too many cannot be made.
const SET: usize = 512;

impl PathIndex {
    fn new(rules: &[Rule]) -> Self {
        let numbered = rules.iter().enumerate();
        let globs: Vec<(usize, &Glob)> = numbered
            .flat_map(|(number, rule)| {
                let globs = rule.when.paths.iter().chain(&rule.when.writes);
                globs.flat_map(PathGlob::globs).map(move |glob| (number, glob))
            })
            .collect();
        let mut index = Self::default();
        for some in globs.chunks(SET) {
            let mut set = GlobSetBuilder::new();
            for (_, glob) in some {
                set.add((*glob).clone());
            }
            let owners = some.iter().map(|(owner, _)| *owner);
            match set.build() {
                Ok(set) => index.sets.push((set, owners.collect())),
                Err(_) => index.always.extend(owners),
            }
        }
        index
    }

    /// The rules that look at one of these paths.
    fn rules<'a>(&'a self, subject: &'a Subject<'_>) -> impl Iterator<Item = usize> + 'a {
        let paths = subject.reads.iter().chain(subject.writes);
        let redirects = subject.reading.and_then(|it| it.proven.as_ref().ok()).map(|it| &it.writes);
        let paths = paths.chain(redirects.into_iter().flatten());
        let spellings = paths.flat_map(|path| subject.spellings(path));
        let found = spellings.flat_map(move |path| {
            let sets = self.sets.iter();
            sets.flat_map(move |(set, owners)| {
                set.matches(path).into_iter().filter_map(|glob| owners.get(glob).copied())
            })
        });
        found.chain(self.always.iter().copied())
    }
}

impl Policy {
    /// Puts rules over a mode.
    pub fn new(mode: Mode, rules: Vec<Rule>) -> Self {
        let mut policy = Self {
            mode,
            rules: Vec::new(),
            by_program: HashMap::new(),
            by_tool: HashMap::new(),
            others: Vec::new(),
            by_path: OnceLock::new(),
            with_paths: HashSet::new(),
        };
        for (number, rule) in rules.iter().enumerate() {
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

    /// Whether any rule looks at the paths of this tool.
    pub fn looks_at_paths(&self, tool: &str) -> bool {
        let (catalogue, name) = tool.split_once('/').unwrap_or(("", tool));
        self.with_paths.contains("")
            || [tool, catalogue, name].iter().any(|name| self.with_paths.contains(*name))
    }

    /// Whether any rule of the operator or the project keeps calls of this tool from paths.
    pub fn keeps_from_paths(&self, tool: &str) -> bool {
        self.looks_at_paths(tool) && self.keeps(tool, When::is_about_paths)
    }

    /// Whether a rule of the operator or the project keeps calls of this tool from writing there.
    pub fn keeps_from_writing(&self, tool: &str, root: &str, path: &str) -> bool {
        let below = path.strip_prefix(root).map(|rest| rest.trim_start_matches('/'));
        self.keeps(tool, |when| {
            let globs = || when.paths.iter().chain(&when.writes);
            [Some(path), below]
                .into_iter()
                .flatten()
                .any(|it| globs().any(|glob| glob.is_match(it)))
        })
    }

    /// Whether any rule looks at the hosts of calls of this tool.
    pub fn looks_at_hosts(&self, tool: &str) -> bool {
        self.rules.iter().any(|rule| !rule.when.hosts.is_empty() && rule.is_about(tool))
    }

    /// The rule that asks about a step of a command, if one does: a beginning of its words is no answer to it.
    pub fn asks_about(
        &self,
        tool: &str,
        reading: &Reading,
        step: &Step,
        now: Timestamp,
    ) -> Option<String> {
        let is_about = |rule: &&Rule| {
            rule.touches_step(step) || rule.when.is_about_commands() && rule.finds(reading)
        };
        self.asking(tool, now).find(is_about).map(|rule| rule.id.clone())
    }

    /// The rules that ask about calls of this tool now.
    fn asking(&self, tool: &str, now: Timestamp) -> impl Iterator<Item = &Rule> {
        let asks =
            move |rule: &&Rule| rule.says == Says::Ask && rule.is_about(tool) && rule.holds(now);
        self.rules.iter().filter(asks)
    }

    fn keeps(&self, tool: &str, is_so: impl Fn(&When) -> bool) -> bool {
        let tightens = |rule: &&Rule| {
            matches!(rule.says, Says::Ask | Says::Deny) && rule.layer != Layer::Shipped
        };
        let rules = self.rules.iter().filter(tightens);
        rules.into_iter().any(|rule| is_so(&rule.when) && rule.is_about(tool))
    }

    /// Whether a rule lets one step of a command through, whatever else is in the call.
    pub fn lets_through(&self, tool: &str, step: &Step, now: Timestamp) -> bool {
        if self.asking(tool, now).any(|rule| rule.touches_step(step)) {
            return false;
        }
        let program = step.words.first().map_or("", String::as_str);
        let rules = self.by_program.get(program).into_iter().flatten();
        rules.filter_map(|number| self.rules.get(*number)).any(|rule| {
            let may = rule.says == Says::Allow && rule.layer != Layer::Project;
            let is_plain = rule.when.is_about_words_alone() && rule.holds(now);
            may && is_plain && rule.is_about(tool) && rule.opens_step(step)
        })
    }

    /// The mode below the rules.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Every rule.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Decides about a call: the strictest rule that is about it; without one, its tier and the mode. What
    /// would be asked is answered by `grants` where they cover it.
    pub fn decide(&self, subject: &Subject<'_>, now: Timestamp, grants: &[Rule]) -> Decision {
        let rules = self.about(subject, now);
        let touching: Vec<&Rule> = rules
            .iter()
            .filter(|rule| rule.says != Says::Allow && rule.touches(subject))
            .copied()
            .collect();
        let audited = touching.iter().filter(|rule| rule.says == Says::Audit);
        let audited: Vec<String> = audited.map(|rule| rule.id.clone()).collect();
        let floor = by_tier(subject.tier, self.mode);
        // Of those that ask, one that wants a person before one that an agent's word may do for.
        let strictest = touching.iter().max_by_key(|rule| (rule.says, !rule.confirm));
        let decision = match strictest.map(|rule| (rule.says, rule)) {
            Some((Says::Deny, rule)) => rule.decision(Verdict::Deny),
            Some((Says::Ask, rule)) => {
                let asks: Vec<&Rule> =
                    touching.iter().filter(|rule| rule.says == Says::Ask).copied().collect();
                // What is refused without any rule is not asked about because of one.
                let is_shut = floor.verdict == Verdict::Deny;
                if is_shut && opener(&rules, &[], &[], subject, floor.verdict).is_none() {
                    floor
                } else {
                    opener(&rules, grants, &asks, subject, Verdict::Ask).map_or_else(
                        || {
                            let decision = rule.decision(Verdict::Ask);
                            let suffices = rule.confirm
                                && is_word_enough(&rules, grants, &asks, subject, floor.verdict);
                            let confirmation = match suffices {
                                true => Confirmation::MaySuffice,
                                false => decision.confirmation,
                            };
                            Decision { confirmation, ..decision }
                        },
                        |it| it.decision(Verdict::Allow),
                    )
                }
            }
            _ if floor.verdict == Verdict::Allow => floor,
            _ => opener(&rules, grants, &[], subject, floor.verdict)
                .map_or(floor, |rule| rule.decision(Verdict::Allow)),
        };
        let reading = subject.reading.map(Reading::sentence);
        Decision { reading, audited, ..decision }
    }

    /// The rules that could be about a call, in the order they were given.
    fn about(&self, subject: &Subject<'_>, now: Timestamp) -> Vec<&Rule> {
        let (catalogue, name) = subject.tool.split_once('/').unwrap_or(("", subject.tool));
        let mut numbers: Vec<usize> = self.others.clone();
        for key in [subject.tool, catalogue, name] {
            numbers.extend(self.by_tool.get(key).into_iter().flatten());
        }
        if let Some(reading) = subject.reading {
            let proven = reading.proven.iter().flat_map(|it| &it.steps).map(|step| &step.words);
            for program in reading.found.iter().chain(proven).filter_map(|words| words.first()) {
                numbers.extend(self.by_program.get(program).into_iter().flatten());
                numbers.extend(self.by_program.get(name_of(program)).into_iter().flatten());
            }
        }
        if subject.has_paths() {
            let by_path = self.by_path.get_or_init(|| PathIndex::new(&self.rules));
            numbers.extend(by_path.rules(subject));
        }
        if subject.reading.is_some_and(|reading| !reading.removes.is_empty()) {
            // What is taken away can be above what they are about.
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

/// Returns the rule that opens a call, or the first of those that open each part of it. What one of `asks` is
/// about only a grant opens.
fn opener<'r>(
    rules: &[&'r Rule],
    grants: &'r [Rule],
    asks: &[&Rule],
    subject: &Subject<'_>,
    floor: Verdict,
) -> Option<&'r Rule> {
    let may_open = |rule: &&Rule| {
        rule.says == Says::Allow
            && rule.is_about(subject.tool)
            && match rule.layer {
                Layer::Operator => true,
                Layer::Shipped | Layer::Grant => floor == Verdict::Ask,
                Layer::Project => false,
            }
    };
    let grants: Vec<&Rule> = grants.iter().filter(may_open).collect();
    let mut openers = grants.clone();
    openers.extend(rules.iter().copied().filter(|rule| may_open(rule)));
    let wholes = if asks.is_empty() { &openers } else { &grants };
    if let Some(whole) = wholes.iter().find(|rule| rule.opens(subject)) {
        return Some(whole);
    }
    let proven = subject.reading?.proven.as_ref().ok()?;
    // An ask that is about no single step is about the whole command; about a program within one of them, it is
    // about all of them.
    let mut all_asked = false;
    for ask in asks {
        if !proven.steps.iter().any(|step| ask.touches_step(step)) {
            if !ask.when.is_about_words_alone() {
                return None;
            }
            all_asked = true;
        }
    }
    let mut first: Option<&Rule> = None;
    for step in &proven.steps {
        let is_asked = all_asked || asks.iter().any(|ask| ask.touches_step(step));
        let may = if is_asked { &grants } else { &openers };
        // A beginning of a command does not answer for what some rule asks about.
        let is_enough = |rule: &Rule| !is_asked || rule.has_all_words(step);
        let rule = may.iter().find(|rule| rule.opens_step_of(subject, step) && is_enough(rule))?;
        // What somebody said is what lets it through, before what comes with the program.
        if first.is_none_or(|it| said_by(rule) > said_by(it)) {
            first = Some(*rule);
        }
    }
    for path in &proven.writes {
        openers.iter().find(|rule| rule.opens_redirect(subject, path))?;
    }
    first
}

/// How much somebody meant this very call by a rule.
fn said_by(rule: &Rule) -> u8 {
    match rule.layer {
        Layer::Shipped | Layer::Project => 0,
        Layer::Operator => 1,
        Layer::Grant => 2,
    }
}

/// Whether an agent's word is enough for a call that rules want confirmed: nothing of it would be asked
/// about without them.
fn is_word_enough(
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
    // A step that runs or writes something else is not what was confirmed.
    if subject.reading.is_some_and(|it| {
        let mut places = it.writes.iter().filter(|path| path.starts_with('/'));
        places.any(|path| !proven.writes.contains(path))
    }) {
        return false;
    }
    let is_plain = |step: &Step| step.caveat.is_none() && step.is_said_elsewhere().is_none();
    let is_confirmed =
        |step: &&Step| is_plain(step) && asks.iter().any(|ask| ask.touches_step(step));
    let others = proven.steps.iter().filter(|step| !is_confirmed(step)).cloned().collect();
    let rest = Proven { steps: others, writes: proven.writes.clone() };
    if rest.steps.len() == proven.steps.len() {
        return false;
    }
    if rest.steps.is_empty() && rest.writes.is_empty() {
        return true;
    }
    let reading = Reading { proven: Ok(rest), ..Reading::unread("") };
    let subject = Subject { reading: Some(&reading), ..*subject };
    opener(rules, grants, &[], &subject, floor).is_some()
}

impl Rule {
    fn holds(&self, now: Timestamp) -> bool {
        self.expires.is_none_or(|expires| now < expires)
    }

    fn decision(&self, verdict: Verdict) -> Decision {
        let because =
            if self.because.is_empty() { String::new() } else { format!(": {}", self.because) };
        let is_grant = self.layer == Layer::Grant;
        let kind = if is_grant { "grant" } else { "rule" };
        Decision {
            verdict,
            rule: format!("{kind} `{}`{because}", self.id),
            because: self.because.clone(),
            source: Some(self.source.clone()),
            grant: is_grant.then(|| self.id.clone()),
            confirmation: match self.confirm {
                true => Confirmation::ThenAsk,
                false => Confirmation::NotNeeded,
            },
            reading: None,
            audited: Vec::new(),
        }
    }
}
