//! Puts before policy what a call would do, as its tool says it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use toolcrib_core::command::Shell;
use toolcrib_core::policy::grant::{self, Covers, Grant, Grants, Wish};
use toolcrib_core::policy::{Policy, Rule, Subject, without_detours};
use toolcrib_core::reading::{ReadShell, Reading, Step};
use toolcrib_core::{Ctx, Decision, Plan, Tier, Verdict, canonical};

use crate::confirm::Confirmations;
use crate::hosts::{hosts_in, hosts_named};
use crate::pace::{Bounds, Pace, Tally};

/// What "always" could be said to, and why it may not be, if so.
pub type Choice = (Covers, Option<String>);

/// Decides about calls.
pub struct Judge {
    policy: Arc<Policy>,
    shell: Arc<dyn ReadShell>,
    grants: Arc<dyn Grants>,
    /// Tools that are kept out, and why.
    barred: Arc<RwLock<HashMap<String, String>>>,
    pub(crate) pace: Pace,
    /// What is counted for the user as a whole.
    pub(crate) tally: Option<Arc<dyn Tally>>,
    pub(crate) confirmations: Confirmations,
}

/// Which tool is called, and how.
pub(crate) struct Asked<'a> {
    pub(crate) tool: &'a str,
    pub(crate) tier: Tier,
    pub(crate) args: &'a Value,
    /// The names of its arguments, in the order they are declared in.
    pub(crate) keys: &'a [String],
    pub(crate) session: &'a str,
}

impl Asked<'_> {
    fn canonical(&self) -> String {
        canonical::in_order(self.args, self.keys.iter().map(String::as_str))
    }
}

impl Judge {
    /// Puts a policy, who reads commands for it, and what people granted together.
    pub fn new(policy: Arc<Policy>, shell: Arc<dyn ReadShell>, grants: Arc<dyn Grants>) -> Self {
        let (pace, confirmations) = (Pace::default(), Confirmations::default());
        Self { policy, shell, grants, barred: Arc::default(), pace, tally: None, confirmations }
    }

    /// The same within these bounds.
    pub fn within(self, bounds: Bounds) -> Self {
        Self { pace: Pace::new(bounds), ..self }
    }

    /// The same with what the user does elsewhere counted too.
    pub fn counting(self, tally: Option<Arc<dyn Tally>>) -> Self {
        Self { tally, ..self }
    }

    /// The same without the tools that are named here, each with why.
    pub fn keeping_out(self, barred: Arc<RwLock<HashMap<String, String>>>) -> Self {
        Self { barred, ..self }
    }

    /// What someone who is asked about a call could say "always" to; with each, why not, if so.
    pub(crate) fn choices(&self, asked: &Asked<'_>, plan: &Plan, ctx: &Ctx) -> Vec<Choice> {
        let exact = Covers::Call { args: asked.canonical(), links: self.links(plan, ctx) };
        let mut choices = vec![(exact, None)];
        if let Some(Ok(proven)) = self.read(plan).map(|reading| reading.proven) {
            // Of the steps that no rule lets through there has to be one, or it takes more than one grant.
            let closed = |step: &&Step| !self.policy.lets_through(asked.tool, step);
            if let [step] = proven.steps.iter().filter(closed).collect::<Vec<_>>()[..] {
                let beginnings = grant::beginnings(step).into_iter();
                choices.extend(beginnings.map(|(words, refused)| (Covers::Argv(words), refused)));
            }
        }
        // Where an argument says what is done, a path does not.
        let has_action = asked.keys.iter().any(|key| key == "action");
        if let [edit] = &plan.edits[..]
            && !has_action
            && let Ok(place) = ctx.files.place(&edit.path)
        {
            choices.push((Covers::Path(place), None));
        }
        choices
    }

    /// Makes a grant of what someone wished.
    pub(crate) fn grant(&self, tool: &str, by: &str, wish: &Wish, ctx: &Ctx) -> Result<(), String> {
        let now = ctx.clock.now();
        let minutes = |minutes: u32| now.checked_add(jiff::Span::new().minutes(minutes)).ok();
        let grant = Grant {
            id: ctx.call.0.clone(),
            tool_name: tool.to_owned(),
            param_pattern: wish.covers.text(),
            description: format!("always, said {by}"),
            created_at: now,
            last_used_at: None,
            use_count: 0,
            expires_at: wish.minutes.and_then(minutes),
            enabled: true,
            scope: wish.scope.clone(),
            covers: wish.covers.clone(),
            by: by.to_owned(),
        };
        self.grants.add(grant)
    }

