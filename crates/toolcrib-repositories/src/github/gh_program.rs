//! The program `gh`, GitHub's own: where somebody is logged in with it, it has the token.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use toolcrib_core::Cancel;

/// The longest time for its answer. It may ask a keyring.
const MOST_GH_TIME: Duration = Duration::from_secs(5);

/// How often it is checked whether it has ended.
const LOOK_INTERVAL: Duration = Duration::from_millis(10);

/// The most bytes of a token.
const MOST_TOKEN_BYTES: u64 = 4 << 10;

/// Returns the token with which `gh` is logged in at a host; nothing if it is not installed or not logged in. `path` is
/// a list of folders as in the variable `PATH`.
pub(super) fn gh_token(path: &OsStr, host: &str, cancel: &Cancel) -> Option<String> {
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0)
    };
    // A relative folder of the list could be one that an agent writes to.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let program = folders.map(|folder| folder.join("gh")).find(is_program)?;
    let mut command = Command::new(program);
    command.args(["auth", "token", "--hostname", host]).current_dir("/");
    command.env("GH_PROMPT_DISABLED", "1").env("GH_NO_UPDATE_NOTIFIER", "1");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let until = Instant::now() + MOST_GH_TIME;
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < until && !cancel.is_cancelled() => {
                thread::sleep(LOOK_INTERVAL);
            }
            Ok(None) | Err(_) => break None,
        }
    };
    if status.is_none() {
        let _ = child.kill();
        let _ = child.wait();
    }
    let mut text = String::new();
    let output = child.stdout.take().filter(|_| status.is_some_and(|it| it.success()))?;
    output.take(MOST_TOKEN_BYTES).read_to_string(&mut text).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

#[cfg(test)]
mod tests {
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
        assert_eq!(gh_token(OsStr::new("/nonexistent"), "good", &cancel), None);
        assert_eq!(gh_token(OsStr::new(""), "good", &cancel), None);
    }
}
