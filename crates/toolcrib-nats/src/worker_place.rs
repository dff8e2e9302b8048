//! The gateway's side of workers: sends calls to those of a place, and waits for what comes of them.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, Message, StatusCode};
use futures_util::FutureExt;
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;
use toolcrib_core::{Clock, Effect, ErrorKind, ToolError, ToolName};
use toolcrib_runtime::{
    Dispatcher, PermittedCall, RemoteCall, RemoteCheck, RemoteFuture, RemotePlace,
};

use crate::gateway_key::GatewayKey;
use crate::placement::{PlaceName, Placement, is_bus_name};
use crate::reply_box::{AskedReply, ReplyBox};
use crate::subject::BusPrefix;
use crate::worker_messages::{CallMessage, CallName, RunMessage, SentCall, WorkerReply};
use crate::worker_subject::WorkerVerb;

/// How long a worker may take to check a call, or to run one that only computes, before it is asked again.
const CHECK_TIME: Duration = Duration::from_secs(10);

/// How often a worker that runs a call is asked about it.
const STATUS_INTERVAL: Duration = Duration::from_secs(2);

/// How many times a call is offered to workers that are busy. NATS chooses the worker each time.
const MOST_BUSY_OFFERS: u32 = 5;

/// How long a call that no worker takes waits before it is offered again.
const BUSY_WAIT: Duration = Duration::from_millis(50);

/// What a gateway needs to reach workers.
pub struct WorkerDispatcher(Arc<WorkerLine>);

/// The line from a gateway to all workers.
struct WorkerLine {
    client: Client,
    replies: ReplyBox,
    key: GatewayKey,
    prefix: BusPrefix,
    placements: Vec<Placement>,
    clock: Arc<dyn Clock>,
}

impl WorkerDispatcher {
    /// Takes a connection, and the placements of the operator.
    pub async fn open(
        client: Client,
        key: GatewayKey,
        (prefix, placements): (BusPrefix, Vec<Placement>),
        clock: Arc<dyn Clock>,
    ) -> io::Result<Self> {
        let replies = ReplyBox::open(client.clone()).await?;
        Ok(Self(Arc::new(WorkerLine { client, replies, key, prefix, placements, clock })))
    }
}

impl Dispatcher for WorkerDispatcher {
    fn place(&self, tool: &ToolName) -> Option<Arc<dyn RemotePlace>> {
        let placement = Placement::find(&self.0.placements, tool)?;
        let (line, place) = (Arc::clone(&self.0), placement.place.clone());
        Some(Arc::new(WorkerPlace { line, place }))
    }
}

/// The workers of one place.
struct WorkerPlace {
    line: Arc<WorkerLine>,
    place: PlaceName,
}

/// Why a message has no reply.
enum NoReply {
    /// Nobody listens: nothing was delivered.
    NobodyListens,
    /// There was no reply in time, or none that can be read.
    Lost,
}

impl RemotePlace for WorkerPlace {
    fn check<'a>(&'a self, call: &'a RemoteCall) -> RemoteFuture<'a, RemoteCheck> {
        Box::pin(async move {
            let subject = self.line.prefix.check_subject(&self.place);
            match self.offer(call, self.line.call_message(call)?, subject).await? {
                WorkerReply::Checked { worker, offer, checked } if is_bus_name(&worker) => {
                    let mut checked = *checked;
                    // The question is about the files there. No answer to it lets the call run here.
                    checked.digest = self.placed_digest(&checked.digest);
                    let folder = checked.question.place.take().unwrap_or_default();
                    checked.question.place = Some(format!("{} ({folder})", self.place));
                    Ok(RemoteCheck { checked, worker, offer })
                }
                WorkerReply::Failed { error } => Err(error.into()),
                other => Err(self.not_understood(&other)),
            }
        })
    }

    fn run(self: Arc<Self>, call: PermittedCall) -> RemoteFuture<'static, Value> {
        Box::pin(async move {
            match call.check {
                None => self.compute(&call).await,
                Some(_) => self.run_checked(call).await,
            }
        })
    }
}

impl WorkerPlace {
    /// Runs a call that only computes. It changes nothing, so it may run twice.
    async fn compute(&self, permitted: &PermittedCall) -> Result<Value, ToolError> {
        let PermittedCall { call, is_answered, .. } = permitted;
        let subject = self.line.prefix.compute_subject(&self.place);
        let message = CallMessage { is_answered: *is_answered, ..self.line.call_message(call)? };
        match self.offer(call, message, subject).await? {
            WorkerReply::Done { result } => Ok(result),
            WorkerReply::Failed { error } => Err(error.into()),
            other => Err(self.not_understood(&other)),
        }
    }

