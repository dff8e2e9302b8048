//! The self-test: before the first command on a machine as it is now, a canary with all the same locks on tries to get
//! out. If it reaches anything, no command is run.

use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use toolcrib_core::command::{CommandRequest, OnTimeout, Shell};
use toolcrib_core::{CallId, FileStamp, ToolError};
use toolcrib_inside::canary::{self, Canary};
use toolcrib_inside::wire::{self, Report};

use super::end_notes;
use super::launch::{LaunchContext, Launched, ReadyLauncher};
use super::mechanism::{find_bubblewrap, missing};

/// How long the canary may take.
const CANARY_TIMEOUT: Duration = Duration::from_secs(20);

impl LaunchContext {
    /// Returns the launcher. It is started, and the self-test must pass, before the first command.
    pub(super) fn launcher(&self) -> Result<Arc<ReadyLauncher>, ToolError> {
        let mut current = self.launcher.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(launcher) = &*current {
            return Ok(Arc::clone(launcher));
        }
        let fresh = Arc::new(self.prepare()?);
        self.require_self_test(&fresh)?;
        *current = Some(Arc::clone(&fresh));
        Ok(fresh)
    }

    /// Fails unless the self-test has passed on this machine as it is now. Runs it if it has not.
    pub(super) fn require_any_self_test(&self) -> Result<(), ToolError> {
        if self.has_passed_self_test() { Ok(()) } else { self.launcher().map(drop) }
    }

    fn has_passed_self_test(&self) -> bool {
        let now = self.self_test_key();
        fs::read_to_string(self.folder.self_test()).is_ok_and(|then| then == now)
    }

    /// Fails unless the canary failed to get out on this machine as it is now, in this run or in an earlier one.
    fn require_self_test(&self, launcher: &Arc<ReadyLauncher>) -> Result<(), ToolError> {
        if self.has_passed_self_test() {
            return Ok(());
        }
        let reached = self.run_canary(launcher)?;
        if !reached.is_empty() {
            let why = format!(
                "the self-test escaped from the sandbox and reached: {}",
                reached.join(", ")
            );
            return Err(missing("self-test", &why).with("reached", reached));
        }
        let _ = fs::write(self.folder.self_test(), self.self_test_key());
        Ok(())
    }

    /// Returns everything that the result of the self-test depends on, as the text that is kept once it passed.
    fn self_test_key(&self) -> String {
        let file = |path: &Path| {
            fs::metadata(path).map_or_else(
                |_| String::new(),
                |meta| {
                    let stamp = FileStamp::of(&meta);
                    let seconds = stamp.modified_ns.div_euclid(1_000_000_000);
                    format!("{}:{}:{seconds}", stamp.inode, stamp.size)
                },
            )
        };
        let bubblewrap = find_bubblewrap(self.rules.bubblewrap.as_deref()).unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        format!(
            "{}|{}|{}|{}|{:?}|{:?}",
            boot.trim(),
            file(&bubblewrap),
            file(Path::new("/proc/self/exe")),
            rustix::process::geteuid().as_raw(),
            self.rules.profile,
            self.egress.hosts().is_empty(),
        )
    }

    /// Runs the canary in the place of a command, and returns what it reached.
    pub(super) fn run_canary(
        &self,
        launcher: &Arc<ReadyLauncher>,
    ) -> Result<Vec<String>, ToolError> {
        let io = |err: io::Error| missing("self-test", &format!("it could not be set up: {err}"));
        let folder = self.folder.canary();
        fs::create_dir_all(&folder).map_err(io)?;
        let secret = folder.join("secret");
        fs::write(&secret, canary::SECRET).map_err(io)?;
        let _ = fs::remove_file(folder.join("written"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
        let port = listener.local_addr().map_err(io)?.port();
        // The positive control: from outside everything must be within reach, or a failure inside would prove nothing.
        fs::read(&secret).map_err(io)?;
        TcpStream::connect(("127.0.0.1", port)).map_err(io)?;
        let given = Canary {
            secret: secret.display().to_string(),
            spot: folder.join("written").display().to_string(),
            port,
        };
        let proxy = self.proxy_need(None);
        let launched = self.launch(launcher, &canary_request(), None, proxy, Some(given))?;
        let reached = read_canary(launched)?;
        if folder.join("written").exists() {
            return Ok(vec!["a file outside the sandbox".to_owned()]);
        }
        reached.ok_or_else(|| missing("self-test", "the canary did not finish"))
    }
}

fn canary_request() -> CommandRequest {
    CommandRequest {
        call: CallId("self-test".to_owned()),
        shell: Shell::Program(Vec::new()),
        text: String::new(),
        directory: None,
        time: CANARY_TIMEOUT,
        on_timeout: OnTimeout::Kill,
        keep: 4096,
        rest_hint: "",
        is_read_only: true,
    }
}

/// Reads what the canary prints: a line for each thing that it reached, and a last line that says that it finished.
/// Returns `None` if it did not finish in time.
fn read_canary(launched: Launched) -> Result<Option<Vec<String>>, ToolError> {
    let until = Instant::now() + CANARY_TIMEOUT;
    let mut text = Vec::new();
    let mut errors = Vec::new();
    let control = launched.pipes.control;
    loop {
        let mut polls = [PollFd::new(&control, PollFlags::IN)];
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: 0 };
        if poll(&mut polls, Some(&left)).unwrap_or(0) == 0 {
            return Ok(None);
        }
        match wire::receive::<Report>(&control) {
            Ok(Some((Report::Failed { step, why, errno }, _))) => {
                return Err(end_notes::not_started(step, &why, errno));
            }
            Ok(Some((Report::Ended { .. }, _)) | None) | Err(_) => break,
            Ok(Some(_)) => {}
        }
    }
    let _ = fs::File::from(launched.pipes.stdout).read_to_end(&mut text);
    let _ = fs::File::from(launched.pipes.stderr).read_to_end(&mut errors);
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.pop().as_deref() == Some(canary::DONE) {
        return Ok(Some(lines));
    }
    Err(end_notes::no_sandbox(&String::from_utf8_lossy(&errors)))
}
