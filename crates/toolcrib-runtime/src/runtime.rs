//! The one path that every call takes.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::{Map, Value, json};
use toolcrib_core::canonical::{self, Digest};
use toolcrib_core::catalogue::Failure;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{
    Call, Cancel, Catalogue, Clock, Ctx, Decision, Durability, Effect, ErrorKind, Moment, Outcome,
    Plan, Recorder, SessionId, ToolError, Toolset,
};

use crate::approver::{Approver, Confirms, Question};
use crate::confirm::{Confirmation, can_confirm};
use crate::desk::{Desk, Opened, Seen, event, question};
use crate::judge::{Asked, Judge};
use crate::pace::Counted;
use crate::run::{Allowance, blocking};

/// Everything a call needs, put together once.
pub struct Runtime {
    /// The tools on offer.
    pub toolset: Toolset,
    /// Decides what runs.
    pub judge: Arc<Judge>,
    /// Hands out capabilities.
    pub world: Arc<dyn World>,
    /// Asks a person.
    pub approver: Arc<dyn Approver>,
    /// Keeps the record.
    pub recorder: Arc<dyn Recorder>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
}

/// Hands a call what it may reach.
pub trait World: Send + Sync {
    /// Returns the capabilities for one call of `tool`, a tool of `catalogue`.
    fn enter(&self, catalogue: &str, tool: &str, call: &Call, cancel: &Cancel) -> Ctx;
}

/// What would come of a call, without running it.
pub struct Preview {
    /// The tool.
    pub tool: String,
    /// What would be decided.
    pub decision: Decision,
    /// What it would do.
    pub question: Question,
    /// Why it would fail before anything is decided, if it would.
    pub trouble: Option<ToolError>,
}

/// What a call's name led to.
struct Found<'a> {
    offer: Result<&'a Offer, ToolError>,
    /// `catalogue/name`, or the name as it was asked for.
    tool: String,
    /// Who words what comes of it.
    catalogue: Option<&'static Catalogue>,
}

/// What is known of a call by the time it ends.
#[derive(Default)]
struct Trail {
    decision: Arc<OnceLock<Decision>>,
    ctx: Option<Ctx>,
    /// How long a person took to answer: no part of the call's own time.
    waited: Duration,
}

impl Runtime {
    /// Takes one call from asked to recorded.
    pub async fn call(&self, mut call: Call, cancel: Cancel) -> Outcome {
        let start = self.clock.elapsed();
        let Found { offer: found, tool, catalogue } = self.find(&call);
        take_call_keys(catalogue, &mut call);

        let mut trail = Trail::default();
        let result = match found {
            Ok(offer) => self.attempt(offer, &tool, &call, &cancel, &mut trail).await,
            Err(err) => {
                self.record_asked(&tool, &call, Effect::None);
                Err(err)
            }
        };
        self.close(catalogue, &tool, &call, result, trail, start)
    }

    /// Answers a call that could not even be read, in its catalogue's words and on the record like any
    /// other.
    pub fn reject(&self, call: &Call, reason: &ToolError) -> Outcome {
        let start = self.clock.elapsed();
        let Found { offer, tool, catalogue } = self.find(call);
        self.record_asked(&tool, call, Effect::None);
        let err = match offer {
            Err(err) if !call.tool.is_empty() => err,
            _ => reason.clone(),
        };
        self.close(catalogue, &tool, call, Err(err), Trail::default(), start)
    }

    /// Finds out what would come of a call, and goes no further.
    pub async fn preview(&self, call: Call, cancel: Cancel) -> Result<Preview, Outcome> {
        self.peek(call, cancel, |preview| match preview.trouble {
            Some(trouble) => Err(trouble),
            None => Ok(preview),
        })
        .await
    }

    /// Finds out what would be decided about a call, even if its tool would fail before that.
    pub async fn explain(&self, call: Call, cancel: Cancel) -> Result<Preview, Outcome> {
        self.peek(call, cancel, Ok).await
    }

    async fn peek(
        &self,
        mut call: Call,
        cancel: Cancel,
        judge: impl FnOnce(Preview) -> Result<Preview, ToolError>,
    ) -> Result<Preview, Outcome> {
        let start = self.clock.elapsed();
        let Found { offer: found, tool, catalogue } = self.find(&call);
        take_call_keys(catalogue, &mut call);
        let result = match found {
            Ok(offer) => self.look(offer, &call, &cancel).await.and_then(judge),
            Err(err) => Err(err),
        };
        result.map_err(|err| {
            let elapsed = self.clock.elapsed().saturating_sub(start);
            let reply = word(catalogue, &call, &err, elapsed);
            let text = reply.to_string();
            let trail = Trail::default();
            Outcome { text, ..outcome(&call, tool, reply, Some(err), trail, elapsed) }
        })
    }

