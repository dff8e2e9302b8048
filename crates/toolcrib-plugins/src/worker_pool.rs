//! The pool of module workers: few processes for many calls, each of one module only.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use serde_json::Value;
use toolcrib_core::worker::Workers;
use toolcrib_core::{Cancel, ErrorKind, Meter, ToolError};

use crate::live_worker::{LiveWorker, ModuleCode, ModuleTask, WorkerFault};
use crate::module_failure::{RunFacts, no_worker, plugin_error};
use crate::plugin_declaration::PluginDeclaration;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::pool_bell::PoolBell;
use crate::worker_counts::WorkerCounts;
use crate::worker_line::{Console, EndKind, EngineLimit, EngineLimits, ModuleEnd};

/// The longest source of a module, in bytes.
pub const MAX_SOURCE_BYTES: usize = 1 << 20;

/// The time in which a module must have run its top level when it is described.
const DESCRIBE_TIME: Duration = Duration::from_secs(5);

/// The most that a module prints to its console in one call, in bytes.
const CONSOLE_BYTES: usize = 16 << 10;

/// How many calls wait for each worker before a further one is refused.
const QUEUE_PER_WORKER: usize = 16;

/// After how many calls the memory of a worker is looked at.
const MEMORY_CHECK_CALLS: u64 = 64;

/// The limits of a pool and its workers.
#[derive(Clone, Copy, Debug)]
pub struct PoolLimits {
    /// The most workers at a time.
    pub workers: usize,
    /// After how many calls a worker is replaced.
    pub calls_per_worker: u64,
    /// The most memory of a module, in bytes.
    pub memory_bytes: usize,
    /// The most stack of a module, in bytes.
    pub stack_bytes: usize,
    /// The most uses of `ctx` in one call.
    pub uses: u64,
    /// Whether a worker without a module is kept ready, for a module that is called for the first time.
    pub has_spare: bool,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self {
            workers: 4,
            calls_per_worker: 1000,
            memory_bytes: 64 << 20,
            stack_bytes: 512 << 10,
            uses: 1000,
            has_spare: false,
        }
    }
}

/// The pool of module workers. The workers are killed when it is closed or dropped.
pub struct WorkerPool {
    workers: Arc<dyn Workers>,
    limits: PoolLimits,
    state: Mutex<PoolState>,
    changed: Arc<PoolBell>,
}

#[derive(Default)]
struct PoolState {
    /// The workers that wait for a call; the one that waits longest is the first.
    idle: Vec<IdleWorker>,
    /// How many workers have a call or are being started.
    taken: usize,
    /// How many calls wait for a worker.
    waiting: usize,
    /// The modules that tools are made of, and how many tools are made of each.
    users: Vec<(Arc<ModuleCode>, usize)>,
    is_closed: bool,
}

struct IdleWorker {
    worker: LiveWorker,
    /// Its memory after its first check.
    first_memory: Option<u64>,
}

/// How long a call may wait and run.
#[derive(Clone, Copy)]
pub(crate) struct TaskTime<'a> {
    /// The time of the call.
    pub(crate) time: Duration,
    /// The cancellation token of the call.
    pub(crate) cancel: &'a Cancel,
    /// Whether a module made the call.
    pub(crate) is_inner: bool,
    /// Where what the worker uses is counted.
    pub(crate) meter: &'a Meter,
}

/// What a call returned, and what its module printed.
#[derive(Debug)]
pub(crate) struct ModuleReply {
    pub(crate) result: Value,
    pub(crate) console: Console,
}

