//! Workers: processes in the sandbox that stay up and answer one message after another, and the port that starts
//! them.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::command::{End, Limit, Usage};
use crate::error::ToolError;

/// Starts workers, each in a sandbox of its own.
pub trait Workers: Send + Sync {
    /// Starts a worker. It has no network, no environment and no files beyond those that the request names.
    fn start(&self, request: &WorkerRequest) -> Result<StartedWorker, ToolError>;
}

/// What a worker runs, and what it gets.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerRequest {
    /// The program.
    pub program: WorkerProgram,
    /// Its environment, by name.
    pub environment: Vec<(String, String)>,
    /// The folders that it sees, besides those of the system.
    pub folders: Vec<WorkerFolder>,
    /// The hosts that it can reach through the proxy.
    pub hosts: Vec<String>,
    /// Its limits.
    pub limits: WorkerLimits,
}

/// The program of a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerProgram {
    /// Our own program, as the worker that runs modules.
    ModuleWorker,
    /// Any program that the sandbox has.
    Command {
        /// The program and its arguments.
        words: Vec<String>,
        /// The directory that it starts in.
        directory: String,
    },
}

/// A folder that a worker sees.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerFolder {
    /// The folder on this machine, absolute and without links.
    pub source: String,
    /// The path at which the worker sees it.
    pub target: String,
    /// What the worker may do with it.
    pub access: FolderAccess,
}

/// What a worker may do with a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FolderAccess {
    /// It may read a copy, so that it is not told where the folder is. Only small folders are copied: the paths of
    /// others are in the list of its mounts.
    Copy,
    /// It may read.
    Read,
    /// It may read and write.
    Write,
}

/// The limits of a worker.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkerLimits {
    /// The most memory of all its processes together, in bytes.
    pub memory: u64,
    /// The most processes and threads.
    pub processes: u64,
    /// The most processor cores that it uses at a time, rounded up. A worker that may not use all of them is kept to
    /// some, and cannot move to others.
    pub cpus: f64,
    /// The most bytes of scratch files.
    pub scratch: u64,
}

/// A worker that was started.
pub struct StartedWorker {
    /// The end of the pipe that the worker reads.
    pub input: OwnedFd,
    /// The end of the pipe that the worker writes.
    pub output: OwnedFd,
    /// Ends the worker, and tells about it. The worker is killed when the last one is dropped.
    pub control: Arc<dyn WorkerControl>,
}

/// Ends a worker, and tells about it.
pub trait WorkerControl: Send + Sync {
    /// Kills the worker and everything that it started. Returns when they are gone, and the rest is known: how it ended
    /// if it did so by itself before, and all that it printed.
    fn kill(&self);

    /// Returns what the worker has used so far.
    fn usage(&self) -> Usage;

    /// Returns the last lines that the worker printed to its standard error.
    fn printed(&self) -> String;

    /// Returns how the worker ended; nothing while it runs.
    fn end(&self) -> Option<WorkerEnd>;
}

/// How a worker ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerEnd {
    /// How its process ended.
    pub end: End,
    /// The limit that ended it, if one did.
    pub limit: Option<Limit>,
}