    fn find(&self, call: &Call) -> Found<'_> {
        let found = self.toolset.find(&call.tool);
        let (tool, catalogue) = match &found {
            Ok(offer) => (offer.full_name(), Some(offer.catalogue)),
            Err(_) => (call.tool.clone(), self.toolset.catalogue(&call.tool)),
        };
        Found { offer: found, tool, catalogue }
    }

    async fn look(
        &self,
        offer: &Offer,
        call: &Call,
        cancel: &Cancel,
    ) -> Result<Preview, ToolError> {
        let tool = offer.full_name();
        let prepared = offer.tool.parse(call.args.clone())?;
        let checking = self.enter(offer, &tool, call, cancel);
        let allowance = allowance(offer, cancel, &*self.recorder);
        let (judge, keys, tier) =
            (Arc::clone(&self.judge), offer.keys(), offer.tool.declaration().tier);
        let (name, call_of) = (tool.clone(), call.clone());
        let here = checking.clone();
        let (seen, decision, trouble) = blocking(&allowance, move || {
            let (plan, trouble) = match prepared.check(&checking) {
                Ok(plan) => (plan, None),
                Err(trouble) => (Plan::default(), Some(trouble)),
            };
            let (args, session) = (&call_of.args, call_of.session.0.as_str());
            let asked = Asked { tool: &name, tier, args, keys: &keys, session };
            let decision = judge.decide(&asked, &plan, &checking);
            Ok((Seen::at(plan, &checking)?, decision, trouble))
        })
        .await?;
        let question = question(offer, call, seen, decision.clone(), &self.judge, &here);
        Ok(Preview { tool, decision, question, trouble })
    }

    async fn attempt(
        &self,
        offer: &Offer,
        tool: &str,
        call: &Call,
        cancel: &Cancel,
        trail: &mut Trail,
    ) -> Result<Value, ToolError> {
        let declaration = offer.tool.declaration();
        let digest = self.record_asked(tool, call, declaration.effect);
        let prepared = offer.tool.parse(call.args.clone())?;
        let ctx = self.enter(offer, tool, call, cancel);
        trail.ctx = Some(ctx.clone());
        let keys = offer.keys();
        let confirmation = match self.approver.confirms() {
            Confirms::WhatItWasTold if self.approver.looks() && can_confirm(&keys) => {
                Confirmation::Needed(self.judge.confirmations.clone())
            }
            Confirms::Anything if can_confirm(&keys) => Confirmation::Said,
            _ => Confirmation::NotNeeded,
        };
        let desk = Desk {
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
            tool: tool.to_owned(),
            call: call.clone(),
            effect: declaration.effect,
            tier: declaration.tier,
            keys,
            digest,
            judge: Arc::clone(&self.judge),
            confirmation,
            is_pinned: self.approver.looks(),
            decided: Arc::clone(&trail.decision),
            about: OnceLock::new(),
        };
        let allowance = allowance(offer, cancel, &*self.recorder);
        let (prepared, seen, decision, desk) = match desk.open(&allowance, prepared, &ctx).await? {
            Opened::Ran(reply) => return Ok(reply),
            Opened::Asks { prepared, seen, decision, desk } => (prepared, seen, decision, desk),
        };
        let question = desk.question(offer, seen, decision.clone(), &ctx);
        desk.record_waits(&decision.rule)?;
        let asked = self.clock.elapsed();
        let answer = tokio::select! {
            answer = self.approver.ask(&question) => Some(answer),
            () = cancel.cancelled() => None,
        };
        trail.waited = self.clock.elapsed().saturating_sub(asked);
        let answer =
            answer.ok_or_else(|| ToolError::new(ErrorKind::Cancelled, "the call was cancelled"))?;
        let permit = desk.settle(&decision, &answer, &ctx)?;
        desk.check_unchanged(offer, &question, &ctx)?;
        desk.run(&allowance, permit, prepared, ctx).await
    }

    fn enter(&self, offer: &Offer, tool: &str, call: &Call, cancel: &Cancel) -> Ctx {
        let ctx = self.world.enter(offer.catalogue.name, tool, call, cancel);
        Ctx { limits: offer.limits, ..ctx }
    }

    /// Puts on record that a call was asked for. It is written with what comes next.
    fn record_asked(&self, tool: &str, call: &Call, effect: Effect) -> Digest {
        let args = canonical::text(&call.args);
        let digest = Digest::of(tool, &call.args);
        let moment = Moment::Asked { args: &args, digest: digest.to_string(), effect };
        let _ =
            self.recorder.record(&event(&*self.clock, call, tool, moment), Durability::Buffered);
        digest
    }

    fn close(
        &self,
        catalogue: Option<&'static Catalogue>,
        tool: &str,
        call: &Call,
        result: Result<Value, ToolError>,
        trail: Trail,
        start: Duration,
    ) -> Outcome {
        let elapsed = self.clock.elapsed().saturating_sub(start + trail.waited);
        let written = trail.ctx.as_ref().map_or(0, |ctx| {
            let changes = ctx.files.changes();
            let sizes = changes.iter().filter_map(|change| Some(change.after.as_ref()?.size));
            // What a disk was given for a small file is more than the file.
            if changes.is_empty() { ctx.meter.total().written_bytes } else { sizes.sum() }
        });
        let counted = Counted { call: &call.id.0, session: &call.session.0, tool, planned: 0 };
        self.judge.pace.spend(counted, written, elapsed);
        if let Some(tally) = &self.judge.tally {
            tally.spend(written, elapsed, self.clock.now());
        }
        let offer = self.toolset.find(tool).ok();
        let wrapped = result.and_then(|reply| match (catalogue, offer) {
            (Some(catalogue), Some(offer)) => {
                let reply = (catalogue.reply)(offer.tool.declaration(), reply, elapsed);
                // What was done is told as done, at any length: an error would be a lie.
                let has_changed =
                    trail.ctx.as_ref().is_some_and(|ctx| !ctx.files.changes().is_empty());
                let limit = if has_changed { usize::MAX } else { offer.limits.output_bytes };
                within_limit(reply, limit)
            }
            _ => Ok((reply.to_string(), reply)),
        });
        let (text, reply, error) = match wrapped {
            Ok((text, reply)) => (text, reply, None),
            Err(err) => {
                let reply = word(catalogue, call, &err, elapsed);
                (reply.to_string(), reply, Some(err))
            }
        };
        let touched = trail.ctx.as_ref().and_then(|ctx| ctx.meter.touched());
        let moment = Moment::Ended {
            touched: touched.as_ref(),
            error: error.as_ref().map(|err| (err.kind, err.message.as_str())),
            elapsed_us: elapsed.as_micros() as u64,
            version: offer.map(Offer::version),
            reply: &text,
            usage: trail.ctx.as_ref().map(|ctx| ctx.meter.total()).unwrap_or_default(),
            has_task: trail.ctx.as_ref().is_some_and(|ctx| ctx.commands.is_under_way(&call.id.0)),
        };
        // It is over: there is nothing left to refuse.
        let recorded =
            self.recorder.record(&event(&*self.clock, call, tool, moment), Durability::Written);
        let unrecorded = recorded.err();
        Outcome { text, unrecorded, ..outcome(call, tool.to_owned(), reply, error, trail, elapsed) }
    }
}

