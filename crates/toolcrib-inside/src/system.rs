//! The system calls that have no safe wrapper, each as narrow as its caller needs.
#![expect(unsafe_code, reason = "fork, exec and the newest mount calls have no safe form")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use rustix::process::Pid;

/// The process in which a fork returned.
pub(crate) enum Forked {
    Child,
    Parent(Pid),
}

/// Forks. For processes of one thread only: in any other process, the child could not even allocate.
pub(crate) fn fork() -> io::Result<Forked> {
    // SAFETY: the callers are single-threaded processes of our own, so the child may do anything.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Forked::Child),
        pid => Pid::from_raw(pid).map(Forked::Parent).ok_or_else(|| io::Error::other("no pid")),
    }
}

/// Starts a process that runs `become_other` in the memory of this process, while this process waits until the
/// child has become another program or has ended. Nothing of a large process needs to be copied. For processes of
/// one thread only. Memory that `become_other` allocates and has not freed by then is lost.
pub(crate) fn start(become_other: &mut dyn FnMut()) -> io::Result<Pid> {
    const STACK: usize = 256 << 10;
    extern "C" fn enter(run: *mut c_void) -> c_int {
        // SAFETY: it is what is handed to `clone` below, whose caller waits for this to be over.
        let run = unsafe { &mut *run.cast::<&mut dyn FnMut()>() };
        run();
        leave(127)
    }
    let mut stack = Vec::<u128>::with_capacity(STACK / size_of::<u128>());
    let mut run = become_other;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is aligned, grows down from its end and, as the closure, outlives the shared
    // time; this thread, the only one, runs nothing meanwhile; signals, files and folders are not shared.
    let pid = unsafe {
        let end = stack.as_mut_ptr().add(stack.capacity());
        libc::clone(enter, end.cast(), flags, (&raw mut run).cast())
    };
    Pid::from_raw(checked(pid)?).ok_or_else(|| io::Error::other("no pid"))
}

/// Applies a seccomp filter to this process and to everything it will start.
pub(crate) fn filter_calls(program: &mut [libc::sock_filter]) -> io::Result<()> {
    let filter = libc::sock_fprog {
        len: program.len().try_into().map_err(|_| io::Error::from_raw_os_error(libc::E2BIG))?,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the program and its length belong together and outlive the call.
    let done = unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const filter)
    };
    checked(done as c_int).map(drop)
}

/// Ends this process at once, without running any destructors.
pub(crate) fn leave(code: i32) -> ! {
    // SAFETY: `_exit` has no preconditions.
    unsafe { libc::_exit(code) }
}

/// Ends this process by Ctrl-C's signal, as if it had no handler. A shell then ends its loop, too.
pub fn end_by_interrupt() -> ! {
    // SAFETY: the default action and raising a signal of this process have no preconditions.
    unsafe {
        libc::signal(libc::SIGINT, libc::SIG_DFL);
        libc::raise(libc::SIGINT);
    }
    leave(130)
}

/// Becomes another program. Returns only if that failed.
pub(crate) fn exec(
    program: &CStr,
    arguments: &CStringArray,
    environment: &CStringArray,
) -> io::Error {
    // SAFETY: both arrays end in null, and what they point to lives as long as they do.
    unsafe {
        libc::execve(program.as_ptr(), arguments.pointers.as_ptr(), environment.pointers.as_ptr());
    }
    io::Error::last_os_error()
}

/// An array of strings as `execve` takes it.
pub(crate) struct CStringArray {
    pointers: Vec<*const c_char>,
    _texts: Vec<CString>,
}

impl CStringArray {
    /// Creates the array. Returns `None` if a string contains a NUL.
    pub(crate) fn new<T: Into<Vec<u8>>>(texts: impl IntoIterator<Item = T>) -> Option<Self> {
        let texts: Vec<CString> =
            texts.into_iter().map(CString::new).collect::<Result<_, _>>().ok()?;
        let pointers = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Some(Self { pointers, _texts: texts })
    }
}

/// Makes `to` a duplicate of `from` that a program started later inherits.
pub(crate) fn place(from: RawFd, to: RawFd) -> io::Result<()> {
    // SAFETY: only numbers are passed; what `to` was before is meant to go.
    let done = if from == to {
        unsafe { libc::fcntl(from, libc::F_SETFD, 0) }
    } else {
        unsafe { libc::dup2(from, to) }
    };
    checked(done).map(drop)
}

