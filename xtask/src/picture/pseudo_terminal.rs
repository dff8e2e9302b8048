//! A terminal with a program on it, and a person's keys.

use std::error::Error;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// How long the program may be silent.
const LONGEST_SILENCE: Duration = Duration::from_secs(30);

/// How high the terminal is.
const ROWS: u16 = 40;

/// A terminal with a program on it.
pub(super) struct PseudoTerminal {
    child: Child,
    master: File,
    shown: Vec<u8>,
}

impl PseudoTerminal {
    /// Starts a program on a new terminal.
    pub(super) fn start(mut command: Command, columns: u16) -> Result<Self, Box<dyn Error>> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        tcsetwinsize(
            &master,
            Winsize { ws_row: ROWS, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 },
        )?;
        let name = ptsname(&master, Vec::new())?.into_string()?;
        let slave: OwnedFd = File::options().read(true).write(true).open(name)?.into();
        let child = command
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave))
            .spawn()?;
        // The command holds the terminal open until it is dropped, which would hide the end of the program.
        drop(command);
        Ok(Self { child, master: File::from(master), shown: Vec::new() })
    }

    /// Waits until the program has shown a text.
    pub(super) fn wait_for(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        while !self.text().contains(text) {
            if !self.read()? {
                return Err(format!("never shown: {text}\n{}", self.text()).into());
            }
        }
        Ok(())
    }

    /// Presses keys.
    pub(super) fn press(&mut self, keys: &str) -> Result<(), Box<dyn Error>> {
        Ok(self.master.write_all(keys.as_bytes())?)
    }

    /// Waits for the program to end. Returns everything that it has shown.
    pub(super) fn end(mut self) -> Result<String, Box<dyn Error>> {
        while self.read()? {}
        self.child.wait()?;
        Ok(self.text())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown).into_owned()
    }

    /// Reads more of what the program shows. Returns whether there can be more.
    fn read(&mut self) -> Result<bool, Box<dyn Error>> {
        let silence = Timespec { tv_sec: LONGEST_SILENCE.as_secs().cast_signed(), tv_nsec: 0 };
        if poll(&mut [PollFd::new(&self.master, PollFlags::IN)], Some(&silence))? == 0 {
            return Err(format!("the program stands still:\n{}", self.text()).into());
        }
        let mut buffer = [0; 4096];
        // The terminal of a program that has ended cannot be read.
        let read = self.master.read(&mut buffer).unwrap_or_default();
        self.shown.extend_from_slice(&buffer[..read]);
        Ok(read > 0)
    }
}

impl Drop for PseudoTerminal {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}