/// Takes out of the arguments what the catalogue sends about the call itself.
fn take_call_keys(catalogue: Option<&Catalogue>, call: &mut Call) {
    let (Some(catalogue), Value::Object(args)) = (catalogue, &mut call.args) else { return };
    for key in catalogue.call_keys {
        if let Some(Value::String(session)) = args.shift_remove(*key)
            && *key == "sessionId"
            && !session.is_empty()
        {
            call.conversation = Some(SessionId(session));
        }
    }
}

fn allowance<'a>(offer: &Offer, cancel: &'a Cancel, recorder: &'a dyn Recorder) -> Allowance<'a> {
    Allowance {
        effect: offer.tool.declaration().effect,
        deadline: Duration::from_millis(offer.limits.deadline_ms),
        cancel,
        recorder,
    }
}

fn within_limit(reply: Value, limit: usize) -> Result<(String, Value), ToolError> {
    let text = reply.to_string();
    if text.len() <= limit {
        return Ok((text, reply));
    }
    let message = format!("the reply has {} bytes, and the limit is {limit}", text.len());
    Err(ToolError::new(ErrorKind::OutputTooLarge, message)
        .hint("ask for less: a range of lines, a smaller directory")
        .with("limit_bytes", limit)
        .with("actual_bytes", text.len()))
}

/// Words a failure as the catalogue does, or plainly where none is known.
fn word(catalogue: Option<&Catalogue>, call: &Call, error: &ToolError, elapsed: Duration) -> Value {
    let name = call.tool.rsplit('/').next().unwrap_or(&call.tool);
    if let Some(catalogue) = catalogue {
        return (catalogue.error_reply)(&Failure { tool: name, args: &call.args, error, elapsed });
    }
    let mut body = Map::new();
    body.insert("code".to_owned(), error.kind.as_str().into());
    body.insert("message".to_owned(), error.message.as_str().into());
    if let Some(hint) = &error.hint {
        body.insert("hint".to_owned(), hint.as_str().into());
    }
    json!({"error": body})
}

fn outcome(
    call: &Call,
    tool: String,
    reply: Value,
    error: Option<ToolError>,
    trail: Trail,
    elapsed: Duration,
) -> Outcome {
    Outcome {
        call: call.id.clone(),
        tool,
        text: String::new(),
        reply,
        error,
        decision: trail.decision.get().cloned(),
        usage: trail.ctx.as_ref().map(|ctx| ctx.meter.total()).unwrap_or_default(),
        changes: trail.ctx.map(|ctx| ctx.files.changes()).unwrap_or_default(),
        elapsed,
        unrecorded: None,
    }
}
