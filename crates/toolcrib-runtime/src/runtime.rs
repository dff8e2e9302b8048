//! The one path that every call takes: find, check, decide, run, record.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::time::Instant;
use toolcrib_core::canonical::Digest;
use toolcrib_core::catalogue::CallKey;
use toolcrib_core::toolset::Offer;
use toolcrib_core::{
    Call, CallId, CallTerms, CallingClient, Cancel, Catalogue, Clock, Ctx, Door, Effect, ErrorKind,
    HeldCounts, Outcome, Recorder, SessionId, ToolError, ToolName, Toolset,
};

use crate::approver::Approver;
use crate::call::asked::Asked;
use crate::call::decided::{Decided, Permission};
use crate::call::ended::Ended;
use crate::call::inner_calls::{CallMaker, CallsOfTool};
use crate::call::isolate::{Allowance, WorkPlace, blocking, inline};
use crate::call::permitted::Permitted;
use crate::call::question::Question;
use crate::call::question_maker::AskedState;
use crate::call::replacing_call::ReplacingCall;
use crate::call::review::ConfirmationSource;
use crate::call::scope::{ApprovalTerms, CallScope, record_asked};
use crate::call::watchdog::{CallTime, LateAnswer, OwnThread, Watchdog};
use crate::decide::confirm::{ConfirmationNeed, can_confirm};
use crate::decide::judge::Judge;
use crate::latest::Latest;
use crate::remote::dispatcher::Dispatcher;
use crate::remote::nothing_here::without_here;
use crate::remote::remote_tool::{RemoteTool, can_be_placed};
use crate::wait_for::wait_for;

/// The time that a call with a command has beside the time of the command itself: it starts and ends the command, and
/// returns what the command printed.
const COMMAND_RESERVE: Duration = Duration::from_secs(5);

/// The most bytes of a reply to a tool.
const INNER_BYTES: usize = 1 << 20;

/// Everything a call needs, put together once. A clone shares all of it, so that another approver can be asked:
/// `Runtime { approver, ..runtime.clone() }`.
#[derive(Clone)]
pub struct Runtime {
    /// The tools on offer.
    pub toolset: Arc<Toolset>,
    /// Decides what runs.
    pub judge: Arc<Judge>,
    /// Hands out capabilities.
    pub world: Arc<dyn World>,
    /// Asks a person.
    pub approver: Arc<dyn Approver>,
    /// The client that makes the calls.
    pub client: Arc<dyn CallingClient>,
    /// Keeps the record.
    pub recorder: Arc<dyn Recorder>,
    /// Tells the time.
    pub clock: Arc<dyn Clock>,
    /// Knows which calls run on other machines, if any do.
    pub dispatcher: Option<Arc<dyn Dispatcher>>,
    /// The runtime in force, in a process whose settings change.
    pub latest: Latest<Self>,
}

/// Hands a call what it may reach.
pub trait World: Send + Sync {
    /// Returns the capabilities for one call of the tool with this full name.
    fn enter(&self, tool: &ToolName, call: &Call, cancel: &Cancel) -> Ctx;

    /// Returns an id for a call that a tool makes.
    fn new_call_id(&self) -> CallId;

    /// Returns what is held in memory for calls.
    fn held_counts(&self) -> HeldCounts {
        HeldCounts::new()
    }
}

/// How far a call got without a person.
enum Progress {
    Ran(Value),
    Waits(Box<(Decided, Question)>),
}

impl Runtime {
    /// Takes one call from asked to recorded. What can block is done on another thread. If a person changes the call,
    /// the changed one is made in its place.
    pub async fn call(&self, call: Call, cancel: Cancel) -> Outcome {
        let (outcome, changed) = self.call_unchanged(call, None, &cancel).await;
        match changed {
            None => outcome,
            // Kept out of the future of every call, which is moved around.
            Some(changed) => Box::pin(self.call_changed(changed, &cancel)).await,
        }
    }

    /// Makes the call that a person wants in place of the one that was sent. They may change it again.
    async fn call_changed(&self, mut replacing: ReplacingCall, cancel: &Cancel) -> Outcome {
        loop {
            let call = replacing.call.clone();
            match self.call_unchanged(call, Some(&replacing), cancel).await {
                (outcome, None) => return outcome,
                (_, Some(again)) => replacing = replacing.changed_again(again),
            }
        }
    }

