//! The runner: starts the commands of one workspace, waits for them, and remembers the tasks among them.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::thread;
use std::time::{Duration, Instant};

use toolcrib_core::command::{CommandRequest, Finished, LastCommand, Stream};
use toolcrib_core::host_access::HostGate;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{CallId, Cancel, Clock, ErrorKind, HeldCounts, Principal, ToolError};

use super::changed_files::{Baseline, ChangeTimes};
use super::config::{Operator, SandboxRules};
use super::cover;
use super::cover_cache::CoverCache;
use super::egress::{BadHost, Egress, HostRule};
use super::growth::Growth;
use super::guard::Guard;
use super::job::{Job, JobProgress, TaskEnd, TaskOwner};
use super::launch::{LaunchContext, Launched, ProxyNeed, ReadyLauncher};
use super::mask;
use super::network_link::NetworkLink;
use super::output::Collector;
use super::output_store::OutputStore;
use super::output_tee::OutputTee;
use super::probe::{self, SandboxFinding};
use super::runs_later_notes::LaterFiles;
use super::state_folder::SandboxFolder;
use super::supervisor::{KILL_GRACE, Supervisor};
use super::sweep::{HeldStore, MadeRepositories, Sweeper, Watches, WorkspaceFolders};
use super::view::Access;
use super::view::home_of;
use crate::files::root::Root;
use crate::files::workspace::Workspace;

/// Runs commands for one workspace.
pub struct Sandbox {
    pub(super) context: LaunchContext,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) store: OutputStore,
    pub(super) jobs: Arc<Mutex<HashMap<String, Arc<Job>>>>,
    /// The commands that were started as tasks. They are not kept alive here, because a job has open files.
    pub(super) tasks: Arc<Mutex<Vec<Weak<Job>>>>,
    pub(super) last: Arc<Mutex<HashMap<Option<Principal>, LastCommand>>>,
    listeners: Mutex<Vec<Box<TaskListener>>>,
    /// How long the tasks of each owner that ended took, and how many bytes they wrote.
    pub(super) spent: Arc<Mutex<HashMap<TaskOwner, (Duration, u64)>>>,
    /// The files that the last command changed.
    last_changes: Arc<Mutex<ChangeTimes>>,
    /// Receives what the commands of calls print, as they print it.
    pub(super) viewer: OnceLock<OutputTee>,
}

/// A function that is called when a task ends.
pub type TaskListener = dyn Fn(&TaskEnd) + Send + Sync;

/// Protects a workspace until it is dropped.
pub struct Protection(#[expect(dead_code, reason = "it is held, not used")] Vec<Guard>);

/// Whether a command ends with its call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Lifetime {
    /// The command ends with its call.
    Call,
    /// The command may go on as a task, so its start is recorded on disk.
    Task,
}

/// On what terms a command is started.
pub(super) struct StartTerms<'a> {
    /// How long it may run.
    pub(super) time: Duration,
    pub(super) lifetime: Lifetime,
    /// What it does not see.
    pub(super) denied: Option<&'a DeniedPaths>,
    /// Decides about hosts that no setting lists.
    pub(super) gate: Option<Arc<dyn HostGate>>,
    /// Receives what it prints.
    pub(super) tee: Option<OutputTee>,
    /// Whose command it is. `None` stands for the user at the terminal.
    pub(super) owner: Option<&'a Principal>,
}

impl Sandbox {
    /// Prepares to run commands. Nothing is started before the first one. `state` is Toolcrib's state folder.
    pub fn new(
        rules: SandboxRules,
        operator: Operator,
        workspace: Arc<Workspace>,
        clock: Arc<dyn Clock>,
        state: &Path,
    ) -> Result<Self, BadHost> {
        let hosts: Vec<HostRule> =
            rules.egress.iter().map(|host| HostRule::parse(host)).collect::<Result<_, _>>()?;
        let egress = Arc::new(Egress::new(hosts, rules.egress_ports.clone()));
        let folder = SandboxFolder::new(state);
        let watches = if rules.lives_on { Watches::FromSecondRefresh } else { Watches::Never };
        for root in &workspace.roots {
            cover::remove_left(root, &folder.covers());
        }
        let own = workspace.roots.first().map_or(Path::new(""), Root::path).to_owned();
        Ok(Self {
            context: LaunchContext {
                rules,
                operator,
                workspace,
                egress,
                launcher: Mutex::default(),
                sweeper: Sweeper {
                    folders: Arc::new(WorkspaceFolders::new(folder.folder_maps(), watches)),
                    under_way: folder.under_way(),
                    held: HeldStore::new(state),
                    made: MadeRepositories::new(folder.made_repositories()),
                },
                covers: CoverCache::default(),
                reaches: mask::ReachCache::default(),
                programs: OnceLock::new(),
                folder,
            },
            clock,
            store: OutputStore::new(state.join("output"), &own),
            jobs: Arc::default(),
            tasks: Arc::default(),
            last: Arc::default(),
            listeners: Mutex::default(),
            spent: Arc::default(),
            last_changes: Arc::default(),
            viewer: OnceLock::new(),
        })
    }

