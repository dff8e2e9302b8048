//! One process of a program, seen from Toolcrib. It is not trusted in what it answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::worker::{
    FolderAccess, StartedWorker, WorkerControl, WorkerEnd, WorkerFolder, WorkerLimits,
    WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_core::{ErrorKind, ToolError, Usage};

use crate::line_pipe::{LinePipe, PipeEnd, PipeWait};
use crate::program_run::ProgramRun;
use crate::program_volume::PROGRAM_FOLDER;

/// The most processes and threads of a program.
const PROGRAM_PROCESSES: u64 = 64;

/// The most bytes of a program's scratch files.
const SCRATCH_BYTES: u64 = 64 << 20;

/// Why a process gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ProgramFault {
    /// It was silent when its time was over.
    Silent,
    /// The call was cancelled.
    Cancelled,
    /// Its answer is longer than it may be.
    TooLong,
    /// It said something that no program should say.
    Misbehaved(String),
    /// It ended without an answer, in this way if that is known.
    Ended(Option<WorkerEnd>),
}

/// A process that runs. It is killed when it is dropped.
pub(crate) struct LiveProgram {
    pipe: LinePipe,
    control: Arc<dyn WorkerControl>,
    /// How many requests it was given, which is also the id of the latest.
    requests: u64,
    /// What it had printed to its standard error when somebody was told last.
    told: String,
    /// The processor time that calls were charged with, in microseconds.
    charged_cpu_us: u64,
}

/// Returns the request for a worker that runs a program. It gets what the manifest says, and nothing else.
pub(crate) fn worker_request(run: &ProgramRun, folder: &Path, hosts: &[String]) -> WorkerRequest {
    let mut words = run.command.clone();
    if let Some(program) = words.first_mut() {
        let path = program.strip_prefix("./").unwrap_or(program);
        if !path.starts_with('/') && folder.join(path).is_file() {
            *program = format!("{PROGRAM_FOLDER}/{path}");
        }
    }
    let variables = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/tmp"),
        ("LANG", "C.UTF-8"),
        // The folder cannot be written.
        ("PYTHONDONTWRITEBYTECODE", "1"),
    ];
    WorkerRequest {
        program: WorkerProgram::Command { words, directory: PROGRAM_FOLDER.to_owned() },
        environment: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        folders: vec![WorkerFolder {
            source: folder.to_string_lossy().into_owned(),
            target: PROGRAM_FOLDER.to_owned(),
            access: FolderAccess::Copy,
        }],
        hosts: hosts.to_vec(),
        limits: WorkerLimits {
            memory: run.resources.memory_bytes,
            processes: PROGRAM_PROCESSES,
            cpus: run.resources.cpus,
            scratch: SCRATCH_BYTES,
        },
    }
}

impl LiveProgram {
    /// Starts a process.
    pub(crate) fn start(workers: &dyn Workers, request: &WorkerRequest) -> Result<Self, ToolError> {
        let StartedWorker { input, output, control } = workers.start(request)?;
        let pipe = LinePipe::new(input, output).map_err(|err| {
            ToolError::new(ErrorKind::Io, format!("the pipes of a program failed: {err}"))
        })?;
        Ok(Self { pipe, control, requests: 0, told: String::new(), charged_cpu_us: 0 })
    }

    /// Whether it can be given another request: it runs, and has said nothing that nobody asked for.
    pub(crate) fn is_fit(&mut self) -> bool {
        self.control.end().is_none() && self.pipe.is_quiet()
    }

    /// Whether it was given a request.
    pub(crate) fn is_used(&self) -> bool {
        self.requests > 0
    }

    /// Returns the last lines that it printed to its standard error.
    pub(crate) fn printed(&self) -> String {
        self.control.printed()
    }

    /// Returns what it printed to its standard error since this was asked last.
    pub(crate) fn newly_printed(&mut self) -> String {
        let printed = self.control.printed();
        let fresh = printed.strip_prefix(&self.told).unwrap_or(&printed).to_owned();
        self.told = printed;
        fresh
    }

    /// Returns what it has used since this was asked last, as far as that is known. Of one that stays up, what a short call
    /// used is known a little later, and counts for the next one.
    pub(crate) fn newly_used(&mut self) -> Usage {
        let Usage { cpu_us, peak_memory, .. } = self.control.usage();
        let fresh = cpu_us.saturating_sub(self.charged_cpu_us);
        self.charged_cpu_us = cpu_us;
        Usage { cpu_us: fresh, peak_memory, ..Usage::default() }
    }

    /// Kills it, and returns all that it printed to its standard error.
    pub(crate) fn end_and_printed(&mut self) -> String {
        self.control.kill();
        self.newly_printed()
    }

    /// Gives one request, ends the input, and returns the one answer.
    pub(crate) fn ask_once(
        &mut self,
        request: &Value,
        wait: PipeWait<'_>,
        most_bytes: usize,
    ) -> Result<Value, ProgramFault> {
        self.requests += 1;
        // A program that does not read its request may answer all the same.
        match self.pipe.send(format!("{request}\n").as_bytes(), wait) {
            Ok(()) | Err(PipeEnd::Closed) => {}
            Err(end) => return Err(self.fault_of(end)),
        }
        self.pipe.close_input();
        let answer = self.pipe.receive_all(wait, most_bytes).map_err(|end| self.fault_of(end))?;
        if answer.trim_ascii().is_empty() {
            return Err(ProgramFault::Ended(self.end_soon()));
        }
        parse_answer(&answer)
    }

    /// Gives a request to a process that stays up, and returns the result of its answer.
    pub(crate) fn ask(
        &mut self,
        method: &str,
        params: &Value,
        wait: PipeWait<'_>,
        most_bytes: usize,
    ) -> Result<Value, ProgramFault> {
        self.requests += 1;
        let id = self.requests.to_string();
        let line = format!("{}\n", json!({"id": id, "method": method, "params": params}));
        self.pipe.send(line.as_bytes(), wait).map_err(|end| self.fault_of(end))?;
        let answer = self.pipe.receive(wait, most_bytes).map_err(|end| self.fault_of(end))?;
        let mut answer = parse_answer(&answer)?;
        if answer.get("id").and_then(Value::as_str) != Some(&id) {
            let what = format!("it answered `{method}` with the id of another request, or none");
            return Err(ProgramFault::Misbehaved(what));
        }
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let message = error["message"].as_str().unwrap_or("it gave no message");
            return Err(ProgramFault::Misbehaved(format!("`{method}` failed: {message}")));
        }
        Ok(answer.get_mut("result").map_or(Value::Null, Value::take))
    }

    fn fault_of(&self, end: PipeEnd) -> ProgramFault {
        match end {
            PipeEnd::TimeOver => ProgramFault::Silent,
            PipeEnd::Cancelled => ProgramFault::Cancelled,
            PipeEnd::TooLong => ProgramFault::TooLong,
            PipeEnd::Closed => ProgramFault::Ended(self.end_soon()),
        }
    }

    /// Returns how the process ended. Its pipe closes a moment before its end is known.
    fn end_soon(&self) -> Option<WorkerEnd> {
        for _ in 0..50 {
            if let Some(end) = self.control.end() {
                return Some(end);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

impl Drop for LiveProgram {
    fn drop(&mut self) {
        self.control.kill();
    }
}

fn parse_answer(answer: &[u8]) -> Result<Value, ProgramFault> {
    serde_json::from_slice(answer).map_err(|err| {
        let what = if err.to_string().starts_with("trailing characters") {
            "it answered more than once".to_owned()
        } else {
            format!("its answer is not JSON: {err}")
        };
        ProgramFault::Misbehaved(what)
    })
}
