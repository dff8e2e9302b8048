//! Commands, each in a sandbox of its own: namespaces by bubblewrap, Landlock, seccomp, limits. What
//! cannot be enforced is refused.

mod commands;
mod config;
mod cover;
mod egress;
mod etc;
mod follow;
mod guard;
mod helper;
mod job;
mod keeper;
mod notes;
mod output;
mod probe;
mod repositories;
mod sample;
mod shell;
mod spawner;
mod store;
mod tee;
mod touched;
mod view;
mod walk;
mod watch;

use std::collections::HashMap;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pipe::{PipeFlags, pipe_with};
use toolcrib_core::command::{ChangedFiles, CommandRequest, End, Finished, LastCommand, Stream};
use toolcrib_core::{CallId, Cancel, Clock, ErrorKind, ToolError, Usage};

pub use commands::SharedSandbox;
pub use config::{CommandLimits, Operator, Profile, SandboxRules};
pub use egress::{BadHost, Egress, HostRule, Resolver};
pub use job::{Asker, TaskEnd};
pub use probe::{Finding, State as Enforced};
pub use tee::{Tee, TeeReader};
pub use touched::changed_since;

use crate::Workspace;
use follow::Follower;
use guard::Guard;
use job::{Job, Progress};
use keeper::Keeper;
use output::Collector;
use repositories::Repositories;
use spawner::Spawner;
use store::Store;
use toolcrib_inside::canary::Canary;
use toolcrib_inside::wire::{self, Inside, Launch, Rlimits, Setup};
use toolcrib_inside::{Shield, landlock_version};
use touched::{Began, Seen};
use view::{Folders, View};
use watch::Growth;

/// How long the end of a command is waited for after it was told to end.
const SEND_OFF: Duration = Duration::from_secs(5);

/// The most bytes of a command's text: the kernel takes no longer argument.
const MOST_TEXT: usize = (128 << 10) - 1;

/// What is ours in the state folder, and what tells there which covers are.
const FOLDER: &str = "sandbox";
const COVERS: &str = "covers";

/// Runs commands for one workspace.
pub struct Sandbox {
    rules: SandboxRules,
    operator: Operator,
    workspace: Arc<Workspace>,
    clock: Arc<dyn Clock>,
    egress: Option<Arc<Egress>>,
    store: Store,
    folder: PathBuf,
    ready: Mutex<Option<Arc<Ready>>>,
    jobs: Mutex<HashMap<String, Arc<Job>>>,
    last: Mutex<Option<LastCommand>>,
    listeners: Mutex<Vec<Box<Listener>>>,
    /// How long tasks that are over took, and what they wrote.
    tasks: Mutex<HashMap<Asker, (Duration, u64)>>,
    repositories: Repositories,
    keeper: Keeper,
    /// What was found changed after the last command.
    seen: Arc<Mutex<Seen>>,
}

/// Is told when a task is over.
pub type Listener = dyn Fn(&TaskEnd) + Send + Sync;

/// What is made once, when the first command is wanted.
struct Ready {
    view: View,
    spawner: Spawner,
}

impl Sandbox {
    /// Prepares to run commands. Nothing is started before the first one. `state` is our own folder.
    pub fn new(
        rules: SandboxRules,
        operator: Operator,
        workspace: Arc<Workspace>,
        clock: Arc<dyn Clock>,
        state: &Path,
    ) -> Result<Self, BadHost> {
        let hosts: Vec<HostRule> =
            rules.egress.iter().map(|host| HostRule::parse(host)).collect::<Result<_, _>>()?;
        let egress =
            (!hosts.is_empty()).then(|| Arc::new(Egress::new(hosts, rules.egress_ports.clone())));
        Ok(Self {
            rules,
            operator,
            workspace,
            clock,
            egress,
            store: Store::new(state.join("output")),
            folder: state.join(FOLDER),
            ready: Mutex::default(),
            jobs: Mutex::default(),
            last: Mutex::default(),
            listeners: Mutex::default(),
            tasks: Mutex::default(),
            repositories: Repositories::new(state.join("sandbox/repositories")),
            keeper: Keeper::default(),
            seen: Arc::default(),
        })
    }

    /// The same with another way out. No setting leads here.
    pub fn with_egress(self, egress: Egress) -> Self {
        Self { egress: Some(Arc::new(egress)), ..self }
    }

    /// Has `listener` told whenever a task is over.
    pub fn on_task_end(&self, listener: Box<Listener>) {
        lock(&self.listeners).push(listener);
    }