    fn read(&self, plan: &Plan) -> Option<Reading> {
        plan.command.as_ref().map(|command| match command.shell {
            Shell::Bash => self.shell.read(&command.text),
            Shell::Own => {
                let mut reading = self.shell.read(&command.text);
                // Within quotes, too, some shells take it for a beginning and others as it is.
                if reading.proven.is_ok() && command.text.contains('\\') {
                    reading.proven = Err("a backslash, which not all shells read alike".to_owned());
                }
                reading
            }
            Shell::PowerShell | Shell::Program(_) => Reading::unread("this shell's language"),
        })
    }

    /// Decides about a call that would do what `plan` says.
    pub(crate) fn decide(&self, asked: &Asked<'_>, plan: &Plan, ctx: &Ctx) -> Decision {
        let barred = self.barred.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = barred.get(asked.tool) {
            return Decision::plain(Verdict::Deny, why.clone());
        }
        drop(barred);
        let decision = self.decide_with(asked, plan, ctx, &[]);
        let decision = self.pace.doubt(asked.session, asked.tier, decision);
        if decision.verdict != Verdict::Ask {
            return decision;
        }
        let now = ctx.clock.now();
        let root = ctx.files.place(".").unwrap_or_default();
        // Grants that cannot be read grant nothing.
        let grants = self.grants.current().unwrap_or_default();
        let is_same = |grant: &&Grant| match &grant.covers {
            Covers::Call { args, links } => {
                *args == asked.canonical() && *links == self.links(plan, ctx)
            }
            Covers::Argv(_) | Covers::Path(_) => true,
        };
        let grants = grants.iter().filter(|grant| grant.holds(now, asked.session, &root));
        let grants = grants.filter(|grant| grant.tool_name == asked.tool).filter(is_same);
        let rules: Vec<Rule> = grants.filter_map(Grant::rule).collect();
        if rules.is_empty() {
            return decision;
        }
        let decision = self.decide_with(asked, plan, ctx, &rules);
        self.pace.doubt(asked.session, asked.tier, decision)
    }

