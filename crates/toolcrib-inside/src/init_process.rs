//! The first process inside the sandbox: this same program, started by bubblewrap. It checks that everything is in
//! force, applies Landlock and seccomp, starts the command, and stays as the process that all others die with.

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

use crate::descriptor::{CONTROL, PROGRAM};
use crate::failure::StartFailure;
use crate::landlock;
use crate::seccomp::{self, CoreChoice};
use crate::shield::{Shield, ShieldKind};
use crate::system::{self, CStringArray, WaitMode};
use crate::transfer::transferred;
use crate::wire::{self, Inside, Report, Rlimits, StartStep};

/// The port that the proxy listens on, inside the sandbox.
pub const PROXY_PORT: u16 = 3128;

/// Runs as the first process inside. Does not return.
pub(crate) fn run() -> ! {
    let control = system::inherited(CONTROL);
    // The command does not inherit the control connection.
    let _ = rustix::io::fcntl_setfd(&control, rustix::io::FdFlags::CLOEXEC);
    let code = match begin(control.as_fd()) {
        Ok((command, signals)) => reap(control.as_fd(), command, &signals),
        Err(failure) => {
            report_failure(control.as_fd(), failure);
            1
        }
    };
    // Every other process in the sandbox ends with this one.
    system::leave(code)
}

fn report_failure(control: BorrowedFd<'_>, failure: StartFailure) {
    let _ = wire::send(control, &failure.into_report(), &[]);
}

/// Checks the sandbox, applies Landlock and seccomp, and starts the command. Returns the command's process and the
/// descriptor on which the ends of children show.
fn begin(control: BorrowedFd<'_>) -> Result<(Pid, OwnedFd), StartFailure> {
    let verify = |why: String| StartFailure::new(StartStep::Verify, why);
    // No process inside may inspect this one, because it holds the control connection.
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(|err| verify(err.to_string()))?;
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|err| verify(err.to_string()))?;
    let (plan, _) = wire::receive::<Inside>(control)
        .map_err(|err| verify(err.to_string()))?
        .ok_or_else(|| verify("no plan was received".to_owned()))?;
    verify_place(&plan)?;
    let listener = plan.has_egress.then(listen).transpose()?;
    landlock::restrict(&plan.writable)
        .map_err(|err| StartFailure::new(StartStep::Landlock, err.to_string()))?;
    let core_choice = keep_to(&plan.cores)
        .map_err(|err| StartFailure::new(StartStep::Limits, err.to_string()))?;
    seccomp::restrict(core_choice)
        .map_err(|err| StartFailure::new(StartStep::Seccomp, err.to_string()))?;
    let own = pidfd_open(getpid(), PidfdFlags::empty())
        .map_err(|err| StartFailure::new(StartStep::Verify, err.to_string()))?;
    let mut attached = vec![own.as_fd()];
    attached.extend(listener.as_ref().map(AsFd::as_fd));
    wire::send(control, &Report::Ready, &attached)
        .map_err(|err| StartFailure::new(StartStep::Verify, err.to_string()))?;
    drop((own, listener));
    let signals = system::child_signals()
        .map_err(|err| StartFailure::new(StartStep::Verify, err.to_string()))?;
    let command = system::start(&mut || {
        let _ = system::close_from(CONTROL.cast_unsigned() + 1);
        // In a session of its own, the processes of the command share one part of the processor time, however many
        // they are, and this process has another part: it has to run in order to end them.
        let _ = rustix::process::setsid();
        if let Some(canary) = &plan.canary {
            run_canary(&plan, canary);
        }
        report_failure(control, become_command(&plan));
    });
    let command = command.map_err(|err| StartFailure::new(StartStep::Exec, err.to_string()))?;
    // By now the command is another program. If it could not become one, it has said so before.
    if plan.tells_running {
        let _ = wire::send(control, &Report::Running, &[]);
    }
    Ok((command, signals))
}

