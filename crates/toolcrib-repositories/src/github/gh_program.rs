//! The program `gh`, GitHub's own: where somebody is logged in with it, it has the token.

use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::time::Duration;

use toolcrib_core::Cancel;
use toolcrib_host::find_program;

use crate::child_process::{ChildProcess, RunLimits};

/// The longest time for its answer. It may ask a keyring.
const MOST_GH_TIME: Duration = Duration::from_secs(5);

/// The most bytes of a token.
const MOST_TOKEN_BYTES: usize = 4 << 10;

/// Returns the token with which `gh` is logged in at a host; nothing if it is not installed or not logged in. `path` is
/// a list of folders as in the variable `PATH`.
pub(super) fn gh_token(path: &OsStr, host: &str, cancel: &Cancel) -> Option<String> {
    let program = find_program("gh", path)?;
    let mut command = Command::new(program);
    command.args(["auth", "token", "--hostname", host]).current_dir("/");
    command.env("GH_PROMPT_DISABLED", "1").env("GH_NO_UPDATE_NOTIFIER", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let is_stopped = || cancel.is_cancelled();
    let limits = RunLimits { time: MOST_GH_TIME, bytes: MOST_TOKEN_BYTES, is_stopped: &is_stopped };
    let run = ChildProcess::new(command.spawn().ok()?).run_to_end(&limits).ok()?;
    let text = String::from_utf8(run.output).ok().filter(|_| run.status.success())?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_token_is_that_of_the_host_and_missing_if_nobody_is_logged_in() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("gh");
        let script = "#!/bin/sh\n[ \"$1 $2 $3\" = 'auth token --hostname' ] && [ \"$4\" = good ] && echo t0ken\n";
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let (path, cancel) = (folder.path().as_os_str(), Cancel::default());
        assert_eq!(gh_token(path, "good", &cancel).as_deref(), Some("t0ken"));
        assert_eq!(gh_token(path, "other", &cancel), None);
        // A process that it leaves behind holds its output open.
        let left = folder.path().join("left");
        let script =
            format!("#!/bin/sh\nsleep 1000 &\necho $! >'{}'\necho t0ken\n", left.display());
        std::fs::write(&program, script).unwrap();
        assert_eq!(gh_token(path, "good", &cancel).as_deref(), Some("t0ken"));
        let left = std::fs::read_to_string(left).unwrap().trim().parse().unwrap();
        let left = rustix::process::Pid::from_raw(left).unwrap();
        rustix::process::kill_process(left, rustix::process::Signal::KILL).unwrap();
        assert_eq!(gh_token(OsStr::new("/nonexistent"), "good", &cancel), None);
        assert_eq!(gh_token(OsStr::new(""), "good", &cancel), None);
    }
}
