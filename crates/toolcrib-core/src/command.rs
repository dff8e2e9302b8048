//! Commands: the port that runs them, and what goes in and comes out.

mod changed_files;
mod end;
mod limit;
mod network;
mod outcome;
mod output;
mod program_file;
mod request;
mod task;
mod usage;

use std::sync::Arc;
use std::time::Duration;

pub use changed_files::ChangedFiles;
pub use end::End;
pub use limit::{Limit, Mechanism, Strike, show_bytes};
pub use network::{HostTraffic, NetworkAccount};
pub use outcome::{Finished, LastCommand, Ran};
pub use output::{Excerpt, Lines, Printed, Stream};
pub use program_file::{ProgramFile, ProgramPlace};
pub use request::{CommandRequest, OnTimeout, Shell};
pub use task::{Task, TaskSpent, TaskStatus};
pub use usage::Usage;

use crate::cancel::Cancel;
use crate::error::ToolError;
use crate::host_access::HostGate;
use crate::policy::DeniedPaths;

/// Runs commands in their sandbox. Paths are as callers write them.
pub trait Commands: Send + Sync {
    /// Fails if the request cannot be run: no sandbox, no such shell, a wrong directory.
    fn check(&self, request: &CommandRequest) -> Result<(), ToolError>;

    /// Runs a command until it ends, until its time is up, or until the call is cancelled. When its time is up, the
    /// command is killed, or goes on as a task if the request says so.
    fn run(&self, request: &CommandRequest, cancel: &Cancel) -> Result<Ran, ToolError>;

    /// Returns the profile and the limits that hold for commands, in words.
    fn terms(&self) -> String;

    /// Returns the hosts that commands can reach. If there are any, anyone may have written what commands print.
    fn reachable_hosts(&self) -> Vec<String>;

    /// Returns the home folder that commands get.
    fn home(&self) -> Option<String>;

    /// Returns the file that a command runs for the name of a program, by the `PATH` that commands get.
    fn find_program(&self, name: &str) -> Option<ProgramFile>;

    /// Denies these paths from now on: commands that begin later see their names and nothing else of them.
    fn deny(&self, denied: DeniedPaths);

    /// Lets commands that begin later ask about hosts that no setting lists. Commands that go on after their call do
    /// not ask.
    fn ask_about_hosts(&self, gate: Arc<dyn HostGate>);

    /// Starts a command that goes on after its call. The task has the id of the call.
    fn start(&self, request: &CommandRequest) -> Result<(), ToolError>;

    /// Returns what tasks of this process have used so far: one entry for each session and tool whose tasks are
    /// over, and one entry for each running task.
    fn tasks(&self) -> Vec<TaskSpent>;

    /// Whether a command of the call `id` still runs in this process.
    fn is_under_way(&self, id: &str) -> bool;

    /// Returns the state of a task: a background command, or any command that this runtime remembers.
    fn task(&self, id: &str) -> Result<Task, ToolError>;

    /// Waits until a task is over, for `most` at most, and returns its state.
    fn wait(&self, id: &str, most: Duration, cancel: &Cancel) -> Result<Task, ToolError>;

    /// Kills a task and everything that it started. Returns whether it was still running.
    fn kill(&self, id: &str) -> Result<bool, ToolError>;

    /// Returns the last command of this session that ran to its end.
    fn last(&self) -> Option<LastCommand>;

    /// Saves the whole reply of the call `id` where the output of commands is saved. Returns whether that worked.
    fn save_reply(&self, id: &str, reply: &str) -> bool;

    /// Reads lines of a command's saved output.
    fn read(&self, id: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError>;
}
