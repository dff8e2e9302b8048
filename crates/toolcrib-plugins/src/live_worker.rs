//! One module worker, seen from Toolcrib: it is given a module and tasks, and is not trusted in what it answers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use toolcrib_core::worker::{
    StartedWorker, WorkerControl, WorkerEnd, WorkerLimits, WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_core::{Cancel, ErrorKind, ToolError, Usage};

use crate::host_uses::{HostUses, UseError, UseKind};
use crate::line_pipe::{LinePipe, PipeEnd, PipeWait};
use crate::module_ctx::MAX_USE_BYTES;
use crate::worker_line::{
    EngineLimits, FromWorker, ModuleCall, ModuleEnd, ModuleLoad, ModuleUse, PROTOCOL, ToWorker,
    UseAnswer, UseOutcome,
};

/// How long a worker may be silent after the time of its task, in which it should have ended the task itself.
const KILL_AFTER: Duration = Duration::from_millis(100);

/// The most bytes of a line beside its result: what JSON makes of the console, the stack and the names.
const LINE_BYTES: usize = 512 << 10;

/// The memory of a worker beside that of its engine: the program, and copies of source, arguments and result.
const WORKER_BYTES: u64 = 128 << 20;

/// A module: the name that its errors are told with, and its source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ModuleCode {
    /// The name of its file.
    pub(crate) file: String,
    /// Its source.
    pub(crate) source: Arc<str>,
}

/// One call of a module.
pub(crate) struct ModuleTask<'a> {
    pub(crate) args: &'a Value,
    /// The most bytes of the result as JSON.
    pub(crate) result_bytes: usize,
    /// The functions that `ctx` has.
    pub(crate) uses: &'a [UseKind],
    /// The most uses of them.
    pub(crate) most_uses: u64,
    pub(crate) host: &'a dyn HostUses,
}

/// Why a worker gave no end of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum WorkerFault {
    /// It was silent when its time was over.
    Silent,
    /// The call was cancelled.
    Cancelled,
    /// It said something that no worker of ours says.
    Misbehaved(&'static str),
    /// It ended, in this way if that is known.
    Ended(Option<WorkerEnd>),
}

/// A worker that runs. It is killed when it is dropped.
pub(crate) struct LiveWorker {
    pipe: LinePipe,
    control: Arc<dyn WorkerControl>,
    limits: EngineLimits,
    code: Option<Arc<ModuleCode>>,
    /// How many tasks it was given, which is also the id of the latest.
    tasks: u64,
    is_ready: bool,
    has_used: bool,
    /// The processor time that calls were charged with, in microseconds.
    charged_cpu_us: u64,
}

impl LiveWorker {
    /// Starts a worker without a module.
    pub(crate) fn start(workers: &dyn Workers, limits: EngineLimits) -> Result<Self, ToolError> {
        let request = WorkerRequest {
            program: WorkerProgram::ModuleWorker,
            environment: Vec::new(),
            folders: Vec::new(),
            hosts: Vec::new(),
            limits: WorkerLimits {
                memory: limits.memory as u64 + WORKER_BYTES,
                processes: 4,
                cpus: 1.0,
                scratch: 0,
            },
        };
        let StartedWorker { input, output, control } = workers.start(&request)?;
        let pipe = LinePipe::new(input, output).map_err(|err| {
            ToolError::new(ErrorKind::Io, format!("the pipes of a worker failed: {err}"))
        })?;
        Ok(Self {
            pipe,
            control,
            limits,
            code: None,
            tasks: 0,
            is_ready: false,
            has_used: false,
            charged_cpu_us: 0,
        })
    }

    /// Returns the module that it serves.
    pub(crate) fn code(&self) -> Option<&Arc<ModuleCode>> {
        self.code.as_ref()
    }

    /// Returns how many tasks it was given.
    pub(crate) fn tasks(&self) -> u64 {
        self.tasks
    }

    /// Whether its module has used `ctx` in the latest task, and so may have changed something.
    pub(crate) fn has_used(&self) -> bool {
        self.has_used
    }

    /// Returns the most memory that it has used.
    pub(crate) fn peak_memory(&self) -> u64 {
        self.control.usage().peak_memory
    }

    /// Returns what the latest call has used. A worker that gave no end of it is killed first: only then is all known.
    pub(crate) fn usage_of(&mut self, ended: &Result<ModuleEnd, WorkerFault>) -> Usage {
        let cpu_us = if let Ok(end) = ended {
            end.cpu_us
        } else {
            self.control.kill();
            self.control.usage().cpu_us.saturating_sub(self.charged_cpu_us)
        };
        self.charged_cpu_us += cpu_us;
        Usage { cpu_us, peak_memory: self.peak_memory(), ..Usage::default() }
    }

    /// Whether it can be given a task: it runs, and has said nothing that nobody asked for.
    pub(crate) fn is_fit(&mut self) -> bool {
        // A worker that was never given a task may not have said that it is up, or may have.
        self.control.end().is_none() && (!self.is_ready || self.pipe.is_quiet())
    }

