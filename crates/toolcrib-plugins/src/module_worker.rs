//! The worker process that runs modules: it reads lines from its input, and answers each task with one line.

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::rc::Rc;

use rustix::time::{ClockId, clock_gettime};

use crate::module_ctx::{EngineTask, ModuleHost};
use crate::module_engine::{AfterRun, run_once};
use crate::worker_line::{FromWorker, ModuleLoad, ModuleUse, PROTOCOL, ToWorker, UseAnswer};

/// The word after the program's name that makes it a module worker.
pub const MODULE_WORKER: &str = "__module_worker";

/// Runs this process as a module worker, if it was started as one. Returns otherwise.
pub fn enter() {
    if std::env::args_os().nth(1).is_some_and(|word| word == MODULE_WORKER) {
        serve(io::stdin().lock(), io::stdout().lock());
        #[expect(clippy::exit, reason = "the process is the worker, and its work is done")]
        std::process::exit(0);
    }
}

/// Serves modules until the input ends.
pub fn serve(input: impl Read + 'static, output: impl Write + 'static) {
    let worker = Rc::new(WorkerSide {
        input: RefCell::new(Box::new(BufReader::new(input))),
        output: RefCell::new(Box::new(output)),
        next_load: RefCell::new(None),
        is_closed: Cell::new(false),
        told_cpu_us: Cell::new(0),
    });
    worker.send(&FromWorker::Ready { protocol: PROTOCOL });
    let host: Rc<dyn ModuleHost> = Rc::clone(&worker) as Rc<dyn ModuleHost>;
    let mut load = None;
    while !worker.is_closed.get() {
        if let Some(next) = worker.next_load.take() {
            load = Some(next);
        }
        match &load {
            Some(load) => {
                let _: AfterRun = run_once(load, &host);
            }
            // Without a module there can be no task; only a module can come.
            None => {
                if host.next_task().is_some() {
                    return;
                }
            }
        }
    }
}

/// The pipes of a worker. Whatever goes wrong with them ends the worker: its host is the only one that it works for.
struct WorkerSide {
    input: RefCell<Box<dyn BufRead>>,
    output: RefCell<Box<dyn Write>>,
    /// A module that came while a task was waited for.
    next_load: RefCell<Option<ModuleLoad>>,
    is_closed: Cell<bool>,
    /// The processor time that the host knows of.
    told_cpu_us: Cell<u64>,
}

/// Returns the processor time of this process, in microseconds.
fn cpu_us() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000 + time.tv_nsec.unsigned_abs() / 1000
}

impl WorkerSide {
    fn receive(&self) -> Option<ToWorker> {
        let mut line = Vec::new();
        let read = self.input.borrow_mut().read_until(b'\n', &mut line);
        let message = match read {
            Ok(length) if length > 0 => serde_json::from_slice(&line).ok(),
            _ => None,
        };
        self.is_closed.set(message.is_none());
        message
    }

    fn send(&self, line: &FromWorker) {
        let sent = serde_json::to_vec(line).map_err(io::Error::other).and_then(|mut text| {
            text.push(b'\n');
            let mut output = self.output.borrow_mut();
            output.write_all(&text).and_then(|()| output.flush())
        });
        if sent.is_err() {
            self.is_closed.set(true);
        }
    }
}

impl ModuleHost for WorkerSide {
    fn next_task(&self) -> Option<EngineTask> {
        match self.receive()? {
            ToWorker::Load(load) => {
                self.next_load.replace(Some(load));
                None
            }
            ToWorker::Describe { id, time_ms } => Some(EngineTask::Describe { id, time_ms }),
            ToWorker::Call(call) => Some(EngineTask::Call(call)),
            ToWorker::Answer(_) => {
                self.is_closed.set(true);
                None
            }
        }
    }

    fn answer(&self, asked: ModuleUse) -> Option<UseAnswer> {
        self.send(&FromWorker::Use(asked));
        match self.receive()? {
            ToWorker::Answer(answer) => Some(answer),
            ToWorker::Load(_) | ToWorker::Describe { .. } | ToWorker::Call(_) => {
                self.is_closed.set(true);
                None
            }
        }
    }

    fn finish(&self, mut line: FromWorker) {
        if let FromWorker::End(end) = &mut line {
            let now = cpu_us();
            end.cpu_us = now.saturating_sub(self.told_cpu_us.replace(now));
        }
        self.send(&line);
    }
}