    /// Takes one call from asked to recorded. If a person changed it, returns the call to make in its place too.
    /// `replacing` is given if this call itself replaces one that a person changed.
    async fn call_unchanged(
        &self,
        call: Call,
        replacing: Option<&ReplacingCall>,
        cancel: &Cancel,
    ) -> (Outcome, Option<ReplacingCall>) {
        let start = self.clock.elapsed();
        let scope = match self.ask(call, cancel, start) {
            Ok(scope) => scope,
            Err(outcome) => return (*outcome, None),
        };
        if let Some(replacing) = replacing {
            scope.record_origin(replacing);
        }
        let mut waited = Duration::ZERO;
        let place = WorkPlace::EventLoop;
        let result = self.carry_out(Arc::clone(&scope), place, cancel, &mut waited).await;
        let elapsed = self.clock.elapsed().saturating_sub(start + waited);
        (self.close(&scope, result, elapsed), scope.replacement())
    }

    /// Takes one call from asked to recorded on this thread, which must be in the context of an event loop that another
    /// thread runs. Nothing is handed over, so a short call costs no switch of threads.
    ///
    /// Returns nothing if the call did not stop when it had to: the watchdog has then answered it through `late`.
    pub fn call_here(
        &self,
        call: Call,
        cancel: &Cancel,
        watchdog: &Watchdog,
        late: LateAnswer,
    ) -> Option<Outcome> {
        let start = self.clock.elapsed();
        let own = OwnThread { watchdog, late, asked: Instant::now() };
        let scope = match self.ask(call, cancel, start) {
            Ok(scope) => scope,
            Err(outcome) => return Some(*outcome),
        };
        let mut waited = Duration::ZERO;
        let place = WorkPlace::OwnThread(&own, Arc::clone(&scope));
        let result = wait_for(self.carry_out(Arc::clone(&scope), place, cancel, &mut waited));
        if !scope.claim_end() {
            return None;
        }
        let elapsed = self.clock.elapsed().saturating_sub(start + waited);
        let outcome = self.close(&scope, result, elapsed);
        Some(match scope.replacement() {
            None => outcome,
            Some(changed) => wait_for(self.call_changed(changed, cancel)),
        })
    }

    /// Finds the tool of a call and records that it was asked for. A call without a tool is over.
    pub(crate) fn ask(
        &self,
        call: Call,
        cancel: &Cancel,
        start: Duration,
    ) -> Result<Arc<CallScope>, Box<Outcome>> {
        let (call, found) = self.find(call);
        let (offer, tool) = match found {
            Ok(found) => found,
            Err((err, catalogue)) => {
                return Err(Box::new(self.reject_unfound(&call, catalogue, err, start)));
            }
        };
        let effect = offer.tool.declaration().effect;
        let digest = record_asked(&*self.recorder, &*self.clock, &tool, &call, effect);
        Ok(Arc::new(self.scope(call, offer, tool, digest, cancel)))
    }

    /// Carries out a call whose tool was found. `waited` is how long a person took to answer.
    pub(crate) async fn carry_out(
        &self,
        scope: Arc<CallScope>,
        place: WorkPlace<'_>,
        cancel: &Cancel,
        waited: &mut Duration,
    ) -> Result<Value, ToolError> {
        let allowance = allowance(&scope.offer, place, cancel, &*self.recorder);
        match advance(&allowance, Asked(scope)).await? {
            Progress::Ran(reply) => Ok(reply),
            // Kept out of the future of every call, which is moved around.
            Progress::Waits(waits) => {
                let (decided, question) = *waits;
                Box::pin(self.ask_and_run(&allowance, decided, question, waited)).await
            }
        }
    }

    /// Asks a person about a call, and runs it if they approve. `waited` is how long they took to answer.
    async fn ask_and_run(
        &self,
        allowance: &Allowance<'_>,
        decided: Decided,
        question: Question,
        waited: &mut Duration,
    ) -> Result<Value, ToolError> {
        // The plan may have been ready only after the deadline.
        allowance.check()?;
        decided.record_waits()?;
        let asked_at = self.clock.elapsed();
        let answer = tokio::select! {
            answer = self.approver.ask(&question) => Some(answer),
            () = allowance.cancel.cancelled() => None,
        };
        *waited = self.clock.elapsed().saturating_sub(asked_at);
        let answer =
            answer.ok_or_else(|| ToolError::new(ErrorKind::Cancelled, "the call was cancelled"))?;
        let permitted = decided.answer(&answer)?;
        run_as_asked(allowance, permitted, question.into()).await
    }

