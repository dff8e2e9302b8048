//! Where one call is decided and run, on whichever thread that happens.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, json};
use toolcrib_core::canonical::Digest;
use toolcrib_core::policy::Answer;
use toolcrib_core::tool::ReplyFuture;
use toolcrib_core::{
    Call, Clock, Ctx, Decision, Durability, Effect, ErrorKind, Event, Moment, Note, Permit, Plan,
    Prepared, Recorder, Tier, ToolError, Verdict,
};

use toolcrib_core::toolset::Offer;

use crate::approver::Question;
use crate::confirm::{Confirmation, Weight};
use crate::judge::{Asked, Judge};
use crate::pace::Counted;
use crate::reach::Reached;
use crate::run::{Allowance, blocking, inline};

/// What is needed to decide about one call and run it, wherever that happens.
pub(crate) struct Desk {
    pub(crate) recorder: Arc<dyn Recorder>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) tool: String,
    pub(crate) call: Call,
    pub(crate) effect: Effect,
    pub(crate) tier: Tier,
    /// The names of its arguments, in the order they are declared in.
    pub(crate) keys: Arc<[String]>,
    pub(crate) digest: Digest,
    pub(crate) judge: Arc<Judge>,
    /// Whether the agent has confirmed, or need not.
    pub(crate) confirmation: Confirmation,
    /// Whether files must stay as they are while a person is asked.
    pub(crate) is_pinned: bool,
    /// What was decided, once it is.
    pub(crate) decided: Arc<OnceLock<Decision>>,
    /// What the record is to say when it begins.
    pub(crate) about: OnceLock<About>,
}

/// What a call is about to do, where.
pub(crate) struct About {
    /// The files it is about to change.
    places: Vec<String>,
    /// The directory of its command.
    directory: Option<String>,
    /// What holds for that command.
    terms: Option<String>,
    /// The files that it may change; nothing if all that it does is to look.
    may_change: Option<Reached>,
}

impl About {
    fn of(plan: &Plan, judge: &Judge, ctx: &Ctx) -> Self {
        let place = |path: &str| ctx.files.absolute(path).ok();
        let command = plan.command.as_ref();
        Self {
            places: plan.edits.iter().filter_map(|edit| place(&edit.path)).collect(),
            directory: command
                .and_then(|command| place(command.directory.as_deref().unwrap_or("."))),
            terms: command.map(|_| ctx.commands.terms()),
            may_change: judge.may_change(plan, ctx),
        }
    }
}

/// How far a call got without a person.
#[expect(clippy::large_enum_variant, reason = "made and taken apart at once")]
pub(crate) enum Opened {
    Ran(Value),
    Asks { prepared: Box<dyn Prepared>, seen: Seen, decision: Decision, desk: Desk },
}

/// What a person is to see of a call.
pub(crate) struct Seen {
    pub(crate) plan: Plan,
    /// Where the files of the plan are, in its order.
    pub(crate) places: Vec<String>,
}

impl Seen {
    /// Looks up where the files of a plan are.
    pub(crate) fn at(plan: Plan, ctx: &Ctx) -> Result<Self, ToolError> {
        let places = plan.edits.iter().map(|edit| ctx.files.absolute(&edit.path));
        let places = places.collect::<Result<_, _>>()?;
        Ok(Self { plan, places })
    }
}

impl Desk {
    /// Runs the tool's own checks, decides, and runs the call if nobody needs to be asked. Tools that
    /// can block do all of it on one other thread.
    pub(crate) async fn open(
        self,
        allowance: &Allowance<'_>,
        prepared: Box<dyn Prepared>,
        ctx: &Ctx,
    ) -> Result<Opened, ToolError> {
        let ctx = ctx.clone();
        if self.effect == Effect::None {
            return inline(allowance, async move {
                let plan = prepared.check(&ctx)?;
                let decision = self.decide(&plan, &ctx);
                if let Some(permit) = self.permit(&decision)? {
                    return self.enter(&permit, prepared, ctx)?.await.map(Opened::Ran);
                }
                let seen = Seen::at(plan, &ctx)?;
                Ok(Opened::Asks { prepared, seen, decision, desk: self })
            })
            .await;
        }
        let handle = tokio::runtime::Handle::current();
        blocking(allowance, move || {
            let plan = prepared.check(&ctx)?;
            let decision = self.decide(&plan, &ctx);
            if let Some(permit) = self.permit(&decision)? {
                return self.enter_here(&handle, &permit, prepared, ctx).map(Opened::Ran);
            }
            if self.is_pinned {
                let paths: Vec<String> = plan.edits.iter().map(|edit| edit.path.clone()).collect();
                ctx.files.pin(&paths)?;
                // What is shown is what is pinned, and not what was there a moment before.
                if prepared.check(&ctx)? != plan {
                    return Err(ToolError::new(
                        ErrorKind::Changed,
                        "the files changed while the question was being put together",
                    )
                    .hint("repeat the call"));
                }
            }
            let seen = Seen::at(plan, &ctx)?;
            Ok(Opened::Asks { prepared, seen, decision, desk: self })
        })
        .await
    }

