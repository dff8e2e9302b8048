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
use toolcrib_core::{Clock, Effect, ErrorKind, ToolError, ToolName, Usage};
use toolcrib_runtime::{
    Dispatcher, PermittedCall, RemoteCall, RemoteCheck, RemoteFuture, RemotePlace, RemoteRun,
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

/// How often a worker is told to end a call before the gateway goes on without it.
const MOST_CANCELS: u32 = 5;

/// How many bytes the headers of a signed message may have.
const SIGNATURE_ROOM: usize = 512;

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
    /// The message has so many bytes, and the NATS server takes so many.
    TooLarge(usize, usize),
}

/// What is known after a call was to be run once.
enum RunEnd {
    /// It ended.
    Ended(Result<Value, ToolError>, Usage),
    /// It has not begun, and will not: it can be run again.
    NotBegun,
    /// Nobody knows.
    Unknown,
}

impl RemotePlace for WorkerPlace {
    fn check<'a>(&'a self, call: &'a RemoteCall) -> RemoteFuture<'a, RemoteCheck> {
        Box::pin(self.check_again(call, PersonAsked::Nobody))
    }

    fn run(self: Arc<Self>, call: PermittedCall) -> RemoteRun {
        Box::pin(async move {
            let result = match call.check {
                None => self.compute(&call).await,
                Some(_) => self.run_checked(&call).await,
            };
            match result {
                Ok(ended) => ended,
                Err(err) => (Err(err), Usage::default()),
            }
        })
    }
}

/// Whether somebody was asked about a call, and said yes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PersonAsked {
    Nobody,
    SaidYes,
}

type EndedRun = (Result<Value, ToolError>, Usage);

impl WorkerPlace {
    /// Has a worker check a call.
    async fn check_again(
        &self,
        call: &RemoteCall,
        asked: PersonAsked,
    ) -> Result<RemoteCheck, ToolError> {
        let subject = self.line.prefix.check_subject(&self.place);
        match self.offer(call, asked, subject).await? {
            WorkerReply::Checked { worker, process, offer, checked }
                if is_bus_name(&worker) && is_bus_name(&process) =>
            {
                let mut checked = *checked;
                // The question is about the files there. No answer to it lets the call run here.
                checked.digest = self.placed_digest(&checked.digest);
                let folder = checked.question.place.take().unwrap_or_default();
                checked.question.place =
                    Some(format!("{} ({folder}, worker {worker})", self.place));
                Ok(RemoteCheck { checked, worker, process, offer })
            }
            WorkerReply::Failed { error } => Err(error.into()),
            other => Err(self.not_understood(&other)),
        }
    }

    /// Runs a call that only computes. It changes nothing, so it may run twice.
    async fn compute(&self, permitted: &PermittedCall) -> Result<EndedRun, ToolError> {
        let subject = self.line.prefix.compute_subject(&self.place);
        let asked = if permitted.is_answered { PersonAsked::SaidYes } else { PersonAsked::Nobody };
        match self.offer(&permitted.call, asked, subject).await? {
            WorkerReply::Done { result, used } => Ok((Ok(result), used)),
            WorkerReply::FailedRun { error, used } => Ok((Err(error.into()), used)),
            WorkerReply::Failed { error } => Err(error.into()),
            other => Err(self.not_understood(&other)),
        }
    }

    /// Runs a call that was checked, and retries it once where that is safe. If a person was asked, the call is checked
    /// again, and must still be what they were asked about.
    async fn run_checked(&self, permitted: &PermittedCall) -> Result<EndedRun, ToolError> {
        let PermittedCall { call, check, is_answered } = permitted;
        let first = check.as_ref().ok_or_else(|| self.no_worker())?;
        let mut check = first.clone();
        let mut is_retry = false;
        loop {
            if *is_answered {
                check = self.check_again(call, PersonAsked::SaidYes).await?;
                if check.checked.digest != first.checked.digest {
                    return Err(changed(call));
                }
            } else if is_retry {
                check = self.check(call).await?;
            }
            match self.run_once(permitted, &check).await? {
                RunEnd::Ended(result, used) => return Ok((result, used)),
                RunEnd::NotBegun if is_retry => return Err(self.none_free()),
                RunEnd::Unknown if call.effect == Effect::Write || is_retry => {
                    return Err(self.lost_outcome(&check.worker));
                }
                // It only reads, or nothing has begun.
                RunEnd::NotBegun | RunEnd::Unknown => is_retry = true,
            }
        }
    }

