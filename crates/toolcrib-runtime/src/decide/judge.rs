//! The judge: asks policy about what a call proposes to do, within the limits of its session.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::command_reading::{ReadShell, Step, Unproven, UnprovenKind};
use toolcrib_core::hosts::{hosts_in, hosts_named};
use toolcrib_core::policy::grant::{self, Covers, Grant, GrantError, Grants, Wish};
use toolcrib_core::policy::{DeniedPaths, Mode, Policy, Rule, Subject};
use toolcrib_core::{
    Caller, Clock, Ctx, Decision, HeldCounts, Plan, Tier, ToolName, Verdict, canonical,
};

use super::caller_policies::CallerPolicies;
use super::command_paths::{
    PathRules, distrust_committed_content, distrust_moving_paths, distrust_unknown_writers,
    mentioned_paths, resolve_redirects,
};
use super::confirm::{ConfirmationWeight, Confirmations};
use super::limits::SessionLimits;
use super::proposal::Proposal;
use super::quarantine::{Quarantine, refused_by};
use super::quota::{Charge, Quota, UserQuota};
use super::rate::RateLimit;
use super::taint::Taint;

/// Something that "always" could cover, and why it may not, if so.
pub type Choice = (Covers, Option<String>);

/// Decides about calls. A judge of one caller shares all counts with the judge of all.
#[derive(Clone)]
pub struct Judge {
    policy: Arc<Policy>,
    policies: Arc<CallerPolicies>,
    /// Whose calls it decides about.
    caller: Arc<Caller>,
    shell: Arc<dyn ReadShell>,
    grants: Arc<dyn Grants>,
    pub(super) quarantine: Quarantine,
    rate: Arc<RateLimit>,
    quota: Arc<Quota>,
    taint: Arc<Taint>,
    user_quota: Option<Arc<dyn UserQuota>>,
    confirmation_weight: ConfirmationWeight,
    pub(crate) confirmations: Confirmations,
}

/// Which tool is called, with what, by whom.
pub(crate) struct CallFacts<'a> {
    pub(crate) call: &'a str,
    pub(crate) tool: &'a ToolName,
    pub(crate) tier: Tier,
    pub(crate) args: &'a Value,
    /// The names of the tool's arguments, in the order they are declared in.
    pub(crate) keys: &'a [String],
    pub(crate) session: &'a str,
}

impl CallFacts<'_> {
    fn canonical(&self) -> String {
        canonical::in_order(self.args, self.keys.iter().map(String::as_str))
    }

    /// Whether an argument says what is done, so that the path alone does not.
    fn has_action(&self) -> bool {
        self.keys.iter().any(|key| key == "action")
    }

    /// Whether all that a call with this plan does is to create files of text or to change their text.
    fn only_edits_text(&self, plan: &Plan) -> bool {
        let is_text = plan.edits.iter().all(|edit| edit.after.is_some());
        is_text && !plan.edits.is_empty() && plan.command.is_none() && !self.has_action()
    }

    fn charge(&self, planned: u64) -> Charge<'_> {
        Charge { call: self.call, session: self.session, tool: self.tool, planned }
    }
}

impl Judge {
    /// Returns a judge by this policy, which has commands read by `shell` and knows what people granted.
    pub fn new(policy: Arc<Policy>, shell: Arc<dyn ReadShell>, grants: Arc<dyn Grants>) -> Self {
        Self {
            policies: Arc::new(CallerPolicies::new(&policy)),
            policy,
            caller: Arc::new(Caller::at_terminal("")),
            shell,
            grants,
            quarantine: Arc::default(),
            rate: Arc::default(),
            quota: Arc::default(),
            taint: Arc::default(),
            user_quota: None,
            confirmation_weight: ConfirmationWeight::default(),
            confirmations: Confirmations::default(),
        }
    }

    /// Returns this judge with these limits for each session.
    pub fn with_limits(self, limits: SessionLimits) -> Self {
        Self {
            rate: Arc::new(RateLimit::new(limits.calls_per_minute)),
            quota: Arc::new(Quota::new(limits.quota)),
            taint: Arc::new(Taint::new(limits.taint)),
            confirmation_weight: limits.confirmation,
            ..self
        }
    }

    /// Returns this judge with a quota for the user as a whole.
    pub fn with_user_quota(self, user_quota: Option<Arc<dyn UserQuota>>) -> Self {
        Self { user_quota, ..self }
    }

    /// Returns this judge with these tools refused.
    pub fn with_quarantine(self, quarantine: Quarantine) -> Self {
        Self { quarantine, ..self }
    }

