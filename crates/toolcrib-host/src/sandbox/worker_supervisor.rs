//! The supervisor of one worker: a thread that reads its errors, watches its limits, and says how it ended.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Instant, SystemTime};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};
use toolcrib_core::command::{End, Limit, Usage};
use toolcrib_core::worker::{WorkerControl, WorkerEnd, WorkerLimits};
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_inside::wire::{self, Report};

use super::growth::Growth;
use super::launch::ReadyLauncher;
use super::network_link::NetworkLink;
use super::runner::lock;
use super::sample::Sample;
use super::supervisor::{KILL_GRACE, check_pause};
use super::worker_start::WorkerHandles;

/// How many bytes of the errors that a worker prints are kept.
const MOST_PRINTED_BYTES: usize = 16 << 10;

/// What a worker may use.
pub(super) struct WorkerBounds {
    pub(super) limits: WorkerLimits,
    /// How much the file systems of its writable folders grow.
    pub(super) growth: Growth,
    /// The most bytes, and the most files, that they may grow by.
    pub(super) most_growth: (u64, u64),
    pub(super) network: NetworkLink,
}

/// Supervises one worker.
pub(super) struct WorkerSupervisor {
    worker: Arc<SupervisedWorker>,
    bounds: WorkerBounds,
    control: OwnedFd,
    errors: Option<OwnedFd>,
    started: Instant,
    /// The start by the clock of files.
    began: SystemTime,
    next_check: Instant,
    /// How the program itself ended.
    exited: Option<i32>,
    /// Held for as long as the worker runs, because the worker ends with its launcher.
    launcher: Arc<ReadyLauncher>,
}

/// A worker, as its supervisor and its owner share it.
struct SupervisedWorker {
    first: OwnedFd,
    pid: Option<Pid>,
    most_processes: u64,
    progress: Mutex<WorkerProgress>,
    ended: Condvar,
}

/// What is known of a worker so far.
#[derive(Default)]
struct WorkerProgress {
    usage: Usage,
    printed: VecDeque<u8>,
    /// Why we killed it, if we did.
    stopped: Option<WorkerEnd>,
    end: Option<WorkerEnd>,
}

/// The owner's hold on a worker, which is killed when it is dropped.
struct WorkerHandle(Arc<SupervisedWorker>);

impl WorkerSupervisor {
    /// Starts the thread that supervises a worker, and returns the hold on that worker.
    pub(super) fn start(
        handles: WorkerHandles,
        control: OwnedFd,
        errors: OwnedFd,
        mut bounds: WorkerBounds,
        launcher: Arc<ReadyLauncher>,
    ) -> Result<Arc<dyn WorkerControl>, ToolError> {
        let WorkerHandles { first, pid, listener } = handles;
        if let Some(listener) = listener {
            bounds.network.serve(listener);
        }
        let worker = Arc::new(SupervisedWorker {
            first,
            pid,
            most_processes: bounds.limits.processes,
            progress: Mutex::default(),
            ended: Condvar::new(),
        });
        let started = Instant::now();
        let supervisor = Self {
            worker: Arc::clone(&worker),
            bounds,
            control,
            errors: Some(errors),
            started,
            began: SystemTime::now(),
            next_check: started + check_pause(started.elapsed()),
            exited: None,
            launcher,
        };
        // If there is no thread, the control connection closes, and the worker ends.
        thread::Builder::new().name("worker".to_owned()).spawn(move || supervisor.run()).map_err(
            |err| {
                let message = format!("no thread could be started for the worker: {err}");
                ToolError::new(ErrorKind::Io, message).hint("try again when fewer workers run")
            },
        )?;
        Ok(Arc::new(WorkerHandle(worker)))
    }

