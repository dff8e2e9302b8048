//! The program `git`: where it is, and how it is started. Its environment is ours, so that the settings of a
//! repository cannot make it run another program, reach the net or ask anybody.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use toolcrib_core::{Cancel, ErrorKind, ToolError};
use toolcrib_host::find_program;

use crate::child_process::{ChildProcess, ChildRun, RunLimits};
use crate::git::folder::RepositoryFolders;

/// The longest time for an answer about a revision. Nothing of it depends on the size of the repository.
const MOST_RUN_TIME: Duration = Duration::from_secs(20);

/// The most bytes of an answer that are read.
const MOST_RUN_BYTES: usize = 1 << 20;

/// Settings that override those of the repository.
const SETTINGS: [&str; 7] = [
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.askPass=",
    // A partial clone must not fetch what it lacks.
    "protocol.allow=never",
    // Larger blobs are passed on piece by piece, instead of being held in memory.
    "core.bigFileThreshold=4m",
    "gc.auto=0",
    "maintenance.auto=false",
];

/// Variables that git reads beside its settings.
const VARIABLES: [(&str, &str); 13] = [
    // Stronger than every setting of the repository: nothing is fetched, also by a git that does not know
    // `GIT_NO_LAZY_FETCH`.
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // A replacement could change the content of a commit while it is read.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("HOME", "/nonexistent"),
    ("LC_ALL", "C"),
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
];

/// The program `git`, for one repository.
#[derive(Clone, Debug)]
pub(crate) struct GitProgram {
    program: PathBuf,
    git_folder: PathBuf,
    common_folder: PathBuf,
}

/// What a run of git said.
pub(super) struct GitRun {
    pub(super) status: ExitStatus,
    pub(super) output: String,
    pub(super) errors: String,
}

impl GitProgram {
    /// Finds git in the folders of `path`, a list as in the variable `PATH`.
    pub(super) fn find(path: &OsStr, folders: &RepositoryFolders) -> Result<Self, ToolError> {
        let RepositoryFolders { git_folder, common_folder, .. } = folders.clone();
        match find_program("git", path) {
            Some(program) => Ok(Self { program, git_folder, common_folder }),
            None => Err(ToolError::new(
                ErrorKind::Unavailable,
                "the program `git` is missing, which reads the objects of a git repository",
            )
            .hint("install git 2.31 or newer")),
        }
    }

    /// Starts git with its input and output as pipes.
    pub(super) fn start(&self, args: &[&str], errors: Stdio) -> Result<ChildProcess, ToolError> {
        let mut command = Command::new(&self.program);
        command.env_clear().envs(VARIABLES).current_dir("/");
        // A file `commondir` that is written later leads nowhere else.
        command.env("GIT_COMMON_DIR", &self.common_folder);
        command.arg("--no-pager").arg("--literal-pathspecs");
        command.arg("--git-dir").arg(&self.git_folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(errors);
        command.spawn().map(ChildProcess::new).map_err(|err| {
            let program = self.program.display();
            ToolError::new(ErrorKind::Unavailable, format!("`{program}` cannot be started: {err}"))
        })
    }

    /// Runs git to its end.
    pub(super) fn run(&self, args: &[&str], cancel: &Cancel) -> Result<GitRun, ToolError> {
        let mut child = self.start(args, Stdio::piped())?;
        let is_stopped = || cancel.is_cancelled();
        let limits =
            RunLimits { time: MOST_RUN_TIME, bytes: MOST_RUN_BYTES, is_stopped: &is_stopped };
        let ended = child.run_to_end(&limits);
        let ChildRun { status, output, errors } =
            ended.map_err(|failure| failure.error(args[0], cancel))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(GitRun { status, output: text(output), errors: text(errors) })
    }
}
