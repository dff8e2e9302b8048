//! The canary: run in place of a command, with everything in force that holds for one, it tries to get
//! out and says what it reached.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::system;

/// What the canary is not to read.
pub const SECRET: &str = "canary";

/// What it says last.
pub const DONE: &str = "done";

/// What is put within its reach, if nothing stops it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Canary {
    /// A file with [`SECRET`] in it.
    pub secret: String,
    /// A place to write to.
    pub spot: String,
    /// A port of the machine that answers.
    pub port: u16,
}

impl Canary {
    /// Tries everything, and returns what it says.
    pub fn sing(&self) -> String {
        let mut reached: Vec<&str> = Vec::new();
        let mut tried = |name, has_succeeded: bool| {
            if has_succeeded {
                reached.push(name);
            }
        };
        tried("a secret file outside", fs::read_to_string(&self.secret).is_ok());
        tried("a place to write outside", fs::write(&self.spot, "x").is_ok());
        tried("the root of its own file system", fs::write("/canary", "x").is_ok());
        tried("a system folder", fs::write("/usr/canary", "x").is_ok());
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        let patience = Duration::from_millis(300);
        tried("the machine's own ports", TcpStream::connect_timeout(&address, patience).is_ok());
        tried("processes outside", foreign_processes());
        let settings = "/proc/sys/kernel/core_pattern";
        tried("the kernel's settings", fs::OpenOptions::new().write(true).open(settings).is_ok());
        tried("passwords", fs::File::open("/etc/shadow").is_ok());
        for (name, is_open) in system::try_forbidden() {
            tried(name, is_open);
        }
        tried("a descriptor from outside", spare_descriptors());
        let mut said = reached.join("\n");
        if !said.is_empty() {
            said.push('\n');
        }
        said.push_str(DONE);
        said.push('\n');
        said
    }
}

/// In a process namespace of its own there are two processes: the first, and this one.
fn foreign_processes() -> bool {
    let Ok(entries) = fs::read_dir("/proc") else { return false };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
    numbers.count() > 2
}

/// Beside the three that everyone has, the line to the outside, which a command closes by starting,
/// and the listing itself.
fn spare_descriptors() -> bool {
    fs::read_dir("/proc/self/fd").is_ok_and(|entries| entries.count() > 5)
}
