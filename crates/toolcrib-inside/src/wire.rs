//! Messages between our own processes: JSON in packets, descriptors beside them.

use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::shield::Shield;

/// The largest message that goes through the socket itself.
const MOST: usize = 64 << 10;

/// What is said when the message is in a file beside it.
const IN_FILE: &[u8] = b"@";

/// The most descriptors beside one message.
const MOST_FDS: usize = 64;

/// What the launcher is told once, before the first command.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    /// Bubblewrap.
    pub bubblewrap: String,
    /// Who commands are to be, when the launcher is the superuser.
    pub user: Option<User>,
    /// What commands may reach; the roots come first.
    pub staged: Vec<Staged>,
}

/// Who commands are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct User {
    /// The user's number.
    pub uid: u32,
    /// The group's.
    pub gid: u32,
}

/// A directory or file that the launcher puts where commands are given it from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Staged {
    /// Its path.
    pub source: String,
    /// Which one it has to be: device and inode.
    pub is: (u64, u64),
    /// Whether it is a directory.
    pub is_directory: bool,
    /// The owner on disk that commands write as; nothing if owners are shown as they are.
    pub owner: Option<User>,
}

/// What the launcher answers to [`Setup`].
#[derive(Debug, Serialize, Deserialize)]
pub enum Placed {
    /// Everything is in its place.
    Done,
    /// There is no sandbox.
    Failed {
        /// For want of which mechanism.
        mechanism: String,
        /// What was said.
        why: String,
    },
}

/// One command for the launcher. Beside it: control, stdout, stderr.
#[derive(Debug, Serialize, Deserialize)]
pub struct Launch {
    /// Bubblewrap's options.
    pub options: Vec<String>,
    /// What is to be shielded below each root.
    pub shields: Vec<Vec<Shield>>,
    /// Roots within roots, the innermost first.
    pub nested: Vec<Nested>,
}

/// A root within another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nested {
    /// The number of the root.
    pub inner: usize,
    /// The number of the root that it is in.
    pub outer: usize,
    /// Where it is in that one.
    pub path: PathBuf,
    /// Which directory it has to be: device and inode.
    pub is: (u64, u64),
}

/// What the process inside is told about its command.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Inside {
    /// Its words.
    pub arguments: Vec<String>,
    /// Its environment, `NAME=value`.
    pub environment: Vec<String>,
    /// Where it starts.
    pub directory: String,
    /// Directories that must be the ones that were meant: path, device, inode.
    pub roots: Vec<(String, u64, u64)>,
    /// Mounts that must be there: the path, and what it must be.
    pub shields: Vec<(String, Shield)>,
    /// Where the command may write.
    pub writable: Vec<String>,
    /// What it may use.
    pub limits: Rlimits,
    /// Whether a listener for the way out is wanted.
    pub has_egress: bool,
    /// The canary, in the place of a command.
    pub canary: Option<crate::canary::Canary>,
}

/// Limits that the kernel holds a process to.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rlimits {
    /// Bytes of one process's data.
    pub memory: u64,
    /// Processes of the user at once.
    pub processes: u64,
    /// Seconds of processor time of one process.
    pub cpu_seconds: u64,
    /// Bytes of one file.
    pub file_size: u64,
    /// Files open at once in one process.
    pub open_files: u64,
}

/// What the launcher and the process inside say about one command.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// Bubblewrap was started. Beside it: its pidfd.
    Started,
    /// Everything is in force and the command begins. Beside it: the pidfd of the first process
    /// inside, and the listener if one was wanted.
    Ready,
    /// It could not be started inside.
    Failed {
        /// Where.
        step: Step,
        /// What was said.
        why: String,
        /// By the kernel, if it was.
        errno: Option<i32>,
    },
    /// The command itself is over.
    Exited {
        /// As the kernel tells it.
        status: i32,
        /// How many were started.
        processes: u64,
    },
    /// Everything it started is gone, and used this.
    Gone {
        /// Microseconds of processor time.
        cpu_us: u64,
        /// The most memory of one process, in bytes.
        peak_memory: u64,
        /// Bytes read.
        read_bytes: u64,
        /// Bytes written.
        written_bytes: u64,
    },
    /// The sandbox is gone.
    Ended {
        /// Microseconds of processor time.
        cpu_us: u64,
        /// The most memory of one process, in bytes.
        peak_memory: u64,
    },
}

/// Where a start can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// Bubblewrap could not be started.
    Spawn,
    /// What is protected was moved meanwhile.
    Shield,
    /// The process inside has more than it should, or less.
    Verify,
    /// The listener for the way out.
    Egress,
    /// Landlock.
    Landlock,
    /// Seccomp.
    Seccomp,
    /// The limits.
    Limits,
    /// The directory to start in.
    Directory,
    /// The program itself.
    Exec,
}

/// Returns two ends of a new connection.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok((a, b))
}

/// Sends one message. A large one goes in a file beside a word that says so.
pub fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() <= MOST {
        return send_bytes(socket, &bytes, fds);
    }
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("message", flags)?);
    file.write_all(&bytes)?;
    file.rewind()?;
    let mut all = fds.to_vec();
    all.push(file.as_fd());
    send_bytes(socket, IN_FILE, &all)
}

fn send_bytes(socket: BorrowedFd<'_>, bytes: &[u8], fds: &[BorrowedFd<'_>]) -> io::Result<()> {
    if fds.len() > MOST_FDS {
        return Err(io::Error::other("too many descriptors beside a message"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut beside = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        beside.push(SendAncillaryMessage::ScmRights(fds));
    }
    let slices = [IoSlice::new(bytes)];
    retry(|| sendmsg(socket, &slices, &mut beside, SendFlags::NOSIGNAL)).map(drop)
}

/// Receives one message; nothing if the other side is gone.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MOST];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut beside = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let mut get = || retry(|| recvmsg(&socket, &mut slices, &mut beside, RecvFlags::CMSG_CLOEXEC));
    let got = match get() {
        // Said once, of an end that closed without hearing us out. What it had said itself comes after.
        Err(err) if err.raw_os_error() == Some(libc::ECONNRESET) => get(),
        other => other,
    }?;
    let mut fds = Vec::new();
    for message in beside.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    bytes.truncate(got.bytes);
    if bytes == IN_FILE {
        bytes.clear();
        let file = fds.pop().ok_or_else(|| io::Error::other("a message without its file"))?;
        File::from(file).read_to_end(&mut bytes)?;
    }
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(Some((serde_json::from_slice(&bytes)?, fds)))
}

fn retry<T>(mut work: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match work() {
            Err(rustix::io::Errno::INTR) => {}
            other => return other.map_err(Into::into),
        }
    }
}