impl WorkerPool {
    /// Makes a pool. No worker is started yet.
    pub fn new(workers: Arc<dyn Workers>, limits: PoolLimits) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Arc::default());
        Arc::new(Self { workers, limits, state, changed })
    }

    /// Returns how many workers there are.
    pub fn running(&self) -> usize {
        let WorkerCounts { busy, idle, .. } = self.counts();
        busy + idle
    }

    /// Returns how many workers are busy, and how many are ready.
    pub fn counts(&self) -> WorkerCounts {
        let state = self.state();
        WorkerCounts { busy: state.taken, idle: state.idle.len(), most: self.limits.workers }
    }

    /// Kills every idle worker, and lets no further call begin. Calls that run are ended by their tokens.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(idle);
        self.changed.ring();
    }

    /// Starts a worker without a module, if there is none and there is room.
    pub fn warm(&self) {
        {
            let mut state = self.state();
            let is_full = state.taken + state.idle.len() >= self.limits.workers;
            let has_blank = state.idle.iter().any(|idle| idle.worker.code().is_none());
            if state.is_closed || is_full || has_blank {
                return;
            }
            state.taken += 1;
        }
        // A worker that cannot be started now is an error of the call that needs it.
        if let Ok(taken) = self.start() {
            taken.give_back();
        }
    }

    /// Runs a module's top level in a worker, once, and returns its declaration.
    pub fn describe(
        &self,
        file: &str,
        source: &Arc<str>,
        cancel: &Cancel,
    ) -> Result<PluginDeclaration, PluginError> {
        if source.len() > MAX_SOURCE_BYTES {
            let message = format!("{file} is longer than {MAX_SOURCE_BYTES} bytes");
            return Err(PluginError::new(PluginErrorKind::TooLarge, message)
                .hint("leave out what the tool does not need"));
        }
        let code = Arc::new(ModuleCode { file: file.to_owned(), source: Arc::clone(source) });
        let facts = self.facts(&code, DESCRIBE_TIME, 0);
        let busy = |err: ToolError| {
            let told = PluginError::new(PluginErrorKind::Busy, err.message);
            told.hint(err.hint.unwrap_or_else(|| "try again".to_owned()))
        };
        let until = Instant::now() + DESCRIBE_TIME;
        let mut taken = self.take(&code, self.limits.workers, until, cancel).map_err(busy)?;
        let described = taken.idle.worker.describe(&code, DESCRIBE_TIME, cancel);
        // The worker ran code that nobody has approved, so no call gets it.
        drop(taken);
        let exports = match described {
            Ok(Ok(exports)) => exports,
            Ok(Err(end)) => {
                return Err(plugin_error(facts.error_of_end(&end.how, &end.console)));
            }
            Err(fault) => return Err(plugin_error(facts.error_of_fault(&fault))),
        };
        let exports: Value = serde_json::from_str(exports.get()).map_err(|err| {
            let message = format!("the exports of {file} cannot be kept: {err}");
            PluginError::new(PluginErrorKind::BadModule, message)
                .hint("let texts be Unicode without lone surrogates")
        })?;
        PluginDeclaration::of_exports(&exports)
    }

    /// Calls a module.
    pub(crate) fn call(
        self: &Arc<Self>,
        code: &Arc<ModuleCode>,
        task: &ModuleTask<'_>,
        time: TaskTime<'_>,
    ) -> Result<ModuleReply, ToolError> {
        let facts = self.facts(code, time.time, task.result_bytes);
        let until = Instant::now() + time.time;
        // A call that a module made has a seat of its own: the one that made it keeps its seat until this one is over.
        let most = if time.is_inner { self.limits.workers * 2 } else { self.limits.workers };
        let mut taken = self.take(code, most, until, time.cancel)?;
        self.replace_spare(&taken);
        let is_used = taken.idle.worker.tasks() > 0;
        let mut ended = taken.idle.worker.call(code, task, until, time.cancel);
        time.meter.add(&taken.idle.worker.usage_of(&ended));
        // A worker that went away or misbehaved after its last call has done nothing for this one.
        let is_stale = matches!(ended, Err(WorkerFault::Ended(_) | WorkerFault::Misbehaved(_)));
        if is_used && is_stale && !taken.idle.worker.has_used() {
            drop(taken);
            taken = self.take(code, most, until, time.cancel)?;
            ended = taken.idle.worker.call(code, task, until, time.cancel);
            time.meter.add(&taken.idle.worker.usage_of(&ended));
        }
        let ModuleEnd { how, console, .. } = match ended {
            Ok(end) => end,
            Err(fault) => {
                drop(taken);
                return Err(facts.error_of_fault(&fault));
            }
        };
        if leaves_worker_clean(&how) {
            taken.give_back();
        } else {
            drop(taken);
        }
        let EndKind::Done(result) = how else { return Err(facts.error_of_end(&how, &console)) };
        if result.get().len() > task.result_bytes {
            let how = EndKind::Limit(EngineLimit::Result);
            return Err(facts.error_of_end(&how, &console));
        }
        let result = serde_json::from_str(result.get()).map_err(|err| {
            let message = format!("the result of {} cannot be kept: {err}", code.file);
            ToolError::new(ErrorKind::Failed, message)
                .with("reason", "bad_result")
                .hint("let texts be Unicode without lone surrogates")
        })?;
        Ok(ModuleReply { result, console })
    }

    /// Says that a tool is made of this module.
    pub(crate) fn join(&self, code: &Arc<ModuleCode>) {
        let mut state = self.state();
        match state.users.iter_mut().find(|(used, _)| used == code) {
            Some((_, count)) => *count += 1,
            None => state.users.push((Arc::clone(code), 1)),
        }
    }

    /// Says that a tool that was made of this module is gone. With the last one, the module's workers go.
    pub(crate) fn leave(&self, code: &Arc<ModuleCode>) {
        let mut state = self.state();
        let Some(at) = state.users.iter().position(|(used, _)| used == code) else { return };
        state.users[at].1 -= 1;
        if state.users[at].1 > 0 {
            return;
        }
        state.users.swap_remove(at);
        let gone: Vec<_> =
            state.idle.extract_if(.., |idle| idle.worker.code() == Some(code)).collect();
        drop(state);
        let any_gone = !gone.is_empty();
        drop(gone);
        if any_gone {
            self.changed.ring();
        }
    }

    /// Returns the most uses of `ctx` in one call.
    pub(crate) fn most_uses(&self) -> u64 {
        self.limits.uses
    }

    fn engine_limits(&self) -> EngineLimits {
        let PoolLimits { memory_bytes: memory, stack_bytes: stack, .. } = self.limits;
        EngineLimits { memory, stack, console: CONSOLE_BYTES }
    }

    fn facts<'a>(&self, code: &'a ModuleCode, time: Duration, result_bytes: usize) -> RunFacts<'a> {
        RunFacts { file: &code.file, time, result_bytes, limits: self.engine_limits() }
    }

    /// Takes a worker for a module: one that serves it, else one without a module, else a new one if there are fewer than
    /// `most`.
    fn take(
        &self,
        code: &Arc<ModuleCode>,
        most: usize,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<TakenWorker<'_>, ToolError> {
        let waker = Waker::from(Arc::clone(&self.changed));
        let mut cancelled = pin!(cancel.cancelled());
        let mut has_waited = false;
        loop {
            let count = self.changed.count();
            if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if has_waited && left.is_zero() {
                return Err(no_worker(ErrorKind::Timeout, "and the time of the call is over"));
            }
            let seat = self.state().seat_for(code, most)?;
            match seat {
                Seat::Worker(idle) => {
                    let mut taken = TakenWorker { idle, seat: TakenSeat(self) };
                    if taken.idle.worker.is_fit() {
                        return Ok(taken);
                    }
                }
                Seat::Room(replaced) => {
                    drop(replaced);
                    return self.start();
                }
                Seat::Full => {
                    let _waiting = QueuedCall::begin(self)?;
                    self.changed.wait(count, left);
                    has_waited = true;
                }
            }
        }
    }

    /// Starts a worker for a seat that was taken.
    fn start(&self) -> Result<TakenWorker<'_>, ToolError> {
        let seat = TakenSeat(self);
        let worker = LiveWorker::start(&*self.workers, self.engine_limits())?;
        Ok(TakenWorker { idle: IdleWorker { worker, first_memory: None }, seat })
    }

    /// Starts another spare on a thread of its own, if this call has taken the one there was.
    fn replace_spare(self: &Arc<Self>, taken: &TakenWorker<'_>) {
        if self.limits.has_spare && taken.idle.worker.code().is_none() {
            let pool = Arc::clone(self);
            // Without a thread, the next module waits for its worker.
            let _ = std::thread::Builder::new()
                .name("spare-worker".to_owned())
                .spawn(move || pool.warm());
        }
    }

    fn state(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call found when it asked for a worker.
enum Seat {
    /// An idle worker.
    Worker(IdleWorker),
    /// Room for another worker, perhaps in the place of one that serves another module.
    Room(Option<IdleWorker>),
    /// Nothing yet.
    Full,
}

impl PoolState {
    fn seat_for(&mut self, code: &Arc<ModuleCode>, most: usize) -> Result<Seat, ToolError> {
        if self.is_closed {
            let message = "Toolcrib is ending, and starts no module any more";
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        if self.taken >= most {
            return Ok(Seat::Full);
        }
        let serves = |wanted: Option<&Arc<ModuleCode>>| {
            self.idle.iter().rposition(|idle| idle.worker.code() == wanted)
        };
        let seat = match serves(Some(code)).or_else(|| serves(None)) {
            Some(at) => Seat::Worker(self.idle.remove(at)),
            None if self.taken + self.idle.len() < most || self.idle.is_empty() => Seat::Room(None),
            None => Seat::Room(Some(self.idle.remove(0))),
        };
        self.taken += 1;
        Ok(seat)
    }
}

/// A worker that has a call. Dropped, it is killed, and then its seat is free.
struct TakenWorker<'a> {
    idle: IdleWorker,
    seat: TakenSeat<'a>,
}

impl TakenWorker<'_> {
    /// Gives the worker back, for the next call of its module.
    fn give_back(self) {
        let Self { mut idle, seat } = self;
        let pool = seat.0;
        let is_good = idle.is_good_for_more(&pool.limits);
        let mut state = pool.state();
        let is_wanted = match idle.worker.code() {
            Some(code) => state.users.iter().any(|(used, _)| used == code),
            None => true,
        };
        if is_good && is_wanted && !state.is_closed {
            state.idle.push(idle);
        } else {
            // To kill takes its time, which nobody else should wait for.
            drop(state);
            drop(idle);
        }
    }
}