/// Duplicates a descriptor to a number not below `least`.
pub(crate) fn lift(fd: BorrowedFd<'_>, least: RawFd) -> io::Result<RawFd> {
    // SAFETY: a plain duplication.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) })
}

/// Takes ownership of a descriptor that this process was started with.
pub(crate) fn inherited(fd: RawFd) -> OwnedFd {
    // SAFETY: the number is part of the protocol between our own processes; nobody else owns it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// Closes every descriptor from `first` on.
pub(crate) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: the callers are about to become another program and hold none of them.
    let done = unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) };
    checked(done as c_int).map(drop)
}

/// Whether a function waits for a child to end.
#[derive(Clone, Copy)]
pub(crate) enum WaitMode {
    /// Waits until one has ended.
    Block,
    /// Returns at once.
    Poll,
}

/// Returns a child that ended, without taking it: its I/O figures can still be read. Returns `None` if no child has
/// ended yet, or there is none.
pub(crate) fn ended_child(wait: WaitMode) -> Option<Pid> {
    let wait = match wait {
        WaitMode::Block => 0,
        WaitMode::Poll => libc::WNOHANG,
    };
    // SAFETY: an all-zero siginfo is a valid one and lives through the call; its pid is the field
    // that this call fills.
    unsafe {
        let mut info: libc::siginfo_t = std::mem::zeroed();
        let flags = libc::WEXITED | libc::WNOWAIT | libc::__WALL | wait;
        while libc::waitid(libc::P_ALL, 0, &raw mut info, flags) == -1 {
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
        Pid::from_raw(info.si_pid())
    }
}

/// Takes a child that [`ended_child`] returned, so that the kernel forgets it.
pub(crate) fn take_child(pid: Pid) -> io::Result<EndedChild> {
    let mut status = 0;
    // SAFETY: an all-zero rusage is a valid one, and both places live through the call.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let raw = pid.as_raw_nonzero().get();
    checked(unsafe { libc::wait4(raw, &raw mut status, libc::__WALL, &raw mut usage) })?;
    Ok(EndedChild {
        status,
        cpu_us: micros(usage.ru_utime) + micros(usage.ru_stime),
        peak_memory: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
    })
}

/// A child that ended, and what it and the children that it waited for used.
pub(crate) struct EndedChild {
    pub(crate) status: i32,
    pub(crate) cpu_us: u64,
    pub(crate) peak_memory: u64,
}

/// Returns a descriptor that becomes readable when a child ends.
pub(crate) fn child_signals() -> io::Result<OwnedFd> {
    // SAFETY: the set is filled before it is used.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        checked(libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()))?;
        let fd =
            checked(libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Ends every process that this one can see, itself excepted. For the first process of a namespace.
pub(crate) fn kill_others() {
    // SAFETY: a plain signal; the callers are in a process namespace of their own.
    unsafe { libc::kill(-1, libc::SIGKILL) };
}

/// Gives back to every signal its default, and blocks none.
pub(crate) fn reset_signals() {
    // SAFETY: setting defaults has no preconditions; signals that cannot be set are left alone.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const set, std::ptr::null_mut());
        for signal in 1..=64 {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Gives up every right of the superuser for good: this process becomes user `uid` of group `gid`.
pub(crate) fn become_user(uid: u32, gid: u32) -> io::Result<()> {
    // SAFETY: plain numbers; the callers are processes of one thread.
    unsafe {
        checked(libc::setgroups(0, std::ptr::null()))?;
        checked(libc::setresgid(gid, gid, gid))?;
        checked(libc::setresuid(uid, uid, uid))?;
        if libc::setuid(0) != -1 || libc::geteuid() == 0 {
            return Err(io::Error::other("the process could not drop root privileges"));
        }
    }
    Ok(())
}

/// Moves this process to new namespaces.
pub(crate) fn unshare(flags: c_int) -> io::Result<()> {
    // SAFETY: the callers are processes of one thread, which is the one that changes.
    checked(unsafe { libc::unshare(flags) }).map(drop)
}

/// Attributes of a mount.
#[derive(Clone, Copy)]
pub(crate) struct MountAttributes(u64);

impl MountAttributes {
    pub(crate) const READ_ONLY: Self = Self(libc::MOUNT_ATTR_RDONLY);
    pub(crate) const NO_SUID: Self = Self(libc::MOUNT_ATTR_NOSUID);
    pub(crate) const NO_DEVICES: Self = Self(libc::MOUNT_ATTR_NODEV);
}

impl std::ops::BitOr for MountAttributes {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Sets attributes of a mount and of every mount below it.
pub(crate) fn set_mount(mount: BorrowedFd<'_>, set: MountAttributes) -> io::Result<()> {
    let attributes =
        libc::mount_attr { attr_set: set.0, attr_clr: 0, propagation: 0, userns_fd: 0 };
    mount_setattr(mount, libc::AT_RECURSIVE, &attributes)
}

fn mount_setattr(
    mount: BorrowedFd<'_>,
    flags: c_int,
    attributes: &libc::mount_attr,
) -> io::Result<()> {
    // SAFETY: the structure and its size belong together, and the path is an empty string.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            mount.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | flags,
            std::ptr::from_ref(attributes).cast::<c_void>(),
            size_of::<libc::mount_attr>(),
        )
    };
    checked(done as c_int).map(drop)
}

/// Maps the owners of files in a mount that is not attached yet, as the user namespace maps users.
pub(crate) fn map_owners(mount: BorrowedFd<'_>, users: BorrowedFd<'_>) -> io::Result<()> {
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_IDMAP,
        attr_clr: 0,
        propagation: 0,
        userns_fd: u64::try_from(users.as_raw_fd()).unwrap_or_default(),
    };
    mount_setattr(mount, 0, &attributes)
}

/// Returns the kernel's version of Landlock, or an error if the kernel has none or has it off.
pub(crate) fn landlock_version() -> io::Result<i32> {
    const VERSION: c_int = 1;
    let nothing = std::ptr::null::<c_void>();
    // SAFETY: with this flag the kernel reads no structure.
    let done = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0, VERSION) };
    checked(done as c_int)
}

/// Makes system calls that must be refused. Returns the name of each, and whether it succeeded.
pub(crate) fn try_forbidden() -> Vec<(&'static str, bool)> {
    // SAFETY: every call is harmless if it succeeds: sockets and namespaces end with this process.
    unsafe {
        let socket = |family| libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0) != -1;
        let raw = |family| libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) != -1;
        let is_filtered = || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM);
        let typed = c"x";
        let nothing = std::ptr::null::<c_void>();
        vec![
            ("a user namespace", libc::unshare(libc::CLONE_NEWUSER) != -1),
            // On stdin that is no terminal the call fails either way, but only the filter answers with EPERM.
            (
                "input to the user's terminal",
                libc::ioctl(0, libc::TIOCSTI, typed.as_ptr()) != -1 || !is_filtered(),
            ),
            ("sockets of other programs", socket(libc::AF_UNIX)),
            ("the kernel's own sockets", raw(libc::AF_NETLINK)),
            ("the virtual machine's host", socket(libc::AF_VSOCK)),
            (
                "mounts",
                libc::mount(c"none".as_ptr(), c"/tmp".as_ptr(), c"tmpfs".as_ptr(), 0, nothing)
                    != -1,
            ),
            ("root privileges", libc::setuid(0) != -1),
        ]
    }
}

/// Returns processor time (in microseconds) and peak memory (of the largest child) of all children that were waited
/// for.
pub(crate) fn children_usage() -> (u64, u64) {
    // SAFETY: an all-zero rusage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage) };
    let cpu = micros(usage.ru_utime) + micros(usage.ru_stime);
    (cpu, u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024)
}

/// Returns the processor time of this thread, in microseconds, and the peak memory of its process.
pub fn thread_times() -> (u64, u64) {
    // SAFETY: an all-zero rusage is a valid one.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    // `getrusage` counts time in ticks, and most calls are shorter than a tick.
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let part = |number: i64| u64::try_from(number).unwrap_or(0);
    let cpu = part(time.tv_sec) * 1_000_000 + part(time.tv_nsec) / 1000;
    (cpu, u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024)
}

fn micros(time: libc::timeval) -> u64 {
    let whole = u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000;
    whole + u64::try_from(time.tv_usec).unwrap_or(0)
}

fn checked(done: c_int) -> io::Result<c_int> {
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(done) }
}