/// Checks that this process has nothing that it should not have.
fn verify_place(plan: &Inside) -> Result<(), StartFailure> {
    let fail = |why: String| StartFailure::new(StartStep::Verify, why);
    if getpid().as_raw_nonzero().get() != 1 {
        return Err(fail("this is not the first process of a process namespace".to_owned()));
    }
    if rustix::process::getuid().is_root() {
        return Err(fail("this process runs as root".to_owned()));
    }
    let status = fs::read_to_string("/proc/self/status").map_err(|err| fail(err.to_string()))?;
    for line in status.lines() {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.starts_with("Cap") && value.chars().any(|digit| digit != '0') {
            return Err(fail(format!("capabilities are left: {name} is {value}")));
        }
        if name == "NoNewPrivs" && value != "1" {
            return Err(fail("new privileges could be gained".to_owned()));
        }
    }
    verify_descriptors()?;
    let devices = fs::read_to_string("/proc/self/net/dev").map_err(|err| fail(err.to_string()))?;
    let names = devices.lines().skip(2).filter_map(|line| line.split(':').next());
    if let Some(name) = names.map(str::trim).find(|name| *name != "lo") {
        return Err(fail(format!("the network device `{name}` is within reach")));
    }
    for (path, device, inode) in &plan.roots {
        let meta = fs::metadata(path).map_err(|err| fail(format!("`{path}`: {err}")))?;
        if (meta.dev(), meta.ino()) != (*device, *inode) {
            let why = format!("root_replaced: `{path}` is not the expected directory");
            return Err(fail(why));
        }
    }
    plan.shields.iter().try_for_each(|(root, shield)| {
        let (root, ..) = plan.roots.get(*root).ok_or_else(|| fail("no such root".to_owned()))?;
        verify_shield(&Path::new(root).join(&shield.path), shield)
    })
}

/// Checks that a mount exists, is of the expected file or folder, or of a mask, and is read-only if it has to be.
fn verify_shield(path: &Path, shield: &Shield) -> Result<(), StartFailure> {
    use rustix::fs::{
        AtFlags, CWD, Mode, OFlags, ResolveFlags, StatVfsMountFlags, StatxAttributes, StatxFlags,
    };
    use rustix::io::Errno;
    let fail = |what: &str| {
        StartFailure::new(
            StartStep::Verify,
            format!("`{}` is not protected: {what}", path.display()),
        )
    };
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    // The mask is in a folder that is closed to this user. Should the command open the folder, it finds the mask.
    if shield.kind == ShieldKind::Masked && opened.as_ref().is_err_and(|it| *it == Errno::ACCESS) {
        return Ok(());
    }
    let handle = opened.map_err(|errno| fail(&io::Error::from(errno).to_string()))?;
    let wanted = StatxFlags::INO | StatxFlags::MODE;
    let meta = rustix::fs::statx(&handle, "", AtFlags::EMPTY_PATH, wanted)
        .map_err(|errno| fail(&io::Error::from(errno).to_string()))?;
    let device = rustix::fs::makedev(meta.stx_dev_major, meta.stx_dev_minor);
    let is_original = (device, meta.stx_ino) == shield.is;
    match shield.kind {
        ShieldKind::Masked if is_original || meta.stx_mode & 0o7777 != 0 => {
            return Err(fail("it is not masked"));
        }
        ShieldKind::InPlace | ShieldKind::ReadOnly if !is_original => {
            return Err(fail("another file took its place"));
        }
        ShieldKind::InPlace | ShieldKind::ReadOnly | ShieldKind::Masked => {}
    }
    if !meta.stx_attributes.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(fail("nothing is mounted there"));
    }
    let mount =
        rustix::fs::fstatvfs(&handle).map_err(|errno| fail(&io::Error::from(errno).to_string()))?;
    if shield.kind != ShieldKind::InPlace && !mount.f_flag.contains(StatVfsMountFlags::RDONLY) {
        return Err(fail("it is writable"));
    }
    Ok(())
}

/// Checks that no descriptors are open beside the expected ones.
fn verify_descriptors() -> Result<(), StartFailure> {
    let fail = |why: String| StartFailure::new(StartStep::Verify, why);
    drop(system::inherited(PROGRAM));
    let mut listing: Option<PathBuf> = None;
    for entry in fs::read_dir("/proc/self/fd").map_err(|err| fail(err.to_string()))?.flatten() {
        let number: i32 = entry.file_name().to_string_lossy().parse().unwrap_or(-1);
        if (0..=CONTROL).contains(&number) {
            continue;
        }
        // One descriptor belongs to this listing itself.
        if listing.is_none() {
            listing = Some(entry.path());
            continue;
        }
        return Err(fail(format!("the descriptor {number} is open")));
    }
    Ok(())
}

