//! What the binary must do about tools from other authors, because it has the sandbox that they run in.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_core::Principal;
use toolcrib_plugins::PluginError;
use toolcrib_plugins::lifecycle::Lifecycle;
use toolcrib_plugins::worker_counts::WorkerCounts;

use crate::server_views::ServerFields;

/// The processes for one kind of tool.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorkerGroup {
    /// What they run.
    kind: WorkerKind,
    /// Those that have a call or are being started.
    busy: usize,
    /// Those that wait for a call.
    idle: usize,
    /// The most at a time.
    most: usize,
}

impl WorkerGroup {
    /// Returns the processes of a pool.
    pub fn new(kind: WorkerKind, counts: WorkerCounts) -> Self {
        let WorkerCounts { busy, idle, most } = counts;
        Self { kind, busy, idle, most }
    }
}

/// What a process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerKind {
    /// ES modules.
    Module,
    /// A program.
    Program,
}

/// The tools from other authors that this process has loaded. Everything here can block.
pub trait LivePlugins: Send + Sync {
    /// Returns what proposes, answers and switches them under the settings in force.
    fn lifecycle(&self) -> Lifecycle;

    /// Loads the versions that are active now, and drops the others. Calls that run finish on the version they began
    /// with. Returns how many tools the contract's API has then.
    fn take_up(&self) -> Result<usize, PluginError>;

    /// Returns the MCP servers of the settings, and those of imported files that wait.
    fn servers(&self) -> Result<Vec<ServerFields>, PluginError>;

    /// Counts the processes that run tools.
    fn workers(&self) -> Vec<WorkerGroup>;

    /// Accepts what waits of a server, if that is what has this hash. Returns the names of what was accepted.
    fn accept_server(
        &self,
        server: &str,
        hash: &str,
        by: &Principal,
    ) -> Result<Vec<String>, PluginError>;
}