    /// Runs a call that was checked, and retries it once where that is safe. The offer may have expired while a person
    /// decided: then the call is checked again, and must still be what they were asked about.
    async fn run_checked(&self, permitted: PermittedCall) -> Result<Value, ToolError> {
        let PermittedCall { call, check, is_answered } = &permitted;
        let mut check = check.clone().ok_or_else(|| self.lost_outcome("has no check"))?;
        let asked = check.checked.digest.clone();
        let mut is_retry = false;
        loop {
            let reply = self.run_once(&permitted, &check).await;
            match reply {
                Ok(WorkerReply::Done { result }) => return Ok(result),
                Ok(WorkerReply::Failed { error }) => return Err(error.into()),
                // The worker says that it ran nothing, or nobody got the message.
                Ok(WorkerReply::NoOffer | WorkerReply::Busy) | Err(NoReply::NobodyListens)
                    if !is_retry => {}
                Err(NoReply::Lost) if call.effect != Effect::Write && !is_retry => {}
                Err(NoReply::Lost) if call.effect == Effect::Write => {
                    return Err(self.lost_outcome(&format!(
                        "was sent to the worker `{}`, which does not answer any more",
                        check.worker
                    )));
                }
                Ok(other) => return Err(self.not_understood(&other)),
                Err(NoReply::NobodyListens | NoReply::Lost) => return Err(self.no_worker()),
            }
            is_retry = true;
            check = self.check(call).await?;
            if *is_answered && check.checked.digest != asked {
                let message = format!(
                    "`{}` was not run: what it would do changed while a person was asked",
                    call.tool()
                );
                return Err(ToolError::new(ErrorKind::Changed, message)
                    .hint("check the change, and repeat the call"));
            }
        }
    }

    /// Has the worker of an offer run the call, and waits for the outcome.
    async fn run_once(
        &self,
        permitted: &PermittedCall,
        check: &RemoteCheck,
    ) -> Result<WorkerReply, NoReply> {
        let (line, call) = (&self.line, &permitted.call);
        let answered = permitted.is_answered.then(|| check.checked.digest.clone());
        let answered = answered.and_then(|placed| self.worker_digest(&placed));
        let run = RunMessage { offer: check.offer.clone(), answered };
        let subject = line.prefix.worker_subject(&check.worker, WorkerVerb::Run);
        let mut waiting = line.send(subject, &run).await?;
        let mut is_cancelled = false;
        loop {
            tokio::select! {
                reply = read_reply(&mut waiting) => return reply,
                () = call.cancel.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    // The worker ends the call, and replies with what came of it.
                    let _ = line.ask_about(call, &check.worker, WorkerVerb::Cancel).await;
                }
                () = tokio::time::sleep(STATUS_INTERVAL) => {
                    match line.ask_about(call, &check.worker, WorkerVerb::Status).await {
                        // It ended, and its reply was lost.
                        Ok(ended @ (WorkerReply::Done { .. } | WorkerReply::Failed { .. })) => {
                            return Ok(ended);
                        }
                        // It never began, and will not: the worker took its offer back.
                        Ok(WorkerReply::Unknown) => return Err(NoReply::NobodyListens),
                        // The process is gone: the NATS server knows whether it still listens. Its last reply would
                        // have come before this one.
                        Err(NoReply::NobodyListens) => {
                            let last = read_reply(&mut waiting).now_or_never();
                            return last.unwrap_or(Err(NoReply::Lost));
                        }
                        // It runs; or the NATS server is away, or the worker is slow. The deadline of the call says when to stop.
                        Ok(_) | Err(NoReply::Lost) => {}
                    }
                }
            }
        }
    }

    /// Offers a call to the workers of the place until one takes it.
    async fn offer(
        &self,
        call: &RemoteCall,
        mut message: CallMessage,
        subject: String,
    ) -> Result<WorkerReply, ToolError> {
        let (mut offers, mut losses) = (0, 0);
        loop {
            message.at = self.line.clock.now();
            let sent = async {
                let mut waiting = self.line.send(subject.clone(), &message).await?;
                let reply = timeout(CHECK_TIME, read_reply(&mut waiting)).await;
                reply.unwrap_or(Err(NoReply::Lost))
            };
            match sent.await {
                Ok(WorkerReply::NeedsPolicy) if message.policy_text.is_none() => {
                    message.policy_text = call.policy.text().map(|(text, _)| text.clone());
                }
                Ok(WorkerReply::Busy) => {
                    offers += 1;
                    if offers == MOST_BUSY_OFFERS {
                        return Err(self.all_busy());
                    }
                    tokio::time::sleep(BUSY_WAIT * offers).await;
                }
                Ok(reply) => return Ok(reply),
                // Nothing was changed, so another worker can be asked.
                Err(NoReply::Lost) if losses == 0 => losses += 1,
                Err(NoReply::NobodyListens | NoReply::Lost) => return Err(self.no_worker()),
            }
        }
    }

    /// Returns the digest of a question about files at this place.
    fn placed_digest(&self, digest: &str) -> String {
        format!("{digest}@{}", self.place)
    }

    /// Returns the digest as the worker knows it.
    fn worker_digest(&self, placed: &str) -> Option<String> {
        let digest = placed.strip_suffix(&format!("@{}", self.place))?;
        Some(digest.to_owned())
    }

    fn no_worker(&self) -> ToolError {
        let place = &self.place;
        if self.line.client.connection_state() != State::Connected {
            let message = format!("the call runs at `{place}`, and the NATS server is down");
            return ToolError::new(ErrorKind::Unavailable, message)
                .hint("repeat the call when it is up; other tools work meanwhile")
                .with("place", place.to_string());
        }
        let message = format!("no worker of `{place}` answers");
        ToolError::new(ErrorKind::Unavailable, message)
            .hint("`toolcrib workers` lists the workers; start one with `toolcrib worker`")
            .with("place", place.to_string())
    }

    fn all_busy(&self) -> ToolError {
        let place = &self.place;
        ToolError::new(ErrorKind::Unavailable, format!("no free worker of `{place}` was found"))
            .hint("repeat the call in a while, or start another worker")
            .with("place", place.to_string())
    }

    fn lost_outcome(&self, what: &str) -> ToolError {
        ToolError::new(ErrorKind::Failed, format!("the call {what}"))
            .hint("it may have taken effect; look at the files before trying again")
            .with("outcome", "unknown")
            .with("place", self.place.to_string())
    }

    fn not_understood(&self, reply: &WorkerReply) -> ToolError {
        let place = &self.place;
        let message = match reply {
            WorkerReply::Refused { why } => {
                format!("a worker of `{place}` refused the call: {why}")
            }
            _ => format!("a worker of `{place}` gave an answer that does not fit the question"),
        };
        ToolError::new(ErrorKind::Unavailable, message)
            .hint("gateway and workers must be of one version, and the workers must trust the key of the gateway")
            .with("place", place.to_string())
    }
}