    /// Has the worker of an offer run the call, and waits for the outcome.
    async fn run_once(
        &self,
        permitted: &PermittedCall,
        check: &RemoteCheck,
    ) -> Result<RunEnd, ToolError> {
        let (line, call) = (&self.line, &permitted.call);
        let answered = permitted.is_answered.then(|| check.checked.digest.clone());
        let answered = answered.and_then(|placed| self.worker_digest(&placed));
        let run = RunMessage { offer: check.offer.clone(), answered };
        let subject = line.subject_of(check, WorkerVerb::Run);
        let mut waiting = match line.send(subject, &run).await {
            Ok(waiting) => waiting,
            Err(NoReply::TooLarge(bytes, most)) => return Err(too_large(bytes, most)),
            Err(NoReply::NobodyListens | NoReply::Lost) => return Ok(RunEnd::NotBegun),
        };
        let mut questions_since_cancel = 0;
        loop {
            let is_cancelled = questions_since_cancel > 0;
            let reply = tokio::select! {
                reply = read_reply(&mut waiting) => match reply {
                    Ok(reply) => reply,
                    Err(NoReply::NobodyListens) => return Ok(RunEnd::NotBegun),
                    Err(NoReply::Lost | NoReply::TooLarge(..)) => return Ok(RunEnd::Unknown),
                },
                reply = async {
                    tokio::select! {
                        () = call.cancel.cancelled(), if !is_cancelled => {}
                        () = tokio::time::sleep(STATUS_INTERVAL) => {}
                    }
                    let verb = if call.cancel.is_cancelled() { WorkerVerb::Cancel } else { WorkerVerb::Status };
                    line.ask_about(call, check, verb).await
                } => {
                    if call.cancel.is_cancelled() {
                        questions_since_cancel += 1;
                    }
                    match reply {
                        Ok(reply) => reply,
                        // The process is gone: the NATS server knows whether it still listens. Its last reply would
                        // have come before this one.
                        Err(NoReply::NobodyListens) => match read_reply(&mut waiting).now_or_never() {
                            Some(Ok(last)) => last,
                            _ => return Ok(RunEnd::Unknown),
                        },
                        // The NATS server is away, or the worker is slow. The deadline of the call says when to stop.
                        Err(NoReply::Lost | NoReply::TooLarge(..)) => WorkerReply::Running,
                    }
                }
            };
            match reply {
                WorkerReply::Done { result, used } => return Ok(RunEnd::Ended(Ok(result), used)),
                WorkerReply::FailedRun { error, used } => {
                    return Ok(RunEnd::Ended(Err(error.into()), used));
                }
                // The worker says that it runs nothing.
                WorkerReply::NoOffer | WorkerReply::Busy | WorkerReply::Withdrawn => {
                    return Ok(RunEnd::NotBegun);
                }
                WorkerReply::Refused { .. } => return Err(self.not_understood(&reply)),
                WorkerReply::Running if questions_since_cancel < MOST_CANCELS => {}
                _ => return Ok(RunEnd::Unknown),
            }
        }
    }

    /// Offers a call to the workers of the place until one takes it.
    async fn offer(
        &self,
        call: &RemoteCall,
        asked: PersonAsked,
        subject: String,
    ) -> Result<WorkerReply, ToolError> {
        let mut message = self.line.call_message(call)?;
        message.is_answered = asked == PersonAsked::SaidYes;
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
                        return Err(self.none_free());
                    }
                    tokio::time::sleep(BUSY_WAIT * offers).await;
                }
                Ok(reply) => return Ok(reply),
                Err(NoReply::TooLarge(bytes, most)) => return Err(too_large(bytes, most)),
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

    fn none_free(&self) -> ToolError {
        let place = &self.place;
        let message = format!("no free worker of `{place}` was found");
        ToolError::new(ErrorKind::Unavailable, message)
            .hint("repeat the call in a while, or start another worker")
            .with("place", place.to_string())
    }

    fn lost_outcome(&self, worker: &str) -> ToolError {
        let message =
            format!("the worker `{worker}` was given the call, and does not say what came of it");
        ToolError::new(ErrorKind::Failed, message)
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
        // The headers with the signature need some room, too.
        let (bytes, most) = (body.len() + SIGNATURE_ROOM, self.client.max_payload());
        if most > 0 && bytes > most {
            return Err(NoReply::TooLarge(bytes, most));
        }
        let sign = |subject: &str, reply: &str, body: &[u8]| self.key.sign(subject, reply, body);
        self.replies.send(subject, body.into(), sign).await.map_err(|_| NoReply::NobodyListens)
    }

    /// Returns the subject of the process that checked a call.
    fn subject_of(&self, check: &RemoteCheck, verb: WorkerVerb) -> String {
        self.prefix.worker_subject(&check.worker, &check.process, verb)
    }

    /// Asks a worker about a call that it runs.
    async fn ask_about(
        &self,
        call: &RemoteCall,
        check: &RemoteCheck,
        verb: WorkerVerb,
    ) -> Result<WorkerReply, NoReply> {
        let name = CallName { call: call.call.id.0.clone() };
        let mut waiting = self.send(self.subject_of(check, verb), &name).await;
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
            limits: call.limits.into(),
        })
    }
}

/// Returns the error of a call that is not what a person was asked about any more.
fn changed(call: &RemoteCall) -> ToolError {
    let message =
        format!("`{}` was not run: what it would do changed while a person was asked", call.tool());
    ToolError::new(ErrorKind::Changed, message).hint("check the change, and repeat the call")
}

fn too_large(bytes: usize, most: usize) -> ToolError {
    let message =
        format!("the call has {bytes} bytes for its worker, and the NATS server takes {most}");
    ToolError::new(ErrorKind::TooLarge, message)
        .hint("send less at once; the operator can raise `max_payload` of the NATS server")
        .with("limit_bytes", most)
        .with("actual_bytes", bytes)
}

async fn read_reply(waiting: &mut AskedReply) -> Result<WorkerReply, NoReply> {
    let message: Message = waiting.message().await.ok_or(NoReply::Lost)?;
    if message.status == Some(StatusCode::NO_RESPONDERS) {
        return Err(NoReply::NobodyListens);
    }
    serde_json::from_slice(&message.payload).map_err(|_| NoReply::Lost)
}