    fn decide(&self, plan: &Plan, ctx: &Ctx) -> Decision {
        let mut decision = self.judge.decide(&self.asked(), plan, ctx);
        let session = &self.call.session.0;
        let tasks = || ctx.commands.tasks();
        let (call, tool) = (self.call.id.0.as_str(), self.tool.as_str());
        let counted = Counted { call, session, tool, planned: plan.size() };
        if decision.verdict != Verdict::Deny
            && let Some(refused) = self.judge.pace.count(counted, self.clock.elapsed(), tasks)
        {
            decision = refused;
        } else if decision.verdict != Verdict::Deny
            && let Some(tally) = &self.judge.tally
            && let running = tasks().iter().filter(|task| task.runs).map(|task| task.time).sum()
            && let Some(why) = tally.count(&self.tool, self.clock.now(), running, plan.size())
        {
            decision = Decision { because: why.clone(), ..Decision::plain(Verdict::Deny, why) };
        }
        self.judge.note_use(&decision, ctx);
        let _ = self.decided.set(decision.clone());
        let _ = self.about.set(About::of(plan, &self.judge, ctx));
        decision
    }

    fn asked(&self) -> Asked<'_> {
        Asked {
            tool: &self.tool,
            tier: self.tier,
            args: &self.call.args,
            keys: &self.keys,
            session: &self.call.session.0,
        }
    }

    /// Puts together what a person is asked.
    pub(crate) fn question(
        &self,
        offer: &Offer,
        seen: Seen,
        decision: Decision,
        ctx: &Ctx,
    ) -> Question {
        Question {
            choices: self.judge.choices(&self.asked(), &seen.plan, ctx),
            ..question(offer, &self.call, seen, decision, &self.judge, ctx)
        }
    }

    /// Fails if what someone was asked about is not what would run now.
    pub(crate) fn check_unchanged(
        &self,
        offer: &Offer,
        question: &Question,
        ctx: &Ctx,
    ) -> Result<(), ToolError> {
        let seen = Seen::at(question.plan.clone(), ctx)?;
        if bound_to(offer, &self.call, &seen, &self.judge, ctx) == question.digest {
            return Ok(());
        }
        let message =
            format!("`{}` was not run: files it names changed during the question", self.tool);
        Err(ToolError::new(ErrorKind::Changed, message).hint("look at them, and repeat the call"))
    }

    /// Returns the permit that policy alone gives, nothing if a person must be asked.
    fn permit(&self, decision: &Decision) -> Result<Option<Permit>, ToolError> {
        match decision.verdict {
            Verdict::Allow => {
                self.record_decided("allow", &decision.rule, None)?;
                Ok(Permit::by_policy(decision, self.digest))
            }
            Verdict::Ask if decision.confirm => {
                let is_needed =
                    matches!(self.confirmation, Confirmation::Needed(_) | Confirmation::Said);
                if self.confirmation.is_given(&self.call) {
                    if is_needed
                        && decision.is_word_enough
                        && self.judge.pace.confirm(&self.call.session.0) == Weight::Model
                    {
                        let by = Answer::Yes("the model".to_owned());
                        self.record_decided("allow", &decision.rule, Some("the model"))?;
                        return Ok(Permit::by_answer(decision, &by, self.digest));
                    }
                    return Ok(None);
                }
                self.record_decided("deny", &decision.rule, None)?;
                let message =
                    format!("`{}` needs to be confirmed first: {}", self.tool, decision.rule);
                Err(ToolError::new(ErrorKind::ConfirmationNeeded, message)
                    .hint("if this is meant, repeat the call with `confirmed`: true; a person is then asked")
                    .with("because", decision.because.as_str()))
            }
            Verdict::Ask => Ok(None),
            Verdict::Deny => {
                self.record_decided("deny", &decision.rule, None)?;
                let message = format!("policy refuses `{}`: {}", self.tool, decision.rule);
                let mut refused = ToolError::new(ErrorKind::Refused, message)
                    .hint("the operator's settings decide this; use another tool, or ask for a change")
                    .with("rule", decision.rule.as_str());
                if !decision.because.is_empty() {
                    refused = refused.with("because", decision.because.as_str());
                }
                Err(refused)
            }
        }
    }

    /// Turns a person's answer into a permit or a refusal.
    pub(crate) fn settle(
        &self,
        decision: &Decision,
        answer: &Answer,
        ctx: &Ctx,
    ) -> Result<Permit, ToolError> {
        let (verdict, by) = match answer {
            Answer::Yes(who) | Answer::Always(who, _) => ("allow", Some(who.as_str())),
            Answer::No(who, _) => ("deny", Some(who.as_str())),
            Answer::Nobody | Answer::Parked(_) => ("deny", None),
        };
        self.record_decided(verdict, &decision.rule, by)?;
        if let Answer::Always(who, wish) = answer {
            self.judge.grant(&self.tool, who, wish, ctx).map_err(|err| {
                ToolError::new(ErrorKind::Unrecorded, format!("the grant cannot be kept: {err}"))
                    .hint("see to the state folder, and repeat the call")
            })?;
            let note = Note {
                at: self.clock.now(),
                actor: "user",
                act: "grant",
                event: "given",
                tool: &self.tool,
                call: &self.call.id.0,
                detail: json!({
                    "by": who, "covers": wish.covers, "scope": wish.scope, "minutes": wish.minutes,
                }),
            };
            let _ = self.recorder.note(&note);
        }
        Permit::by_answer(decision, answer, self.digest).ok_or_else(|| match answer {
            Answer::Nobody => ToolError::new(
                ErrorKind::ApprovalNeeded,
                format!("`{}` needs a person's approval, and nobody can be asked here", self.tool),
            )
            .hint("run it on a terminal and answer, or give the answer beforehand with --yes")
            .with("rule", decision.rule.as_str()),
            Answer::Parked(id) => ToolError::new(
                ErrorKind::ApprovalNeeded,
                format!("`{}` waits for a person's approval as {id}", self.tool),
            )
            .hint(format!("`toolcrib approvals approve {id}` runs it, once"))
            .with("rule", decision.rule.as_str())
            .with("approval_id", id.as_str()),
            Answer::No(_, words) if !words.is_empty() => ToolError::new(
                ErrorKind::Declined,
                format!("`{}` was declined: {words}", self.tool),
            )
            .hint("it was not approved, for this reason; do as it says, or ask"),
            Answer::Yes(_) | Answer::Always(..) | Answer::No(..) => {
                ToolError::new(ErrorKind::Declined, format!("`{}` was declined", self.tool))
                    .hint("a person said no; do something else, or ask them")
            }
        })
    }

    pub(crate) async fn run(
        self,
        allowance: &Allowance<'_>,
        permit: Permit,
        prepared: Box<dyn Prepared>,
        ctx: Ctx,
    ) -> Result<Value, ToolError> {
        if self.effect == Effect::None {
            return inline(allowance, self.enter(&permit, prepared, ctx)?).await;
        }
        let handle = tokio::runtime::Handle::current();
        blocking(allowance, move || self.enter_here(&handle, &permit, prepared, ctx)).await
    }

    /// Enters the tool on this thread, and measures what it uses.
    fn enter_here(
        &self,
        handle: &tokio::runtime::Handle,
        permit: &Permit,
        prepared: Box<dyn Prepared>,
        ctx: Ctx,
    ) -> Result<Value, ToolError> {
        let meter = ctx.meter.clone();
        if self.effect == Effect::Write && ctx.commands.reaches_network() {
            self.judge.pace.taint(&self.call.session.0);
        }
        // What the record takes is not the tool's.
        let (files, commands) = (Arc::clone(&ctx.files), Arc::clone(&ctx.commands));
        let work = self.enter(permit, prepared, ctx)?;
        let before = self.clock.used();
        let reply = handle.block_on(work);
        meter.add(&self.clock.used().since(&before));
        // What goes on as a task is settled when that ends.
        if !self.may_change().is_empty() && !commands.is_under_way(&self.call.id.0) {
            files.resolve_snapshots();
        }
        reply
    }

    /// Enters the tool. What runs is what the permit was given for, or nothing.
    fn enter(
        &self,
        permit: &Permit,
        prepared: Box<dyn Prepared>,
        ctx: Ctx,
    ) -> Result<ReplyFuture, ToolError> {
        if !permit.covers(Digest::of(&self.tool, &self.call.args)) {
            let message = format!("`{}` is not the call that was permitted", self.tool);
            return Err(ToolError::new(ErrorKind::Refused, message));
        }
        if let Some(reached) = self.about.get().and_then(|about| about.may_change.as_ref()) {
            let unkept =
                ctx.files.take_snapshots(&reached.files, reached.known) + u64::from(reached.is_cut);
            ctx.meter.leave_out(unkept);
        }
        self.record_started().inspect_err(|_| {
            // It does not run.
            if !self.may_change().is_empty() {
                ctx.files.resolve_snapshots();
            }
        })?;
        let is_read_only = self.about.get().is_some_and(|about| about.may_change.is_none());
        Ok(prepared.run(Ctx { is_read_only, ..ctx }))
    }

    fn may_change(&self) -> &[String] {
        let reached = self.about.get().and_then(|about| about.may_change.as_ref());
        reached.map_or(&[], |reached| &reached.files)
    }

    fn record_decided(&self, verdict: &str, rule: &str, by: Option<&str>) -> Result<(), ToolError> {
        // What follows is written with it: that it started, or that it ended.
        self.record(Moment::Decided { verdict, rule, by }, Durability::Buffered)
    }

    /// Puts on record that a person is asked, which can take long.
    pub(crate) fn record_waits(&self, rule: &str) -> Result<(), ToolError> {
        self.record(Moment::Waits { rule }, Durability::Written)
    }

    /// Puts on record that the tool begins: for one that changes something, so that no power cut can
    /// take it back.
    fn record_started(&self) -> Result<(), ToolError> {
        let about = self.about.get();
        let places = about.map_or(&[][..], |about| &about.places);
        let directory = about.and_then(|about| about.directory.as_deref());
        let terms = about.and_then(|about| about.terms.as_deref());
        let durability = match self.effect {
            Effect::Write => Durability::Synced,
            // It has told nobody anything before it ends; if that takes long, it is written meanwhile.
            Effect::Read | Effect::Compute | Effect::None => Durability::Buffered,
        };
        self.record(Moment::Started { places, directory, terms }, durability)
    }

    fn record(&self, moment: Moment<'_>, durability: Durability) -> Result<(), ToolError> {
        let event = event(&*self.clock, &self.call, &self.tool, moment);
        match self.recorder.record(&event, durability) {
            Err(reason) if self.effect == Effect::Write => {
                let tool = &self.tool;
                let message =
                    format!("`{tool}` was not run: the record cannot be written: {reason}");
                Err(ToolError::new(ErrorKind::Unrecorded, message)
                    .hint(
                        "see to the state folder: it must be writable, its disk not full, and nobody may hold \
                         its files locked; then repeat the call",
                    ))
            }
            _ => Ok(()),
        }
    }
}

