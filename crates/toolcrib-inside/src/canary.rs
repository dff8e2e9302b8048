//! The canary runs in the place of a command, with everything in force that holds for one. It tries to get out and
//! reports what it reached.

use std::fs;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::time::Duration;

use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, bind, sendmsg_addr, sendto, socketpair,
};
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
        // Before the sockets, which leave nothing open.
        tried("a descriptor from outside", spare_descriptors());
        for name in reach_sockets(Path::new("/tmp")) {
            tried(name, true);
        }
        let mut report = reached.join("\n");
        if !report.is_empty() {
            report.push('\n');
        }
        report.push_str(DONE);
        report.push('\n');
        report
    }
}

/// Tries to make a socket that can reach others by their path: each kind of socket pair gets a path in `folder`, and
/// a datagram and a descriptor are sent to that path. Returns what succeeded.
fn reach_sockets(folder: &Path) -> Vec<&'static str> {
    let mut reached = Vec::new();
    // The path of a socket must be short, and that of the folder may be long.
    let Ok(folder) = fs::File::open(folder) else { return reached };
    let path = format!("/proc/self/fd/{}/socket-{}", folder.as_raw_fd(), std::process::id());
    let Ok(address) = SocketAddrUnix::new(path.as_str()) else { return reached };
    for kind in [SocketType::STREAM, SocketType::SEQPACKET, SocketType::DGRAM, SocketType::RAW] {
        let pair = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None);
        let Ok((one, other)) = pair else { continue };
        if bind(&one, &address).is_ok() {
            reached.push("a socket with a path");
        }
        if !matches!(kind, SocketType::STREAM | SocketType::SEQPACKET) {
            reached.push("a datagram socket");
            if sendto(&other, b"x", SendFlags::empty(), &address).is_ok() {
                reached.push("a datagram to a path");
            }
            if send_descriptor(&other, &address, &folder).is_ok() {
                reached.push("a descriptor to a path");
            }
        }
        let _ = fs::remove_file(&path);
    }
    reached.sort_unstable();
    reached.dedup();
    reached
}

fn send_descriptor(
    from: impl AsFd,
    to: &SocketAddrUnix,
    given: &fs::File,
) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    let given = [given.as_fd()];
    attached.push(SendAncillaryMessage::ScmRights(&given));
    sendmsg_addr(from, to, &[IoSlice::new(b"x")], &mut attached, SendFlags::empty())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The positive control: without the sandbox, everything that the canary tries with sockets succeeds.
    #[test]
    fn outside_the_sandbox_every_socket_is_reached() {
        let folder = std::env::temp_dir();
        let all = [
            "a datagram socket",
            "a datagram to a path",
            "a descriptor to a path",
            "a socket with a path",
        ];
        assert_eq!(reach_sockets(&folder), all);
    }
}
