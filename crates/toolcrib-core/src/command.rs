//! Commands: what is to be run, what came of it, what it used, and the port that runs it.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::call::CallId;
use crate::cancel::Cancel;
use crate::error::ToolError;

/// Runs commands in their sandbox. Paths are as callers write them.
pub trait Commands: Send + Sync {
    /// Fails if this order could not be run: no sandbox, no such shell, a wrong directory.
    fn check(&self, request: &CommandRequest) -> Result<(), ToolError>;

    /// Runs a command to its end, its time, or the end of the call. At its time it is killed, or
    /// goes on as a task if the order says so.
    fn run(&self, request: &CommandRequest, cancel: &Cancel) -> Result<Ran, ToolError>;

    /// What holds for a command here, in words: the profile and the limits.
    fn terms(&self) -> String;

    /// Whether commands can reach the network, so that what they print may be anyone's.
    fn reaches_network(&self) -> bool;

    /// Starts a command that goes on after its call. Its task has the call's id.
    fn start(&self, request: &CommandRequest) -> Result<(), ToolError>;

    /// What tasks of this process took so far: one entry for each session and tool whose tasks are over, and
    /// one for each task that runs.
    fn tasks(&self) -> Vec<TaskSpent>;

    /// Whether a command of this call still runs here.
    fn is_under_way(&self, id: &str) -> bool;

    /// Looks at a task: a background command, or any command this runtime remembers.
    fn task(&self, id: &str) -> Result<Task, ToolError>;

    /// Waits until a task is over, at most this long, and looks at it.
    fn wait(&self, id: &str, most: Duration, cancel: &Cancel) -> Result<Task, ToolError>;

    /// Ends a task and everything it started. Returns whether it was still running.
    fn kill(&self, id: &str) -> Result<bool, ToolError>;

    /// Returns the last command that was run to its end in this session.
    fn last(&self) -> Option<LastCommand>;

    /// Reads lines of what a command printed, as it was saved.
    fn read(&self, id: &str, stream: Stream, lines: Lines) -> Result<Excerpt, ToolError>;
}

/// A command to run.
#[derive(Clone, Debug)]
pub struct CommandRequest {
    /// The call that wants it; what it prints is saved under this id.
    pub call: CallId,
    /// What reads the text.
    pub shell: Shell,
    /// The text.
    pub text: String,
    /// Where it starts; the workspace's root without it.
    pub directory: Option<String>,
    /// How long it may take.
    pub time: Duration,
    /// What happens when its time is up.
    pub on_timeout: OnTimeout,
    /// How many bytes of each stream come back with the answer.
    pub keep: usize,
    /// How the rest can be read, for the line that says something was left out.
    pub rest_hint: &'static str,
    /// Whether it is proven only to look, so that nobody needs to look what it changed.
    pub is_read_only: bool,
}

/// What reads a command's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shell {
    /// `bash`, without anyone's profile.
    Bash,
    /// The shell that the operator uses, without their profile.
    Own,
    /// PowerShell.
    PowerShell,
    /// None: this program, with these arguments after it.
    Program(Vec<String>),
}

/// What happens to a command when its time is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// It ends.
    Kill,
    /// It goes on as a task.
    Detach,
}

/// What came of an order.
#[derive(Clone, Debug)]
pub enum Ran {
    /// It is over.
    Over(Box<Finished>),
    /// Its time is up and it goes on as a task.
    Kept(Box<Task>),
}

/// A command that is over.
#[derive(Clone, Debug)]
pub struct Finished {
    /// How it ended.
    pub end: End,
    /// What it printed to stdout.
    pub stdout: Printed,
    /// What it printed to stderr.
    pub stderr: Printed,
    /// The limit that struck, if one did.
    pub strike: Option<Strike>,
    /// What else a reader should know, each in a sentence.
    pub notes: Vec<String>,
    /// What it used.
    pub usage: Usage,
    /// How long it took.
    pub elapsed: Duration,
    /// What it was seen to have changed.
    pub touched: ChangedFiles,
}