impl WorkerLine {
    async fn send(&self, subject: String, message: &impl Serialize) -> Result<AskedReply, NoReply> {
        // What is sent while the server is down would arrive when nobody waits for it any more.
        if self.client.connection_state() != State::Connected {
            return Err(NoReply::NobodyListens);
        }
        let body = serde_json::to_vec(message).map_err(|_| NoReply::NobodyListens)?;
        let sign = |subject: &str, reply: &str, body: &[u8]| self.key.sign(subject, reply, body);
        self.replies.send(subject, body.into(), sign).await.map_err(|_| NoReply::NobodyListens)
    }

    /// Asks a worker about a call that it runs.
    async fn ask_about(
        &self,
        call: &RemoteCall,
        worker: &str,
        verb: WorkerVerb,
    ) -> Result<WorkerReply, NoReply> {
        let name = CallName { call: call.call.id.0.clone() };
        let mut waiting = self.send(self.prefix.worker_subject(worker, verb), &name).await;
        let Ok(waiting) = &mut waiting else { return Err(NoReply::Lost) };
        timeout(STATUS_INTERVAL, read_reply(waiting)).await.unwrap_or(Err(NoReply::Lost))
    }

    fn call_message(&self, call: &RemoteCall) -> Result<CallMessage, ToolError> {
        let (_, digest) = call.policy.text().ok_or_else(|| {
            ToolError::new(ErrorKind::Bug, "the policy in force cannot be sent to other machines")
        })?;
        Ok(CallMessage {
            at: self.clock.now(),
            call: SentCall::of(&call.call),
            is_answered: false,
            policy: digest.to_owned(),
            policy_text: None,
        })
    }
}

async fn read_reply(waiting: &mut AskedReply) -> Result<WorkerReply, NoReply> {
    let message: Message = waiting.message().await.ok_or(NoReply::Lost)?;
    if message.status == Some(StatusCode::NO_RESPONDERS) {
        return Err(NoReply::NobodyListens);
    }
    serde_json::from_slice(&message.payload).map_err(|_| NoReply::Lost)
}