/// Keeps this process, and everything it starts, to these cores.
fn keep_to(cores: &[usize]) -> io::Result<CoreChoice> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    if cores.is_empty() {
        return Ok(CoreChoice::Free);
    }
    let mut set = CpuSet::new();
    for core in cores.iter().filter(|core| **core < CpuSet::MAX_CPU) {
        set.set(*core);
    }
    sched_setaffinity(None, &set)?;
    Ok(CoreChoice::Fixed)
}

fn listen() -> Result<OwnedFd, StartFailure> {
    TcpListener::bind(("127.0.0.1", PROXY_PORT))
        .map(Into::into)
        .map_err(|err| StartFailure::new(StartStep::Egress, err.to_string()))
}

/// Runs the canary in the place of a command.
fn run_canary(plan: &Inside, canary: &crate::canary::Canary) -> ! {
    let code = i32::from(set_limits(&plan.limits).is_err());
    let _ = rustix::io::write(rustix::stdio::stdout(), canary.report().as_bytes());
    system::leave(code)
}

/// Becomes the command. Returns only if that failed.
fn become_command(plan: &Inside) -> StartFailure {
    if let Err(err) = set_limits(&plan.limits) {
        return StartFailure::new(StartStep::Limits, err.to_string());
    }
    if let Err(err) = std::env::set_current_dir(&plan.directory) {
        return StartFailure::from_error(StartStep::Directory, &plan.directory, &err);
    }
    system::reset_signals();
    let array = |texts: &[String]| CStringArray::new(texts.iter().map(String::as_str));
    let (Some(arguments), Some(environment)) = (array(&plan.arguments), array(&plan.environment))
    else {
        return StartFailure::new(StartStep::Exec, "the command contains a NUL");
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
    StartFailure::from_error(StartStep::Exec, program, &failed)
}

/// Where programs are searched if the environment has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Returns the paths that a program could have: its own, if it is a path, else one in each directory of `PATH`.
fn candidates(program: &str, environment: &[String]) -> Vec<PathBuf> {
    if program.contains('/') {
        return vec![PathBuf::from(program)];
    }
    let path = environment.iter().find_map(|entry| entry.strip_prefix("PATH="));
    let path = path.unwrap_or(DEFAULT_PATH);
    let folders = path.split(':').filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(program)).collect()
}

fn set_limits(limits: &Rlimits) -> io::Result<()> {
    // The hard limit on processor time is a little higher, so that the signal that names the limit comes before the
    // kill. One process more is allowed, for this process.
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
        // Whoever started us may have set a lower limit, which cannot be raised.
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let (current, maximum) = (Some(current.min(most)), Some(maximum.min(most)));
        setrlimit(resource, Rlimit { current, maximum })?;
    }
    Ok(())
}

/// Waits for processes that end, until the command itself does, or until the control connection is closed.
fn reap(control: BorrowedFd<'_>, command: Pid, signals: &OwnedFd) -> i32 {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        while let Some(pid) = system::ended_child(WaitMode::Poll) {
            let Ok(ended) = system::take_child(pid) else { return 1 };
            if pid == command {
                let report =
                    Report::Exited { status: ended.status, processes: started_processes() };
                let _ = wire::send(control, &report, &[]);
                report_usage(control);
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

/// Ends every process that is left, waits for it, and reports what all of them read and wrote.
fn report_usage(control: BorrowedFd<'_>) {
    system::kill_others();
    while let Some(pid) = system::ended_child(WaitMode::Block) {
        if system::take_child(pid).is_err() {
            break;
        }
    }
    // No process is left that could inspect this one, so it may read its own figures.
    let _ = set_dumpable_behavior(DumpableBehavior::Dumpable);
    let text = fs::read_to_string("/proc/self/io").unwrap_or_default();
    let (cpu_us, peak_memory) = system::children_usage();
    let (read_bytes, written_bytes) = transferred(&text);
    let report = Report::Gone { cpu_us, peak_memory, read_bytes, written_bytes };
    let _ = wire::send(control, &report, &[]);
}

/// Returns how many processes and threads were started in the sandbox: the kernel numbers them consecutively.
fn started_processes() -> u64 {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let last = load.split_whitespace().next_back().and_then(|last| last.parse::<u64>().ok());
    last.map_or(1, |last| last.saturating_sub(1))
}
