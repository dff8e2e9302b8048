//! The supervisor of one command, from its start to its end: reads its output, watches its limits, and ends its whole
//! process tree whatever happens.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};
use toolcrib_core::command::{
    ChangedFiles, End, Finished, Limit, Mechanism, NetworkAccount, Strike, Usage,
};
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_inside::wire::{self, Report};

use super::config::CommandLimits;
use super::end_notes;
use super::growth::Growth;
use super::guard::Guard;
use super::job::Job;
use super::network_link::NetworkLink;
use super::output_tee::OutputTee;
use super::pipes::{OutputPipes, Pipes};
use super::sample::Sample;
use super::stop_notes::{self, StopContext};

/// How long a killed command may take to end.
pub(super) const KILL_GRACE: Duration = Duration::from_secs(5);

/// How long the supervisor waits for the last output of a command that is gone.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(2);

/// How often the limits are checked: often while a command is young, rarely once it is old.
const CHECK_YOUNG: Duration = Duration::from_millis(50);
const CHECK_GROWN: Duration = Duration::from_millis(150);
const CHECK_OLD: Duration = Duration::from_millis(500);
const YOUNG_UNTIL: Duration = Duration::from_secs(3);
const OLD_FROM: Duration = Duration::from_secs(30);

/// How often the supervisor checks whether the reader of a full tee has caught up.
const SLOW_READER_CHECK: Duration = Duration::from_millis(10);

/// Wakes the thread that polls, through an eventfd.
struct Wakeup(OwnedFd);

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// Supervises one command.
pub(crate) struct Supervisor<'a> {
    job: &'a Job,
    limits: CommandLimits,
    growth: Growth,
    network: NetworkLink,
    /// The home folder that the command sees.
    home: PathBuf,
    /// The connection to the launcher and the first process inside; closed when both are gone.
    control: Option<OwnedFd>,
    output: OutputPipes,
    guards: Vec<Guard>,
    schedule: Schedule,
    processes: Processes,
    usage: MeasuredUsage,
    outcome: PartialOutcome,
}

/// When the command began, and when the supervisor has to act next.
struct Schedule {
    started: Instant,
    /// The start by the clock of files.
    began: SystemTime,
    next_check: Instant,
    drain_until: Option<Instant>,
}

/// The processes of the command, as far as they are known.
#[derive(Default)]
struct Processes {
    /// The pidfds of bubblewrap and of the first process inside, in this order.
    handles: Vec<OwnedFd>,
    /// The first process inside.
    first: Option<Pid>,
    /// The first process inside has reported that everything is in force.
    is_ready: bool,
    /// How the command itself ended, and how many processes it started.
    exited: Option<(i32, u64)>,
    /// The first process inside has reported that no other process is left.
    are_gone: bool,
}

/// What the command used: the kernel's sums at its end, and the largest samples taken before.
#[derive(Default)]
struct MeasuredUsage {
    total: Usage,
    peak: Sample,
}

/// Why the command was not started or was ended, and what its reader should know.
#[derive(Default)]
struct PartialOutcome {
    failed: Option<ToolError>,
    stopped: Option<End>,
    strike: Option<Strike>,
    notes: Vec<String>,
}

impl<'a> Supervisor<'a> {
    pub(crate) fn new(
        job: &'a Job,
        limits: CommandLimits,
        growth: Growth,
        network: NetworkLink,
        home: PathBuf,
        pipes: Pipes,
        tee: Option<OutputTee>,
    ) -> Self {
        let started = Instant::now();
        Self {
            job,
            limits,
            growth,
            network,
            home,
            control: Some(pipes.control),
            output: OutputPipes::new(pipes.stdout, pipes.stderr, tee),
            guards: Vec::new(),
            schedule: Schedule {
                started,
                began: SystemTime::now(),
                next_check: started + CHECK_YOUNG,
                drain_until: None,
            },
            processes: Processes::default(),
            usage: MeasuredUsage::default(),
            outcome: PartialOutcome::default(),
        }
    }