impl Finished {
    /// The exit code as shells tell it: 128 and the signal's number for a death by signal.
    pub fn exit_code(&self) -> i32 {
        self.end.exit_code()
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// By itself, with this code.
    Exited(i32),
    /// By this signal, which we did not send.
    Signalled(i32),
    /// We ended it: its time was up.
    TimedOut,
    /// We ended it: a limit struck.
    Limited,
    /// We ended it: nobody wanted it any more.
    Killed,
}

impl End {
    /// The exit code as shells tell it.
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exited(code) => code,
            Self::Signalled(signal) => 128 + signal,
            Self::TimedOut | Self::Limited | Self::Killed => 128 + 9,
        }
    }
}

/// A limit that struck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strike {
    /// Which.
    pub limit: Limit,
    /// What it is set to.
    pub allowed: u64,
    /// What the command used, as far as it is known.
    pub used: Option<u64>,
    /// What enforces it.
    pub by: Mechanism,
}

impl Strike {
    /// Says it in a sentence.
    pub fn sentence(&self) -> String {
        let show = |count: u64| self.limit.show(count);
        let (name, allowed, by) = (self.limit.as_str(), show(self.allowed), self.by.as_str());
        let used = match self.used {
            // Rounded, a little more looks like as much.
            Some(used) if used > self.allowed && used < self.allowed + self.allowed / 10 => {
                ", used a little more".to_owned()
            }
            Some(used) => format!(", used {}", show(used)),
            None => String::new(),
        };
        format!("the limit on {name} struck: allowed {allowed}{used}, enforced by {by}")
    }
}

/// What is limited for every command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// Bytes of memory, all its processes together.
    Memory,
    /// Processes at once.
    Processes,
    /// Seconds of processor time.
    Cpu,
    /// Bytes of one file.
    FileSize,
    /// Bytes that the workspace's file system grows by.
    Growth,
    /// Files that the workspace's file system grows by.
    Files,
    /// Files open at once in one process.
    OpenFiles,
    /// Bytes printed.
    Output,
}

impl Limit {
    /// The spelling for readers and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Cpu => "cpu time",
            Self::FileSize => "file size",
            Self::Growth => "workspace growth",
            Self::Files => "new files",
            Self::OpenFiles => "open files",
            Self::Output => "output",
        }
    }

    /// Shows a count of what is limited, with its unit.
    pub fn show(self, count: u64) -> String {
        match self {
            Self::Memory | Self::FileSize | Self::Growth | Self::Output => show_bytes(count),
            Self::Processes | Self::Files | Self::OpenFiles => count.to_string(),
            Self::Cpu => format!("{count} s"),
        }
    }
}

/// Shows bytes as people read them.
pub fn show_bytes(bytes: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    match UNITS.iter().find(|(size, _)| bytes >= *size) {
        Some((size, unit)) if bytes.is_multiple_of(*size) => format!("{} {unit}", bytes / size),
        Some((size, unit)) => format!("{:.1} {unit}", bytes as f64 / *size as f64),
        None => format!("{bytes} bytes"),
    }
}

/// What enforces a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// A resource limit of the kernel, per process.
    Rlimit,
    /// A file system of fixed size.
    SizedTmpfs,
    /// We look, and end it.
    Watchdog,
}

impl Mechanism {
    /// The spelling for readers and records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Rlimit => "rlimit",
            Self::SizedTmpfs => "sized tmpfs",
            Self::Watchdog => "watchdog",
        }
    }
}

/// What one stream of a command held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// Its text, the middle left out if it was long. Bytes that are no text are shown as `\xNN`.
    pub text: String,
    /// Its bytes in all.
    pub bytes: u64,
    /// Its lines in all.
    pub lines: u64,
    /// Whether the text is not all of it.
    pub is_cut: bool,
}

