//! Follows one command from its start to its end: its output read, its limits watched, its whole tree
//! ended whatever happens.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant, SystemTime};

use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::process::{Pid, Signal, pidfd_send_signal};
use toolcrib_core::command::{
    ChangedFiles, End, Finished, Limit, Mechanism, Stream, Strike, Usage,
};
use toolcrib_core::{ErrorKind, ToolError};

use super::config::CommandLimits;
use super::egress::Egress;
use super::guard::Guard;
use super::job::Job;
use super::notes;
use super::sample::Sample;
use super::tee::Tee;
use super::watch::Growth;
use toolcrib_inside::wire::{self, Report};

/// How long a command's last output is waited for once it is gone.
const DRAIN: Duration = Duration::from_secs(2);

/// How often a command is looked at, while it is young and later.
const LOOK_EARLY: Duration = Duration::from_millis(50);
const LOOK_LATE: Duration = Duration::from_millis(150);
const LOOK_RARELY: Duration = Duration::from_millis(500);
const YOUNG: Duration = Duration::from_secs(3);
const OLD: Duration = Duration::from_secs(30);

/// How much is read at once when much is coming.
const PORTION: usize = 1 << 20;

/// How often a slow reader is looked at.
const SLOW_READER: Duration = Duration::from_millis(10);

/// Wakes the thread that polls.
struct Ring(OwnedFd);

impl Wake for Ring {
    fn wake(self: Arc<Self>) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// The near ends of a command that was asked for.
pub(crate) struct Lines {
    pub(crate) control: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
}

/// Follows one command.
pub(crate) struct Follower<'a> {
    pub(crate) job: &'a Job,
    pub(crate) limits: CommandLimits,
    pub(crate) growth: Growth,
    pub(crate) egress: Option<Arc<Egress>>,
    /// Is handed what is printed, as it is printed.
    pub(crate) tee: Option<Tee>,
    started: Instant,
    began: SystemTime,
    control: Option<OwnedFd>,
    streams: [Option<OwnedFd>; 2],
    handles: Vec<OwnedFd>,
    first: Option<Pid>,
    is_ready: bool,
    exited: Option<(i32, u64)>,
    usage: Usage,
    failed: Option<ToolError>,
    stopped: Option<End>,
    strike: Option<Strike>,
    peak: Sample,
    next_look: Instant,
    drain_until: Option<Instant>,
    way_out: Option<super::egress::Serving>,
    guards: Vec<Guard>,
    notes: Vec<String>,
    is_gone: bool,
}

impl<'a> Follower<'a> {
    pub(crate) fn new(
        job: &'a Job,
        limits: CommandLimits,
        growth: Growth,
        egress: Option<Arc<Egress>>,
        lines: Lines,
    ) -> Self {
        let started = Instant::now();
        Self {
            job,
            limits,
            growth,
            egress,
            tee: None,
            started,
            began: SystemTime::now(),
            control: Some(lines.control),
            streams: [Some(lines.stdout), Some(lines.stderr)],
            handles: Vec::new(),
            first: None,
            is_ready: false,
            exited: None,
            usage: Usage::default(),
            failed: None,
            stopped: None,
            strike: None,
            peak: Sample::default(),
            next_look: started + LOOK_EARLY,
            drain_until: None,
            way_out: None,
            guards: Vec::new(),
            notes: Vec::new(),
            is_gone: false,
        }
    }