    /// Returns what is held in memory for calls.
    pub fn held_counts(&self) -> HeldCounts {
        let parts =
            [self.judge.held_counts(), self.recorder.held_counts(), self.world.held_counts()];
        parts.concat()
    }

    /// Answers a call that could not even be read, in its catalogue's words and on the record like any
    /// other.
    pub fn reject(&self, call: &Call, reason: &ToolError) -> Outcome {
        let start = self.clock.elapsed();
        let found = self.toolset.find(&call.tool);
        let (tool, catalogue, err) = match found {
            Ok(offer) => (offer.full_name().clone(), Some(offer.catalogue), reason.clone()),
            Err(_) if call.tool.is_empty() => {
                (ToolName::default(), self.toolset.catalogue(&call.tool), reason.clone())
            }
            Err(err) => (call.tool.clone(), self.toolset.catalogue(&call.tool), err),
        };
        record_asked(&*self.recorder, &*self.clock, &tool, call, Effect::None);
        let elapsed = self.clock.elapsed().saturating_sub(start);
        let ended = Ended { call, tool: &tool, catalogue, scope: None, result: Err(err), elapsed };
        ended.close(&self.judge, &*self.recorder, &*self.clock)
    }

    /// Finds the tool of a call, and takes out of the arguments what the catalogue sends about the call itself.
    #[expect(clippy::type_complexity, reason = "taken apart at once")]
    pub(crate) fn find(
        &self,
        mut call: Call,
    ) -> (Call, Result<(Offer, ToolName), (ToolError, Option<&'static Catalogue>)>) {
        match self.toolset.find(&call.tool) {
            Ok(offer) => {
                take_call_keys(Some(offer.catalogue), &mut call);
                (call, Ok((offer.clone(), offer.full_name().clone())))
            }
            Err(err) => {
                let catalogue = self.toolset.catalogue(&call.tool);
                take_call_keys(catalogue, &mut call);
                (call, Err((err, catalogue)))
            }
        }
    }

    fn reject_unfound(
        &self,
        call: &Call,
        catalogue: Option<&'static Catalogue>,
        err: ToolError,
        start: Duration,
    ) -> Outcome {
        record_asked(&*self.recorder, &*self.clock, &call.tool, call, Effect::None);
        let elapsed = self.clock.elapsed().saturating_sub(start);
        let ended =
            Ended { call, tool: &call.tool, catalogue, scope: None, result: Err(err), elapsed };
        ended.close(&self.judge, &*self.recorder, &*self.clock)
    }

    pub(crate) fn scope(
        &self,
        call: Call,
        offer: Offer,
        tool: ToolName,
        digest: Digest,
        cancel: &Cancel,
    ) -> CallScope {
        let mut offer = offer;
        if call.caller.door == Door::Plugin {
            // The limit is for what callers are shown. A tool that reads for another one needs all of it.
            let declared = offer.tool.declaration().limits.output_bytes;
            offer.limits.output_bytes = offer.limits.output_bytes.max(declared.min(INNER_BYTES));
        }
        if let Some(limits) = call.limits {
            offer.limits = offer.limits.within(limits);
        }
        let judge = self.judge.of_caller(&call.caller);
        let ctx = self.world.enter(&tool, &call, cancel);
        let place = self.dispatcher.as_ref().filter(|_| can_be_placed(&offer));
        let place = place.and_then(|dispatcher| dispatcher.place(&tool));
        let ctx = if place.is_some() { without_here(ctx) } else { ctx };
        let makes_calls = offer.tool.makes_calls() && place.is_none();
        let calls = makes_calls.then(|| CallsOfTool::of(self.clone(), &call, &offer, cancel));
        let ctx = Ctx {
            terms: CallTerms { limits: offer.limits, ..ctx.terms },
            client: Arc::clone(&self.client),
            calls: calls.flatten(),
            ..ctx
        };
        let keys = offer.keys();
        if let Some(place) = place {
            offer.tool = RemoteTool::of(&offer, &call, place, (judge.policy(), cancel));
        }
        let review = self.approver.review();
        // What a model wants by itself is never said to be confirmed by whoever made the outer call.
        let source = match call.caller.door {
            Door::Agent => ConfirmationSource::WhenTold,
            Door::Terminal | Door::Http | Door::Mcp | Door::Nats | Door::Plugin => {
                self.approver.confirmation()
            }
        };
        let confirmation = match source {
            ConfirmationSource::WhenTold if can_confirm(&keys) => {
                ConfirmationNeed::Told(self.judge.confirmations.clone())
            }
            ConfirmationSource::InTheCall if can_confirm(&keys) => ConfirmationNeed::Said,
            _ => ConfirmationNeed::Nothing,
        };
        CallScope {
            call,
            offer,
            tool,
            keys,
            digest,
            ctx,
            judge: Arc::new(judge),
            approval: ApprovalTerms {
                confirmation,
                review,
                session: self.approver.session(),
                approver: Arc::clone(&self.approver),
                changed: OnceLock::new(),
                sent_args: OnceLock::new(),
            },
            recorder: Arc::clone(&self.recorder),
            clock: Arc::clone(&self.clock),
            decision: OnceLock::new(),
            has_end: AtomicBool::new(false),
        }
    }

    pub(crate) fn close(
        &self,
        scope: &CallScope,
        result: Result<Value, ToolError>,
        elapsed: Duration,
    ) -> Outcome {
        Ended::of(scope, result, elapsed).close(&self.judge, &*self.recorder, &*self.clock)
    }
}

impl CallMaker for Runtime {
    fn new_id(&self) -> CallId {
        self.world.new_call_id()
    }