    /// Returns this sandbox with the commands of another, whose place it takes in the same workspace: its tasks go on
    /// under the rules that they began with.
    pub fn succeeding(mut self, other: &Self) -> Self {
        self.jobs = Arc::clone(&other.jobs);
        self.tasks = Arc::clone(&other.tasks);
        self.last = Arc::clone(&other.last);
        self.spent = Arc::clone(&other.spent);
        self.last_changes = Arc::clone(&other.last_changes);
        self.context.sweeper = other.context.sweeper.clone();
        self
    }

    /// Starts no more commands. Those that run go on.
    pub fn retire(&self) {
        drop(lock(&self.context.launcher).take());
    }

    /// Passes what the commands of calls print to `viewer` from now on, as they print it.
    pub fn show_live(&self, viewer: OutputTee) {
        let _ = self.viewer.set(viewer);
    }

    /// Returns the sandbox with `egress` in the place of its own. For tests: no setting leads here.
    pub fn with_egress(mut self, egress: Egress) -> Self {
        self.context.egress = Arc::new(egress);
        self
    }

    /// Registers a listener for the ends of tasks.
    pub fn on_task_end(&self, listener: Box<TaskListener>) {
        lock(&self.listeners).push(listener);
    }

    /// Returns what is held in memory for calls.
    pub fn held_counts(&self) -> HeldCounts {
        vec![("commands", lock(&self.jobs).len()), ("owners of tasks", lock(&self.spent).len())]
    }

    /// Ends every command that still runs, and waits until it is gone.
    pub fn close(&self) {
        let jobs: Vec<_> = lock(&self.jobs).values().cloned().collect();
        for job in &jobs {
            job.cancel.cancel();
        }
        for job in jobs {
            job.wait(Instant::now() + KILL_GRACE, &Cancel::default());
            self.record_task_end(&job);
        }
        // The thread of a task that ended a moment ago may be calling the listeners right now: wait for it.
        drop(lock(&self.listeners));
        drop(lock(&self.context.launcher).take());
        self.context.covers.clear();
    }

    /// Records how a task ended, if it did, and calls the listeners, once for each task.
    fn record_task_end(&self, job: &Job) {
        let Some(finished) = job.progress().finished.clone() else { return };
        // Held until the listeners were called, because `close` waits for that.
        let listeners = lock(&self.listeners);
        if let Ok(finished) = &finished {
            self.store.record_end(job, finished);
        }
        let ended = |owner: TaskOwner| {
            let call = CallId(job.id.clone());
            match finished {
                Ok(Finished { end, usage, elapsed, touched, network, .. }) => {
                    TaskEnd { call, owner, end, usage, elapsed, touched, network }
                }
                Err(_) => TaskEnd::unknown(call, owner),
            }
        };
        // From here on the store answers questions about this task.
        let mut jobs = lock(&self.jobs);
        jobs.remove(&job.id);
        let Some(owner) = job.take_owner() else { return };
        let ended = ended(owner);
        let mut spent = lock(&self.spent);
        let total = spent.entry(ended.owner.clone()).or_default();
        *total = (total.0 + ended.elapsed, total.1.saturating_add(ended.written_bytes()));
        drop((spent, jobs));
        for listener in &*listeners {
            listener(&ended);
        }
    }

    /// Returns the bubblewrap options for a command here, with paths that exist outside too: a benchmark runs
    /// bubblewrap alone with them. What the options mount stays protected as long as the second value lives.
    pub fn bubblewrap_alone(&self) -> Result<(Vec<String>, Protection), ToolError> {
        let launcher = self.context.launcher()?;
        let guards = self.context.guards(None, Access::Writable)?;
        let shields: Vec<_> = guards.iter().map(Guard::shields).collect();
        Ok((launcher.view.plain_options(&shields), Protection(guards)))
    }