    fn run(mut self) {
        loop {
            match self.turn() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => {
                    self.worker.stop(WorkerEnd { end: End::Killed, limit: None });
                    break;
                }
            }
        }
        self.drain_errors();
        let Self { worker, mut bounds, control, exited, launcher, .. } = self;
        bounds.network.close();
        drop(control);
        // Whoever waits for the end finds nothing left of it, not even its launcher.
        drop(launcher);
        worker.finish(exited, &bounds.limits);
    }

    /// Waits for the next event and handles it. Returns `false` when every process of the worker is gone.
    fn turn(&mut self) -> io::Result<bool> {
        let timeout = self.next_check.saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: timeout.as_secs().cast_signed(),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let (has_report, has_errors) = {
            let mut polls = vec![PollFd::new(&self.control, PollFlags::IN)];
            polls.extend(self.errors.as_ref().map(|fd| PollFd::new(fd, PollFlags::IN)));
            match poll(&mut polls, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let is_ready =
                |number: usize| polls.get(number).is_some_and(|it| !it.revents().is_empty());
            (is_ready(0), is_ready(1))
        };
        if has_errors {
            self.read_errors();
        }
        if has_report && !self.receive_report() {
            return Ok(false);
        }
        if Instant::now() >= self.next_check {
            self.next_check = Instant::now() + check_pause(self.started.elapsed());
            self.check_limits();
        }
        Ok(true)
    }

    fn read_errors(&mut self) {
        let Some(errors) = &self.errors else { return };
        let mut buffer = [0; 4096];
        match rustix::io::read(errors, &mut buffer) {
            Ok(0) => self.errors = None,
            Ok(count) => self.worker.keep_printed(&buffer[..count]),
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
            Err(_) => self.errors = None,
        }
    }

    /// Reads what is left of the errors, without waiting for more.
    fn drain_errors(&mut self) {
        while let Some(errors) = &self.errors {
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            match poll(&mut [PollFd::new(errors, PollFlags::IN)], Some(&at_once)) {
                Ok(0) | Err(_) => return,
                Ok(_) => self.read_errors(),
            }
        }
    }

    /// Returns `false` when the other ends are closed, so that every process is gone.
    fn receive_report(&mut self) -> bool {
        let Ok(Some((report, _))) = wire::receive::<Report>(&self.control) else { return false };
        let mut progress = lock(&self.worker.progress);
        match report {
            Report::Exited { status, processes } => {
                self.exited = Some(status);
                progress.usage.processes = progress.usage.processes.max(processes);
            }
            Report::Gone { cpu_us, peak_memory, read_bytes, written_bytes } => {
                let usage =
                    Usage { cpu_us, peak_memory, read_bytes, written_bytes, ..Usage::default() };
                progress.raise(&usage);
            }
            Report::Ended { cpu_us, peak_memory } => {
                progress.raise(&Usage { cpu_us, peak_memory, ..Usage::default() });
            }
            Report::Started | Report::Ready | Report::Running | Report::Failed { .. } => {}
        }
        true
    }

    /// Kills the worker if it has passed a limit.
    fn check_limits(&mut self) {
        if self.exited.is_some() {
            return;
        }
        let limits = self.bounds.limits;
        let limit = if self.bounds.network.is_spent() {
            Some(Limit::Network)
        } else if let Some(sample) = self.worker.measure() {
            // The sample counts shared memory once for each process. The exact sum is costly, so it is taken on
            // suspicion.
            if sample.memory > limits.memory && sample.exact_memory() > limits.memory {
                Some(Limit::Memory)
            } else if sample.processes > limits.processes + 1 {
                Some(Limit::Processes)
            } else {
                let (bytes, files) = self.bounds.most_growth;
                let grown = self.bounds.growth.check(sample.written, bytes, files, self.began);
                grown.map(|(limit, ..)| limit)
            }
        } else {
            None
        };
        if limit.is_some() {
            self.worker.stop(WorkerEnd { end: End::Limited, limit });
        }
    }
}

