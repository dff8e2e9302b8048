//! What a worker does with calls: checks them and offers to run them, runs those that are permitted, and knows what runs.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use serde::de::DeserializeOwned;
use toolcrib_core::policy::PolicyText;
use toolcrib_core::{Call, Cancel, Clock, Effect, ErrorKind, Recorder, ToolError, Usage, Verdict};
use toolcrib_runtime::{AnsweredElsewhere, PermitAnswer, Runtime};

use crate::envelope::is_near;
use crate::offers::{CallOffer, Offers};
use crate::random_id::random_id;
use crate::worker_calls::WorkerCalls;
use crate::worker_messages::{CallMessage, CallName, RunMessage, WorkerReply};

/// Who approved a call, as the record of a worker says it.
const APPROVED_BY: &str = "the gateway";

/// How many policies are kept ready. Gateways agree on one, but for the moment in which it changes.
const MOST_POLICIES: usize = 4;

/// Gives a worker what it runs calls with.
pub trait WorkerHost: Send + Sync {
    /// Returns a runtime that decides by this policy and by the rules of the project here. It may block.
    fn runtime(&self, policy: &PolicyText) -> Result<Runtime, ToolError>;

    /// Returns what tells the rules of the project here from what they were.
    fn project_rules_stamp(&self) -> Result<String, ToolError>;

    /// Keeps the record.
    fn recorder(&self) -> &dyn Recorder;
}

/// What a message wants with a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedOfCall {
    Check,
    Compute,
    Run,
}

/// What a message wants with a call that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedOfRunning {
    Status,
    Cancel,
}

/// The calls of a worker, and what it runs them with.
pub(crate) struct WorkerEngine {
    /// The name of the worker.
    pub(crate) name: String,
    /// Tells this process from others of the same name.
    pub(crate) process: String,
    /// The catalogues and tools that it serves; empty for all.
    pub(crate) tools: Vec<String>,
    pub(crate) most_running: usize,
    pub(crate) host: Arc<dyn WorkerHost>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) calls: Arc<WorkerCalls>,
    pub(crate) offers: Offers,
    /// The runtimes of the last policies, by digest; the newest is the last.
    pub(crate) runtimes: Mutex<Vec<(String, Runtime)>>,
}

impl WorkerEngine {
    /// Does what a message wants with a call that runs.
    pub(crate) fn tell(&self, wanted: WantedOfRunning, body: &[u8]) -> WorkerReply {
        match serde_json::from_slice::<CallName>(body) {
            Err(err) => unreadable(&err),
            Ok(name) => match wanted {
                WantedOfRunning::Status => self.status(&name),
                WantedOfRunning::Cancel => self.cancel(&name),
            },
        }
    }

    /// Does what a message wants with a call.
    pub(crate) async fn handle(
        self: &Arc<Self>,
        wanted: WantedOfCall,
        body: &Bytes,
    ) -> WorkerReply {
        match wanted {
            WantedOfCall::Check => self.take(body, Self::check).await,
            WantedOfCall::Compute => self.take(body, Self::compute).await,
            WantedOfCall::Run => self.take(body, Self::run_offer).await,
        }
    }

    async fn take<M: DeserializeOwned, F: Future<Output = WorkerReply>>(
        self: &Arc<Self>,
        body: &Bytes,
        act: impl FnOnce(Arc<Self>, M) -> F,
    ) -> WorkerReply {
        match serde_json::from_slice(body) {
            Ok(message) => act(Arc::clone(self), message).await,
            Err(err) => unreadable(&err),
        }
    }

