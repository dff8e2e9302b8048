//! The first process inside the sandbox: this same program, started by bubblewrap. It checks that
//! everything is in force, locks the second locks, starts the command, and stays as the process that
//! all others die with.

use std::ffi::CString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{
    DumpableBehavior, Pid, PidfdFlags, Resource, Rlimit, Signal, getpid, getrlimit, pidfd_open,
    set_dumpable_behavior, set_parent_process_death_signal, setrlimit,
};

use crate::shield::Shield;
use crate::system::{self, Words};
use crate::transfer::transferred;
use crate::wire::{self, Inside, Report, Rlimits, Step};
use crate::{landlock, seccomp};

/// Where the descriptors are that this process is started with.
pub(crate) const CONTROL: i32 = 3;
/// Bubblewrap's own options, which it reads and closes.
pub(crate) const OPTIONS: i32 = 4;
/// This program's file.
pub(crate) const PROGRAM: i32 = 5;

/// Where the way out listens, inside.
pub const PROXY_PORT: u16 = 3128;

/// Why the command was not started.
struct Failure {
    step: Step,
    why: String,
    errno: Option<i32>,
}

impl Failure {
    fn new(step: Step, why: impl Into<String>) -> Self {
        Self { step, why: why.into(), errno: None }
    }
}

/// Runs as the first process inside. Does not return.
pub(crate) fn run() -> ! {
    let control = system::inherited(CONTROL);
    // The line to the outside ends where the command begins.
    let _ = rustix::io::fcntl_setfd(&control, rustix::io::FdFlags::CLOEXEC);
    let code = match begin(control.as_fd()) {
        Ok((command, signals)) => reap(control.as_fd(), command, &signals),
        Err(failure) => {
            report_failure(control.as_fd(), failure);
            1
        }
    };
    // Everything else in here ends with this process.
    system::leave(code)
}

fn report_failure(control: BorrowedFd<'_>, failure: Failure) {
    let Failure { step, why, errno } = failure;
    let _ = wire::send(control, &Report::Failed { step, why, errno }, &[]);
}

fn begin(control: BorrowedFd<'_>) -> Result<(Pid, OwnedFd), Failure> {
    let verify = |why: String| Failure::new(Step::Verify, why);
    // Nobody inside may look into this process: it holds the line to the outside.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|err| verify(err.to_string()))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|err| verify(err.to_string()))?;
    let (plan, _) = wire::receive::<Inside>(control)
        .map_err(|err| verify(err.to_string()))?
        .ok_or_else(|| verify("nobody said what to run".to_owned()))?;
    verify_place(&plan).map_err(verify)?;
    let listener = plan.has_egress.then(listen).transpose()?;
    landlock::restrict(&plan.writable).map_err(|why| Failure::new(Step::Landlock, why))?;
    seccomp::restrict().map_err(|why| Failure::new(Step::Seccomp, why))?;
    let own = pidfd_open(getpid(), PidfdFlags::empty())
        .map_err(|err| Failure::new(Step::Verify, err.to_string()))?;
    let mut beside = vec![own.as_fd()];
    beside.extend(listener.as_ref().map(AsFd::as_fd));
    wire::send(control, &Report::Ready, &beside)
        .map_err(|err| Failure::new(Step::Verify, err.to_string()))?;
    drop((own, listener));
    let signals =
        system::child_signals().map_err(|err| Failure::new(Step::Verify, err.to_string()))?;
    let command = system::start(&mut || {
        let _ = system::close_from(CONTROL.cast_unsigned() + 1);
        // In a session of its own its processes share one part of the processor, however many they are,
        // and this one has another: it has to run in order to end them.
        let _ = rustix::process::setsid();
        if let Some(canary) = &plan.canary {
            try_out(&plan, canary);
        }
        report_failure(control, become_command(&plan));
    });
    Ok((command.map_err(|err| Failure::new(Step::Exec, err.to_string()))?, signals))
}