    /// Returns the user that commands run as, if it is another user than Toolcrib's.
    pub fn user(&self) -> Result<Option<u32>, ToolError> {
        Ok(self.context.launcher()?.view.user.map(|user| user.uid))
    }

    /// Finds out which mechanisms are in force on this machine, by trying them.
    pub fn examine(&self) -> Vec<SandboxFinding> {
        probe::examine(&self.context)
    }

    /// Runs a command to its end. The command does not see what is denied. `tee` receives what the command prints, as
    /// it is printed.
    pub fn run_live(
        &self,
        request: &CommandRequest,
        denied: Option<&DeniedPaths>,
        cancel: &Cancel,
        tee: OutputTee,
    ) -> Result<Finished, ToolError> {
        let (time, lifetime) = (request.time, Lifetime::Call);
        let (tee, owner) = (Some(tee), None);
        let terms = StartTerms { time, lifetime, denied, gate: None, tee, owner };
        let job = self.start_job(request, terms)?;
        self.finish(&job, request.time, cancel)
    }

    /// Waits for the end of a command, and ends it if the call ends first.
    pub(super) fn finish(
        &self,
        job: &Arc<Job>,
        time: Duration,
        cancel: &Cancel,
    ) -> Result<Finished, ToolError> {
        if !job.wait(Instant::now() + time + KILL_GRACE, cancel) {
            job.cancel.cancel();
            job.wait(Instant::now() + KILL_GRACE, &Cancel::default());
        }
        let finished = job.progress().finished.clone();
        if let Some(Ok(finished)) = &finished {
            self.store.record_end(job, finished);
        }
        lock(&self.jobs).remove(&job.id);
        finished.unwrap_or_else(|| {
            Err(ToolError::new(ErrorKind::Io, "the command did not end after Toolcrib killed it"))
        })
    }

    /// Starts a command, and a thread that supervises it. The command does not see what is denied.
    pub(super) fn start_job(
        &self,
        request: &CommandRequest,
        terms: StartTerms<'_>,
    ) -> Result<Arc<Job>, ToolError> {
        let StartTerms { time, lifetime, denied, gate, tee, owner } = terms;
        let launcher = self.context.launcher()?;
        let covers = self.context.folder.covers();
        let roots = &self.context.workspace.roots;
        let sweeper = self.context.sweeper.clone();
        let mut pending = None;
        let mut baseline = None;
        if !request.is_read_only {
            if self.context.rules.protects(".git") {
                let reaches = &self.context.reaches;
                let roams = |denied: &DeniedPaths| {
                    roots.iter().any(|root| mask::roams(&reaches.get(root, denied)))
                };
                let roaming = denied.filter(|denied| roams(denied));
                pending = Some(sweeper.begin(roots, &request.call.0, roaming)?);
            }
            baseline = Some(Baseline::now(roots, &covers));
        }
        let proxy = self.context.proxy_need(gate.as_deref());
        let launched = self.launch(&launcher, request, denied, proxy);
        if launched.is_err()
            && let Some(pending) = pending.take()
        {
            pending.cancel();
        }
        let Launched { pipes, guards, launcher } = launched?;
        let masked = guards.iter().flat_map(Guard::masked).collect();
        if let Some(pending) = &mut pending {
            pending.set_shielded(guards.iter().flat_map(Guard::read_only));
        }
        self.store.make_room();
        let limits = self.context.rules.limits;
        let job = Arc::new(self.new_job(request, time).of(owner.cloned()));
        if lifetime == Lifetime::Task {
            self.store.record_start(&job);
        }
        let growth = Growth::since_now(roots.iter().map(Root::handle));
        let link = NetworkLink::new(Arc::clone(&self.context.egress), gate, limits.network);
        let home = home_of(&self.context.operator);
        let (supervised, workspace) = (Arc::clone(&job), Arc::clone(&self.context.workspace));
        let last_changes = Arc::clone(&self.last_changes);
        let started = thread::Builder::new().name("command".to_owned()).spawn(move || {
            let supervisor = Supervisor::new(&supervised, limits, growth, link, home, pipes, tee);
            // A bug of ours must not leave anyone waiting. The command ends when its control connection closes.
            let finished = catch_unwind(AssertUnwindSafe(|| {
                let ended = supervisor.run(guards);
                let roots = &workspace.roots;
                let scan =
                    baseline.map(|baseline| baseline.scan(roots, &covers, masked, &last_changes));
                let mut later = LaterFiles::default();
                let just_read = scan.as_ref().map_or(&[][..], |scan| &scan.stamps);
                let mut see = |root: &Root, path: &Path| later.see(root, path);
                let swept =
                    pending.map(|pending| sweeper.sweep(roots, pending, just_read, &mut see));
                let mut finished = ended?;
                if let Some(scan) = scan {
                    let (touched, note) = scan.finish(roots, later);
                    finished.touched = touched;
                    finished.notes.extend(note);
                }
                if let Some(swept) = swept {
                    finished.notes.extend(swept.notes());
                    finished.touched.held = swept.described();
                }
                Ok(finished)
            }));
            let finished = finished.unwrap_or_else(|_| {
                Err(ToolError::new(
                    ErrorKind::Bug,
                    "the command was lost because of a bug in the sandbox",
                ))
            });
            drop(launcher);
            supervised.finish(finished);
        });
        started.map_err(|err| no_thread(&err))?;
        lock(&self.jobs).insert(job.id.clone(), Arc::clone(&job));
        Ok(job)
    }

