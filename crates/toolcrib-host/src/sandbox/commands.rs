//! The port through which tools run commands.

use std::sync::{Arc, OnceLock, Weak};
use std::time::{Duration, Instant};

use toolcrib_core::command::{
    CommandRequest, Excerpt, LastCommand, Lines, OnTimeout, ProgramFile, Ran, Stream, Task,
    TaskSpent, TaskStatus,
};
use toolcrib_core::host_access::HostGate;
use toolcrib_core::policy::DeniedPaths;
use toolcrib_core::{Cancel, Commands, ErrorKind, Principal, ToolError, counted};

use super::job::{Job, TaskOwner};
use super::runner::{Lifetime, Sandbox, StartTerms, lock};
use super::shell;
use super::supervisor::KILL_GRACE;
use super::view::home_of;

/// The commands of a workspace, as one session and tool use them.
pub struct SharedSandbox {
    /// The sandbox, shared by all sessions and tools.
    pub sandbox: Arc<Sandbox>,
    /// Who starts tasks.
    pub owner: TaskOwner,
    denied: OnceLock<DeniedPaths>,
    gate: OnceLock<Arc<dyn HostGate>>,
}

impl Commands for SharedSandbox {
    fn check(&self, request: &CommandRequest) -> Result<(), ToolError> {
        shell::check(request)?;
        if request.on_timeout == OnTimeout::Detach {
            self.sandbox.check_background()?;
            self.sandbox
                .check_room(&mut lock(&self.sandbox.tasks), self.owner.principal.as_ref())?;
        }
        shell::arguments(request, &self.sandbox.context.operator)?;
        self.sandbox.context.directory(request.directory.as_deref())?;
        Ok(())
    }

    fn run(&self, request: &CommandRequest, cancel: &Cancel) -> Result<Ran, ToolError> {
        let sandbox = &self.sandbox;
        shell::check(request)?;
        let detaches = request.on_timeout == OnTimeout::Detach;
        if detaches {
            sandbox.check_background()?;
        }
        let (time, lifetime) = if detaches {
            (sandbox.context.rules.limits.task_time, Lifetime::Task)
        } else {
            (request.time, Lifetime::Call)
        };
        let viewer = sandbox.viewer.get().cloned();
        if let Some(viewer) = &viewer {
            viewer.start();
        }
        let gate = self.gate.get().filter(|_| !detaches).cloned();
        let (denied, owner) = (self.denied.get(), self.owner.principal.as_ref());
        let terms = StartTerms { time, lifetime, denied, gate, tee: viewer, owner };
        let job = match lifetime {
            Lifetime::Task => sandbox.start_task(request, terms)?,
            Lifetime::Call => sandbox.start_job(request, terms)?,
        };
        if detaches && !job.wait(Instant::now() + request.time, cancel) && !cancel.is_cancelled() {
            sandbox.await_task_end(Arc::clone(&job), &self.owner);
            return describe(&job).map(|task| Ran::Kept(Box::new(task)));
        }
        let finished = sandbox.finish(&job, request.time, cancel)?;
        sandbox.remember_last(&job, &finished);
        Ok(Ran::Over(Box::new(finished)))
    }

    fn terms(&self) -> String {
        let limits = &self.sandbox.context.rules.limits;
        let has_way = !self.sandbox.context.egress.hosts().is_empty() || self.gate.get().is_some();
        let network = if has_way { format!(", network {}", limits.network) } else { String::new() };
        format!(
            "{}; memory {}, processes {}, cpu {} s, file {}, growth {}, files open {}, output {}{network}",
            self.sandbox.context.rules.profile.as_str(),
            limits.memory,
            limits.processes,
            limits.cpu_seconds,
            limits.file_size,
            limits.growth,
            limits.open_files,
            limits.output
        )
    }

    fn reachable_hosts(&self) -> Vec<String> {
        self.sandbox.context.egress.hosts()
    }

    fn home(&self) -> Option<String> {
        Some(home_of(&self.sandbox.context.operator).display().to_string())
    }

    fn find_program(&self, name: &str) -> Option<ProgramFile> {
        self.sandbox.context.programs().find(name)
    }

    fn deny(&self, denied: DeniedPaths) {
        let _ = self.denied.set(denied);
    }

    fn ask_about_hosts(&self, gate: Arc<dyn HostGate>) {
        let _ = self.gate.set(gate);
    }

    fn start(&self, request: &CommandRequest) -> Result<(), ToolError> {
        let sandbox = &self.sandbox;
        shell::check(request)?;
        sandbox.check_background()?;
        let time = sandbox.context.rules.limits.task_time;
        let denied = self.denied.get();
        let (lifetime, owner) = (Lifetime::Task, self.owner.principal.as_ref());
        let terms = StartTerms { time, lifetime, denied, gate: None, tee: None, owner };
        let job = sandbox.start_task(request, terms)?;
        sandbox.await_task_end(job, &self.owner);
        Ok(())
    }

    fn tasks(&self) -> Vec<TaskSpent> {
        self.sandbox.spent_by_tasks()
    }

    fn is_under_way(&self, id: &str) -> bool {
        self.job(id).is_some_and(|job| job.progress().finished.is_none())
    }

    fn task(&self, id: &str) -> Result<Task, ToolError> {
        match self.job(id) {
            Some(job) => describe(&job),
            None => self.sandbox.store.task(id, self.owner.principal.as_ref()),
        }
    }

    fn wait(&self, id: &str, most: Duration, cancel: &Cancel) -> Result<Task, ToolError> {
        if let Some(job) = self.job(id) {
            job.wait(Instant::now() + most, cancel);
            cancel.check()?;
        }
        self.task(id)
    }