    /// Finds out what a call would do, and offers to run it.
    async fn check(self: Arc<Self>, message: CallMessage) -> WorkerReply {
        if self.calls.running() >= self.most_running {
            return WorkerReply::Busy;
        }
        let is_answered = message.is_answered;
        let (call, runtime) = match self.admit(message, AnsweredElsewhere::Nothing).await {
            Ok(admitted) => admitted,
            Err(reply) => return reply,
        };
        let checked = match runtime.check_for_another(call.clone()).await {
            Ok(checked) => checked,
            Err(error) => return WorkerReply::Failed { error: error.into() },
        };
        // Nothing is kept of a call that is refused, or that waits for a person: it is checked again once they said yes.
        let can_run = match checked.decision.verdict() {
            Verdict::Allow => true,
            Verdict::Ask => is_answered,
            Verdict::Deny => false,
        };
        let Ok(offer) = random_id() else { return WorkerReply::Busy };
        if can_run && !self.offers.add(offer.clone(), CallOffer::new(call, runtime)) {
            return WorkerReply::Busy;
        }
        let (worker, process) = (self.name.clone(), self.process.clone());
        WorkerReply::Checked { worker, process, offer, checked: Box::new(checked) }
    }

    /// Runs a call that only computes.
    async fn compute(self: Arc<Self>, message: CallMessage) -> WorkerReply {
        let answered =
            if message.is_answered { AnsweredElsewhere::Call } else { AnsweredElsewhere::Nothing };
        let (call, runtime) = match self.admit(message, answered).await {
            Ok(admitted) => admitted,
            Err(reply) => return reply,
        };
        let effect = runtime.toolset.find(&call.tool).map(|it| it.tool.declaration().effect);
        if effect.is_ok_and(|effect| effect != Effect::None) {
            let why = format!("`{}` does more than compute, so it is checked first", call.tool);
            return WorkerReply::Refused { why };
        }
        match self.begin(call.id.0.clone()) {
            Some(begun) => begun.make(call, &runtime).await,
            None => WorkerReply::Busy,
        }
    }

    /// Runs a call that was offered.
    async fn run_offer(self: Arc<Self>, message: RunMessage) -> WorkerReply {
        let RunMessage { offer, answered } = message;
        let Some(id) = self.offers.call_of(&offer) else { return WorkerReply::NoOffer };
        // The call is known to run before its offer is gone, so that nobody who asks about it finds neither.
        let Some(begun) = self.begin(id) else { return WorkerReply::Busy };
        let Some(CallOffer { call, runtime, .. }) = self.offers.take(&offer) else {
            begun.forget();
            return WorkerReply::NoOffer;
        };
        let answered = answered.map_or(AnsweredElsewhere::Nothing, AnsweredElsewhere::Question);
        begun.make(call, &answering(runtime, answered)).await
    }