    fn make(&self, call: Call, cancel: Cancel) -> Outcome {
        wait_for(self.call(call, cancel))
    }

    fn toolset(&self) -> &Toolset {
        &self.toolset
    }

    fn latest(&self) -> Self {
        let Some(latest) = self.latest.get() else { return self.clone() };
        let (approver, client) = (Arc::clone(&self.approver), Arc::clone(&self.client));
        Self { approver, client, ..(*latest).clone() }
    }
}

/// Checks a call, decides on it, and runs it if nobody needs to be asked. A tool that can block does all of it on
/// one other thread; one that cannot runs where it is.
async fn advance(allowance: &Allowance<'_>, asked: Asked) -> Result<Progress, ToolError> {
    if asked.0.effect() == Effect::None {
        return inline(allowance, async move {
            match asked.check()?.decide().permit()? {
                Permission::Given(permitted) => permitted.start()?.work.await.map(Progress::Ran),
                Permission::Wanted(decided) => waits(decided),
            }
        })
        .await;
    }
    let handle = Handle::current();
    blocking(allowance, move || match asked.check()?.decide().permit()? {
        Permission::Given(permitted) => permitted.run_here(&handle).map(Progress::Ran),
        Permission::Wanted(decided) => waits(decided),
    })
    .await
}

fn waits(decided: Decided) -> Result<Progress, ToolError> {
    let question = decided.question()?;
    Ok(Progress::Waits(Box::new((decided, question))))
}

/// Runs a call that someone approved, unless what they were asked about has changed meanwhile.
async fn run_as_asked(
    allowance: &Allowance<'_>,
    permitted: Permitted,
    asked: AskedState,
) -> Result<Value, ToolError> {
    if permitted.scope.effect() == Effect::None {
        return inline(allowance, async move {
            permitted.check_unchanged(&asked)?;
            permitted.start()?.work.await
        })
        .await;
    }
    let handle = Handle::current();
    blocking(allowance, move || {
        permitted.check_unchanged(&asked)?;
        permitted.run_here(&handle)
    })
    .await
}

/// Takes out of the arguments what the catalogue sends about the call itself.
fn take_call_keys(catalogue: Option<&Catalogue>, call: &mut Call) {
    let (Some(catalogue), Value::Object(args)) = (catalogue, &mut call.args) else { return };
    for (key, meaning) in catalogue.call_keys {
        match (meaning, args.shift_remove(*key)) {
            (CallKey::Conversation, Some(Value::String(name))) if !name.is_empty() => {
                call.conversation = Some(SessionId(name));
            }
            (CallKey::Conversation | CallKey::Ignored, _) => {}
        }
    }
}

pub(crate) fn allowance<'a>(
    offer: &Offer,
    place: WorkPlace<'a>,
    cancel: &'a Cancel,
    recorder: &'a dyn Recorder,
) -> Allowance<'a> {
    Allowance {
        effect: offer.tool.declaration().effect,
        time: CallTime {
            deadline: Duration::from_millis(offer.limits.deadline_ms),
            reserve: match offer.tool.loaded() {
                Some(tool) => tool.reserve(),
                None if offer.runs_commands() => COMMAND_RESERVE,
                None => Duration::ZERO,
            },
        },
        cancel,
        recorder,
        place,
        stopped: OnceLock::new(),
    }
}
