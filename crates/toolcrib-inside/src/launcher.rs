//! The launcher: a small process of one thread that starts every command, so that starting one costs
//! the same however large the process is that wants it. It ends with that process, and every command
//! ends with it.

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

use crate::first::{CONTROL, OPTIONS, PROGRAM};
use crate::stage;
use crate::system::{self, Words};
use crate::wire::{self, Launch, Placed, Report, Setup, Step, User};

/// The first word of bubblewrap's last arguments: what this program is to be inside.
pub(crate) const INSIDE: &str = "__inside";
/// What this program is to be when it is started as the launcher.
pub const LAUNCHER: &str = "__launcher";

/// Descriptors above this are ours for the time between fork and exec.
const SPARE: i32 = 16;

struct Launcher {
    socket: OwnedFd,
    signals: OwnedFd,
    program: fs::File,
    bubblewrap: CString,
    words: Words,
    environment: Words,
    user: Option<User>,
    /// The lines to whoever wants to know about a command, by the process that runs it.
    commands: HashMap<Pid, OwnedFd>,
}

/// Runs as the launcher. Does not return.
pub(crate) fn run() -> ! {
    let code = i32::from(serve().is_err());
    system::leave(code)
}

fn serve() -> io::Result<()> {
    // Whoever started us may ignore the end of children, and that is inherited.
    system::reset_signals();
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // What a command leaves behind, should bubblewrap be killed, comes to us.
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let socket = system::inherited(0);
    let Some((setup, _)) = wire::receive::<Setup>(&socket)? else { return Ok(()) };
    let placed = match stage::stage(&setup) {
        Ok(()) => Placed::Done,
        Err((mechanism, why)) => Placed::Failed { mechanism: mechanism.to_owned(), why },
    };
    wire::send(socket.as_fd(), &placed, &[])?;
    let nul = || io::Error::other("a word holds a NUL");
    let program = format!("/proc/self/fd/{PROGRAM}");
    let words = ["bwrap", "--args", &OPTIONS.to_string(), "--", &program, INSIDE];
    let mut launcher = Launcher {
        socket,
        signals: system::child_signals()?,
        program: fs::File::open("/proc/self/exe")?,
        bubblewrap: CString::new(setup.bubblewrap).unwrap_or_default(),
        words: Words::new(words).ok_or_else(nul)?,
        environment: Words::new::<&str>([]).ok_or_else(nul)?,
        user: setup.user,
        commands: HashMap::new(),
    };
    while launcher.turn()? {}
    launcher.end();
    Ok(())
}

impl Launcher {
    /// Waits for something to do and does it; `false` when nobody wants anything any more.
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
            self.reap(false);
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
        let Ok([control, stdout, stderr]) = <[OwnedFd; 3]>::try_from(handles) else { return };
        let started = options_file(&launch.options).and_then(|options| {
            let given = [control.as_fd(), options.as_fd(), self.program.as_fd()];
            let pid = system::start(&mut || {
                if let Err(why) = stage::shield(&launch) {
                    let report = Report::Failed { step: Step::Shield, why, errno: None };
                    let _ = wire::send(control.as_fd(), &report, &[]);
                    return;
                }
                let err = self.become_bubblewrap(given, stdout.as_fd(), stderr.as_fd());
                // By now the line to whoever asked has its number inside, if it has any.
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

    /// Becomes bubblewrap. Returns only if that failed.
    fn become_bubblewrap(
        &self,
        given: [BorrowedFd<'_>; 3],
        stdout: BorrowedFd<'_>,
        stderr: BorrowedFd<'_>,
    ) -> io::Error {
        let prepared = (|| {
            rustix::process::setsid()?;
            let nothing = fs::File::open("/dev/null")?;
            let [control, options, program] = given;
            let places = [
                (nothing.as_fd(), 0),
                (stdout, 1),
                (stderr, 2),
                (control, CONTROL),
                (options, OPTIONS),
                (program, PROGRAM),
            ];
            // First out of each other's way, then into place.
            let mut lifted = Vec::new();
            for (fd, to) in places {
                lifted.push((system::lift(fd, SPARE)?, to));
            }
            for (from, to) in lifted {
                system::place(from, to)?;
            }
            system::close_from(PROGRAM.cast_unsigned() + 1)?;
            // Closed with the rest: what owned it must not close it again.
            std::mem::forget(nothing);
            system::reset_signals();
            // The first to go when the machine runs out of memory.
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
        system::exec(&self.bubblewrap, &self.words, &self.environment)
    }

    fn reap(&mut self, blocks: bool) {
        while let Some(pid) = system::ended_child(blocks) {
            let Ok(ended) = system::take_child(pid) else { return };
            let Some(control) = self.commands.remove(&pid) else { continue };
            let report = Report::Ended { cpu_us: ended.cpu_us, peak_memory: ended.peak_memory };
            let _ = wire::send(control.as_fd(), &report, &[]);
            self.end_orphans();
        }
    }

    /// Ends what a bubblewrap that was killed left to us: everything that is not one itself.
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
        self.reap(true);
    }
}

fn options_file(options: &[String]) -> io::Result<fs::File> {
    use std::io::{Seek, Write};
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = fs::File::from(rustix::fs::memfd_create("options", flags)?);
    for option in options {
        file.write_all(option.as_bytes())?;
        file.write_all(&[0])?;
    }
    file.rewind()?;
    Ok(file)
}

fn fail(control: BorrowedFd<'_>, err: &io::Error) {
    let (why, errno) = (err.to_string(), err.raw_os_error());
    let _ = wire::send(control, &Report::Failed { step: Step::Spawn, why, errno }, &[]);
}
