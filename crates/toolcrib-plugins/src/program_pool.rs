//! The processes of programs: a few at a time, and those that stay up wait here for their next call.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Instant;

use serde_json::{Value, json};
use toolcrib_core::worker::{WorkerRequest, Workers};
use toolcrib_core::{Cancel, ErrorKind, ToolError};

use crate::live_program::{LiveProgram, worker_request};
use crate::manifest::Manifest;
use crate::pool_bell::PoolBell;
use crate::program_run::{ProgramMode, ProgramResources};
use crate::program_volume::{ProgramVolume, open_volumes};
use crate::secret_values::SecretValues;
use crate::worker_counts::WorkerCounts;

/// What holds for all programs.
#[derive(Clone, Debug)]
pub struct ProgramLimits {
    /// The most processes at a time.
    pub processes: usize,
    /// The most that one process gets, whatever its manifest says.
    pub most_resources: ProgramResources,
    /// The most bytes of one program's volumes.
    pub most_volume_bytes: u64,
    /// The mode of the policy, as programs are told it.
    pub security_mode: String,
}

/// Where a program's files and its volumes are.
#[derive(Clone, Copy, Debug)]
pub struct ProgramPlaces<'a> {
    /// The folder with its files.
    pub files: &'a Path,
    /// The folder with its volumes. It may not be there yet.
    pub volumes: &'a Path,
}

/// What a program is given besides its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramReach {
    /// The hosts and the secrets that its manifest names.
    Declared,
    /// Nothing: nobody has approved it.
    Nothing,
}

/// The processes of programs. They are killed when the pool is closed or dropped.
pub struct ProgramPool {
    workers: Arc<dyn Workers>,
    limits: ProgramLimits,
    secrets: SecretValues,
    state: Mutex<ProcessList>,
    changed: Arc<PoolBell>,
}

/// How one program is started.
pub(crate) struct ProgramStart {
    pub(crate) mode: ProgramMode,
    pub(crate) request: WorkerRequest,
    /// What a process that stays up is told first.
    pub(crate) config: Value,
    /// The secrets that it is given; if values are missing, their names.
    pub(crate) secrets: Result<SecretValues, Vec<String>>,
    volumes: Vec<ProgramVolume>,
    volumes_folder: PathBuf,
}

#[derive(Default)]
struct ProcessList {
    /// The processes that wait for a call, with the program that they are of; the one that waits longest is the first.
    idle: Vec<(Arc<ProgramStart>, LiveProgram)>,
    /// How many processes have a call or are being started.
    taken: usize,
    is_closed: bool,
}

/// A process that has a call. Dropped, it is killed, and then its seat is free.
pub(crate) struct TakenProgram<'a> {
    pub(crate) process: LiveProgram,
    _seat: ProcessSeat<'a>,
}

struct ProcessSeat<'a>(&'a ProgramPool);

/// What a call found when it asked for a process.
enum FoundSeat {
    Idle(LiveProgram),
    Room(Option<LiveProgram>),
    Full,
}

impl ProgramPool {
    /// Makes a pool. Nothing is started yet. A program gets those of the secrets that its manifest names.
    pub fn new(
        workers: Arc<dyn Workers>,
        limits: ProgramLimits,
        secrets: SecretValues,
    ) -> Arc<Self> {
        let (state, changed) = (Mutex::default(), Arc::default());
        Arc::new(Self { workers, limits, secrets, state, changed })
    }

    /// Returns how many processes there are.
    pub fn running(&self) -> usize {
        let WorkerCounts { busy, idle, .. } = self.counts();
        busy + idle
    }

    /// Returns how many processes are busy, and how many are ready.
    pub fn counts(&self) -> WorkerCounts {
        let state = self.state();
        WorkerCounts { busy: state.taken, idle: state.idle.len(), most: self.limits.processes }
    }

    /// Kills every idle process, and lets no further call begin. Calls that run are ended by their tokens.
    pub fn close(&self) {
        let mut state = self.state();
        state.is_closed = true;
        let idle = std::mem::take(&mut state.idle);
        drop(state);
        drop(idle);
        self.changed.ring();
    }

