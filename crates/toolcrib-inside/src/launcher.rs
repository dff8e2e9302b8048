//! The launcher: a small process of one thread that starts every command, so that a start costs the same however
//! large the process is that wants it. The launcher ends with that process, and every command ends with the
//! launcher.

use std::collections::HashMap;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, kill_process, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal,
};

use crate::descriptor::{CONTROL, OPTIONS, PROGRAM};
use crate::stage;
use crate::system::{self, CStringArray, WaitMode};
use crate::wire::{self, Launch, Placed, Report, Setup, StartStep, User};

/// The argument that starts this program as the first process inside.
pub(crate) const INSIDE: &str = "__inside";
/// The argument that starts this program as the launcher.
pub const LAUNCHER: &str = "__launcher";

/// Descriptors from this number on are free for use between fork and exec.
const FIRST_SPARE_DESCRIPTOR: i32 = 16;

struct Launcher {
    socket: OwnedFd,
    signals: OwnedFd,
    program: fs::File,
    bubblewrap: CString,
    arguments: CStringArray,
    environment: CStringArray,
    user: Option<User>,
    /// The control connections of the commands, by the process of their bubblewrap.
    commands: HashMap<Pid, OwnedFd>,
}

/// Runs as the launcher. Does not return.
pub(crate) fn run() -> ! {
    let code = i32::from(serve().is_err());
    system::leave(code)
}

fn serve() -> io::Result<()> {
    // Whoever started us may ignore the ends of children, and that setting is inherited.
    system::reset_signals();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // If bubblewrap is killed, the processes of its command become our children.
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let socket = system::inherited(0);
    let Some((setup, _)) = wire::receive::<Setup>(&socket)? else { return Ok(()) };
    let placed = match stage::stage(&setup) {
        Ok(()) => Placed::Done,
        Err((mechanism, why)) => Placed::Failed { mechanism: mechanism.to_owned(), why },
    };
    wire::send(socket.as_fd(), &placed, &[])?;
    let nul = || io::Error::other("an argument contains a NUL");
    let program = format!("/proc/self/fd/{PROGRAM}");
    let arguments = ["bwrap", "--args", &OPTIONS.to_string(), "--", &program, INSIDE];
    let mut launcher = Launcher {
        socket,
        signals: system::child_signals()?,
        program: fs::File::open("/proc/self/exe")?,
        bubblewrap: CString::new(setup.bubblewrap).unwrap_or_default(),
        arguments: CStringArray::new(arguments).ok_or_else(nul)?,
        environment: CStringArray::new::<&str>([]).ok_or_else(nul)?,
        user: setup.user,
        commands: HashMap::new(),
    };
    while launcher.turn()? {}
    launcher.end();
    Ok(())
}

impl Launcher {
    /// Waits for the next event and handles it. Returns `false` when the runtime has closed its connection.
    fn turn(&mut self) -> io::Result<bool> {
        let mut waits =
            [PollFd::new(&self.socket, PollFlags::IN), PollFd::new(&self.signals, PollFlags::IN)];
        match poll(&mut waits, None) {
            Err(rustix::io::Errno::INTR) => return Ok(true),
            other => other?,
        };
        let (wanted, ended) = (!waits[0].revents().is_empty(), !waits[1].revents().is_empty());
        if ended {
            let mut drained = [0; 1024];
            let _ = rustix::io::read(&self.signals, &mut drained);
            self.reap(WaitMode::Poll);
        }
        if !wanted {
            return Ok(true);
        }
        let Some((launch, handles)) = wire::receive::<Launch>(&self.socket)? else {
            return Ok(false);
        };
        self.start(launch, handles);
        Ok(true)
    }

    fn start(&mut self, launch: Launch, handles: Vec<OwnedFd>) {
        let mut handles = handles.into_iter();
        let (Some(control), Some(stdout), Some(stderr)) =
            (handles.next(), handles.next(), handles.next())
        else {
            return;
        };
        let input = handles.next().filter(|_| launch.has_input);
        if input.is_none() && launch.has_input {
            return fail(control.as_fd(), &io::Error::other("the input is missing"));
        }
        let started = options_file(&launch.options).and_then(|options| {
            let given = [control.as_fd(), options.as_fd(), self.program.as_fd()];
            let pid = system::start(&mut || {
                if let Err(failure) = stage::shield(&launch) {
                    let _ = wire::send(control.as_fd(), &failure.into_report(), &[]);
                    return;
                }
                let streams = (input.as_ref(), stdout.as_fd(), stderr.as_fd());
                let err = self.become_bubblewrap(given, streams);
                // By now the control connection has its number inside, if any.
                fail(system::inherited(CONTROL).as_fd(), &err);
            })?;
            Ok((pid, pidfd_open(pid, PidfdFlags::empty())?))
        });
        match started {
            Ok((pid, handle)) => {
                let _ = wire::send(control.as_fd(), &Report::Started, &[handle.as_fd()]);
                self.commands.insert(pid, control);
            }
            Err(err) => fail(control.as_fd(), &err),
        }
    }

