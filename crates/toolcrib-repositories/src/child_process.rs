//! A process that ends at the latest when nobody holds it any more, and can be run to its end within limits.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::child_output::{ChildFailure, ChildOutput, POLL_INTERVAL};

/// A process that ends at the latest when this is dropped.
pub(crate) struct ChildProcess(pub(crate) Child);

/// What a process that has ended wrote.
pub(crate) struct ChildRun {
    pub(crate) status: ExitStatus,
    pub(crate) output: Vec<u8>,
    pub(crate) errors: Vec<u8>,
}

/// How long a process may take, and how much of what it writes is kept.
pub(crate) struct RunLimits<'a> {
    pub(crate) time: Duration,
    /// The most bytes of each of its two outputs. What is beyond is read and dropped.
    pub(crate) bytes: usize,
    /// Whether nobody wants the outcome any more.
    pub(crate) is_stopped: &'a dyn Fn() -> bool,
}

/// One output of a process, and what was kept of it.
#[derive(Default)]
struct RunPipe {
    /// Nothing once it was read to its end.
    output: Option<ChildOutput>,
    kept: Vec<u8>,
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl ChildProcess {
    pub(crate) fn new(child: Child) -> Self {
        Self(child)
    }

    /// Waits until the process ends, and reads both outputs meanwhile, so that neither can fill up. A process that it
    /// started and that holds an output open is not waited for.
    pub(crate) fn run_to_end(&mut self, limits: &RunLimits<'_>) -> Result<ChildRun, ChildFailure> {
        let unreadable = |errno: Errno| ChildFailure::Unreadable(errno.into());
        let begun = Instant::now();
        drop(self.0.stdin.take());
        let end = pidfd_open(Pid::from_child(&self.0), PidfdFlags::empty()).map_err(unreadable)?;
        let outputs = [
            self.0.stdout.take().map(|pipe| ChildOutput::new(pipe.into())),
            self.0.stderr.take().map(|pipe| ChildOutput::new(pipe.into())),
        ];
        let mut pipes = outputs.map(|output| RunPipe { output, ..RunPipe::default() });
        loop {
            let mut handles: Vec<PollFd<'_>> = pipes.iter().filter_map(RunPipe::handle).collect();
            handles.push(PollFd::new(&end, PollFlags::IN));
            match poll(&mut handles, Some(&timespec(POLL_INTERVAL))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(unreadable(errno)),
            }
            let has_ended = handles.last().is_some_and(|end| !end.revents().is_empty());
            drop(handles);
            if (limits.is_stopped)() {
                return Err(ChildFailure::Stopped);
            }
            if begun.elapsed() >= limits.time {
                return Err(ChildFailure::Overdue(limits.time));
            }
            for pipe in &mut pipes {
                pipe.read_ready(limits.bytes)?;
            }
            if has_ended {
                break;
            }
        }
        // What it wrote before its end is in the pipes by now.
        for pipe in &mut pipes {
            while begun.elapsed() < limits.time
                && pipe.kept.len() < limits.bytes
                && pipe.read_ready(limits.bytes)?
            {}
        }
        let status = self.0.wait().map_err(ChildFailure::Unreadable)?;
        let [output, errors] = pipes.map(|pipe| pipe.kept);
        Ok(ChildRun { status, output, errors })
    }
}

impl RunPipe {
    fn handle(&self) -> Option<PollFd<'_>> {
        self.output.as_ref().map(|output| PollFd::new(output.pipe(), PollFlags::IN))
    }

    /// Reads what is there, and keeps `most` bytes in all; returns whether there was something.
    fn read_ready(&mut self, most: usize) -> Result<bool, ChildFailure> {
        let is_ready = match self.handle() {
            None => false,
            Some(handle) => match poll(&mut [handle], Some(&timespec(Duration::ZERO))) {
                Ok(count) => count > 0,
                Err(Errno::INTR) => true,
                Err(errno) => return Err(ChildFailure::Unreadable(io::Error::from(errno))),
            },
        };
        let Some(output) = self.output.as_mut().filter(|_| is_ready) else { return Ok(false) };
        let got = output.read_ready()?;
        let bytes = output.bytes();
        self.kept.extend_from_slice(&bytes[..bytes.len().min(most - self.kept.len())]);
        output.take(bytes.len());
        if got == 0 {
            self.output = None;
        }
        Ok(got > 0)
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    fn shell(script: &str) -> ChildProcess {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]).stdin(Stdio::piped());
        ChildProcess::new(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }

    fn run(script: &str, time: Duration) -> Result<ChildRun, ChildFailure> {
        shell(script).run_to_end(&RunLimits { time, bytes: 1 << 20, is_stopped: &|| false })
    }

    const LONG: Duration = Duration::from_mins(5);

    #[test]
    fn both_outputs_are_read_however_full_they_are() {
        let ended = run("echo out; echo err >&2; exit 3", LONG).unwrap();
        assert_eq!(
            (ended.status.code(), &*ended.output, &*ended.errors),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
        // A pipe has room for 64 KiB. Who reads one output to its end first waits for ever.
        let script =
            "head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero; head -c 3000000 /dev/zero >&2";
        let ended = run(script, LONG).unwrap();
        assert_eq!((ended.output.len(), ended.errors.len()), (300_000, 1 << 20));
    }

    #[test]
    fn a_process_that_outlives_its_parent_is_not_waited_for() {
        let ended = run("sleep 1000 & echo $! >&2; echo token", LONG).unwrap();
        assert_eq!(ended.output, b"token\n");
        let left = String::from_utf8(ended.errors).unwrap().trim().parse().unwrap();
        let left = Pid::from_raw(left).unwrap();
        // It holds the pipes open until now.
        rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
    }

    #[test]
    fn a_process_that_does_not_end_is_given_up() {
        let failure = run("exec sleep 1000", Duration::from_millis(100)).err().unwrap();
        assert!(matches!(failure, ChildFailure::Overdue(_)), "{failure:?}");
        let limits = RunLimits { time: LONG, bytes: 9, is_stopped: &|| true };
        let failure = shell("exec sleep 1000").run_to_end(&limits).err().unwrap();
        assert!(matches!(failure, ChildFailure::Stopped), "{failure:?}");
    }
}