    /// Returns how a program is started.
    pub(crate) fn start_of(
        &self,
        manifest: &Manifest,
        places: ProgramPlaces<'_>,
        reach: ProgramReach,
    ) -> Arc<ProgramStart> {
        let permissions = &manifest.declaration.permissions;
        let (hosts, names) = match reach {
            ProgramReach::Declared => (&permissions.hosts[..], &permissions.secrets[..]),
            ProgramReach::Nothing => (&[][..], &[][..]),
        };
        let secrets = self.secrets.only(names);
        let given = secrets.iter().flat_map(SecretValues::all);
        let given = given.map(|(name, value)| (name.clone(), value.clone()));
        let given: Vec<(String, String)> = given.collect();
        let most = self.limits.most_resources;
        let mut run = manifest.run.clone();
        run.resources.memory_bytes = run.resources.memory_bytes.min(most.memory_bytes);
        run.resources.cpus = run.resources.cpus.min(most.cpus);
        // Without links in its path, as the sandbox wants it. If it cannot be found, the start says so.
        let folder: PathBuf =
            places.files.canonicalize().unwrap_or_else(|_| places.files.to_owned());
        let config = json!({
            "config": {},
            "secrets": given.iter().cloned().collect::<BTreeMap<_, _>>(),
            "securityMode": self.limits.security_mode,
            "limits": {"maxMemory": run.resources.memory_bytes, "maxConcurrent": 1},
        });
        let mut request = worker_request(&run, &folder, hosts);
        request.environment.extend(given);
        let (volumes, volumes_folder) = (run.volumes, places.volumes.to_owned());
        Arc::new(ProgramStart { mode: run.mode, request, config, secrets, volumes, volumes_folder })
    }

    /// Takes a process of a program: one that waits, else a new one.
    pub(crate) fn take(
        &self,
        start: &Arc<ProgramStart>,
        until: Instant,
        cancel: &Cancel,
    ) -> Result<TakenProgram<'_>, ToolError> {
        let waker = Waker::from(Arc::clone(&self.changed));
        let mut cancelled = pin!(cancel.cancelled());
        loop {
            let count = self.changed.count();
            if cancelled.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                return Err(ToolError::new(ErrorKind::Cancelled, "the call was cancelled"));
            }
            let found = self.state().seat_for(start, self.limits.processes)?;
            match found {
                FoundSeat::Idle(mut process) => {
                    let seat = ProcessSeat(self);
                    if process.is_fit() {
                        return Ok(TakenProgram { process, _seat: seat });
                    }
                    drop(process);
                }
                FoundSeat::Room(replaced) => {
                    let seat = ProcessSeat(self);
                    drop(replaced);
                    let process = self.start_process(start)?;
                    return Ok(TakenProgram { process, _seat: seat });
                }
                FoundSeat::Full => {
                    let left = until.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        let message = "no program can be started: too many run";
                        return Err(ToolError::new(ErrorKind::Timeout, message)
                            .with("reason", "no_worker")
                            .hint("try again, or raise `plugins.workers`"));
                    }
                    self.changed.wait(count, left);
                }
            }
        }
    }

    fn start_process(&self, start: &ProgramStart) -> Result<LiveProgram, ToolError> {
        let most_bytes = self.limits.most_volume_bytes;
        let volumes = open_volumes(&start.volumes, &start.volumes_folder, most_bytes)?;
        let mut request = start.request.clone();
        request.folders.extend(volumes);
        LiveProgram::start(&*self.workers, &request)
    }

    /// Lets a process wait for the next call of its program, if it can be trusted with one.
    pub(crate) fn give_back(&self, start: &Arc<ProgramStart>, taken: TakenProgram<'_>) {
        let TakenProgram { mut process, _seat } = taken;
        let is_fit = process.is_fit();
        let mut state = self.state();
        if is_fit && !state.is_closed {
            state.idle.push((Arc::clone(start), process));
        } else {
            drop(state);
            drop(process);
        }
    }

    /// Kills the processes that wait for calls of a program.
    pub(crate) fn forget(&self, start: &Arc<ProgramStart>) {
        let gone: Vec<_> =
            self.state().idle.extract_if(.., |(other, _)| Arc::ptr_eq(other, start)).collect();
        drop(gone);
        self.changed.ring();
    }

    fn state(&self) -> MutexGuard<'_, ProcessList> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProcessList {
    fn seat_for(
        &mut self,
        start: &Arc<ProgramStart>,
        processes: usize,
    ) -> Result<FoundSeat, ToolError> {
        if self.is_closed {
            let message = "Toolcrib is ending, and starts no program any more";
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        let waiting = self.idle.iter().rposition(|(other, _)| Arc::ptr_eq(other, start));
        let found = match waiting {
            Some(at) => FoundSeat::Idle(self.idle.remove(at).1),
            None if self.taken + self.idle.len() < processes => FoundSeat::Room(None),
            None if self.idle.is_empty() => return Ok(FoundSeat::Full),
            None => FoundSeat::Room(Some(self.idle.remove(0).1)),
        };
        self.taken += 1;
        Ok(found)
    }
}

impl Drop for ProcessSeat<'_> {
    fn drop(&mut self) {
        self.0.state().taken -= 1;
        self.0.changed.ring();
    }
}