    /// Launches a command. If the launcher has died, starts another one and tries again, once.
    fn launch(
        &self,
        launcher: &Arc<ReadyLauncher>,
        request: &CommandRequest,
        denied: Option<&DeniedPaths>,
        proxy: ProxyNeed,
    ) -> Result<Launched, ToolError> {
        match self.context.launch(launcher, request, denied, proxy, None) {
            Err(err) if err.context.contains_key("launcher") => {
                *lock(&self.context.launcher) = None;
                self.context.launch(&self.context.launcher()?, request, denied, proxy, None)
            }
            other => other,
        }
    }

    fn new_job(&self, request: &CommandRequest, time: Duration) -> Job {
        let id = request.call.0.clone();
        let (folder, saved) = (self.store.folder(&id), self.context.rules.limits.saved);
        let collect = |stream| Collector::new(stream, request.keep, &folder, saved);
        let progress = JobProgress {
            stdout: collect(Stream::Stdout),
            stderr: collect(Stream::Stderr),
            finished: None,
            deadline: Instant::now() + time,
        };
        let rest_hint = request.rest_hint.replace("{id}", &id);
        Job::new(id, request.text.clone(), rest_hint, self.clock.now(), progress)
    }

    /// Returns the command with this id, while this process knows it.
    pub(super) fn job(&self, id: &str) -> Option<Arc<Job>> {
        lock(&self.jobs).get(id).cloned()
    }

    /// Ends the commands of principals of which `is_gone` says that they are nobody any more, also those in the
    /// background.
    pub fn end_commands_of(&self, is_gone: &dyn Fn(&Principal) -> bool) {
        for job in lock(&self.jobs).values().filter(|it| it.principal.as_ref().is_some_and(is_gone))
        {
            job.cancel.cancel();
        }
    }

    /// Remembers a finished foreground command as the last one of its owner.
    pub(super) fn remember_last(&self, job: &Job, finished: &Finished) {
        let last = LastCommand {
            id: job.id.clone(),
            text: job.text.clone(),
            finished: finished.clone(),
            at: job.at,
        };
        lock(&self.last).insert(job.principal.clone(), last);
    }

    /// Makes a command a task of `owner`, and starts a thread that records its end.
    pub(super) fn await_task_end(self: &Arc<Self>, job: Arc<Job>, owner: &TaskOwner) {
        job.detach_to(owner);
        let sandbox = Arc::clone(self);
        let _ = thread::Builder::new().name("task".to_owned()).spawn(move || {
            let longest = sandbox.context.rules.limits.task_time + KILL_GRACE;
            if job.wait(Instant::now() + longest, &Cancel::default()) {
                sandbox.record_task_end(&job);
            }
        });
    }
}

fn no_thread(err: &std::io::Error) -> ToolError {
    let message = format!("no thread could be started for the command: {err}");
    ToolError::new(ErrorKind::Io, message).hint("try again when fewer commands run")
}

/// Locks a mutex whatever happened to the threads that held it.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
