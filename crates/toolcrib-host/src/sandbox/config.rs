//! The operator's settings for commands.

use std::path::PathBuf;
use std::time::Duration;

/// The rules for every command.
#[derive(Clone, Debug)]
pub struct SandboxRules {
    /// How much of the sandbox is in force.
    pub profile: Profile,
    /// The path of bubblewrap; if absent, it is searched in the system's folders.
    pub bubblewrap: Option<PathBuf>,
    /// How much a command may use.
    pub limits: CommandLimits,
    /// The hosts that a command may reach, `host` or `*.host`. If empty, a command reaches no host.
    pub egress: Vec<String>,
    /// The ports that a command may reach at those hosts.
    pub egress_ports: Vec<u16>,
    /// Folders of the operator's home that commands can read and not change.
    pub toolchains: Vec<String>,
    /// Folders of the home that commands can change and that are kept from one command to the next.
    pub caches: Vec<String>,
    /// Names at a root that commands can neither change nor make, beside git's own.
    pub protected: Vec<String>,
    /// Names among `protected` and git's own that commands may change after all.
    pub unprotected: Vec<String>,
    /// The user that commands run as when Toolcrib is the superuser and the superuser owns the workspace.
    pub user: u32,
    /// How many tasks of one principal can run at once.
    pub most_tasks: usize,
    /// Whether this process goes on after a call, so that tasks can too.
    pub lives_on: bool,
}

impl SandboxRules {
    /// Whether commands may not change what has this name.
    pub(crate) fn protects(&self, name: &str) -> bool {
        !self.unprotected.iter().any(|it| it == name)
    }
}

/// How much of the sandbox is in force for a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Every mechanism. If one is missing, the command is refused.
    Strict,
    /// Every mechanism but the change of user: if Toolcrib is the superuser, the command is the superuser too,
    /// without capabilities, in namespaces of its own.
    RootDegraded,
}

impl Profile {
    /// Returns the spelling in settings and replies.
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
    /// Bytes of memory, all processes of the command together.
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
    /// Bytes sent to hosts and received from them.
    pub network: u64,
    /// Bytes of each output stream that are saved.
    pub saved: u64,
    /// Bytes of the private `/tmp`, and of the private home.
    pub scratch: u64,
}

/// What commands inherit from the operator's environment.
#[derive(Clone, Debug, Default)]
pub struct Operator {
    /// The operator's home.
    pub home: Option<PathBuf>,
    /// The operator's `PATH`.
    pub path: String,
    /// The operator's shell.
    pub shell: Option<PathBuf>,
    /// Folders elsewhere than in the home that commands can read and not change.
    pub toolchains: Vec<PathBuf>,
    /// Language, time zone, and what else the settings let through, as `NAME=value`.
    pub environment: Vec<String>,
}