    /// Ends every command that still runs, and waits until it is gone.
    pub fn close(&self) {
        let jobs: Vec<_> = lock(&self.jobs).values().cloned().collect();
        for job in &jobs {
            job.cancel.cancel();
        }
        for job in jobs {
            job.wait(Instant::now() + SEND_OFF, &Cancel::default());
            self.end_task(&job);
        }
        // A task that ended by itself a moment ago may be being told by its own thread.
        drop(lock(&self.listeners));
        drop(lock(&self.ready).take());
        self.keeper.let_go();
    }

    /// Notes how a task ended, if it did, and tells those who want to know, once.
    fn end_task(&self, job: &Job) {
        let Some(finished) = job.progress().finished.clone() else { return };
        // Held until they are told: whoever closes waits for that.
        let listeners = lock(&self.listeners);
        if let Ok(finished) = &finished {
            self.store.note_over(job, finished);
        }
        let (end, usage, elapsed, touched) = match finished {
            Ok(finished) => (finished.end, finished.usage, finished.elapsed, finished.touched),
            Err(_) => (End::Killed, Usage::default(), Duration::ZERO, ChangedFiles::default()),
        };
        // From here on the store answers for it.
        let mut jobs = lock(&self.jobs);
        jobs.remove(&job.id);
        let Some(asker) = job.asker() else { return };
        let mut tasks = lock(&self.tasks);
        let spent = tasks.entry(asker.clone()).or_default();
        *spent = (spent.0 + elapsed, spent.1 + usage.written_bytes);
        drop((tasks, jobs));
        let call = CallId(job.id.clone());
        let ended = TaskEnd { call, asker, end, usage, elapsed, touched };
        for listener in &*listeners {
            listener(&ended);
        }
    }

    /// Returns what bubblewrap would be told for a command here, by paths that whoever runs it alone can
    /// use: for measuring what the rest costs. What it mounts stays while the second value does.
    pub fn bubblewrap_alone(&self) -> Result<(Vec<String>, Held), ToolError> {
        let ready = self.ready()?;
        let guards = self.guards()?;
        let shields: Vec<_> = guards.iter().map(Guard::shields).collect();
        Ok((ready.view.plain_options(&shields), Held(guards)))
    }

    /// Returns the user that commands are, if it is another than we are.
    pub fn user(&self) -> Result<Option<u32>, ToolError> {
        Ok(self.ready()?.view.user.map(|user| user.uid))
    }

    /// Finds out what is in force on this machine, by trying it.
    pub fn examine(&self) -> Vec<Finding> {
        probe::examine(self)
    }

    /// Runs a command to its end, with what it prints handed to `tee` as it comes.
    pub fn run_live(
        &self,
        request: &CommandRequest,
        cancel: &Cancel,
        tee: Tee,
    ) -> Result<Finished, ToolError> {
        let job = self.start_job(request, request.time, false, Some(tee))?;
        self.finish(&job, request.time, cancel)
    }