    /// Returns this judge with the counts of another, whose place it takes: what sessions used, saw and were told stays.
    pub fn succeeding(self, other: &Self) -> Self {
        Self {
            rate: Arc::new(self.rate.succeeding(&other.rate)),
            quota: Arc::new(self.quota.succeeding(&other.quota)),
            taint: Arc::new(self.taint.succeeding(&other.taint)),
            confirmations: other.confirmations.clone(),
            ..self
        }
    }

    /// Returns the judge of this caller's calls.
    pub(crate) fn of_caller(&self, caller: &Arc<Caller>) -> Self {
        let policy = self.policies.of(caller);
        Self { policy, caller: Arc::clone(caller), ..self.clone() }
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns what is held in memory for calls.
    pub(crate) fn held_counts(&self) -> HeldCounts {
        let (sessions, reservations) = self.quota.counted();
        vec![
            ("rate windows", self.rate.windows()),
            ("sessions with a quota", sessions),
            ("reservations", reservations),
            ("tainted sessions", self.taint.marked()),
            ("calls to confirm", self.confirmations.len()),
        ]
    }

    pub(super) fn limits(&self) -> (&RateLimit, &Quota, &Taint) {
        (&self.rate, &self.quota, &self.taint)
    }

    /// Returns the mode below the rules.
    pub(crate) fn mode(&self) -> Mode {
        self.policy.mode()
    }

    /// Returns the policy in force.
    pub fn policy(&self) -> &Arc<Policy> {
        &self.policy
    }

    pub(super) fn grants(&self) -> &dyn Grants {
        &*self.grants
    }

    /// Reads what a plan proposes, its command included.
    pub(crate) fn propose(&self, plan: Plan, ctx: &Ctx) -> Proposal {
        Proposal::new(plan, &*self.shell, ctx)
    }

    /// Decides about a call by quarantine, policy, grants and taint.
    pub(crate) fn decide(&self, facts: &CallFacts<'_>, proposal: &Proposal, ctx: &Ctx) -> Decision {
        if let Some(refused) = refused_by(&self.quarantine, facts.tool) {
            return refused;
        }
        let decision = self.by_policy(facts, proposal, ctx, &[]);
        let decision = self.tighten(facts, decision, ctx);
        if decision.verdict() != Verdict::Ask {
            return decision;
        }
        let grants = self.grants_for(facts, proposal, ctx);
        if grants.is_empty() {
            return decision;
        }
        let rules: Vec<Rule> = grants
            .iter()
            .filter(|grant| grant.files.is_none() || proposal.has_programs_of(grant, ctx))
            .filter_map(Grant::rule)
            .collect();
        let decision = self.by_policy(facts, proposal, ctx, &rules);
        let mut decision = self.tighten(facts, decision, ctx);
        if decision.verdict() == Verdict::Ask
            && let Some(why) = proposal.why_not_granted(&grants, ctx)
        {
            decision.rule = format!("{}; {why}", decision.rule);
        }
        decision
    }

    /// Counts a call that policy does not refuse against the limits of its session and its user. Returns a
    /// refusal if one of them is reached.
    pub(crate) fn admit(
        &self,
        facts: &CallFacts<'_>,
        proposal: &Proposal,
        ctx: &Ctx,
    ) -> Option<Decision> {
        let tasks = || ctx.commands.tasks();
        let planned = proposal.plan.size();
        if let Some(refused) = self.quota.reserve(facts.charge(planned), tasks) {
            return Some(refused);
        }
        if let Some(refused) = self.rate.count(facts.session, facts.tool, ctx.clock.elapsed()) {
            self.quota.release(facts.call);
            return Some(refused);
        }
        let user_quota = self.user_quota.as_ref()?;
        let running = tasks().iter().filter(|task| task.runs).map(|task| task.time).sum();
        let why = user_quota.count(facts.tool, ctx.clock.now(), running, planned)?;
        Some(Decision::deny(why.clone(), why))
    }

    /// Returns the paths that rules deny to a tool, whatever it does there.
    pub(crate) fn denied_paths(
        &self,
        tool: &ToolName,
        proposal: &Proposal,
        ctx: &Ctx,
    ) -> Option<DeniedPaths> {
        let root = || PathBuf::from(proposal.paths.root());
        self.policy.denied_paths(tool, ctx.clock.now(), root)
    }

    /// Returns the paths that a command of the tool does not see. `answered` are the rules that asked about the call.
    pub(crate) fn masked_paths(
        &self,
        tool: &ToolName,
        proposal: &Proposal,
        ctx: &Ctx,
        answered: &[String],
    ) -> Option<DeniedPaths> {
        let root = || PathBuf::from(proposal.paths.root());
        self.policy.masked_paths(tool, ctx.clock.now(), root, answered)
    }

    /// Returns the paths that a plan changes, each with where it leads; those that it reads only if a rule is about
    /// paths of the tool.
    pub(crate) fn decided_paths(
        &self,
        tool: &ToolName,
        proposal: &Proposal,
    ) -> Vec<(String, String)> {
        let has_paths = self.policy.looks_at_paths(tool);
        let Plan { reads, edits, .. } = &proposal.plan;
        let reads = reads.iter().filter(|_| has_paths);
        let paths = reads.chain(edits.iter().map(|edit| &edit.path));
        paths.filter_map(|path| Some((path.clone(), proposal.paths.absolute(path).ok()?))).collect()
    }

    /// Counts what a call wrote and how long it ran.
    pub(crate) fn spend(&self, charge: Charge<'_>, bytes: u64, time: Duration, clock: &dyn Clock) {
        self.quota.spend(charge, bytes, time, clock.elapsed());
        if let Some(user_quota) = &self.user_quota {
            user_quota.spend(bytes, time, clock.now());
        }
    }

    /// Marks a session that is about to see the network.
    pub(crate) fn mark_tainted(&self, session: &str, ctx: &Ctx) {
        self.taint.mark(session, ctx.clock.elapsed());
    }

    /// Returns what an agent's confirmation is worth in a session. In a tainted one a person is asked.
    pub(crate) fn confirmation_weight(&self, session: &str, ctx: &Ctx) -> ConfirmationWeight {
        if self.taint.is_marked(session, ctx.clock.elapsed()) {
            return ConfirmationWeight::Person;
        }
        self.confirmation_weight
    }

    /// Returns what someone who is asked about a call could say "always" to; with each, why not, if so.
    pub(crate) fn choices(
        &self,
        facts: &CallFacts<'_>,
        proposal: &Proposal,
        ctx: &Ctx,
    ) -> Vec<Choice> {
        // What the person is asked about: a program that comes later is not granted.
        let programs = proposal.call_programs(ctx);
        let why_not = |covers: &Covers| programs.and_then(|it| it.why_ungrantable(covers));
        let args = self.caller.covered(facts.canonical());
        let exact = Covers::Call { args, links: proposal.links() };
        let (refused, now) = (why_not(&exact), ctx.clock.now());
        let mut choices = vec![(exact, refused)];
        if let Some(reading) = &proposal.reading
            && let Ok(proven) = &reading.proven
            // No beginning of its words says what a redirection writes.
            && proven.writes.is_empty()
        {
            // One grant covers one step: if several steps need one, none would be enough.
            let closed = |step: &&Step| !self.policy.lets_through(facts.tool, step, now);
            if let [step] = proven.steps.iter().filter(closed).collect::<Vec<_>>()[..] {
                let asks = self.policy.asks_about(facts.tool, reading, step, now);
                let beginnings = grant::beginnings(step, asks.as_deref()).into_iter();
                choices.extend(beginnings.map(|(words, refused)| {
                    let covers = Covers::Argv(words);
                    let refused = refused.or_else(|| why_not(&covers));
                    (covers, refused)
                }));
            }
        }
        let edited = proposal.edited_paths().unwrap_or_default();
        if facts.only_edits_text(&proposal.plan)
            && self.by_policy(facts, proposal, ctx, &[]).asking.is_empty()
        {
            let root = proposal.paths.root();
            let folder = common_folder(&edited).filter(|it| Path::new(it).starts_with(&root));
            let folders = folder.filter(|it| *it != root).into_iter().chain([root]);
            choices.extend(folders.map(|folder| (Covers::Edits(folder), None)));
        }
        if let [path] = &edited[..]
            && !facts.has_action()
        {
            choices.push((Covers::Path(path.clone()), None));
        }
        choices
    }

    /// Stores a grant of what someone wished.
    pub(crate) fn grant(
        &self,
        tool: &ToolName,
        by: &str,
        wish: &Wish,
        proposal: &Proposal,
        ctx: &Ctx,
    ) -> Result<(), GrantError> {
        let grant = wish.granted(ctx.call.0.clone(), tool, by, ctx.clock.now());
        let grant = grant.for_caller(&self.caller);
        self.grants.add(Grant { files: Some(proposal.granted_files(ctx)), ..grant })
    }

    /// Counts a use of the grant that allowed a call, if one did.
    pub(crate) fn count_grant_use(&self, decision: &Decision, ctx: &Ctx) {
        if let (Verdict::Allow, Some(id)) = (decision.verdict(), &decision.grant) {
            self.grants.used(id, ctx.clock.now());
        }
    }

    pub(super) fn tighten(&self, facts: &CallFacts<'_>, decision: Decision, ctx: &Ctx) -> Decision {
        self.taint.tighten(facts.session, facts.tier, ctx.clock.elapsed(), decision)
    }

    /// Returns the grants that hold here and could cover the call.
    fn grants_for(&self, facts: &CallFacts<'_>, proposal: &Proposal, ctx: &Ctx) -> Vec<Grant> {
        let (now, root) = (ctx.clock.now(), proposal.paths.root());
        // Grants that cannot be read grant nothing.
        let mut grants = self.grants.current().unwrap_or_default();
        grants.retain(|grant| {
            let is_same = || match &grant.covers {
                Covers::Call { args, links } => {
                    *args == self.caller.covered(facts.canonical()) && *links == proposal.links()
                }
                Covers::Argv(_) | Covers::Path(_) | Covers::Edits(_) => true,
                // It allows no call.
                Covers::Host(_) => false,
            };
            grant.is_for(&self.caller)
                && grant.holds(now, facts.session, &root)
                && grant.is_about(facts.tool)
                && is_same()
        });
        grants
    }

    fn by_policy(
        &self,
        facts: &CallFacts<'_>,
        proposal: &Proposal,
        ctx: &Ctx,
        grants: &[Rule],
    ) -> Decision {
        // A copy, because what rules about paths and hosts make doubtful is taken back in it.
        let mut reading = proposal.reading.clone();
        let (plan, paths) = (&proposal.plan, &proposal.paths);
        // Rules about paths look at the real ones.
        let has_paths = self.policy.looks_at_paths(facts.tool)
            || grants.iter().any(|it| it.when.is_about_paths() || it.when.edits_below.is_some());
        let absolute = |path: &String| paths.absolute(path).unwrap_or_else(|_| path.clone());
        let is_about_paths = has_paths || !plan.edits.is_empty();
        let root = if is_about_paths { absolute(&".".to_owned()) } else { String::new() };
        let mut reads: Vec<String> =
            plan.reads.iter().filter(|_| has_paths).map(absolute).collect();
        // Whatever the rules, it is asked about what other programs run on their own.
        let mut writes: Vec<String> = plan.edits.iter().map(|edit| absolute(&edit.path)).collect();
        if let (Some(reading), Some(command)) = (&mut reading, &plan.command) {
            let from = proposal.start_directory();
            let is_root = |path: &str| paths.absolute(path).ok() == paths.absolute(".").ok();
            if command.directory.is_some() && !is_root(from) {
                reading.elsewhere();
            }
            resolve_redirects(reading, from, paths);
            if has_paths {
                let rules = if self.policy.keeps_from_paths(facts.tool) {
                    PathRules::Restrict
                } else {
                    PathRules::None
                };
                reads.extend(mentioned_paths(reading, from, rules, paths));
                distrust_moving_paths(reading, rules);
                let now = ctx.clock.now();
                let denied = || self.policy.denied_paths(facts.tool, now, || PathBuf::from(&root));
                distrust_committed_content(reading, || {
                    denied().is_some_and(|denied| !denied.places().is_empty())
                });
                let keeps = |path: &str| self.policy.keeps_from_writing(facts.tool, &root, path);
                distrust_unknown_writers(reading, from, rules, &keeps, paths);
            }
            writes.extend(reading.writes.iter().chain(&reading.removes).cloned());
        }
        let canonical = facts.canonical();
        let mut hosts = [plan.hosts.clone(), hosts_in(facts.args, reading.as_ref())].concat();
        if self.policy.looks_at_hosts(facts.tool)
            && let Some(reading) = &mut reading
        {
            match hosts_named(reading) {
                Ok(named) => hosts.extend(named),
                Err(why) if reading.proven.is_ok() => {
                    reading.proven = Err(Unproven::new(UnprovenKind::Evasion, why.to_string()));
                }
                Err(_) => {}
            }
        }
        let subject = Subject {
            tool: facts.tool,
            tier: facts.tier,
            canonical: &canonical,
            root: &root,
            reads: &reads,
            writes: &writes,
            only_edits_text: facts.only_edits_text(plan),
            hosts: &hosts,
            reading: reading.as_ref(),
        };
        self.policy.decide(&subject, ctx.clock.now(), grants)
    }
}

/// Returns the deepest folder that holds all of these files.
fn common_folder(files: &[String]) -> Option<String> {
    let mut folder = Path::new(files.first()?).parent()?;
    for file in files {
        while !Path::new(file).starts_with(folder) {
            folder = folder.parent()?;
        }
    }
    Some(folder.display().to_string())
}