    fn kill(&self, id: &str) -> Result<bool, ToolError> {
        let Some(job) = self.job(id) else {
            let task = self.sandbox.store.task(id, self.owner.principal.as_ref())?;
            if task.status == TaskStatus::Running {
                return Err(ToolError::new(
                    ErrorKind::Unavailable,
                    format!(
                        "the task {id} runs in another process, and only that process can end it"
                    ),
                )
                .hint("end it there, or end that process"));
            }
            return Ok(false);
        };
        Ok(kill(&job))
    }

    fn last(&self) -> Option<LastCommand> {
        lock(&self.sandbox.last).get(&self.owner.principal).cloned()
    }

    fn save_reply(&self, id: &str, reply: &str) -> bool {
        self.sandbox.store.save_reply(id, reply).is_ok()
    }

    fn read(&self, id: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError> {
        // The commands of this process are those of its workspace.
        if self.job(id).is_some() {
            return self.sandbox.store.read(id, stream, lines);
        }
        self.sandbox.store.read_own(id, self.owner.principal.as_ref(), stream, lines)
    }
}

/// Kills a command and everything that it started. Returns whether it was still running.
fn kill(job: &Arc<Job>) -> bool {
    if job.progress().finished.is_some() {
        return false;
    }
    job.cancel.cancel();
    job.wait(Instant::now() + KILL_GRACE, &Cancel::default());
    true
}

impl Sandbox {
    /// Returns what each background task took, whether it runs or has ended.
    pub fn spent_by_tasks(&self) -> Vec<TaskSpent> {
        let now = self.clock.now();
        let spent = |owner: &TaskOwner, time: Duration, bytes: u64| {
            let (session, tool) = (owner.session.0.clone(), owner.tool.clone());
            TaskSpent { session, tool, time, bytes, runs: false }
        };
        let running = |job: &Arc<Job>| {
            let time = Duration::try_from(now.duration_since(job.at)).unwrap_or_default();
            Some(TaskSpent { runs: true, ..spent(&job.owner()?, time, 0) })
        };
        // Both are read under the lock of the jobs, so every task is in exactly one of them.
        let jobs = lock(&self.jobs);
        let mut all: Vec<_> = jobs.values().filter_map(running).collect();
        let ended = lock(&self.spent);
        all.extend(ended.iter().map(|(owner, (time, bytes))| spent(owner, *time, *bytes)));
        all
    }

    /// Kills a command of this process, whoever's it is. Returns whether it was still running, or nothing if this
    /// process does not run it.
    pub fn kill_task(&self, id: &str) -> Option<bool> {
        self.job(id).map(|job| kill(&job))
    }
}

impl SharedSandbox {
    /// Returns the command with this id, if it is the owner's.
    fn job(&self, id: &str) -> Option<Arc<Job>> {
        self.sandbox.job(id).filter(|job| job.principal == self.owner.principal)
    }
}

impl Sandbox {
    /// Returns the commands as `owner` uses them.
    pub fn commands_for(self: &Arc<Self>, owner: TaskOwner) -> SharedSandbox {
        let (denied, gate) = (OnceLock::new(), OnceLock::new());
        SharedSandbox { sandbox: Arc::clone(self), owner, denied, gate }
    }

    /// Starts a command that may go on as a task, if its owner may have one more. The lock is held meanwhile, so that
    /// calls that come together do not pass the limit together.
    fn start_task(
        &self,
        request: &CommandRequest,
        terms: StartTerms<'_>,
    ) -> Result<Arc<Job>, ToolError> {
        let mut tasks = lock(&self.tasks);
        self.check_room(&mut tasks, terms.owner)?;
        let job = self.start_job(request, terms)?;
        tasks.push(Arc::downgrade(&job));
        Ok(job)
    }

    /// Fails if `owner` has as many tasks as one principal may.
    fn check_room(
        &self,
        tasks: &mut Vec<Weak<Job>>,
        owner: Option<&Principal>,
    ) -> Result<(), ToolError> {
        let running =
            |job: &Weak<Job>| job.upgrade().filter(|job| job.progress().finished.is_none());
        tasks.retain(|job| running(job).is_some());
        let own = tasks.iter().filter_map(running).filter(|job| job.principal.as_ref() == owner);
        let ids: Vec<String> = own.map(|job| job.id.clone()).collect();
        let most = self.context.rules.most_tasks;
        if ids.len() < most {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::Unavailable,
            format!("{} run in the background, which is the limit", counted(most as u64, "command")),
        )
        .hint(format!(
            "wait for one, or end it with `clemini/kill_shell`, or let the operator raise `sandbox.tasks`; they are {}",
            ids.join(", ")
        ))
        .with("tasks", ids))
    }

    /// Fails if this process ends with its call, so that no task could outlive it.
    fn check_background(&self) -> Result<(), ToolError> {
        if self.context.rules.lives_on {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::BadArgs,
            "a single `toolcrib call` cannot run a command in the background: it exits after its reply, and its commands end \
             with it",
        )
        .hint(
            "leave out `run_in_background` and `on_timeout`, and wait for the command; or send the call through \
             `toolcrib call --batch`, which keeps running",
        ))
    }
}

fn describe(job: &Job) -> Result<Task, ToolError> {
    let progress = job.progress();
    let (status, strike) = match &progress.finished {
        None => (TaskStatus::Running, None),
        Some(Ok(finished)) => (TaskStatus::Ended(finished.end), finished.strike.clone()),
        Some(Err(err)) => return Err(err.clone()),
    };
    Ok(Task {
        id: job.id.clone(),
        status,
        stdout: progress.stdout.printed(&job.rest_hint),
        stderr: progress.stderr.printed(&job.rest_hint),
        strike,
    })
}
