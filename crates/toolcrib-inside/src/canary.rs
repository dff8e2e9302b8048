//! The canary runs in the place of a command, with everything in force that holds for one. It tries to get out and
//! reports what it reached.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::system;

/// The content of the file that the canary must not read.
pub const SECRET: &str = "canary";

/// The last line of the canary's report.
pub const DONE: &str = "done";

/// What the canary tries to reach.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Canary {
    /// A file that contains [`SECRET`].
    pub secret: String,
    /// A path to write to.
    pub spot: String,
    /// A port of the machine that accepts connections.
    pub port: u16,
}

impl Canary {
    /// Tries everything, and returns the report: a line for each thing that was reached, and [`DONE`].
    pub fn report(&self) -> String {
        let mut reached: Vec<&str> = Vec::new();
        let mut tried = |name, has_succeeded| {
            if has_succeeded {
                reached.push(name);
            }
        };
        tried("a secret file outside", fs::read_to_string(&self.secret).is_ok());
        tried("a place to write outside", fs::write(&self.spot, "x").is_ok());
        tried("the root of its own file system", fs::write("/canary", "x").is_ok());
        tried("a system folder", fs::write("/usr/canary", "x").is_ok());
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let timeout = Duration::from_millis(300);
        tried("the machine's own ports", TcpStream::connect_timeout(&address, timeout).is_ok());
        tried("processes outside", foreign_processes());
        let settings = "/proc/sys/kernel/core_pattern";
        tried("the kernel's settings", fs::OpenOptions::new().write(true).open(settings).is_ok());
        tried("passwords", fs::File::open("/etc/shadow").is_ok());
        for (name, is_open) in system::try_forbidden() {
            tried(name, is_open);
        }
        tried("a descriptor from outside", spare_descriptors());
        let mut report = reached.join("\n");
        if !report.is_empty() {
            report.push('\n');
        }
        report.push_str(DONE);
        report.push('\n');
        report
    }
}

/// Whether there are more than two processes: in a process namespace of its own, the canary sees the first process
/// and itself.
fn foreign_processes() -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return false };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    numbers.count() > 2
}

/// Whether there are unexpected descriptors. Expected are the three standard ones, the control connection, which a
/// command closes by starting, and the listing itself.
fn spare_descriptors() -> bool {
    fs::read_dir("/proc/self/fd").is_ok_and(|entries| entries.count() > 5)
}
