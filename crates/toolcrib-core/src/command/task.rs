//! Tasks: commands that go on after their call, and commands that are remembered.

use std::time::Duration;

use crate::command::end::End;
use crate::command::limit::Strike;
use crate::command::output::Printed;
use crate::tool_name::ToolName;

/// What tasks of one session and tool have used.
#[derive(Clone, Debug)]
pub struct TaskSpent {
    /// The session that started the tasks.
    pub session: String,
    /// The tool that started them, as `catalogue/name`.
    pub tool: ToolName,
    /// How long the tasks ran.
    pub time: Duration,
    /// How many bytes the tasks wrote, as far as that is known.
    pub bytes: u64,
    /// Whether this is a task that still runs.
    pub runs: bool,
}

/// A command that this runtime remembers.
#[derive(Clone, Debug)]
pub struct Task {
    /// The task's id: the id of the call that started it.
    pub id: String,
    /// The task's status.
    pub status: TaskStatus,
    /// The output on stdout so far.
    pub stdout: Printed,
    /// The output on stderr so far.
    pub stderr: Printed,
    /// The limit that the task ran into, if it ran into one.
    pub strike: Option<Strike>,
}

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// The task runs.
    Running,
    /// The task is over, and ended like this.
    Ended(End),
    /// The runtime that ran the task is gone, and the task with it. How it ended is not known.
    Lost,
}