/// Checks that this process has nothing it should not have.
fn verify_place(plan: &Inside) -> Result<(), String> {
    if getpid().as_raw_nonzero().get() != 1 {
        return Err("this is not the first process of a process namespace".to_owned());
    }
    if rustix::process::getuid().is_root() {
        return Err("this process is the superuser".to_owned());
    }
    let status = fs::read_to_string("/proc/self/status").map_err(|err| err.to_string())?;
    for line in status.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.starts_with("Cap") && value.chars().any(|digit| digit != '0') {
            return Err(format!("capabilities are left: {name} is {value}"));
        }
        if name == "NoNewPrivs" && value != "1" {
            return Err("new privileges could be gained".to_owned());
        }
    }
    verify_descriptors()?;
    let devices = fs::read_to_string("/proc/self/net/dev").map_err(|err| err.to_string())?;
    let names = devices.lines().skip(2).filter_map(|line| line.split(':').next());
    if let Some(name) = names.map(str::trim).find(|name| *name != "lo") {
        return Err(format!("the network device `{name}` is within reach"));
    }
    for (path, device, inode) in &plan.roots {
        let meta = fs::metadata(path).map_err(|err| format!("`{path}`: {err}"))?;
        if (meta.dev(), meta.ino()) != (*device, *inode) {
            return Err(format!("root_replaced: `{path}` is another directory than the one meant"));
        }
    }
    plan.shields.iter().try_for_each(|(path, shield)| verify_shield(path, shield))
}

/// Checks that a mount is where it should be, of what it should be, and as closed as it should be.
fn verify_shield(path: &str, shield: &Shield) -> Result<(), String> {
    use rustix::fs::{
        AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes, StatxFlags,
    };
    let odd = |what: &str| format!("`{path}` is not protected: {what}");
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
        .map_err(|errno| odd(&io::Error::from(errno).to_string()))?;
    let meta = rustix::fs::statx(&handle, "", AtFlags::EMPTY_PATH, StatxFlags::INO)
        .map_err(|errno| odd(&io::Error::from(errno).to_string()))?;
    let device = rustix::fs::makedev(meta.stx_dev_major, meta.stx_dev_minor);
    if (device, meta.stx_ino) != shield.is {
        return Err(odd("something else took its place"));
    }
    if !meta.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(odd("nothing is mounted there"));
    }
    let mount =
        rustix::fs::fstatvfs(&handle).map_err(|errno| odd(&io::Error::from(errno).to_string()))?;
    if shield.is_read_only && !mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(odd("it can be written"));
    }
    Ok(())
}

fn verify_descriptors() -> Result<(), String> {
    drop(system::inherited(PROGRAM));
    let mut listing: Option<PathBuf> = None;
    for entry in fs::read_dir("/proc/self/fd").map_err(|err| err.to_string())?.flatten() {
        let number: i32 = entry.file_name().to_string_lossy().parse().unwrap_or(-1);
        if (0..=CONTROL).contains(&number) {
            continue;
        }
        // One of them is this listing itself.
        if listing.is_none() {
            listing = Some(entry.path());
            continue;
        }
        return Err(format!("the descriptor {number} was handed in"));
    }
    Ok(())
}

fn listen() -> Result<OwnedFd, Failure> {
    TcpListener::bind(("127.0.0.1", PROXY_PORT))
        .map(Into::into)
        .map_err(|err| Failure::new(Step::Egress, err.to_string()))
}

/// Lets the canary sing in the place of a command.
fn try_out(plan: &Inside, canary: &crate::canary::Canary) -> ! {
    let code = i32::from(set_limits(&plan.limits).is_err());
    let _ = rustix::io::write(rustix::stdio::stdout(), canary.sing().as_bytes());
    system::leave(code)
}

