//! `toolcrib call --batch`: makes many calls in one process, one for each line of stdin.

mod reply;
mod served;

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use toolcrib_core::{
    Call, Caller, Cancel, ErrorKind, SessionId, ToolError, ToolName, json as strict_json,
};
use toolcrib_runtime::{LateAnswer, Runtime, Watchdog};

use reply::BatchReply;

use super::approver::approver;
use super::call::{chosen_caller, unrecorded};
use super::event_loop::{block_on, end_subagents, interrupted};
use super::remote;
use super::remote_call::RemoteCalls;
use super::setup::open_long_lived;
use crate::cli::{CallArgs, Global};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};
use crate::wiring::{WhichServers, session};

/// One line of stdin.
struct BatchLine {
    /// The id as JSON, in the caller's own spelling.
    id: String,
    tool: ToolName,
    /// The arguments, or why they cannot be read.
    args: Result<Value, ToolError>,
}

/// A call on the wire.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CallParams<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    tool: ToolName,
    #[serde(borrow)]
    args: Option<&'a RawValue>,
}

pub(super) fn run(global: &Global, terminal: Terminal, args: &CallArgs) -> Result<Exit, CliError> {
    let jobs = usize::from(args.jobs);
    if let Some(client) = remote::chosen(global, terminal)? {
        let client = client.choosing(args.connection.clone());
        let calls = BatchCalls::There(RemoteCalls::new(client, terminal)?);
        let batch = BatchContext { calls, cancel: Cancel::default(), terminal };
        return block_on(serve(Arc::new(batch), jobs));
    }
    let crib = open_long_lived(global, terminal)?;
    let caller = chosen_caller(&crib, args)?;
    // The tools of a batch are not known yet, and a server is mounted only once.
    for warning in crib.plugins().mount(&crib.settings, &WhichServers::New) {
        terminal.warn(&warning);
    }
    // Stdin holds the calls, so nobody can be asked there.
    let approver = approver(global, None, &crib, args);
    let runtime = crib.runtime(approver)?;
    let subagents = crib.subagents();
    block_on(async move {
        let calls = BatchCalls::Here(LocalCalls {
            runtime,
            watchdog: Watchdog::default(),
            session: session(),
            caller,
        });
        let batch = BatchContext { calls, cancel: Cancel::default(), terminal };
        let served = serve(Arc::new(batch), jobs).await;
        end_subagents(subagents).await;
        served
    })
}

/// What the threads of a batch make their calls with.
struct BatchContext {
    calls: BatchCalls,
    cancel: Cancel,
    terminal: Terminal,
}

/// Where the calls of a batch are made.
enum BatchCalls {
    Here(LocalCalls),
    There(RemoteCalls),
}

struct LocalCalls {
    runtime: Runtime,
    watchdog: Watchdog,
    session: SessionId,
    caller: Arc<Caller>,
}

/// How many threads may wait for a line. More end when their call does.
const MOST_WAITING: usize = 4;

/// Answers the calls. Each thread takes a line, makes its call and prints the reply, so that a short call costs no
/// switch of threads. One more thread than calls run waits for the next line, up to `jobs` in all.
async fn serve(batch: Arc<BatchContext>, jobs: usize) -> Exit {
    let (cancel, progress) = (batch.cancel.clone(), Arc::new(BatchProgress::new(jobs)));
    BatchThread::start(&batch, &progress);
    tokio::select! {
        () = progress.ended() => {}
        () = interrupted() => cancel.cancel(),
    }
    progress.stop();
    progress.ended().await;
    // The last one to hold the runtime closes the record, which must happen before the process ends.
    drop(batch);
    if cancel.is_cancelled() { Exit::Interrupted } else { progress.exit() }
}

/// How far a batch is.
struct BatchProgress {
    /// How many calls may run at once.
    jobs: usize,
    state: Mutex<BatchState>,
    ended: Notify,
    /// Held by the thread that takes a line.
    input: Mutex<InputState>,
}

/// Whether stdin may have more lines. On a terminal, reading on after its end would wait for more.
#[derive(Default, PartialEq, Eq)]
enum InputState {
    #[default]
    Open,
    Ended,
}

#[derive(Default)]
struct BatchState {
    /// How many threads wait for lines or make calls.
    threads: usize,
    /// How many of them wait for lines.
    waiting: usize,
    /// How many calls run.
    running: usize,
    /// Whether no more calls are made.
    is_over: bool,
    has_failed: bool,
}

/// Whether a call may begin.
#[derive(PartialEq, Eq)]
enum Beginning {
    /// It may not: the batch is over.
    Refused,
    Begun,
    /// It has, and a new thread is to wait for the next line.
    BegunAndAlone,
}