    /// The files that a command names, wherever it may be by then: an answer is about what is in them, too.
    pub(crate) fn named(&self, plan: &Plan, ctx: &Ctx) -> Vec<String> {
        let (Some(reading), Some(command)) = (self.read(plan), &plan.command) else {
            return Vec::new();
        };
        let directories = directories(&reading, command.directory.as_deref().unwrap_or("."));
        let words: Vec<String> = candidates(&reading).take(MOST_NAMED).collect();
        let places = words.iter().flat_map(|word| {
            directories.iter().map(move |directory| ctx.files.landing(&below(directory, word)))
        });
        let mut files: Vec<String> =
            places.filter(|it| it.is_inside).map(|landing| landing.path).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The links among the paths that a call names, each with where it leads.
    fn links(&self, plan: &Plan, ctx: &Ctx) -> Vec<(String, String)> {
        let edits = plan.edits.iter().map(|edit| edit.path.clone());
        let mut paths: Vec<String> = edits.chain(plan.reads.iter().cloned()).collect();
        if let (Some(reading), Some(command)) = (self.read(plan), &plan.command) {
            let from = command.directory.as_deref().unwrap_or(".");
            for directory in directories(&reading, from) {
                let words = candidates(&reading).take(MOST_NAMED);
                paths.extend(words.map(|word| below(&directory, &word)));
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let lead = paths.into_iter().map(|path| (ctx.files.landing(&path), path));
        lead.filter(|(end, _)| end.has_links).map(|(end, path)| (path, end.path)).collect()
    }

    /// What of a command is only known when it runs.
    pub(crate) fn unbound(&self, plan: &Plan) -> Vec<String> {
        let Some(reading) = self.read(plan) else { return Vec::new() };
        let words: Vec<&String> = words_of(&reading).collect();
        let is_open = |word: &&&String| {
            word.contains(['*', '?', '$', '`', '[', '{']) || word.starts_with('~')
        };
        let mut open: Vec<String> = words.iter().filter(is_open).map(|it| (*it).clone()).collect();
        open.sort_unstable();
        open.dedup();
        let mut all: Vec<String> =
            open.iter().take(10).map(|it| format!("`{it}` is only known when it runs")).collect();
        if candidates(&reading).nth(MOST_NAMED).is_some() {
            all.push("it has more words than are looked at".to_owned());
        }
        all
    }

    /// Notes that a call is let through by what decided about it.
    pub(crate) fn note_use(&self, decision: &Decision, ctx: &Ctx) {
        if let (Verdict::Allow, Some(id)) = (decision.verdict, &decision.grant) {
            self.grants.used(id, ctx.clock.now());
        }
    }

    fn decide_with(&self, asked: &Asked<'_>, plan: &Plan, ctx: &Ctx, grants: &[Rule]) -> Decision {
        let mut reading = self.read(plan);
        // Where a rule looks at paths, it looks at the real ones.
        let has_paths = self.policy.looks_at_paths(asked.tool)
            || grants.iter().any(|grant| grant.when.is_about_paths());
        let place = |path: &String| ctx.files.place(path).unwrap_or_else(|_| path.clone());
        let places = |paths: Vec<&String>| -> Vec<String> {
            let paths = paths.into_iter().filter(|_| has_paths);
            paths.map(place).collect()
        };
        let root = if has_paths { place(&".".to_owned()) } else { String::new() };
        let mut reads = places(plan.reads.iter().collect());
        let mut writes = places(plan.edits.iter().map(|edit| &edit.path).collect());
        if let (Some(reading), Some(command)) = (&mut reading, &plan.command) {
            let from = command.directory.as_deref().unwrap_or(".");
            let is_root = |path: &str| ctx.files.place(path).ok() == ctx.files.place(".").ok();
            if command.directory.is_some() && !is_root(from) {
                reading.elsewhere();
            }
            place_redirects(reading, from, ctx);
            if has_paths {
                let is_kept = self.policy.keeps_from_paths(asked.tool);
                reads.extend(mentioned(reading, from, is_kept, ctx));
                doubt_names(reading, is_kept);
                let keeps = |path: &str| self.policy.keeps_from_writing(asked.tool, &root, path);
                doubt_writers(reading, from, &keeps, ctx);
            }
            writes.extend(reading.writes.iter().chain(&reading.removes).cloned());
        }
        let canonical = asked.canonical();
        let mut hosts = hosts_in(asked.args, reading.as_ref());
        if self.policy.keeps_from_hosts(asked.tool)
            && let Some(reading) = &mut reading
        {
            match hosts_named(reading) {
                Ok(named) => hosts.extend(named),
                Err(why) if reading.proven.is_ok() => reading.proven = Err(why),
                Err(_) => {}
            }
        }
        let subject = Subject {
            tool: asked.tool,
            tier: asked.tier,
            canonical: &canonical,
            root: &root,
            reads: &reads,
            writes: &writes,
            hosts: &hosts,
            reading: reading.as_ref(),
        };
        self.policy.decide(&subject, ctx.clock.now(), grants)
    }
}

/// Of more words than this, the rest are not looked at for files.
const MOST_NAMED: usize = 1000;

/// The directories that parts of a command could run in: where it begins, where each `cd` leads from there, and
/// where all of them lead one after the other.
fn directories(reading: &Reading, from: &str) -> Vec<String> {
    /// More than this are not followed.
    const MOST: usize = 8;
    let mut all = vec![from.to_owned()];
    let moves = reading.found.iter().filter(|words| {
        matches!(words.first().map(String::as_str), Some("cd" | "pushd" | "chdir"))
    });
    let moves = moves.take(MOST);
    let mut here = from.to_owned();
    for target in moves.filter_map(|words| words[1..].iter().find(|word| !word.starts_with('-'))) {
        here = below(&here, target);
        all.push(here.clone());
        all.push(below(from, target));
    }
    all.dedup();
    all.truncate(MOST);
    all
}

/// A path as it is from a directory.
fn below(from: &str, path: &str) -> String {
    if path.starts_with('/') { path.to_owned() } else { format!("{from}/{path}") }
}

/// What a program that is not known does with a file that a rule keeps it from writing, nobody can tell.
fn doubt_writers(reading: &mut Reading, from: &str, keeps: &dyn Fn(&str) -> bool, ctx: &Ctx) {
    let Ok(proven) = &reading.proven else { return };
    let unknown = proven.steps.iter().filter(|step| !step.names.is_known);
    let mut words = unknown.flat_map(|step| &step.words[1..]).flat_map(|word| could_be(word));
    let found = words.by_ref().take(MOST_NAMED).find(|word| {
        keeps(&without_detours(word)) || keeps(&ctx.files.landing(&below(from, word)).path)
    });
    if let Some(word) = found {
        reading.proven = Err(format!("it could write `{word}`, and a rule is about that"));
    }
}

/// Everything among its words that could be a file.
fn candidates(reading: &Reading) -> impl Iterator<Item = String> {
    words_of(reading).flat_map(|word| could_be(word))
}

/// Every word of a command that could name a file.
fn named_by(reading: &Reading) -> impl Iterator<Item = &String> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    let commands = reading.found.iter().chain(steps.map(|step| &step.words));
    commands.flat_map(|words| paths_in(words)).chain(&reading.reads)
}

/// The words of a program that could name files: what it prints, or looks for, does not.
fn paths_in(words: &[String]) -> Vec<&String> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let all = || words.iter().collect();
    let name = name.rsplit('/').next().unwrap_or(name);
    let (name, rest) = match (name, rest) {
        ("git", [command, rest @ ..]) if command == "grep" => ("grep", rest),
        other => other,
    };
    match name {
        "echo" | "printf" | "tr" | "seq" | "expr" => Vec::new(),
        "git" => {
            const TEXTS: &[&str] =
                &["-m", "--message", "--grep", "--author", "--format", "--pretty"];
            let is_text = |at: usize| {
                let before = at.checked_sub(1).map(|at| rest[at].as_str());
                let own = rest[at].split('=').next().unwrap_or_default();
                before.is_some_and(|it| TEXTS.contains(&it)) || TEXTS.contains(&own)
            };
            (0..rest.len()).filter(|at| !is_text(*at)).map(|at| &rest[at]).collect()
        }
        "grep" | "egrep" | "fgrep" | "rg" => {
            // With these, its first operand is a file.
            let has_pattern = rest.iter().any(|word| {
                let letters = word.strip_prefix('-').filter(|it| !it.starts_with('-'));
                letters.is_some_and(|it| it.contains(['e', 'f']))
                    || word.starts_with("--f")
                    || word.starts_with("--re")
            });
            let pattern = rest.iter().position(|word| !word.starts_with('-'));
            let skipped = pattern.filter(|_| !has_pattern);
            let others = rest.iter().enumerate().filter(|(at, _)| Some(*at) != skipped);
            others.map(|it| it.1).collect()
        }
        _ => all(),
    }
}

/// Every word of a command, however it is read.
fn words_of(reading: &Reading) -> impl Iterator<Item = &String> {
    let steps = reading.proven.iter().flat_map(|proven| &proven.steps);
    let proven = steps.flat_map(|step| &step.words);
    reading.found.iter().flatten().chain(&reading.reads).chain(proven)
}

/// What a path is can change while a command runs, by a part of it: where a rule is about paths, nothing is proven
/// of the parts beside it. Nor is it of one that writes what its words do not name.
fn doubt_names(reading: &mut Reading, is_kept: bool) {
    let Ok(proven) = &reading.proven else { return };
    let has_pipe = proven.steps.iter().any(|step| step.is_fed);
    let is_file = |word: &String| !word.starts_with('-') || word.contains(['/', '=']);
    let has_files = |step: &Step| step.words[1..].iter().any(is_file);
    let maker = proven.steps.iter().position(|step| step.names.leads_elsewhere);
    let why = match maker {
        Some(maker) if is_kept => {
            let rest = proven.steps.iter().enumerate();
            let beside = rest.filter(|(at, _)| *at > maker || has_pipe && *at != maker);
            let has_redirects = !proven.writes.is_empty() || !reading.reads.is_empty();
            let is_led = has_redirects || beside.into_iter().any(|(_, step)| has_files(step));
            is_led.then_some("a part of it can make a path lead somewhere else")
        }
        _ => None,
    };
    let unnamed = is_kept && proven.steps.iter().any(|step| step.names.writes_unnamed);
    let why = why.or(unnamed.then_some("it writes files that its words do not name"));
    if let Some(why) = why {
        reading.proven = Err(format!("{why}, and a rule is about paths"));
    }
}

/// The paths that the words of a command could be. A rule that tightens is about those too; where there is
/// one, a word that could be a path and is not known to be which proves nothing.
fn mentioned(reading: &mut Reading, from: &str, is_kept: bool, ctx: &Ctx) -> Vec<String> {
    /// Of more words than this, the rest are only looked at as they are spelt.
    const MOST: usize = 1000;
    let directories = directories(reading, from);
    let words = named_by(reading);
    let mut candidates: Vec<String> =
        words.flat_map(|word| could_be(word)).take(MOST * 4).collect();
    candidates.sort_unstable();
    candidates.dedup();
    let spelt = candidates.iter().map(|word| without_detours(word.trim_start_matches("./")));
    let mut all: Vec<String> = spelt.collect();
    let mut unknown =
        (candidates.len() > MOST).then(|| "it has more words than are looked at".to_owned());
    for word in candidates.into_iter().take(MOST) {
        for directory in &directories {
            let landing = ctx.files.landing(&below(directory, &word));
            let leads_out = !landing.is_inside && word != "/dev/null";
            if leads_out && (landing.has_links || word.contains('/')) {
                unknown.get_or_insert_with(|| {
                    format!("`{word}` could be a file that a rule is about")
                });
            }
            all.push(landing.path);
        }
    }
    // Of git's paths, stars and their like are its own to expand.
    let is_git = |words: &&Vec<String>| words.first().is_some_and(|name| name == "git");
    let mut git = reading.found.iter().filter(is_git).flat_map(|words| paths_in(words));
    let expands = |word: &&String| word.contains(['*', '?', '[', '\\']) || word.starts_with(":(");
    if let Some(word) = git.find(expands) {
        unknown.get_or_insert_with(|| format!("`{word}` could be files that a rule is about"));
    }
    if directories.len() > 1 {
        unknown.get_or_insert_with(|| {
            "it changes its directory, and a rule is about paths".to_owned()
        });
    }
    if let (true, Some(why), true) = (is_kept, unknown, reading.proven.is_ok()) {
        reading.proven = Err(why);
    }
    all
}

/// What of a word could be a path: all of it, a flag's value, what is behind a colon or an `@`, an address.
fn could_be(word: &str) -> Vec<String> {
    /// Bundled flags beyond this are none.
    const BUNDLED: usize = 40;
    /// More parts of one word than this, or of a longer one, are none.
    const PARTS: usize = 16;
    const LONGEST: usize = 4096;
    if word.len() > LONGEST {
        return vec![word.to_owned()];
    }
    let values = word.match_indices('=').take(PARTS).map(|(at, _)| &word[at + 1..]);
    let flags = word.strip_prefix('-').filter(|it| !it.starts_with('-')).unwrap_or_default();
    let bundled = (1..=BUNDLED.min(flags.len())).filter_map(|at| flags.get(at..));
    let behind = word.rsplit_once(':').map(|it| it.1.trim_start_matches('/'));
    let magic = word.strip_prefix(":(").and_then(|it| it.split_once(')')).map(|it| it.1);
    let named = word.rsplit_once('@').map(|it| it.1);
    let is_file = word.get(..5).is_some_and(|it| it.eq_ignore_ascii_case("file:"));
    let address = is_file.then(|| &word[5..]).map(|it| {
        let it = it.strip_prefix("//").unwrap_or(it);
        it.find('/').map_or(it, |at| &it[at..])
    });
    let one = [Some(word), behind, magic, named, address].into_iter().flatten();
    let all = one.chain(values).chain(bundled);
    all.filter(|it| !it.is_empty()).map(str::to_owned).collect()
}

/// Puts real places in the place of what redirections are spelt as. One that is outside proves nothing.
fn place_redirects(reading: &mut Reading, from: &str, ctx: &Ctx) {
    if let Ok(proven) = &mut reading.proven {
        let mut outside = None;
        for path in &mut proven.writes {
            let landing = ctx.files.landing(&below(from, path));
            if landing.is_inside {
                *path = landing.path;
            } else {
                outside = Some(path.clone());
            }
        }
        if let Some(path) = outside {
            reading.proven = Err(format!("it writes `{path}`, which is not in the workspace"));
        }
    }
    let places = |paths: &[String]| -> Vec<String> {
        let real = paths.iter().map(|path| ctx.files.landing(&below(from, path)).path);
        real.chain(paths.iter().map(|path| without_detours(path))).collect()
    };
    reading.writes = places(&reading.writes);
    reading.removes = places(&reading.removes);
}
