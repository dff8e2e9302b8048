//! The connection to the launcher. One thread starts the launcher and lives as long as it does, because the kernel
//! ends the launcher with that thread.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use rustix::net::Shutdown;
use toolcrib_inside::LAUNCHER;
use toolcrib_inside::wire::{self, Launch, Placed, Setup};

use super::inside_program::Helper;

/// A running launcher.
pub(crate) struct Spawner {
    socket: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

/// Why there is no launcher: the mechanism that is missing, and the message.
pub(crate) struct NoLauncher {
    pub(crate) mechanism: String,
    pub(crate) why: String,
}

impl NoLauncher {
    fn new(mechanism: &str, why: impl ToString) -> Self {
        Self { mechanism: mechanism.to_owned(), why: why.to_string() }
    }
}

impl Spawner {
    /// Starts the launcher and sends it what it needs.
    pub(crate) fn start(setup: &Setup) -> Result<Self, NoLauncher> {
        let failed = |err: io::Error| NoLauncher::new("launcher", err);
        let (socket, theirs) = wire::pair().map_err(failed)?;
        let (sender, receiver) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                let spawn = |helper: &Helper| {
                    Command::new(helper.path())
                        .arg(LAUNCHER)
                        .env_clear()
                        .current_dir("/")
                        // Ctrl-C is for us: we end our commands, and say that they were interrupted.
                        .process_group(0)
                        .stdin(Stdio::from(theirs.try_clone()?))
                        .stdout(Stdio::null())
                        .stderr(Stdio::null())
                        .spawn()
                };
                // A helper in memory may exist and still not be executable. Then our own program takes its place.
                let started = spawn(&Helper::new()).or_else(|_| spawn(&Helper::own()));
                drop(theirs);
                let child = match started {
                    Ok(child) => {
                        let _ = sender.send(Ok(()));
                        Some(child)
                    }
                    Err(err) => {
                        let _ = sender.send(Err(err));
                        None
                    }
                };
                if let Some(mut child) = child {
                    let _ = child.wait();
                }
            })
            .map_err(failed)?;
        match receiver.recv() {
            Ok(Ok(())) => {}
            Ok(Err(err)) => return Err(failed(err)),
            Err(err) => return Err(NoLauncher::new("launcher", err)),
        }
        let spawner = Self { socket, thread: Some(thread) };
        wire::send(spawner.socket.as_fd(), setup, &[]).map_err(failed)?;
        match wire::receive::<Placed>(&spawner.socket).map_err(failed)? {
            Some((Placed::Done, _)) => Ok(spawner),
            Some((Placed::Failed { mechanism, why }, _)) => Err(NoLauncher { mechanism, why }),
            None => Err(NoLauncher::new("launcher", "it ended at once")),
        }
    }

    /// Asks the launcher to start a command or worker. `ends` are the far ends of control, stdout and stderr, and of
    /// stdin if it has input.
    pub(crate) fn launch(&self, launch: &Launch, ends: &[BorrowedFd<'_>]) -> io::Result<()> {
        wire::send(self.socket.as_fd(), launch, ends)
    }
}

impl Drop for Spawner {
    fn drop(&mut self) {
        // The launcher ends every command and itself; its thread waits for that.
        let _ = rustix::net::shutdown(&self.socket, Shutdown::Both);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