impl BatchProgress {
    /// Returns the progress of a batch that has one thread.
    fn new(jobs: usize) -> Self {
        let state = BatchState { threads: 1, ..BatchState::default() };
        Self { jobs, state: state.into(), ended: Notify::new(), input: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, BatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state, and tells the event loop if nothing is left to wait for.
    fn change<T>(&self, change: impl FnOnce(&mut BatchState) -> T) -> T {
        let mut state = self.state();
        let changed = change(&mut state);
        if state.is_ended() {
            drop(state);
            self.ended.notify_one();
        }
        changed
    }

    /// Waits until no call runs and no more will.
    async fn ended(&self) {
        while !self.state().is_ended() {
            self.ended.notified().await;
        }
    }

    /// Returns the next call that stdin has; nothing at its end.
    fn next_call(&self) -> io::Result<Option<BatchLine>> {
        let mut state = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let mut input = io::stdin().lock();
        while *state == InputState::Open {
            match read_line(&mut input) {
                Ok(Some(bytes)) if bytes.trim_ascii().is_empty() => {}
                Ok(Some(bytes)) => {
                    drop((state, input));
                    return Ok(Some(parse(&bytes)));
                }
                Ok(None) => *state = InputState::Ended,
                Err(err) => {
                    *state = InputState::Ended;
                    return Err(err);
                }
            }
        }
        Ok(None)
    }

    fn stop(&self) {
        self.state().is_over = true;
    }

    /// Counts a thread that is going to wait for a line. Returns whether it is needed.
    fn begin_waiting(&self) -> bool {
        self.change(|state| {
            let is_needed = state.waiting < MOST_WAITING && !state.is_over;
            state.waiting += usize::from(is_needed);
            is_needed
        })
    }

    /// Counts a call that begins, on a thread that has waited for its line.
    fn begin(&self) -> Beginning {
        self.change(|state| {
            state.waiting -= 1;
            if state.is_over {
                return Beginning::Refused;
            }
            state.running += 1;
            if state.waiting > 0 || state.threads == self.jobs {
                return Beginning::Begun;
            }
            state.threads += 1;
            Beginning::BegunAndAlone
        })
    }

    /// Counts a call that is answered: one failed call fails the batch.
    fn end(&self, reply: ReplyState) {
        self.change(|state| {
            state.running -= 1;
            state.has_failed |= !matches!(reply, ReplyState::Succeeded);
            state.is_over |= matches!(reply, ReplyState::Unread);
        });
    }

    fn exit(&self) -> Exit {
        if self.state().has_failed { Exit::Failed } else { Exit::Done }
    }
}

impl BatchState {
    fn is_ended(&self) -> bool {
        self.running == 0 && (self.is_over || self.threads == 0)
    }
}

/// A thread that answers calls.
struct BatchThread {
    /// Weak, because a thread that waits for a line must not keep the record open when the process ends.
    batch: Weak<BatchContext>,
    progress: Arc<BatchProgress>,
    events: Handle,
    terminal: Terminal,
}

impl BatchThread {
    /// Starts a thread that is counted already, in the context of the running event loop.
    fn start(batch: &Arc<BatchContext>, progress: &Arc<BatchProgress>) {
        let (terminal, events) = (batch.terminal, Handle::current());
        let (batch, progress) = (Arc::downgrade(batch), Arc::clone(progress));
        let thread = Self { batch, progress, events, terminal };
        std::thread::spawn(move || thread.answer_calls());
    }

    /// Answers one line after the other, until there are no more.
    fn answer_calls(&self) {
        let _events = self.events.enter();
        while self.progress.begin_waiting() {
            let Some(line) = self.wait_for_call() else { break };
            let beginning = self.progress.begin();
            if beginning == Beginning::Refused {
                break;
            }
            // Always there: `serve` drops the batch only after all begun calls have ended.
            let Some(batch) = self.batch.upgrade() else { break };
            if beginning == Beginning::BegunAndAlone {
                Self::start(&batch, &self.progress);
            }
            let Some(reply) = self.answer(&batch, line) else { return };
            // The batch goes first: what follows may end the process.
            drop(batch);
            self.progress.end(reply);
        }
        self.progress.change(|state| state.threads -= 1);
    }

    /// Waits for the next call. Returns nothing if there are no more.
    fn wait_for_call(&self) -> Option<BatchLine> {
        let call = self.progress.next_call();
        if let Err(err) = &call {
            let text = format!("stdin cannot be read: {err}; the calls after this are not made");
            self.terminal.fail(&text, None);
        }
        if !matches!(call, Ok(Some(_))) {
            self.progress.change(|state| {
                state.waiting -= 1;
                state.has_failed |= call.is_err();
            });
        }
        call.ok().flatten()
    }

    /// Makes the call of one line and prints the reply. Returns nothing if the call does not stop when it must: it is
    /// answered all the same, and another thread takes the place of this one.
    fn answer(&self, batch: &Arc<BatchContext>, line: BatchLine) -> Option<ReplyState> {
        let calls = match &batch.calls {
            BatchCalls::Here(calls) => calls,
            BatchCalls::There(calls) => {
                let BatchLine { id, tool, args } = line;
                let reply = served::answer(calls, &tool, &args);
                return Some(print_reply(&id, &reply, self.terminal));
            }
        };
        let BatchLine { id, tool, args } = line;
        let call_id = toolcrib_ledger::new_call_id();
        let (session, caller) = (calls.session.clone(), Arc::clone(&calls.caller));
        let mut call = Call::new(call_id, session, caller, tool, Value::Null);
        let outcome = match args {
            Ok(args) => {
                call.args = args;
                let late = self.late_answer(id.clone());
                let cancel = batch.cancel.child();
                calls.runtime.call_here(call, &cancel, &calls.watchdog, late)?
            }
            Err(reason) => calls.runtime.reject(&call, &reason),
        };
        Some(print_reply(&id, &BatchReply::from(&outcome), self.terminal))
    }

    /// Returns what answers a call whose thread does not come back.
    fn late_answer(&self, id: String) -> LateAnswer {
        let (batch, progress) = (self.batch.clone(), Arc::clone(&self.progress));
        let (events, terminal) = (self.events.clone(), self.terminal);
        Arc::new(move |outcome| {
            let reply = print_reply(&id, &BatchReply::from(&outcome), terminal);
            let _events = events.enter();
            // The new thread counts in the place of the one that does not come back.
            if let Some(batch) = batch.upgrade() {
                Self::start(&batch, &progress);
            }
            progress.end(reply);
        })
    }
}

/// What became of the reply to a call.
#[derive(Clone, Copy)]
enum ReplyState {
    /// The reply of a successful call was printed.
    Succeeded,
    /// The reply of a failed call was printed.
    Failed,
    /// Nobody reads the replies any more.
    Unread,
}

/// Prints the reply to a call.
fn print_reply(id: &str, reply: &BatchReply<'_>, terminal: Terminal) -> ReplyState {
    let BatchReply { text, elapsed_us, unrecorded: reason, exit } = reply;
    if let Some(reason) = reason {
        terminal.warn(&unrecorded(reason));
    }
    if !print_json(&format!(r#"{{"id":{id},"reply":{text},"elapsed_us":{elapsed_us}}}"#)) {
        return ReplyState::Unread;
    }
    if *exit == Exit::Done { ReplyState::Succeeded } else { ReplyState::Failed }
}

/// Reads one line, and keeps no more of it than the longest call may have.
fn read_line(mut input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let most = strict_json::MAX_BYTES + 1;
    let mut line = Vec::new();
    if Read::by_ref(&mut input).take(most as u64).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.ends_with(b"\n") {
        line.pop();
    } else if line.len() == most {
        input.skip_until(b'\n')?;
    }
    Ok(Some(line))
}

fn parse(bytes: &[u8]) -> BatchLine {
    let wrong =
        |what: &str, reason: &str| ToolError::new(ErrorKind::BadArgs, format!("{what}: {reason}"));
    if bytes.len() > strict_json::MAX_BYTES {
        let reason = format!("it is longer than {} bytes", strict_json::MAX_BYTES);
        let error =
            wrong("invalid line", &reason).hint("write large content to a file in several calls");
        return unreadable(bytes, error);
    }
    let params: CallParams<'_> = match serde_json::from_slice(bytes) {
        Ok(params) => params,
        Err(err) => {
            let error = wrong("invalid line", &err.to_string())
                .hint(r#"write one call on each line: {"id": …, "tool": "…", "args": {…}}"#);
            return unreadable(bytes, error);
        }
    };
    let args = params.args.map_or("{}", RawValue::get);
    let args = strict_json::parse(args.as_bytes())
        .map_err(|reason| wrong("invalid arguments", &reason.message).hint("send one JSON object"));
    BatchLine { id: params.id.map_or("null", RawValue::get).to_owned(), tool: params.tool, args }
}

/// Returns the line for a call that cannot be read, with its id and tool if a lenient parser finds
/// them, because the caller tells replies apart by the id.
fn unreadable(bytes: &[u8], error: ToolError) -> BatchLine {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    BatchLine {
        id: value["id"].to_string(),
        tool: value["tool"].as_str().unwrap_or_default().into(),
        args: Err(error),
    }
}