    /// Begins a call, if one more may run.
    fn begin(&self, id: String) -> Option<BegunCall<'_>> {
        let cancel = self.calls.begin(&id, self.most_running)?;
        Some(BegunCall { calls: &self.calls, id, cancel })
    }

    fn status(&self, name: &CallName) -> WorkerReply {
        let status = self.calls.status(&name.call);
        // Whoever is told that an offer was withdrawn has the call run elsewhere.
        if matches!(status, WorkerReply::Unknown) && self.offers.withdraw(&name.call) {
            return match self.calls.status(&name.call) {
                WorkerReply::Unknown => WorkerReply::Withdrawn,
                begun => begun,
            };
        }
        status
    }

    fn cancel(&self, name: &CallName) -> WorkerReply {
        self.offers.withdraw(&name.call);
        self.calls.cancel(&name.call);
        self.calls.status(&name.call)
    }

    /// Takes a call that was sent just now, and returns it with the runtime of its policy.
    async fn admit(
        self: &Arc<Self>,
        message: CallMessage,
        answered: AnsweredElsewhere,
    ) -> Result<(Call, Runtime), WorkerReply> {
        let CallMessage { at, call, policy, policy_text, limits, is_answered: _ } = message;
        if !is_near(at, self.clock.now()) {
            let why = format!("the message is of {at}, and here it is {}", self.clock.now());
            return Err(WorkerReply::Refused { why });
        }
        // The rules of the project here count, too, as they are now.
        let stamp = self
            .host
            .project_rules_stamp()
            .map_err(|error| WorkerReply::Failed { error: error.into() })?;
        let key = format!("{policy} {stamp}");
        let known = self.known_runtime(&key);
        let runtime = match (known, policy_text) {
            (Some(runtime), _) => runtime,
            (None, None) => return Err(WorkerReply::NeedsPolicy),
            (None, Some(text)) if text.digest() != policy => {
                let why = "the policy is not the one that it says".to_owned();
                return Err(WorkerReply::Refused { why });
            }
            (None, Some(text)) => self.open_runtime(key, text).await?,
        };
        let call = call.call();
        let tools = &self.tools;
        let is_named =
            |name: &String| call.tool == **name || call.tool.catalogue() == Some(name.as_str());
        if !tools.is_empty() && !tools.iter().any(is_named) {
            let message = format!("the worker `{}` does not serve `{}`", self.name, call.tool);
            let error = ToolError::new(ErrorKind::NotOffered, message)
                .hint("the operator of the worker can add it to `worker.tools`");
            return Err(WorkerReply::Failed { error: error.into() });
        }
        Ok((Call { limits: Some(limits.into()), ..call }, answering(runtime, answered)))
    }

    fn known_runtime(&self, policy: &str) -> Option<Runtime> {
        let runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        runtimes.iter().find(|(digest, _)| digest == policy).map(|(_, runtime)| runtime.clone())
    }

    async fn open_runtime(
        self: &Arc<Self>,
        digest: String,
        text: PolicyText,
    ) -> Result<Runtime, WorkerReply> {
        let host = Arc::clone(&self.host);
        let opened = tokio::task::spawn_blocking(move || host.runtime(&text)).await;
        let opened = opened.unwrap_or_else(|_| {
            Err(ToolError::new(ErrorKind::Bug, "the policy could not be opened"))
        });
        let runtime = opened.map_err(|error| WorkerReply::Failed { error: error.into() })?;
        let mut runtimes = self.runtimes.lock().unwrap_or_else(PoisonError::into_inner);
        if !runtimes.iter().any(|(known, _)| *known == digest) {
            if runtimes.len() == MOST_POLICIES {
                runtimes.remove(0);
            }
            runtimes.push((digest, runtime.clone()));
        }
        Ok(runtime)
    }
}

/// Returns a runtime whose questions were answered where a call came from.
fn answering(runtime: Runtime, answered: AnsweredElsewhere) -> Runtime {
    let approver = Arc::new(PermitAnswer { by: APPROVED_BY.to_owned(), answered });
    Runtime { approver, ..runtime }
}

/// A call that has begun. If it is dropped, it ended without an outcome.
struct BegunCall<'a> {
    calls: &'a WorkerCalls,
    id: String,
    cancel: Cancel,
}

impl BegunCall<'_> {
    /// Makes the call, and remembers what came of it.
    async fn make(self, call: Call, runtime: &Runtime) -> WorkerReply {
        let (result, used) = runtime.call_for_another(call, &self.cancel).await;
        let reply = match result {
            Ok(result) => WorkerReply::Done { result, used },
            Err(error) => WorkerReply::FailedRun { error: error.into(), used },
        };
        self.calls.end(&self.id, reply.clone());
        reply
    }

    /// Takes back that the call has begun.
    fn forget(self) {
        self.calls.forget(&self.id);
    }
}

impl Drop for BegunCall<'_> {
    fn drop(&mut self) {
        if matches!(self.calls.status(&self.id), WorkerReply::Running) {
            let error = ToolError::new(ErrorKind::Bug, "the call ended without an outcome")
                .with("outcome", "unknown");
            let used = Usage::default();
            self.calls.end(&self.id, WorkerReply::FailedRun { error: error.into(), used });
        }
    }
}

fn unreadable(err: &serde_json::Error) -> WorkerReply {
    WorkerReply::Refused { why: format!("the message cannot be read: {err}") }
}
