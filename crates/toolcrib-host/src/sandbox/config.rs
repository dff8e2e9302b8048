//! What the operator set for commands.

use std::path::PathBuf;
use std::time::Duration;

/// What holds for every command.
#[derive(Clone, Debug)]
pub struct SandboxRules {
    /// How much is in force.
    pub profile: Profile,
    /// Bubblewrap, if it is not to be looked for in the system's folders.
    pub bubblewrap: Option<PathBuf>,
    /// How much a command may use.
    pub limits: CommandLimits,
    /// The hosts a command may reach, `host` or `*.host`. None reaches nothing.
    pub egress: Vec<String>,
    /// Ports at those hosts.
    pub egress_ports: Vec<u16>,
    /// Folders of the operator's home that commands see and cannot change.
    pub toolchains: Vec<String>,
    /// Folders of the home that commands can change and that are kept from one to the next.
    pub caches: Vec<String>,
    /// Names at a root that commands cannot change or make, beside git's own.
    pub protected: Vec<String>,
    /// Names among those above and git's that commands may change after all.
    pub unprotected: Vec<String>,
    /// The user that commands are, when we are the superuser and the workspace is its own.
    pub user: u32,
    /// Whether this process goes on after a call, so that tasks can.
    pub lives_on: bool,
}

/// How much is in force for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Everything, or the command is refused.
    Strict,
    /// Everything but the change of user: a command of the superuser's is the superuser, without
    /// capabilities, in namespaces of its own.
    RootDegraded,
}

impl Profile {
    /// The spelling in settings and replies.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::RootDegraded => "root-degraded",
        }
    }
}

/// How much one command may use.
#[derive(Clone, Copy, Debug)]
pub struct CommandLimits {
    /// Bytes of memory, all its processes together.
    pub memory: u64,
    /// Processes at once.
    pub processes: u64,
    /// Seconds of processor time.
    pub cpu_seconds: u64,
    /// The longest a task may run.
    pub task_time: Duration,
    /// Bytes of one file.
    pub file_size: u64,
    /// Bytes that the workspace's file system may grow by.
    pub growth: u64,
    /// Files that the workspace's file system may grow by.
    pub files: u64,
    /// Files open at once in one process.
    pub open_files: u64,
    /// Bytes printed.
    pub output: u64,
    /// Bytes of each stream that are saved.
    pub saved: u64,
    /// Bytes of the private `/tmp`, and of the private home.
    pub scratch: u64,
}

/// What commands take over from the operator's own environment.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// Their home.
    pub home: Option<PathBuf>,
    /// Their PATH.
    pub path: String,
    /// Their shell.
    pub shell: Option<PathBuf>,
    /// Their language, time zone, and what else the settings let through, as `NAME=value`.
    pub environment: Vec<String>,
}