    /// Asks for the module's exports.
    pub(crate) fn describe(
        &mut self,
        code: &Arc<ModuleCode>,
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Result<Box<RawValue>, ModuleEnd>, WorkerFault> {
        let id = self.tasks + 1;
        let until = Instant::now() + time;
        let wait = PipeWait { until: until + KILL_AFTER, cancel };
        self.give(code, &ToWorker::Describe { id, time_ms: milliseconds(time) }, wait)?;
        match self.receive(wait, LINE_BYTES)? {
            FromWorker::Described { id: told, exports } if told == id => Ok(Ok(exports)),
            FromWorker::End(end) if end.id == id => Ok(Err(end)),
            FromWorker::Ready { .. }
            | FromWorker::Described { .. }
            | FromWorker::Use(_)
            | FromWorker::End(_) => Err(WorkerFault::Misbehaved("it answered for another task")),
        }
    }

    /// Runs a call, and answers its uses.
    pub(crate) fn call(
        &mut self,
        code: &Arc<ModuleCode>,
        task: &ModuleTask<'_>,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<ModuleEnd, WorkerFault> {
        let id = self.tasks + 1;
        let args = to_raw_value(task.args)
            .map_err(|_| WorkerFault::Misbehaved("its arguments could not be written"))?;
        let call = ModuleCall {
            id,
            args,
            time_ms: milliseconds(until.saturating_duration_since(Instant::now())),
            result: task.result_bytes,
            uses: task.uses.to_vec(),
        };
        let mut wait = PipeWait { until: until + KILL_AFTER, cancel };
        self.give(code, &ToWorker::Call(call), wait)?;
        let most_bytes = LINE_BYTES + task.result_bytes.max(MAX_USE_BYTES);
        let (mut count, mut waited) = (0, Duration::ZERO);
        loop {
            match self.receive(wait, most_bytes)? {
                FromWorker::End(end) if end.id == id => return Ok(end),
                FromWorker::Use(asked) if asked.id == id && asked.number == count + 1 => {
                    count += 1;
                    self.has_used = true;
                    let outcome = outcome_of(task, &asked)?;
                    let more = task.host.waited().saturating_sub(waited);
                    waited += more;
                    wait.until += more;
                    let more_ms = milliseconds(more);
                    let answer = UseAnswer { number: asked.number, more_ms, outcome };
                    self.send(&ToWorker::Answer(answer), wait)?;
                }
                FromWorker::Ready { .. }
                | FromWorker::Described { .. }
                | FromWorker::Use(_)
                | FromWorker::End(_) => {
                    return Err(WorkerFault::Misbehaved("it answered for another task"));
                }
            }
        }
    }

    /// Gives the worker a task, and its module before the first.
    fn give(
        &mut self,
        code: &Arc<ModuleCode>,
        task: &ToWorker,
        wait: PipeWait<'_>,
    ) -> Result<(), WorkerFault> {
        self.tasks += 1;
        self.has_used = false;
        if self.code.is_none() {
            let (file, source) = (code.file.clone(), code.source.to_string());
            self.send(&ToWorker::Load(ModuleLoad { file, source, limits: self.limits }), wait)?;
            self.code = Some(Arc::clone(code));
        }
        self.send(task, wait)?;
        if !self.is_ready {
            match self.receive(wait, LINE_BYTES)? {
                FromWorker::Ready { protocol: PROTOCOL } => self.is_ready = true,
                FromWorker::Ready { .. } => {
                    return Err(WorkerFault::Misbehaved("it is of another version of Toolcrib"));
                }
                FromWorker::Described { .. } | FromWorker::Use(_) | FromWorker::End(_) => {
                    return Err(WorkerFault::Misbehaved("it answered before it was up"));
                }
            }
        }
        Ok(())
    }

    fn send(&self, line: &ToWorker, wait: PipeWait<'_>) -> Result<(), WorkerFault> {
        let mut text = serde_json::to_vec(line)
            .map_err(|_| WorkerFault::Misbehaved("its task could not be written"))?;
        text.push(b'\n');
        self.pipe.send(&text, wait).map_err(|end| self.fault_of(end))
    }

    fn receive(
        &mut self,
        wait: PipeWait<'_>,
        most_bytes: usize,
    ) -> Result<FromWorker, WorkerFault> {
        let line = self.pipe.receive(wait, most_bytes);
        let line = line.map_err(|end| self.fault_of(end))?;
        serde_json::from_slice(&line)
            .map_err(|_| WorkerFault::Misbehaved("its answer is not one of a worker"))
    }

    fn fault_of(&self, end: PipeEnd) -> WorkerFault {
        match end {
            PipeEnd::TimeOver => WorkerFault::Silent,
            PipeEnd::Cancelled => WorkerFault::Cancelled,
            PipeEnd::TooLong => WorkerFault::Misbehaved("its answer is too long"),
            PipeEnd::Closed => WorkerFault::Ended(self.end_soon()),
        }
    }

    /// Returns how the worker ended. Its pipe closes a moment before its end is known.
    fn end_soon(&self) -> Option<WorkerEnd> {
        for _ in 0..50 {
            if let Some(end) = self.control.end() {
                return Some(end);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for LiveWorker {
    fn drop(&mut self) {
        self.control.kill();
    }
}

/// Answers one use.
fn outcome_of(task: &ModuleTask<'_>, asked: &ModuleUse) -> Result<UseOutcome, WorkerFault> {
    if !task.uses.contains(&asked.kind) {
        return Err(WorkerFault::Misbehaved("it used a function that it was not given"));
    }
    if asked.number > task.most_uses {
        let message = format!("the call has used `ctx` {} times already", task.most_uses);
        return Ok(refused("use_budget_spent", message));
    }
    let Ok(args) = serde_json::from_str::<Value>(asked.args.get()) else {
        let message = "the arguments have a text that is not Unicode, or are nested too deep";
        return Ok(refused("bad_args", message.to_owned()));
    };
    Ok(match task.host.answer(asked.kind, &args) {
        Err(error) => UseOutcome::Error(error),
        Ok(value) => match to_raw_value(&value) {
            Ok(value) => UseOutcome::Value(value),
            Err(err) => refused("io_error", format!("the answer could not be written: {err}")),
        },
    })
}

fn refused(code: &str, message: String) -> UseOutcome {
    UseOutcome::Error(UseError { code: code.to_owned(), message })
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
