//! Messages between our own processes: JSON in packets, with descriptors attached.

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
const MOST_PACKET_BYTES: usize = 64 << 10;

/// The packet that means: the message is in the file attached to this packet.
const IN_FILE: &[u8] = b"@";

/// How many descriptors one message can carry.
const MOST_FDS: usize = 64;

/// What the launcher receives once, before the first command.
#[derive(Debug, Serialize, Deserialize)]
pub struct Setup {
    /// The path of bubblewrap.
    pub bubblewrap: String,
    /// The user that commands run as, when the launcher is the superuser.
    pub user: Option<User>,
    /// What commands may reach. The roots come first.
    pub staged: Vec<Staged>,
}

/// The user that commands run as.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct User {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
}

/// A directory or file that the launcher mounts where commands get it from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Staged {
    /// The path.
    pub source: String,
    /// The device and inode that it must have.
    pub is: (u64, u64),
    /// Whether it is a directory.
    pub is_directory: bool,
    /// The owner on disk of what commands write; absent if owners are shown as they are.
    pub owner: Option<User>,
    /// Whether commands get a copy, so that the list of their mounts does not tell where the original is. Of a folder,
    /// files and folders are copied, and nothing else.
    pub is_copied: bool,
}

/// The launcher's answer to [`Setup`].
#[derive(Debug, Serialize, Deserialize)]
pub enum Placed {
    /// Everything is mounted.
    Done,
    /// There is no sandbox.
    Failed {
        /// The mechanism that is missing.
        mechanism: String,
        /// The message.
        why: String,
    },
}

/// One command or worker for the launcher. Attached: control, stdout, stderr, and stdin if it has input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Launch {
    /// Bubblewrap's options.
    pub options: Vec<String>,
    /// The shields below each root.
    pub shields: Vec<Vec<Shield>>,
    /// The roots within other roots, the innermost first.
    pub nested: Vec<Nested>,
    /// Whether it reads from the attached stdin. Otherwise its input is empty.
    pub has_input: bool,
}

/// A root within another one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Nested {
    /// The number of the root.
    pub inner: usize,
    /// The number of the root that contains it.
    pub outer: usize,
    /// Its path in the outer root.
    pub path: PathBuf,
    /// The device and inode that it must have.
    pub is: (u64, u64),
}

/// What the first process inside is told about its command.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Inside {
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// The environment, `NAME=value`.
    pub environment: Vec<String>,
    /// The directory that the command starts in.
    pub directory: String,
    /// Directories that must be the expected ones: path, device, inode.
    pub roots: Vec<(String, u64, u64)>,
    /// Mounts that must exist: the number of the root, and the shield that must be below it.
    pub shields: Vec<(usize, Shield)>,
    /// The folders that the command may write to.
    pub writable: Vec<String>,
    /// The resource limits of the command.
    pub limits: Rlimits,
    /// The processor cores that the command may use. If empty, it may use all.
    pub cores: Vec<usize>,
    /// Whether a listener for the proxy is wanted.
    pub has_egress: bool,
    /// Whether [`Report::Running`] is wanted.
    pub tells_running: bool,
    /// The canary, to run in the place of a command.
    pub canary: Option<crate::canary::Canary>,
}

/// Resource limits that the kernel enforces.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Rlimits {
    /// Bytes of data of one process.
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

/// What the launcher and the first process inside report about one command.
#[derive(Debug, Serialize, Deserialize)]
pub enum Report {
    /// Bubblewrap was started. Attached: its pidfd.
    Started,
    /// Everything is in force and the command begins. Attached: the pidfd of the first process inside, and the
    /// listener if one was wanted.
    Ready,
    /// The program was executed. Only if it was asked for.
    Running,
    /// The command could not be started.
    Failed {
        /// The step that failed.
        step: StartStep,
        /// The message.
        why: String,
        /// The error number, if a system call failed.
        errno: Option<i32>,
    },
    /// The command itself has ended.
    Exited {
        /// The wait status from the kernel.
        status: i32,
        /// How many processes were started.
        processes: u64,
    },
    /// Every process of the command is gone. Together they used this.
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

/// The steps of a start that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartStep {
    /// Starting bubblewrap.
    Spawn,
    /// Mounting the shields: a protected file was moved meanwhile.
    Shield,
    /// Checking the sandbox from inside: the process has more than it should, or less.
    Verify,
    /// Opening the listener for the proxy.
    Egress,
    /// Applying Landlock.
    Landlock,
    /// Applying seccomp.
    Seccomp,
    /// Setting the resource limits.
    Limits,
    /// Entering the directory to start in.
    Directory,
    /// Executing the program.
    Exec,
}

/// Returns both ends of a new connection.
pub fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let flags = SocketFlags::CLOEXEC;
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
    Ok((a, b))
}

/// Sends one message. A message that is too large for a packet goes in an attached file.
pub fn send(
    socket: BorrowedFd<'_>,
    message: &impl Serialize,
    fds: &[BorrowedFd<'_>],
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    if bytes.len() <= MOST_PACKET_BYTES {
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
        return Err(io::Error::other("too many descriptors for one message"));
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut attached = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        attached.push(SendAncillaryMessage::ScmRights(fds));
    }
    let slices = [IoSlice::new(bytes)];
    retry(|| sendmsg(socket, &slices, &mut attached, SendFlags::NOSIGNAL)).map(drop)
}

/// Receives one message. Returns `None` if the other end is closed.
pub fn receive<T: DeserializeOwned>(socket: impl AsFd) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; MOST_PACKET_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_FDS))];
    let mut attached = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let mut get =
        || retry(|| recvmsg(&socket, &mut slices, &mut attached, RecvFlags::CMSG_CLOEXEC));
    let got = match get() {
        // The kernel reports this once if the other end closed before it read all of our messages. The messages
        // that it had sent itself come after that.
        Err(err) if err.raw_os_error() == Some(libc::ECONNRESET) => get(),
        other => other,
    }?;
    let mut fds = Vec::new();
    for message in attached.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            fds.extend(received);
        }
    }
    bytes.truncate(got.bytes);
    if bytes == IN_FILE {
        bytes.clear();
        let file = fds.pop().ok_or_else(|| io::Error::other("the file of a message is missing"))?;
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
