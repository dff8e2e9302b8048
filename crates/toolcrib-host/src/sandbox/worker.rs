//! Workers: processes that stay up in a sandbox of their own and answer over pipes. A worker sees the system's folders,
//! its scratch space and the folders of its request: no workspace, no home, and no environment but its own.

use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::CpuSet;
use toolcrib_core::worker::{
    FolderAccess, StartedWorker, WorkerFolder, WorkerLimits, WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_core::{ErrorKind, ToolError};
use toolcrib_inside::wire::{self, Inside, Launch, Rlimits};

use super::egress::HostRule;
use super::growth::Growth;
use super::launch::{ReadyLauncher, not_prepared};
use super::network_link::NetworkLink;
use super::runner::{Sandbox, lock};
use super::shell;
use super::view::{Access, SandboxView, SeenFolder};
use super::walk::walk;
use super::worker_start::{self, WorkerPipes};
use super::worker_supervisor::{WorkerBounds, WorkerSupervisor};

/// Where a worker that runs modules finds our own program.
const MODULE_WORKER: &str = "/run/toolcrib-worker";

/// The argument that makes our program such a worker.
const MODULE_WORKER_ARGUMENT: &str = "__module_worker";

/// The most bytes of a folder that is copied.
const MOST_COPIED_BYTES: u64 = 8 << 20;

/// How many bytes an entry of such a folder takes at least.
const LEAST_ENTRY_BYTES: u64 = 4096;

/// Folders that nothing can be mounted in, because the system's own are there.
const RESERVED_FOLDERS: [&str; 11] = [
    "/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
];

/// Folders that nothing can be mounted on. Below them it can.
const OCCUPIED_FOLDERS: [&str; 4] = ["/", "/tmp", "/run", MODULE_WORKER];

/// Starts workers, each in a sandbox of its own, by the mechanisms that commands have.
pub struct WorkerSandbox {
    sandbox: Arc<Sandbox>,
    program: PathBuf,
    /// The file that was at that path when this was made. As long as it is open, no other file gets its inode.
    program_file: Option<OwnedFd>,
    launchers: Mutex<Launchers>,
    /// How many workers were kept to some of the cores.
    kept_to_cores: AtomicUsize,
}

/// The launchers of workers. What a worker sees is mounted by its launcher, so there is one for each view.
#[derive(Default)]
struct Launchers {
    /// Every launcher. It ends with its last worker.
    all: Vec<(LauncherKey, Weak<ReadyLauncher>)>,
    /// The launcher of workers that run modules. It stays, because the next one is wanted soon.
    kept: Option<Arc<ReadyLauncher>>,
}

/// What the view of a launcher depends on.
#[derive(Clone, PartialEq, Eq)]
struct LauncherKey {
    /// The folders, each with its device and inode.
    folders: Vec<(WorkerFolder, (u64, u64))>,
    program: Option<PathBuf>,
    scratch: u64,
}

impl WorkerSandbox {
    /// Prepares to start workers. Nothing is started before the first one. `program` is the file of our own program.
    pub fn new(sandbox: Arc<Sandbox>, program: PathBuf) -> Self {
        let program_file = open_exactly(&program).ok();
        let (launchers, kept_to_cores) = (Mutex::default(), AtomicUsize::new(0));
        Self { sandbox, program, program_file, launchers, kept_to_cores }
    }

    /// Returns the launcher of workers like this one. Starts it if there is none.
    fn launcher(&self, request: &WorkerRequest) -> Result<Arc<ReadyLauncher>, ToolError> {
        let mut folders = Vec::new();
        let mut key =
            LauncherKey { folders: Vec::new(), program: None, scratch: request.limits.scratch };
        for folder in &request.folders {
            let seen = seen_folder(folder)?;
            let is = identity(&seen.handle).map_err(|err| not_prepared(&err))?;
            key.folders.push((folder.clone(), is));
            folders.push(seen);
        }
        if request.program == WorkerProgram::ModuleWorker {
            // Also for a launcher that has it mounted: the kernel mounts no file again that has no name any more.
            folders.push(self.own_program()?);
            key.program = Some(self.program.clone());
        }
        let mut launchers = lock(&self.launchers);
        launchers.all.retain(|(_, launcher)| launcher.strong_count() > 0);
        let known = launchers.all.iter().find(|(other, _)| *other == key);
        if let Some(launcher) = known.and_then(|(_, launcher)| launcher.upgrade()) {
            return Ok(launcher);
        }
        let context = &self.sandbox.context;
        context.require_any_self_test()?;
        folders.sort_by_key(|seen| seen.target.components().count());
        let view = SandboxView::for_worker(&context.rules, &context.folder, folders, key.scratch)
            .map_err(|err| not_prepared(&err))?;
        let launcher = Arc::new(context.start_launcher(view)?);
        if key.program.is_some() {
            launchers.kept = Some(Arc::clone(&launcher));
        }
        launchers.all.push((key, Arc::downgrade(&launcher)));
        Ok(launcher)
    }

    /// Returns our own program as something that a worker sees.
    fn own_program(&self) -> Result<SeenFolder, ToolError> {
        let shown = self.program.display();
        let replaced = || {
            let message = format!("no worker can be started: `{shown}` was replaced meanwhile");
            ToolError::new(ErrorKind::Unavailable, message).hint("restart Toolcrib")
        };
        let handle = open_exactly(&self.program).map_err(|_| replaced())?;
        let before = self.program_file.as_ref().and_then(|file| identity(file).ok());
        if identity(&handle).ok() != before {
            return Err(replaced());
        }
        let (source, target) = (self.program.clone(), PathBuf::from(MODULE_WORKER));
        let (access, is_copied, is_owned) = (Access::ReadOnly, false, false);
        Ok(SeenFolder { handle, source, target, access, is_copied, is_owned })
    }

    /// Returns what the first process inside is told.
    fn plan(&self, launcher: &ReadyLauncher, request: &WorkerRequest) -> Inside {
        let limits = &self.sandbox.context.rules.limits;
        let (arguments, directory) = match &request.program {
            WorkerProgram::ModuleWorker => {
                let words = [MODULE_WORKER, MODULE_WORKER_ARGUMENT];
                (words.map(str::to_owned).into(), "/".to_owned())
            }
            WorkerProgram::Command { words, directory } => (words.clone(), directory.clone()),
        };
        let entry = |(name, value): &(String, String)| format!("{name}={value}");
        let mut environment: Vec<String> = request.environment.iter().map(entry).collect();
        let has_egress = !request.hosts.is_empty();
        if has_egress {
            environment.extend(shell::proxy_environment());
        }
        Inside {
            arguments,
            environment,
            directory,
            roots: Vec::new(),
            shields: Vec::new(),
            writable: launcher.view.writable(Access::Writable),
            limits: Rlimits {
                memory: address_space(&request.limits),
                processes: request.limits.processes,
                cpu_seconds: u64::MAX,
                file_size: limits.file_size,
                open_files: limits.open_files,
            },
            cores: self.cores(&request.limits),
            has_egress,
            tells_running: true,
            canary: None,
        }
    }

    /// Asks the launcher to start a worker, and returns our ends of its pipes.
    fn launch(
        &self,
        launcher: &ReadyLauncher,
        request: &WorkerRequest,
    ) -> Result<WorkerPipes, ToolError> {
        let failed = |err: std::io::Error| {
            ToolError::new(ErrorKind::Io, format!("the worker cannot be started: {err}"))
        };
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()));
        let (control, control_there) = wire::pair().map_err(failed)?;
        let (input_there, input) = pipe()?;
        let (output, output_there) = pipe()?;
        let (errors, errors_there) = pipe()?;
        wire::send(control.as_fd(), &self.plan(launcher, request), &[]).map_err(failed)?;
        let launch = Launch {
            options: launcher.view.options(Access::Writable),
            shields: Vec::new(),
            nested: Vec::new(),
            has_input: true,
        };
        let ends = [&control_there, &output_there, &errors_there, &input_there].map(AsFd::as_fd);
        let sent = launcher.spawner.launch(&launch, &ends);
        sent.map_err(|err| failed(err).with("launcher", "gone"))?;
        Ok(WorkerPipes { control, input, output, errors })
    }
}