/// Files of the workspace that changed while a command ran, found by looking after its end. Others may have changed
/// some of them at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFiles {
    /// Those that are new, also in the place of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<String>,
    /// Those that were there before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// Those that are gone, where their names were known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
    /// Folders that something else was taken from, or only passed through.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub thinned: Vec<String>,
    /// How many files that its words name were not kept before it ran: too many, too large, not readable.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unkept: u64,
    /// How many more there are than are named.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// Whether not all of the workspace was looked at.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_partial: bool,
}

impl ChangedFiles {
    /// Whether there is nothing to say.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Everything that is named, each with what was done.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("made", &self.made),
            ("changed", &self.changed),
            ("removed", &self.removed),
            ("thinned", &self.thinned),
        ];
        all.into_iter()
            .flat_map(|(what, paths)| paths.iter().map(move |path| (what, path.as_str())))
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// What work used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Processor time, in microseconds.
    pub cpu_us: u64,
    /// The most memory at once, in bytes.
    pub peak_memory: u64,
    /// Bytes that calls to the kernel read, from a cache or a pipe too.
    pub read_bytes: u64,
    /// Bytes that calls to the kernel wrote.
    pub written_bytes: u64,
    /// Processes started.
    pub processes: u64,
    /// The limit that a command ran into, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub struck: Option<Limit>,
}

impl Usage {
    /// Adds what another part of the same work has used.
    pub fn add(&mut self, part: &Self) {
        self.cpu_us += part.cpu_us;
        self.peak_memory = self.peak_memory.max(part.peak_memory);
        self.read_bytes += part.read_bytes;
        self.written_bytes += part.written_bytes;
        self.processes += part.processes;
        self.struck = self.struck.or(part.struck);
    }

    /// What was used since `then`.
    pub fn since(&self, then: &Self) -> Self {
        Self {
            cpu_us: self.cpu_us.saturating_sub(then.cpu_us),
            peak_memory: self.peak_memory.saturating_sub(then.peak_memory),
            read_bytes: self.read_bytes.saturating_sub(then.read_bytes),
            written_bytes: self.written_bytes.saturating_sub(then.written_bytes),
            processes: self.processes.saturating_sub(then.processes),
            struck: self.struck,
        }
    }
}

/// What tasks took.
#[derive(Clone, Debug)]
pub struct TaskSpent {
    /// The session that started them.
    pub session: String,
    /// By which tool, `catalogue/name`.
    pub tool: String,
    /// How long they ran.
    pub time: Duration,
    /// What they wrote, as far as it is known.
    pub bytes: u64,
    /// Whether they still run.
    pub runs: bool,
}

/// A command that this runtime remembers.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its id: that of the call that started it.
    pub id: String,
    /// Where it stands.
    pub status: TaskStatus,
    /// What it printed to stdout so far.
    pub stdout: Printed,
    /// What it printed to stderr so far.
    pub stderr: Printed,
    /// The limit that struck, if one did.
    pub strike: Option<Strike>,
}

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStatus {
    /// It runs.
    Running,
    /// It is over, and ended like this.
    Ended(End),
    /// The runtime that ran it is gone, and the task with it; how it ended is not known.
    Lost,
}

/// A command that was run before.
#[derive(Clone, Debug)]
pub struct LastCommand {
    /// The id of its call.
    pub id: String,
    /// Its text.
    pub text: String,
    /// What came of it.
    pub finished: Finished,
    /// When it was started.
    pub at: Timestamp,
}

/// One of the two streams of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Where results go.
    Stdout,
    /// Where complaints go.
    Stderr,
}

impl Stream {
    /// The spelling on wires and of saved files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// A range of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// The first, counted from 1.
    pub from: u64,
    /// How many.
    pub count: u64,
    /// How many bytes of them at most.
    pub most: usize,
}

/// Lines of what a command printed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    /// The lines.
    pub text: String,
    /// The first of them.
    pub from: u64,
    /// How many they are.
    pub count: u64,
    /// How many were saved in all.
    pub total: u64,
}