    /// Waits for a command's end, and sees to it if the call ends first.
    fn finish(
        &self,
        job: &Arc<Job>,
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Finished, ToolError> {
        if !job.wait(Instant::now() + time + SEND_OFF, cancel) {
            job.cancel.cancel();
            job.wait(Instant::now() + SEND_OFF, &Cancel::default());
        }
        let finished = job.progress().finished.clone();
        if let Some(Ok(finished)) = &finished {
            self.store.note_over(job, finished);
        }
        lock(&self.jobs).remove(&job.id);
        finished.unwrap_or_else(|| {
            Err(ToolError::new(ErrorKind::Io, "the command did not end when it was told to"))
        })
    }

    fn ready(&self) -> Result<Arc<Ready>, ToolError> {
        let mut ready = lock(&self.ready);
        if let Some(ready) = &*ready {
            return Ok(Arc::clone(ready));
        }
        let fresh = Arc::new(self.prepare()?);
        self.prove(&fresh)?;
        *ready = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    fn prepare(&self) -> Result<Ready, ToolError> {
        if self.workspace.has_hidden() {
            let message =
                "no commands are run here: our own state or settings are in the workspace";
            return Err(ToolError::new(ErrorKind::Unavailable, message)
                .hint("choose another workspace, or set TOOLCRIB_STATE to another folder"));
        }
        if let Some(root) = self.workspace.roots.iter().find(|root| root.path().to_str().is_none())
        {
            let shown = root.path().display();
            let message = format!("no commands are run in `{shown}`: its name is not UTF-8");
            return Err(ToolError::new(ErrorKind::Unavailable, message).hint("rename the folder"));
        }
        let bubblewrap = probe::bubblewrap(self.rules.bubblewrap.as_deref())
            .map_err(|why| probe::missing("bubblewrap", &why))?;
        landlock_version().map_err(|why| probe::missing("landlock", &why))?;
        let failed = |err: std::io::Error| {
            ToolError::new(ErrorKind::Io, format!("the sandbox cannot be prepared: {err}"))
                .hint("see to the state folder; `toolcrib doctor` shows where it is")
        };
        let folders = Folders { etc: self.folder.join("etc"), caches: self.folder.join("caches") };
        let roots: Vec<_> =
            self.workspace.roots.iter().map(|root| (root.path(), root.handle())).collect();
        let view = View::new(&self.rules, &self.operator, &roots, &folders).map_err(failed)?;
        let staged = view.staged().map_err(failed)?;
        let setup = Setup { bubblewrap: bubblewrap.display().to_string(), user: view.user, staged };
        let spawner =
            Spawner::start(&setup).map_err(|no| probe::missing(&no.mechanism, &no.why))?;
        Ok(Ready { view, spawner })
    }

    /// Starts a command, and a thread that follows it.
    fn start_job(
        &self,
        request: &CommandRequest,
        time: Duration,
        background: bool,
        tee: Option<Tee>,
    ) -> Result<Arc<Job>, ToolError> {
        let ready = self.ready()?;
        let covers = self.folder.join(COVERS);
        let began = (!request.is_read_only).then(|| Began::now(&self.workspace.roots, &covers));
        let launched = match self.launch(&ready, request, None) {
            // The launcher is gone: another one, once.
            Err(err) if err.context.contains_key("launcher") => {
                *lock(&self.ready) = None;
                self.launch(&self.ready()?, request, None)
            }
            other => other,
        };
        let Launched { lines, guards, keeps } = launched?;
        self.store.make_room();
        let limits = self.rules.limits;
        let folder = self.store.folder(&request.call.0);
        let collect = |stream| Collector::new(stream, request.keep, &folder, limits.saved);
        let progress = Progress {
            stdout: collect(Stream::Stdout),
            stderr: collect(Stream::Stderr),
            finished: None,
            deadline: Instant::now() + time,
        };
        let id = request.call.0.clone();
        let rest = request.rest_hint.replace("{id}", &id);
        let job = Job::new(id.clone(), request.text.clone(), rest, self.clock.now(), progress);
        let job = Arc::new(job);
        if background {
            self.store.note_started(&job);
        }
        let roots = self.workspace.roots.iter().map(crate::Root::handle);
        let (growth, egress) = (Growth::since_now(roots), self.egress.clone());
        let (following, workspace) = (Arc::clone(&job), Arc::clone(&self.workspace));
        let seen = Arc::clone(&self.seen);
        let started = thread::Builder::new().name("command".to_owned()).spawn(move || {
            let mut follower = Follower::new(&following, limits, growth, egress, lines);
            follower.tee = tee;
            // A defect of ours must not leave anyone waiting; the command ends with its lines.
            let finished = catch_unwind(AssertUnwindSafe(|| {
                let mut finished = follower.follow(guards)?;
                if let Some(began) = began {
                    finished.touched = began.touched(&workspace.roots, &covers, &seen);
                }
                Ok(finished)
            }));
            let finished = finished.unwrap_or_else(|_| {
                Err(ToolError::new(ErrorKind::Bug, "the command was lost: a defect of the sandbox"))
            });
            drop(keeps);
            following.finish(finished);
        });
        started.map_err(|err| {
            ToolError::new(ErrorKind::Io, format!("no thread to follow the command: {err}"))
                .hint("try again when less is running")
        })?;
        lock(&self.jobs).insert(id, Arc::clone(&job));
        Ok(job)
    }

    /// Asks the launcher for a command, or for the canary.
    fn launch(
        &self,
        ready: &Arc<Ready>,
        request: &CommandRequest,
        canary: Option<Canary>,
    ) -> Result<Launched, ToolError> {
        let arguments = match &canary {
            Some(_) => Vec::new(),
            None => shell::arguments(request, &self.operator)?,
        };
        let directory = self.directory(request.directory.as_deref())?;
        let guards = self.guards()?;
        let shields: Vec<_> = guards.iter().map(Guard::shields).collect();
        let failed = |err: std::io::Error| {
            ToolError::new(ErrorKind::Io, format!("the command cannot be started: {err}"))
        };
        let (control, theirs) = wire::pair().map_err(failed)?;
        let pipe = || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed(errno.into()));
        let (stdout, stdout_there) = pipe()?;
        let (stderr, stderr_there) = pipe()?;
        let mut plan = self.plan(ready, arguments, directory, canary);
        for (root, shields) in self.workspace.roots.iter().zip(&shields) {
            let path = |shield: &Shield| root.path().join(&shield.path).display().to_string();
            plan.shields.extend(shields.iter().map(|shield| (path(shield), shield.clone())));
        }
        wire::send(control.as_fd(), &plan, &[]).map_err(|err| too_long(&err))?;
        let launch = Launch {
            options: ready.view.options(),
            shields: shields.iter().map(|shields| shields.to_vec()).collect(),
            nested: ready.view.nested().map_err(failed)?,
        };
        let ends = [theirs.as_fd(), stdout_there.as_fd(), stderr_there.as_fd()];
        let sent = ready.spawner.launch(&launch, ends);
        sent.map_err(|err| failed(err).with("launcher", "gone"))?;
        let lines = follow::Lines { control, stdout, stderr };
        Ok(Launched { lines, guards, keeps: Arc::clone(ready) })
    }

    /// Protects every root.
    fn guards(&self) -> Result<Vec<Guard>, ToolError> {
        let covers = self.folder.join(COVERS);
        let guard = |root: &crate::Root| {
            root.verify()?;
            if self.rules.lives_on {
                self.keeper.keep(root, &covers);
            }
            let (shut, open) = (&self.rules.protected, &self.rules.unprotected);
            let repositories = self.repositories.within(root.path()).map_err(|err| {
                let message = format!("the workspace's repositories cannot be noted: {err}");
                ToolError::new(ErrorKind::Io, message).hint("see to the state folder")
            })?;
            Guard::set(root, shut, open, &repositories, &covers)
        };
        self.workspace.roots.iter().map(guard).collect()
    }

    fn plan(
        &self,
        ready: &Ready,
        arguments: Vec<String>,
        directory: String,
        canary: Option<Canary>,
    ) -> Inside {
        let limits = &self.rules.limits;
        let mut environment = ready.view.environment.clone();
        if self.egress.is_some() {
            environment.extend(shell::proxy_environment());
        }
        let root = |root: &crate::Root| {
            (root.path().display().to_string(), root.id().device, root.id().inode)
        };
        Inside {
            arguments,
            environment,
            directory,
            roots: self.workspace.roots.iter().map(root).collect(),
            shields: Vec::new(),
            writable: ready.view.writable(),
            limits: Rlimits {
                memory: limits.memory,
                processes: limits.processes,
                cpu_seconds: limits.cpu_seconds,
                file_size: limits.file_size,
                open_files: limits.open_files,
            },
            has_egress: self.egress.is_some(),
            canary,
        }
    }

    /// Returns the directory to start in, as the command will see it.
    fn directory(&self, given: Option<&str>) -> Result<String, ToolError> {
        let place = self.workspace.place(given.unwrap_or("."))?;
        let (handle, meta) = self.workspace.open(&place)?;
        if rustix::fs::FileType::from_raw_mode(meta.st_mode) != rustix::fs::FileType::Directory {
            let shown = place.shown;
            return Err(ToolError::new(ErrorKind::NotDirectory, format!("`{shown}` is a file"))
                .hint("give a directory of the workspace")
                .at(shown));
        }
        let path = crate::root::real_path(handle.as_fd());
        Ok(path.map_or_else(|| ".".to_owned(), |path| path.display().to_string()))
    }

    fn job(&self, id: &str) -> Option<Arc<Job>> {
        lock(&self.jobs).get(id).cloned()
    }

    /// Remembers a finished foreground command.
    fn remember(&self, job: &Job, finished: &Finished) {
        let past = LastCommand {
            id: job.id.clone(),
            text: job.text.clone(),
            finished: finished.clone(),
            at: job.at,
        };
        *lock(&self.last) = Some(past);
    }

    /// Has a thread note how a task ends, and tell those who want to know.
    fn see_off(self: &Arc<Self>, job: Arc<Job>, asker: &Asker) {
        job.keep_for(asker);
        let sandbox = Arc::clone(self);
        let _ = thread::Builder::new().name("task".to_owned()).spawn(move || {
            let never = Cancel::default();
            let forever = Instant::now() + sandbox.rules.limits.task_time + SEND_OFF;
            if job.wait(forever, &never) {
                sandbox.end_task(&job);
            }
        });
    }
}

/// What keeps a workspace protected.
pub struct Held(#[expect(dead_code, reason = "it is held, not used")] Vec<Guard>);

/// A command on its way.
struct Launched {
    lines: follow::Lines,
    guards: Vec<Guard>,
    /// Held for as long as the command runs: with it the launcher would go.
    keeps: Arc<Ready>,
}

fn too_long(err: &std::io::Error) -> ToolError {
    ToolError::new(ErrorKind::TooLarge, format!("the command cannot be handed over: {err}"))
        .hint("write it to a file of the workspace and run that")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