/// What an answer is bound to by name only: it can be something else by the time the call runs.
fn loose_in(plan: &Plan, judge: &Judge, ctx: &Ctx) -> Vec<String> {
    let mut loose = judge.unbound(plan);
    for path in judge.named(plan, ctx) {
        let size = ctx.files.read(&path, 0).map_or(0, |content| content.size);
        if size > LARGEST {
            loose.push(format!("`{path}`: only its first {} MiB are looked at", LARGEST >> 20));
        }
    }
    loose
}

/// What an answer is bound to: the tool, its arguments, and what it would do to which files as they are.
fn bound_to(offer: &Offer, call: &Call, seen: &Seen, judge: &Judge, ctx: &Ctx) -> String {
    let edits = seen.plan.edits.iter().map(|edit| json!([edit.path, edit.before, edit.after]));
    let directory = seen.plan.command.as_ref().and_then(|command| command.directory.as_ref());
    let directory = directory.and_then(|directory| ctx.files.absolute(directory).ok());
    let named = contents(&judge.named(&seen.plan, ctx), ctx);
    let all = json!([call.args, seen.places, edits.collect::<Vec<_>>(), directory, named]);
    Digest::of(&offer.full_name(), &all).to_string()
}

/// Of larger files that a command names, the first bytes and the size are looked at.
const LARGEST: u64 = 8 << 20;