impl SupervisedWorker {
    /// Measures what the worker uses, unless it is gone.
    fn measure(&self) -> Option<Sample> {
        let sample = Sample::take(self.pid?, self.most_processes + 1);
        let usage = Usage {
            cpu_us: sample.cpu_us,
            peak_memory: sample.memory,
            read_bytes: sample.read,
            written_bytes: sample.written,
            processes: sample.processes,
            struck: None,
        };
        lock(&self.progress).raise(&usage);
        Some(sample)
    }

    /// Kills the worker, for this reason.
    fn stop(&self, why: WorkerEnd) {
        let mut progress = lock(&self.progress);
        if progress.end.is_none() {
            progress.stopped.get_or_insert(why);
            // The kernel ends all others with the first process inside.
            let _ = pidfd_send_signal(&self.first, Signal::KILL);
        }
    }

    fn keep_printed(&self, bytes: &[u8]) {
        let mut progress = lock(&self.progress);
        progress.printed.extend(bytes);
        let excess = progress.printed.len().saturating_sub(MOST_PRINTED_BYTES);
        progress.printed.drain(..excess);
    }

    /// Says how the worker ended. A program that ended by itself did so before we could kill it.
    fn finish(&self, exited: Option<i32>, limits: &WorkerLimits) {
        let mut progress = lock(&self.progress);
        let end = match (exited, progress.stopped) {
            (Some(status), _) => ended_by_itself(status, &progress.usage, limits),
            (None, Some(stopped)) => stopped,
            // Another program ended the first process inside.
            (None, None) => WorkerEnd { end: End::Signalled(libc::SIGKILL), limit: None },
        };
        progress.usage.struck = end.limit;
        progress.end = Some(end);
        self.ended.notify_all();
    }
}

impl WorkerProgress {
    /// Raises what the worker used to these figures, where they are higher.
    fn raise(&mut self, usage: &Usage) {
        let own = &mut self.usage;
        own.cpu_us = own.cpu_us.max(usage.cpu_us);
        own.peak_memory = own.peak_memory.max(usage.peak_memory);
        own.read_bytes = own.read_bytes.max(usage.read_bytes);
        own.written_bytes = own.written_bytes.max(usage.written_bytes);
        own.processes = own.processes.max(usage.processes);
    }
}

/// Returns how a program ended that we did not kill, and the limit that it ran into before we measured that.
fn ended_by_itself(status: i32, usage: &Usage, limits: &WorkerLimits) -> WorkerEnd {
    let end = if libc::WIFSIGNALED(status) {
        End::Signalled(libc::WTERMSIG(status))
    } else {
        End::Exited(libc::WEXITSTATUS(status))
    };
    let limit = match end {
        End::Signalled(libc::SIGXFSZ) => Some(Limit::FileSize),
        _ if end.is_failure() && usage.peak_memory > limits.memory => Some(Limit::Memory),
        _ => None,
    };
    WorkerEnd { end, limit }
}

impl WorkerControl for WorkerHandle {
    fn kill(&self) {
        self.0.stop(WorkerEnd { end: End::Killed, limit: None });
        let progress = lock(&self.0.progress);
        let is_alive = |progress: &mut WorkerProgress| progress.end.is_none();
        let waited = self.0.ended.wait_timeout_while(progress, KILL_GRACE, is_alive);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    fn usage(&self) -> Usage {
        if lock(&self.0.progress).end.is_none() {
            self.0.measure();
        }
        lock(&self.0.progress).usage
    }

    fn printed(&self) -> String {
        let printed: Vec<u8> = lock(&self.0.progress).printed.iter().copied().collect();
        String::from_utf8_lossy(&printed).into_owned()
    }

    fn end(&self) -> Option<WorkerEnd> {
        lock(&self.0.progress).end
    }
}

impl Drop for WorkerHandle {
    fn drop(&mut self) {
        self.0.stop(WorkerEnd { end: End::Killed, limit: None });
    }
}
