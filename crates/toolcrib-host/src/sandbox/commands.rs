//! The port that tools run commands through.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolcrib_core::command::{
    CommandRequest, Excerpt, LastCommand, Lines, OnTimeout, Ran, Stream, Task, TaskSpent,
    TaskStatus,
};
use toolcrib_core::{Cancel, Commands, ErrorKind, ToolError};

use super::job::{Asker, Job};
use super::{MOST_TEXT, SEND_OFF, Sandbox, lock, shell};

/// Commands of a workspace, as one asker has them.
pub struct SharedSandbox {
    /// The sandbox, shared by all.
    pub sandbox: Arc<Sandbox>,
    /// Who asks.
    pub asker: Asker,
}

impl Commands for SharedSandbox {
    fn check(&self, request: &CommandRequest) -> Result<(), ToolError> {
        shell::check(request, MOST_TEXT)?;
        shell::arguments(request, &self.sandbox.operator)?;
        self.sandbox.directory(request.directory.as_deref())?;
        Ok(())
    }

    fn run(&self, request: &CommandRequest, cancel: &Cancel) -> Result<Ran, ToolError> {
        let sandbox = &self.sandbox;
        shell::check(request, MOST_TEXT)?;
        let keeps = request.on_timeout == OnTimeout::Detach;
        if keeps {
            sandbox.check_background()?;
        }
        let time = if keeps { sandbox.rules.limits.task_time } else { request.time };
        let job = sandbox.start_job(request, time, keeps, None)?;
        if keeps && !job.wait(Instant::now() + request.time, cancel) && !cancel.is_cancelled() {
            sandbox.see_off(Arc::clone(&job), &self.asker);
            return describe(&job).map(|task| Ran::Kept(Box::new(task)));
        }
        let finished = sandbox.finish(&job, request.time, cancel)?;
        sandbox.remember(&job, &finished);
        Ok(Ran::Over(Box::new(finished)))
    }

    fn terms(&self) -> String {
        let limits = &self.sandbox.rules.limits;
        format!(
            "{}; memory {}, processes {}, cpu {} s, file {}, growth {}, files open {}, output {}",
            self.sandbox.rules.profile.as_str(),
            limits.memory,
            limits.processes,
            limits.cpu_seconds,
            limits.file_size,
            limits.growth,
            limits.open_files,
            limits.output
        )
    }

    fn reaches_network(&self) -> bool {
        self.sandbox.egress.is_some()
    }

    fn start(&self, request: &CommandRequest) -> Result<(), ToolError> {
        let sandbox = &self.sandbox;
        shell::check(request, MOST_TEXT)?;
        sandbox.check_background()?;
        let job = sandbox.start_job(request, sandbox.rules.limits.task_time, true, None)?;
        sandbox.see_off(job, &self.asker);
        Ok(())
    }

    fn tasks(&self) -> Vec<TaskSpent> {
        let now = self.sandbox.clock.now();
        let spent = |asker: &Asker, time: Duration, bytes: u64, runs: bool| {
            let (session, tool) = (asker.session.0.clone(), asker.tool.clone());
            TaskSpent { session, tool, time, bytes, runs }
        };
        let running = |job: &Arc<Job>| {
            let time = Duration::try_from(now.duration_since(job.at)).unwrap_or_default();
            Some(spent(&job.task_of()?, time, 0, true))
        };
        // Under one lock: a task is in the one or in the other.
        let jobs = lock(&self.sandbox.jobs);
        let mut all: Vec<_> = jobs.values().filter_map(running).collect();
        let over = lock(&self.sandbox.tasks);
        all.extend(over.iter().map(|(asker, (time, bytes))| spent(asker, *time, *bytes, false)));
        all
    }

    fn is_under_way(&self, id: &str) -> bool {
        self.sandbox.job(id).is_some_and(|job| job.progress().finished.is_none())
    }

    fn task(&self, id: &str) -> Result<Task, ToolError> {
        match self.sandbox.job(id) {
            Some(job) => describe(&job),
            None => self.sandbox.store.task(id),
        }
    }

    fn wait(&self, id: &str, most: Duration, cancel: &Cancel) -> Result<Task, ToolError> {
        if let Some(job) = self.sandbox.job(id) {
            job.wait(Instant::now() + most, cancel);
            cancel.check()?;
        }
        self.task(id)
    }

    fn kill(&self, id: &str) -> Result<bool, ToolError> {
        let Some(job) = self.sandbox.job(id) else {
            let task = self.sandbox.store.task(id)?;
            if task.status == TaskStatus::Running {
                return Err(ToolError::new(
                    ErrorKind::Unavailable,
                    format!("the task {id} runs in another process, which alone can end it"),
                )
                .hint("end it there, or end that process"));
            }
            return Ok(false);
        };
        if job.progress().finished.is_some() {
            return Ok(false);
        }
        job.cancel.cancel();
        job.wait(Instant::now() + SEND_OFF, &Cancel::default());
        Ok(true)
    }

    fn last(&self) -> Option<LastCommand> {
        lock(&self.sandbox.last).clone()
    }

    fn read(&self, id: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError> {
        self.sandbox.store.read(id, stream, lines)
    }
}

impl Sandbox {
    /// Returns the commands as `asker` has them.
    pub fn commands_for(self: &Arc<Self>, asker: Asker) -> SharedSandbox {
        SharedSandbox { sandbox: Arc::clone(self), asker }
    }

    fn check_background(&self) -> Result<(), ToolError> {
        if self.rules.lives_on {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::BadArgs,
            "nothing can go on in the background: this process ends with its answer",
        )
        .hint(
            "run it in the foreground, or call from a process that stays (`toolcrib call --batch`)",
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
        stdout: progress.stdout.printed(&job.rest),
        stderr: progress.stderr.printed(&job.rest),
        strike,
    })
}