    /// Follows the command to its end, then lets go of what protected the workspace.
    pub(crate) fn follow(mut self, guards: Vec<Guard>) -> Result<Finished, ToolError> {
        self.guards = guards;
        let io =
            |err: io::Error| ToolError::new(ErrorKind::Io, format!("the command was lost: {err}"));
        let bell =
            eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(|e| io(e.into()))?;
        let bell = Arc::new(Ring(bell));
        let waker = Waker::from(Arc::clone(&bell));
        let mut cancelled = std::pin::pin!(self.job.cancel.cancelled());
        let mut buffer = vec![0; 64 << 10];
        let done = loop {
            if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                self.stop(End::Killed);
            }
            if let Err(err) = self.turn(&bell.0, &mut buffer) {
                self.stop(End::Killed);
                break Err(io(err));
            }
            if self.is_over() {
                break Ok(());
            }
        };
        let refused = self.way_out.take().map(|way_out| way_out.refused()).unwrap_or_default();
        let guards = std::mem::take(&mut self.guards);
        let told: Vec<String> = guards.into_iter().flat_map(Guard::release).collect();
        done?;
        let mut finished = self.sum_up()?;
        finished.notes.extend(told);
        let told = refused.into_iter().map(|line| format!("the network was refused: {line}"));
        finished.notes.extend(told);
        Ok(finished)
    }

    fn is_over(&self) -> bool {
        self.control.is_none()
            && (self.streams.iter().all(Option::is_none)
                || self.drain_until.is_some_and(|until| Instant::now() >= until))
    }

    fn turn(&mut self, bell: &OwnedFd, buffer: &mut Vec<u8>) -> io::Result<()> {
        let timeout = self.next_event().saturating_duration_since(Instant::now());
        let timeout = Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let ready = {
            // Whoever is handed what is printed may be slow; then nothing more is read for a while.
            let reads = self.tee.as_ref().is_none_or(Tee::has_room);
            let streams = if reads { &self.streams } else { &[None, None] };
            let open = [self.control.as_ref(), streams[0].as_ref(), streams[1].as_ref()];
            let mut polls: Vec<PollFd<'_>> =
                open.iter().flatten().map(|fd| PollFd::new(*fd, PollFlags::IN)).collect();
            // A cancelled command's bell would ring for ever.
            if self.stopped.is_none() {
                polls.push(PollFd::new(bell, PollFlags::IN));
            }
            match poll(&mut polls, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
            let mut rang = polls.iter().map(|it| !it.revents().is_empty());
            open.map(|fd| fd.is_some() && rang.next().unwrap_or(false))
        };
        // What it printed before its end, before the end.
        for (number, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            if ready[number + 1] {
                self.read(number, stream, buffer)?;
            }
        }
        if ready[0] {
            self.hear();
        }
        if self.is_gone {
            self.drain(buffer)?;
        }
        self.look();
        Ok(())
    }

    /// Reads what is left in the pipes, and waits for nothing more.
    fn drain(&mut self, buffer: &mut Vec<u8>) -> io::Result<()> {
        for (number, stream) in [Stream::Stdout, Stream::Stderr].into_iter().enumerate() {
            while self.tee.as_ref().is_none_or(Tee::has_room)
                && let Some(pipe) = &self.streams[number]
            {
                let mut polls = [PollFd::new(pipe, PollFlags::IN)];
                let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
                match poll(&mut polls, Some(&at_once)) {
                    Ok(0) => self.streams[number] = None,
                    Ok(_) => self.read(number, stream, buffer)?,
                    Err(rustix::io::Errno::INTR) => {}
                    Err(errno) => return Err(errno.into()),
                }
            }
        }
        Ok(())
    }

    fn next_event(&self) -> Instant {
        let mut next = self.next_look;
        if self.tee.as_ref().is_some_and(|tee| !tee.has_room()) {
            next = next.min(Instant::now() + SLOW_READER);
        }
        if self.stopped.is_none() && self.exited.is_none() {
            next = next.min(self.job.progress().deadline);
        }
        if let Some(until) = self.drain_until {
            next = next.min(until);
        }
        next
    }

    fn read(&mut self, number: usize, stream: Stream, buffer: &mut Vec<u8>) -> io::Result<()> {
        let Some(pipe) = &self.streams[number] else { return Ok(()) };
        let count = match rustix::io::read(pipe, buffer.as_mut_slice()) {
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => return Ok(()),
            other => other?,
        };
        if count == 0 {
            self.streams[number] = None;
            return Ok(());
        }
        if count == buffer.len() {
            // Much is coming: fewer and larger portions. Denied where the operator bounds pipes.
            let _ = rustix::pipe::fcntl_setpipe_size(pipe, PORTION);
        }
        if let Some(tee) = &self.tee {
            tee.pass(stream, &buffer[..count]);
        }
        let total = {
            let mut progress = self.job.progress();
            let collector = match stream {
                Stream::Stdout => &mut progress.stdout,
                Stream::Stderr => &mut progress.stderr,
            };
            collector.take(&buffer[..count]);
            progress.stdout.bytes() + progress.stderr.bytes()
        };
        if count == buffer.len() && count < PORTION {
            buffer.resize(PORTION, 0);
        }
        if total > self.limits.output {
            self.strike(Limit::Output, self.limits.output, total, Mechanism::Watchdog);
        }
        Ok(())
    }

    fn hear(&mut self) {
        let Some(control) = &self.control else { return };
        let heard = wire::receive::<Report>(control);
        let Ok(Some((report, mut handles))) = heard else {
            // Nobody is left at the other end: everything of this command is gone.
            self.control = None;
            self.drain_until = Some(Instant::now() + DRAIN);
            return;
        };
        match report {
            Report::Started => self.handles.append(&mut handles),
            Report::Ready => {
                self.is_ready = true;
                if handles.len() > 1
                    && let (Some(listener), Some(egress)) = (handles.pop(), &self.egress)
                {
                    self.way_out = Some(egress.serve(listener));
                }
                let has_handle = !handles.is_empty();
                self.first = handles.first().and_then(pid_of);
                self.handles.append(&mut handles);
                if !has_handle {
                    // Without a handle on it nobody could end it: it ends when this line does.
                    self.failed = Some(notes::no_handle());
                    self.control = None;
                }
            }
            Report::Failed { step, why, errno } => {
                self.failed = Some(notes::not_started(step, &why, errno));
            }
            Report::Exited { status, processes } => self.exited = Some((status, processes)),
            Report::Gone { cpu_us, peak_memory, read_bytes, written_bytes } => {
                self.usage =
                    Usage { cpu_us, peak_memory, read_bytes, written_bytes, ..Usage::default() };
                // Nobody is left who could print: what is in the pipes is all there will be.
                self.is_gone = true;
                self.control = None;
            }
            Report::Ended { cpu_us, peak_memory } => {
                self.usage.cpu_us = cpu_us;
                self.usage.peak_memory = peak_memory;
            }
        }
        if self.stopped.is_some() {
            self.kill();
        }
    }

    /// Looks whether time is up or a limit struck.
    fn look(&mut self) {
        let now = Instant::now();
        if self.stopped.is_some() || self.exited.is_some() {
            self.next_look = now + LOOK_LATE;
            return;
        }
        if now >= self.job.progress().deadline {
            self.stop(End::TimedOut);
            return;
        }
        if now < self.next_look {
            return;
        }
        self.next_look = now
            + match now.duration_since(self.started) {
                age if age < YOUNG => LOOK_EARLY,
                age if age < OLD => LOOK_LATE,
                _ => LOOK_RARELY,
            };
        if let Some(path) = self.guards.iter().find_map(Guard::broken) {
            let shown = path.display();
            self.notes.push(format!(
                "the command was ended: `{shown}` was replaced from outside, and its protection with it"
            ));
            self.stop(End::Limited);
            return;
        }
        let Some(first) = self.first else { return };
        let sample = Sample::take(first, self.limits.processes + 1);
        let limits = self.limits;
        self.note_use(&sample);
        let watchdog = Mechanism::Watchdog;
        // What processes share is counted for each of them at first, and rightly only on suspicion.
        let memory = if sample.memory > limits.memory { sample.exact_memory() } else { 0 };
        if memory > limits.memory {
            self.strike(Limit::Memory, limits.memory, memory, watchdog);
        } else if sample.processes > limits.processes + 1 {
            self.strike(Limit::Processes, limits.processes, sample.processes, watchdog);
        } else if sample.cpu_us > limits.cpu_seconds * 1_000_000 {
            self.strike(Limit::Cpu, limits.cpu_seconds, sample.cpu_us / 1_000_000, watchdog);
        } else if let Some((limit, allowed, used)) =
            self.growth.look(sample.written, limits.growth, limits.files, self.began)
        {
            self.strike(limit, allowed, used, watchdog);
        }
    }

    fn note_use(&mut self, sample: &Sample) {
        let peak = &mut self.peak;
        peak.memory = peak.memory.max(sample.memory.min(self.limits.memory));
        peak.processes = peak.processes.max(sample.processes);
        peak.written = peak.written.max(sample.written);
        peak.read = peak.read.max(sample.read);
        peak.cpu_us = peak.cpu_us.max(sample.cpu_us);
    }

    fn strike(&mut self, limit: Limit, allowed: u64, used: u64, by: Mechanism) {
        if self.stopped.is_none() {
            self.strike = Some(Strike { limit, allowed, used: Some(used), by });
            self.stop(End::Limited);
        }
    }

    /// Ends the command and everything it started.
    fn stop(&mut self, why: End) {
        if let Some(first) = self.first
            && self.stopped.is_none()
        {
            // Those that are killed with the first process are not added up by the kernel.
            self.note_use(&Sample::take(first, self.limits.processes + 1));
        }
        if self.stopped.is_none() && self.exited.is_none() {
            self.stopped = Some(why);
        }
        self.kill();
    }

    fn kill(&self) {
        // The last one is the first process inside, with which the kernel ends all others, and
        // bubblewrap then sees them off; before there is one, bubblewrap itself.
        if let Some(handle) = self.handles.last() {
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    fn sum_up(self) -> Result<Finished, ToolError> {
        let progress = self.job.progress();
        let stdout = progress.stdout.printed(&self.job.rest);
        let stderr = progress.stderr.printed(&self.job.rest);
        drop(progress);
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        if !self.is_ready && self.stopped.is_none() {
            return Err(notes::no_sandbox(&stderr.text));
        }
        let end = match (self.stopped, self.exited) {
            (Some(stopped), _) => stopped,
            (None, Some((status, _))) if libc::WIFSIGNALED(status) => {
                End::Signalled(libc::WTERMSIG(status))
            }
            (None, Some((status, _))) => End::Exited(libc::WEXITSTATUS(status)),
            // The first process inside was ended by someone else.
            (None, None) => End::Signalled(libc::SIGKILL),
        };
        let mut finished = Finished {
            end,
            stdout,
            stderr,
            strike: self.strike,
            notes: self.notes,
            usage: Usage {
                peak_memory: self.usage.peak_memory.max(self.peak.memory),
                cpu_us: self.usage.cpu_us.max(self.peak.cpu_us),
                read_bytes: self.usage.read_bytes.max(self.peak.read),
                written_bytes: self.usage.written_bytes.max(self.peak.written),
                processes: self.exited.map_or(0, |it| it.1).max(self.peak.processes),
                struck: None,
            },
            elapsed: self.started.elapsed(),
            touched: ChangedFiles::default(),
        };
        notes::add(&mut finished, &self.limits, self.peak.processes);
        Ok(finished)
    }
}

/// Returns the process that a handle stands for, as this process numbers it.
fn pid_of(handle: &OwnedFd) -> Option<Pid> {
    use std::os::fd::AsRawFd;
    let path = format!("/proc/self/fdinfo/{}", handle.as_fd().as_raw_fd());
    let text = std::fs::read_to_string(path).ok()?;
    let pid: i32 = text.lines().find_map(|line| line.strip_prefix("Pid:"))?.trim().parse().ok()?;
    // It says -1 of one that is gone already.
    if pid > 0 { Pid::from_raw(pid) } else { None }
}
