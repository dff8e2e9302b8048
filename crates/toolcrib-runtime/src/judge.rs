//! Puts before policy what a call would do, as its tool says it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::Value;
use toolcrib_core::command::Shell;
use toolcrib_core::hosts::{hosts_in, hosts_named};
use toolcrib_core::policy::grant::{self, Covers, Grant, Grants, Wish};
use toolcrib_core::policy::{Policy, Rule, Subject};
use toolcrib_core::reading::{ReadShell, Reading, Step};
use toolcrib_core::{Ctx, Decision, Plan, Tier, Verdict, canonical};

use crate::confirm::Confirmations;
use crate::pace::{Bounds, Pace, Tally};
use crate::paths::{
    Candidates, below, directories, doubt_names, doubt_writers, mentioned, place_redirects,
    words_of,
};
use crate::reach::{Reached, may_change};

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
        let now = ctx.clock.now();
        if let Some(reading) = self.read(plan)
            && let Ok(proven) = &reading.proven
        {
            // Of the steps that no rule lets through there has to be one, or it takes more than one grant.
            let closed = |step: &&Step| !self.policy.lets_through(asked.tool, step, now);
            if let [step] = proven.steps.iter().filter(closed).collect::<Vec<_>>()[..] {
                let asks = self.policy.asks_about(asked.tool, &reading, step, now);
                let beginnings = grant::beginnings(step, asks.as_deref()).into_iter();
                choices.extend(beginnings.map(|(words, refused)| (Covers::Argv(words), refused)));
            }
        }
        // Where an argument says what is done, a path does not.
        let has_action = asked.keys.iter().any(|key| key == "action");
        if let [edit] = &plan.edits[..]
            && !has_action
            && let Ok(place) = ctx.files.absolute(&edit.path)
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
                // Within quotes, too, some shells take them for a beginning and others as they are.
                if reading.proven.is_ok() && command.text.contains(['\\', '!', '\n']) {
                    let why = "a backslash, `!` or line break, which not all shells read alike";
                    reading.proven = Err(why.to_owned());
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
        let root = ctx.files.absolute(".").unwrap_or_default();
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
        let words = Candidates::all(&reading, &directories).paths;
        let places = words.iter().flat_map(|word| {
            directories.iter().map(move |directory| ctx.files.resolve(&below(directory, word)))
        });
        let mut files: Vec<String> =
            places.filter(|it| it.is_inside).map(|resolved| resolved.path).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The files that a command may change; nothing if all that it does is to look, or there is none.
    pub(crate) fn may_change(&self, plan: &Plan, ctx: &Ctx) -> Option<Reached> {
        let (reading, command) = (self.read(plan)?, plan.command.as_ref()?);
        may_change(&reading, command.directory.as_deref().unwrap_or("."), ctx)
    }

    /// The links among the paths that a call names, each with where it leads.
    fn links(&self, plan: &Plan, ctx: &Ctx) -> Vec<(String, String)> {
        let edits = plan.edits.iter().map(|edit| edit.path.clone());
        let mut paths: Vec<String> = edits.chain(plan.reads.iter().cloned()).collect();
        if let (Some(reading), Some(command)) = (self.read(plan), &plan.command) {
            let from = command.directory.as_deref().unwrap_or(".");
            let directories = directories(&reading, from);
            let words = Candidates::all(&reading, &directories).paths;
            for directory in directories {
                paths.extend(words.iter().map(|word| below(&directory, word)));
            }
        }
        paths.sort_unstable();
        paths.dedup();
        let lead = paths.into_iter().map(|path| (ctx.files.resolve(&path), path));
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
        let from = plan.command.as_ref().and_then(|command| command.directory.as_deref());
        let directories = directories(&reading, from.unwrap_or("."));
        all.extend(Candidates::all(&reading, &directories).beyond);
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
        let place = |path: &String| ctx.files.absolute(path).unwrap_or_else(|_| path.clone());
        let places = |paths: Vec<&String>| -> Vec<String> {
            let paths = paths.into_iter().filter(|_| has_paths);
            paths.map(place).collect()
        };
        let root = if has_paths { place(&".".to_owned()) } else { String::new() };
        let mut reads = places(plan.reads.iter().collect());
        let mut writes = places(plan.edits.iter().map(|edit| &edit.path).collect());
        if let (Some(reading), Some(command)) = (&mut reading, &plan.command) {
            let from = command.directory.as_deref().unwrap_or(".");
            let is_root =
                |path: &str| ctx.files.absolute(path).ok() == ctx.files.absolute(".").ok();
            if command.directory.is_some() && !is_root(from) {
                reading.elsewhere();
            }
            place_redirects(reading, from, ctx);
            if has_paths {
                let is_kept = self.policy.keeps_from_paths(asked.tool);
                reads.extend(mentioned(reading, from, is_kept, ctx));
                doubt_names(reading, is_kept);
                let keeps = |path: &str| self.policy.keeps_from_writing(asked.tool, &root, path);
                doubt_writers(reading, from, is_kept, &keeps, ctx);
            }
            writes.extend(reading.writes.iter().chain(&reading.removes).cloned());
        }
        let canonical = asked.canonical();
        let mut hosts = hosts_in(asked.args, reading.as_ref());
        if self.policy.looks_at_hosts(asked.tool)
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