/// Becomes the command. Returns only if that failed.
fn become_command(plan: &Inside) -> Failure {
    if let Err(err) = set_limits(&plan.limits) {
        return Failure::new(Step::Limits, err.to_string());
    }
    if let Err(err) = std::env::set_current_dir(&plan.directory) {
        let why = format!("`{}`: {err}", plan.directory);
        return Failure { step: Step::Directory, why, errno: err.raw_os_error() };
    }
    system::reset_signals();
    let words = |texts: &[String]| Words::new(texts.iter().map(String::as_str));
    let (Some(arguments), Some(environment)) = (words(&plan.arguments), words(&plan.environment))
    else {
        return Failure::new(Step::Exec, "the command holds a NUL");
    };
    let program = plan.arguments.first().map_or("", String::as_str);
    let mut failed = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in candidates(program, &plan.environment) {
        let Ok(candidate) = CString::new(candidate.as_os_str().as_bytes()) else { continue };
        let err = system::exec(&candidate, &arguments, &environment);
        if err.kind() != io::ErrorKind::NotFound {
            failed = err;
        }
    }
    let why = format!("`{program}`: {failed}");
    Failure { step: Step::Exec, why, errno: failed.raw_os_error() }
}

/// Where a program could be: itself, if it is a path, else in each directory of PATH.
fn candidates(program: &str, environment: &[String]) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![PathBuf::from(program)];
    }
    let path = environment.iter().find_map(|entry| entry.strip_prefix("PATH="));
    let folders = path.unwrap_or_default().split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(program)).collect()
}

fn set_limits(limits: &Rlimits) -> io::Result<()> {
    // A little more at the top of processor time, so that the signal that names the limit comes before
    // the kill; one process more, for this one.
    let cpu = limits.cpu_seconds;
    let processes = limits.processes.saturating_add(1);
    for (resource, current, maximum) in [
        (Resource::Cpu, cpu, cpu.saturating_add(5)),
        (Resource::Data, limits.memory, limits.memory),
        (Resource::Fsize, limits.file_size, limits.file_size),
        (Resource::Nofile, limits.open_files, limits.open_files),
        (Resource::Nproc, processes, processes),
        (Resource::Core, 0, 0),
        (Resource::Msgqueue, 0, 0),
    ] {
        // Whoever started us may have set a lower one, which cannot be raised.
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (current, maximum) = (Some(current.min(most)), Some(maximum.min(most)));
        setrlimit(resource, Rlimit { current, maximum })?;
    }
    Ok(())
}

/// Waits for whatever ends in here, until the command itself does, or until nobody is left outside to
/// tell.
fn reap(control: BorrowedFd<'_>, command: Pid, signals: &OwnedFd) -> i32 {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        while let Some(pid) = system::ended_child(false) {
            let Ok(ended) = system::take_child(pid) else { return 1 };
            if pid == command {
                let report = Report::Exited { status: ended.status, processes: started() };
                let _ = wire::send(control, &report, &[]);
                account(control);
                return 0;
            }
        }
        let mut waits = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(control, PollFlags::empty()),
        ];
        let _ = poll(&mut waits, None);
        if !waits[1].revents().is_empty() {
            return 1;
        }
        let _ = rustix::io::read(signals, &mut [0; 1024]);
    }
}

/// Ends everything that is left, waits for it, and tells what all of it read and wrote.
fn account(control: BorrowedFd<'_>) {
    system::kill_others();
    while let Some(pid) = system::ended_child(true) {
        if system::take_child(pid).is_err() {
            break;
        }
    }
    // Nobody is left to look into this process, so it may look at itself.
    let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let (cpu_us, peak_memory) = system::children_usage();
    let (read_bytes, written_bytes) = transferred(&text);
    let report = Report::Gone { cpu_us, peak_memory, read_bytes, written_bytes };
    let _ = wire::send(control, &report, &[]);
}

/// How many processes and threads were started in here: numbers are given out in a row.
fn started() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = load.split_whitespace().next_back().and_then(|last| last.parse::<u64>().ok());
    last.map_or(1, |last| last.saturating_sub(1))
}