impl Workers for WorkerSandbox {
    fn start(&self, request: &WorkerRequest) -> Result<StartedWorker, ToolError> {
        check(request)?;
        let network = self.network(&request.hosts)?;
        let mut launcher = self.launcher(request)?;
        let mut launched = self.launch(&launcher, request);
        if launched.as_ref().is_err_and(|err| err.context.contains_key("launcher")) {
            // The launcher died. Another one takes its place, once.
            let mut launchers = lock(&self.launchers);
            launchers.all.retain(|(_, other)| !std::ptr::eq(other.as_ptr(), &raw const *launcher));
            launchers.kept = None;
            drop(launchers);
            launcher = self.launcher(request)?;
            launched = self.launch(&launcher, request);
        }
        let pipes = launched?;
        let handles = worker_start::wait_until_running(&pipes)?;
        let WorkerPipes { control, input, output, errors } = pipes;
        let rules = self.sandbox.context.rules.limits;
        let written = request.folders.iter().filter(|it| it.access == FolderAccess::Write);
        let written: Vec<OwnedFd> =
            written.filter_map(|it| open_exactly(Path::new(&it.source)).ok()).collect();
        let bounds = WorkerBounds {
            limits: request.limits,
            growth: Growth::since_now(written.iter().map(AsFd::as_fd)),
            most_growth: (rules.growth, rules.files),
            network,
        };
        let control = WorkerSupervisor::start(handles, control, errors, bounds, launcher)?;
        Ok(StartedWorker { input, output, control })
    }
}