    /// Supervises the command to its end, then releases what protected the workspace.
    pub(crate) fn run(mut self, guards: Vec<Guard>) -> Result<Finished, ToolError> {
        self.guards = guards;
        let lost = |err: io::Error| {
            ToolError::new(ErrorKind::Io, format!("the connection to the command was lost: {err}"))
        };
        let wakeup = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|errno| lost(errno.into()))?;
        let wakeup = Arc::new(Wakeup(wakeup));
        let waker = Waker::from(Arc::clone(&wakeup));
        self.network.waker.clone_from(&waker);
        let mut cancelled = std::pin::pin!(self.job.cancel.cancelled());
        let done = loop {
            if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.stop(End::Killed);
            }
            if let Err(err) = self.turn(&wakeup.0) {
                self.stop(End::Killed);
                break Err(lost(err));
            }
            if self.is_over() {
                break Ok(());
            }
        };
        let proxy = self.network.close();
        // The command may have ended before it was ended for that.
        if proxy.is_spent && self.outcome.stopped.is_none() {
            self.outcome.strike = Some(self.network.strike());
        }
        let guards = std::mem::take(&mut self.guards);
        done?;
        let (home, egress) = (std::mem::take(&mut self.home), Arc::clone(&self.network.egress));
        let mut finished = self.into_finished()?;
        let context =
            StopContext { guards: &guards, home: &home, egress: &egress, refused: &proxy.refused };
        let stopped = stop_notes::notes(&finished, &context);
        finished.notes.extend(stopped);
        finished.notes.extend(guards.into_iter().flat_map(Guard::release));
        finished.network = proxy.account;
        finished.notes.extend(proxy.refused.into_iter().map(|note| note.sentence));
        Ok(finished)
    }

    fn is_over(&self) -> bool {
        self.control.is_none()
            && (self.output.are_closed()
                || self.schedule.drain_until.is_some_and(|until| Instant::now() >= until))
    }

    /// Waits for the next event and handles it.
    fn turn(&mut self, wakeup: &OwnedFd) -> io::Result<()> {
        let timeout = self.next_event().saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let [has_report, stdout, stderr] = {
            let [stdout, stderr] = self.output.to_poll();
            let open = [self.control.as_ref(), stdout, stderr];
            let mut polls: Vec<PollFd<'_>> =
                open.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
            // Once the command is cancelled, the wakeup would stay readable for ever.
            if self.outcome.stopped.is_none() {
                polls.push(PollFd::new(wakeup, PollFlags::IN));
            }
            match poll(&mut polls, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let mut ready = polls.iter().map(|it| !it.revents().is_empty());
            open.map(|fd| fd.is_some() && ready.next().unwrap_or(false))
        };
        // Output that was printed before the end is read before the report of the end.
        let printed = self.output.read([stdout, stderr], self.job)?;
        self.check_output(printed);
        if has_report {
            self.receive_report();
        }
        if self.processes.are_gone {
            let printed = self.output.drain(self.job)?;
            self.check_output(printed);
        }
        self.check_limits();
        Ok(())
    }

    fn check_output(&mut self, printed: Option<u64>) {
        if let Some(printed) = printed
            && printed > self.limits.output
        {
            self.strike(Limit::Output, self.limits.output, printed, Mechanism::Watchdog);
        }
    }

    /// Returns when the supervisor has to act even if nothing happens before.
    fn next_event(&self) -> Instant {
        let mut next = self.schedule.next_check;
        if !self.output.has_room() {
            next = next.min(Instant::now() + SLOW_READER_CHECK);
        }
        if self.outcome.stopped.is_none() && self.processes.exited.is_none() {
            next = next.min(self.job.progress().deadline);
        }
        if let Some(until) = self.schedule.drain_until {
            next = next.min(until);
        }
        next
    }

    fn receive_report(&mut self) {
        let Some(control) = &self.control else { return };
        let received = wire::receive::<Report>(control);
        let Ok(Some((report, handles))) = received else {
            // The other ends are closed, so every process of this command is gone.
            self.control = None;
            self.schedule.drain_until = Some(Instant::now() + DRAIN_TIMEOUT);
            return;
        };
        match report {
            Report::Started => self.processes.handles.extend(handles),
            Report::Ready => self.handle_ready(handles),
            Report::Running => {}
            Report::Failed { step, why, errno } => {
                self.outcome.failed = Some(end_notes::not_started(step, &why, errno));
            }
            Report::Exited { status, processes } => {
                self.processes.exited = Some((status, processes));
            }
            Report::Gone { cpu_us, peak_memory, read_bytes, written_bytes } => {
                self.usage.total =
                    Usage { cpu_us, peak_memory, read_bytes, written_bytes, ..Usage::default() };
                // No process is left that could print: what is in the pipes now is all there will be.
                self.processes.are_gone = true;
                self.control = None;
            }
            Report::Ended { cpu_us, peak_memory } => {
                self.usage.total.cpu_us = cpu_us;
                self.usage.total.peak_memory = peak_memory;
            }
        }
        if self.outcome.stopped.is_some() {
            self.kill();
        }
    }

    fn handle_ready(&mut self, mut handles: Vec<OwnedFd>) {
        self.processes.is_ready = true;
        if handles.len() > 1
            && let Some(listener) = handles.pop()
        {
            self.network.serve(listener);
        }
        let Some(first) = handles.first() else {
            // Nobody could end a command that we have no handle of. It ends when this connection closes.
            self.outcome.failed = Some(end_notes::no_handle());
            self.control = None;
            return;
        };
        self.processes.first = pid_of(first);
        self.processes.handles.append(&mut handles);
    }

    /// Ends the command if its time is up or it has passed a limit.
    fn check_limits(&mut self) {
        let now = Instant::now();
        if self.outcome.stopped.is_some() || self.processes.exited.is_some() {
            self.schedule.next_check = now + CHECK_GROWN;
            return;
        }
        if now >= self.job.progress().deadline {
            self.stop(End::TimedOut);
            return;
        }
        if self.network.is_spent() {
            self.outcome.strike = Some(self.network.strike());
            self.stop(End::Limited);
            return;
        }
        if now < self.schedule.next_check {
            return;
        }
        self.schedule.next_check = now + check_pause(now.duration_since(self.schedule.started));
        if let Some(path) = self.guards.iter().find_map(Guard::broken) {
            let shown = path.display();
            self.outcome.notes.push(format!(
                "the command was ended because another program replaced `{shown}`, which removed its protection"
            ));
            self.stop(End::Limited);
            return;
        }
        let Some(first) = self.processes.first else { return };
        let sample = Sample::take(first, self.limits.processes + 1);
        let limits = self.limits;
        self.add_sample(&sample);
        let watchdog = Mechanism::Watchdog;
        // The sample counts shared memory once for each process. The exact sum is costly, so it is taken on suspicion.
        let memory = if sample.memory > limits.memory { sample.exact_memory() } else { 0 };
        if memory > limits.memory {
            self.strike(Limit::Memory, limits.memory, memory, watchdog);
        } else if sample.processes > limits.processes + 1 {
            self.strike(Limit::Processes, limits.processes, sample.processes, watchdog);
        } else if sample.cpu_us > limits.cpu_seconds * 1_000_000 {
            self.strike(Limit::Cpu, limits.cpu_seconds, sample.cpu_us / 1_000_000, watchdog);
        } else if let Some((limit, allowed, used)) =
            self.growth.check(sample.written, limits.growth, limits.files, self.schedule.began)
        {
            self.strike(limit, allowed, used, watchdog);
        }
    }

    fn add_sample(&mut self, sample: &Sample) {
        let peak = &mut self.usage.peak;
        peak.memory = peak.memory.max(sample.memory.min(self.limits.memory));
        peak.processes = peak.processes.max(sample.processes);
        peak.written = peak.written.max(sample.written);
        peak.read = peak.read.max(sample.read);
        peak.cpu_us = peak.cpu_us.max(sample.cpu_us);
    }

    fn strike(&mut self, limit: Limit, allowed: u64, used: u64, by: Mechanism) {
        if self.outcome.stopped.is_none() {
            self.outcome.strike = Some(Strike { limit, allowed, used: Some(used), by });
            self.stop(End::Limited);
        }
    }

    /// Ends the command and everything it started.
    fn stop(&mut self, why: End) {
        if let Some(first) = self.processes.first
            && self.outcome.stopped.is_none()
        {
            // The kernel does not add up what processes used that are killed with the first one.
            self.add_sample(&Sample::take(first, self.limits.processes + 1));
        }
        if self.outcome.stopped.is_none() && self.processes.exited.is_none() {
            self.outcome.stopped = Some(why);
        }
        self.kill();
    }

    fn kill(&self) {
        // The last handle is that of the first process inside: the kernel ends all others with it, and bubblewrap waits
        // for them. Before there is one, the last handle is bubblewrap's own.
        if let Some(handle) = self.processes.handles.last() {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    fn into_finished(self) -> Result<Finished, ToolError> {
        let progress = self.job.progress();
        let stdout = progress.stdout.printed(&self.job.rest_hint);
        let stderr = progress.stderr.printed(&self.job.rest_hint);
        drop(progress);
        let PartialOutcome { failed, stopped, strike, notes } = self.outcome;
        if let Some(failed) = failed {
            return Err(failed);
        }
        if !self.processes.is_ready && stopped.is_none() {
            return Err(end_notes::no_sandbox(&stderr.text));
        }
        let exited = self.processes.exited;
        let end = match (stopped, exited) {
            (Some(stopped), _) => stopped,
            (None, Some((status, _))) if libc::WIFSIGNALED(status) => {
                End::Signalled(libc::WTERMSIG(status))
            }
            (None, Some((status, _))) => End::Exited(libc::WEXITSTATUS(status)),
            // Another program ended the first process inside.
            (None, None) => End::Signalled(libc::SIGKILL),
        };
        let MeasuredUsage { total, peak } = self.usage;
        let mut finished = Finished {
            end,
            stdout,
            stderr,
            strike,
            notes,
            usage: Usage {
                peak_memory: total.peak_memory.max(peak.memory),
                cpu_us: total.cpu_us.max(peak.cpu_us),
                read_bytes: total.read_bytes.max(peak.read),
                written_bytes: total.written_bytes.max(peak.written),
                processes: exited.map_or(0, |it| it.1).max(peak.processes),
                struck: None,
            },
            elapsed: self.schedule.started.elapsed(),
            touched: ChangedFiles::default(),
            network: NetworkAccount::default(),
        };
        end_notes::add_to(&mut finished, &self.limits, peak.processes);
        Ok(finished)
    }
}

/// Returns how long to wait between two checks of the limits of what is this old.
pub(super) fn check_pause(age: Duration) -> Duration {
    match age {
        age if age < YOUNG_UNTIL => CHECK_YOUNG,
        age if age < OLD_FROM => CHECK_GROWN,
        _ => CHECK_OLD,
    }
}

/// Returns the process that a pidfd stands for, by its number in this process's namespace.
pub(super) fn pid_of(handle: &OwnedFd) -> Option<Pid> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fdinfo/{}", handle.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    let pid: i32 = text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    // The kernel writes -1 for a process that is gone already.
    if pid > 0 { Pid::from_raw(pid) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_checked_at_least_twice_a_second() {
        // The manual says so about files that another program replaces.
        let slowest = [CHECK_YOUNG, CHECK_GROWN, CHECK_OLD].into_iter().max().unwrap();
        assert_eq!(slowest, Duration::from_millis(500));
    }
}