/// What is in files that a command names.
fn contents(files: &[String], ctx: &Ctx) -> Vec<(String, u64, String)> {
    let read = |path: &String| {
        let content = ctx.files.read(path, LARGEST).ok()?;
        Some((path.clone(), content.size, Digest::of_bytes(&content.bytes).to_string()))
    };
    files.iter().filter_map(read).collect()
}

/// What a person is asked about a call.
pub(crate) fn question(
    offer: &Offer,
    call: &Call,
    seen: Seen,
    decision: Decision,
    judge: &Judge,
    ctx: &Ctx,
) -> Question {
    Question {
        call: call.id.clone(),
        digest: bound_to(offer, call, &seen, judge, ctx),
        loose: loose_in(&seen.plan, judge, ctx),
        catalogue: offer.catalogue.name,
        declaration: offer.tool.declaration(),
        args: call.args.clone(),
        plan: seen.plan,
        places: seen.places,
        decision,
        choices: Vec::new(),
        session: call.session.0.clone(),
        root: ctx.files.absolute(".").unwrap_or_default(),
    }
}

/// A moment of a call, now.
pub(crate) fn event<'a>(
    clock: &dyn Clock,
    call: &'a Call,
    tool: &'a str,
    moment: Moment<'a>,
) -> Event<'a> {
    Event { at: clock.now(), call: &call.id, session: call.conversation(), tool, moment }
}