impl IdleWorker {
    fn is_good_for_more(&mut self, limits: &PoolLimits) -> bool {
        let tasks = self.worker.tasks();
        if tasks == 0 || !tasks.is_multiple_of(MEMORY_CHECK_CALLS) {
            return tasks < limits.calls_per_worker;
        }
        let memory = self.worker.peak_memory();
        let first = *self.first_memory.get_or_insert(memory);
        tasks < limits.calls_per_worker && memory <= first.saturating_mul(2)
    }
}

/// One of the seats of the pool, free again when it is dropped.
struct TakenSeat<'a>(&'a WorkerPool);

impl Drop for TakenSeat<'_> {
    fn drop(&mut self) {
        self.0.state().taken -= 1;
        self.0.changed.ring();
    }
}

/// A call that waits for a worker.
struct QueuedCall<'a>(&'a WorkerPool);

impl<'a> QueuedCall<'a> {
    fn begin(pool: &'a WorkerPool) -> Result<Self, ToolError> {
        let mut state = pool.state();
        if state.waiting >= pool.limits.workers * QUEUE_PER_WORKER {
            return Err(no_worker(ErrorKind::Unavailable, "and too many calls wait for one"));
        }
        state.waiting += 1;
        Ok(Self(pool))
    }
}

impl Drop for QueuedCall<'_> {
    fn drop(&mut self) {
        self.0.state().waiting -= 1;
    }
}

/// Whether the worker can be trusted with another call. The engine is another one in each call; after the time, the
/// memory or the stack was used up, the process may still hold what the engine could not free.
fn leaves_worker_clean(how: &EndKind) -> bool {
    match how {
        EndKind::Done(_) | EndKind::Threw(_) | EndKind::BadExport(_) => true,
        EndKind::Limit(limit) => match limit {
            EngineLimit::Time
            | EngineLimit::Memory
            | EngineLimit::MemoryOrNull
            | EngineLimit::Stack => false,
            EngineLimit::Result | EngineLimit::Depth | EngineLimit::NeverSettles => true,
        },
    }
}