    /// Becomes bubblewrap, with these streams as its input, output and errors. Returns only if that failed.
    fn become_bubblewrap(
        &self,
        given: [BorrowedFd<'_>; 3],
        (input, stdout, stderr): (Option<&OwnedFd>, BorrowedFd<'_>, BorrowedFd<'_>),
    ) -> io::Error {
        let prepared = (|| {
            rustix::process::setsid()?;
            let nothing = fs::File::open("/dev/null")?;
            let [control, options, program] = given;
            let places = [
                (input.map_or(nothing.as_fd(), AsFd::as_fd), 0),
                (stdout, 1),
                (stderr, 2),
                (control, CONTROL),
                (options, OPTIONS),
                (program, PROGRAM),
            ];
            // First the descriptors are moved out of each other's way, then to their numbers.
            let mut lifted = Vec::new();
            for (fd, to) in places {
                lifted.push((system::lift(fd, FIRST_SPARE_DESCRIPTOR)?, to));
            }
            for (from, to) in lifted {
                system::place(from, to)?;
            }
            system::close_from(PROGRAM.cast_unsigned() + 1)?;
            // The descriptor was closed with the rest, so its owner must not close it again.
            std::mem::forget(nothing);
            system::reset_signals();
            // The kernel kills this process first when the machine runs out of memory.
            let _ = fs::write("/proc/self/oom_score_adj", "1000");
            rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
            if let Some(user) = self.user {
                system::become_user(user.uid, user.gid)?;
            }
            Ok::<(), io::Error>(())
        })();
        if let Err(err) = prepared {
            return err;
        }
        system::exec(&self.bubblewrap, &self.arguments, &self.environment)
    }

    /// Takes the children that ended, and reports the ends of commands.
    fn reap(&mut self, wait: WaitMode) {
        while let Some(pid) = system::ended_child(wait) {
            let Ok(ended) = system::take_child(pid) else { return };
            let Some(control) = self.commands.remove(&pid) else { continue };
            let report = Report::Ended { cpu_us: ended.cpu_us, peak_memory: ended.peak_memory };
            let _ = wire::send(control.as_fd(), &report, &[]);
            self.end_orphans();
        }
    }

    /// Ends the processes that a killed bubblewrap left to us: every child that is not a bubblewrap itself.
    fn end_orphans(&self) {
        let path =
            format!("/proc/self/task/{}/children", rustix::process::getpid().as_raw_nonzero());
        let children = fs::read_to_string(path).unwrap_or_default();
        let children = children.split_whitespace().filter_map(|pid| pid.parse().ok());
        for child in children.filter_map(Pid::from_raw) {
            if !self.commands.contains_key(&child) {
                let _ = kill_process(child, Signal::KILL);
            }
        }
    }

    /// Ends every command and waits until it is gone.
    fn end(mut self) {
        for pid in self.commands.keys() {
            let _ = kill_process(*pid, Signal::KILL);
        }
        self.reap(WaitMode::Block);
    }
}

/// Returns a memory file with the options of bubblewrap.
fn options_file(options: &[String]) -> io::Result<fs::File> {
    use std::io::{Seek, Write};
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = fs::File::from(rustix::fs::memfd_create("options", flags)?);
    let mut bytes = Vec::new();
    for option in options {
        bytes.extend_from_slice(option.as_bytes());
        bytes.push(0);
    }
    file.write_all(&bytes)?;
    file.rewind()?;
    Ok(file)
}

fn fail(control: BorrowedFd<'_>, err: &io::Error) {
    let (why, errno) = (err.to_string(), err.raw_os_error());
    let _ = wire::send(control, &Report::Failed { step: StartStep::Spawn, why, errno }, &[]);
}