impl WorkerSandbox {
    /// Returns the cores that a worker is kept to, each time other ones. If it may use all, returns none.
    fn cores(&self, limits: &WorkerLimits) -> Vec<usize> {
        let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
        let cores = (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core));
        let cores: Vec<usize> = cores.collect();
        let most = (1..cores.len()).find(|count| *count as f64 >= limits.cpus);
        let Some(most) = most else { return Vec::new() };
        let first = self.kept_to_cores.fetch_add(most, Ordering::Relaxed) % cores.len();
        cores.iter().cycle().skip(first).take(most).copied().collect()
    }

    /// Returns the way of a worker to these hosts.
    fn network(&self, hosts: &[String]) -> Result<NetworkLink, ToolError> {
        let parse = |host: &String| {
            HostRule::parse(host).map_err(|err| {
                let message = format!("no worker can be given the host `{host}`: {err}");
                ToolError::new(ErrorKind::BadArgs, message)
            })
        };
        let hosts = hosts.iter().map(parse).collect::<Result<_, _>>()?;
        let context = &self.sandbox.context;
        let egress = Arc::new(context.egress.for_hosts(hosts));
        Ok(NetworkLink::new(egress, None, context.rules.limits.network))
    }
}

/// Returns how much data each process may have. Memory that a program reserves and never uses counts here, so it is
/// more than the worker may use: the supervisor measures what it uses.
fn address_space(limits: &WorkerLimits) -> u64 {
    limits.memory.saturating_mul(2)
}

/// Opens a folder that a worker is to see.
fn seen_folder(folder: &WorkerFolder) -> Result<SeenFolder, ToolError> {
    let source = PathBuf::from(&folder.source);
    let handle = open_exactly(&source).map_err(|err| {
        let message = format!("no worker can be given `{}`: {err}", folder.source);
        ToolError::new(ErrorKind::NotFound, message)
            .hint("name a folder that exists, by a path without links")
    })?;
    let (access, is_copied, is_owned) = match folder.access {
        FolderAccess::Copy => (Access::ReadOnly, is_small(&handle), false),
        FolderAccess::Read => (Access::ReadOnly, false, true),
        FolderAccess::Write => (Access::Writable, false, true),
    };
    let target = PathBuf::from(&folder.target);
    Ok(SeenFolder { handle, source, target, access, is_copied, is_owned })
}

/// Whether a folder can be copied into memory: it is small, and has nothing but files and folders.
fn is_small(folder: &OwnedFd) -> bool {
    let Ok(folder) = folder.try_clone() else { return false };
    let (mut bytes, mut has_others) = (0, false);
    let has_gaps = walk(folder, &mut |entry| {
        bytes += entry.bytes().max(LEAST_ENTRY_BYTES);
        has_others |= !matches!(entry.kind, FileType::RegularFile | FileType::Directory);
        if bytes > MOST_COPIED_BYTES || has_others {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    bytes <= MOST_COPIED_BYTES && !has_others && !has_gaps
}

/// Opens a path that has no link in any of its parts, as a handle.
fn open_exactly(path: &Path) -> std::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    Ok(rustix::fs::openat2(CWD, path, flags, Mode::empty(), resolve)?)
}

fn identity(handle: &OwnedFd) -> std::io::Result<(u64, u64)> {
    let meta = rustix::fs::fstat(handle)?;
    Ok((meta.st_dev, meta.st_ino))
}

/// Fails if a request asks for what no worker can have.
fn check(request: &WorkerRequest) -> Result<(), ToolError> {
    let bad = |message: String| Err(ToolError::new(ErrorKind::BadArgs, message));
    if let WorkerProgram::Command { words, directory } = &request.program {
        if words.is_empty() {
            return bad("no worker can be started without a program".to_owned());
        }
        if !directory.starts_with('/') {
            return bad(format!("no worker can start in `{directory}`: the path is not absolute"));
        }
    }
    for (name, _) in &request.environment {
        if name.is_empty() || name.contains('=') {
            return bad(format!("no environment variable can be named `{name}`"));
        }
    }
    for folder in &request.folders {
        let (source, target) = (Path::new(&folder.source), Path::new(&folder.target));
        let is_plain = |path: &Path| {
            let is_plain = |it| matches!(it, Component::RootDir | Component::Normal(_));
            path.is_absolute() && path.components().all(is_plain)
        };
        let is_taken = OCCUPIED_FOLDERS.iter().any(|it| target == Path::new(it))
            || RESERVED_FOLDERS.iter().any(|it| target.starts_with(it));
        if !is_plain(source) || !is_plain(target) || is_taken {
            let (source, target) = (source.display(), target.display());
            return bad(format!("no worker can see `{source}` at `{target}`"));
        }
    }
    Ok(())
}
