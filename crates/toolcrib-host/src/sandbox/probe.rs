//! Finds out what is in force on this machine: by looking for each mechanism, and by a canary that
//! tries to get out.

use std::fs;
use std::io::{self, Read};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use toolcrib_core::command::{Limit, Mechanism, show_bytes};
use toolcrib_core::{CallId, ToolError};

use super::config::Profile;
use super::{Launched, Ready, Sandbox, notes};
use toolcrib_inside::canary::{self, Canary};
use toolcrib_inside::landlock_version;
use toolcrib_inside::wire::{self, Report};

/// Where bubblewrap is looked for: folders that only the superuser can change.
const FOLDERS: [&str; 4] = ["/usr/bin", "/bin", "/usr/local/bin", "/run/current-system/sw/bin"];

/// How long the canary may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// One mechanism or limit, and whether it holds.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// What it is.
    pub name: String,
    /// Whether it holds.
    pub state: State,
    /// What was found.
    pub says: String,
    /// What to do if it does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Whether a mechanism holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It does.
    Enforced,
    /// It is not there.
    Missing,
    /// It is there, and the self-test got past it.
    Failed,
    /// It was not looked at, because something before it is missing.
    Unknown,
}

/// Finds bubblewrap: `given`, or in the system's folders. What others than the superuser could have
/// put there is not trusted.
pub(crate) fn bubblewrap(given: Option<&Path>) -> Result<PathBuf, String> {
    let found: Vec<PathBuf> = match given {
        Some(path) if path.is_absolute() => vec![path.to_owned()],
        Some(path) => return Err(format!("`{}` is not an absolute path", path.display())),
        None => FOLDERS.iter().map(|folder| Path::new(folder).join("bwrap")).collect(),
    };
    let mut why = "no `bwrap` in the system's folders".to_owned();
    for path in found {
        let Ok(meta) = fs::metadata(&path) else { continue };
        if meta.uid() != 0 || meta.mode() & 0o022 != 0 {
            why = format!("`{}` could be changed by others than the superuser", path.display());
        } else if !meta.is_file() || meta.permissions().mode() & 0o111 == 0 {
            why = format!("`{}` is not a program", path.display());
        } else {
            return Ok(path);
        }
    }
    Err(why)
}

/// Words that a mechanism is missing, with what to do about it.
pub(crate) fn missing(mechanism: &str, why: &str) -> ToolError {
    notes::unavailable(mechanism, why, fix(mechanism))
}

fn fix(mechanism: &str) -> &'static str {
    match mechanism {
        "bubblewrap" => "install the package `bubblewrap`",
        "landlock" => {
            "use a kernel from 6.2 on, with Landlock among its LSMs (`lsm=` on its command line)"
        }
        "user namespaces" => {
            "let ordinary users make them: sysctl user.max_user_namespaces above 0, and, where they \
             exist, kernel.unprivileged_userns_clone=1 and \
             kernel.apparmor_restrict_unprivileged_userns=0"
        }
        "idmapped mount" => {
            "keep the workspace on a file system that can map owners (ext4, xfs, btrfs, tmpfs), or \
             give it to an ordinary user, or run toolcrib as one"
        }
        "launcher" => {
            "see that `/proc` is mounted, that this program's file can be executed, and that there are descriptors \
             left (`ulimit -n`)"
        }
        "seccomp" => "use a kernel with CONFIG_SECCOMP_FILTER",
        "mount namespace" => "run toolcrib as an ordinary user, or as a superuser who may mount",
        _ => "see what it says",
    }
}

impl Sandbox {
    /// Fails unless the canary was once seen to fail on this machine as it is now.
    pub(super) fn prove(&self, ready: &Arc<Ready>) -> Result<(), ToolError> {
        let stamp = self.folder.join("self-test");
        let now = self.fingerprint();
        if fs::read_to_string(&stamp).is_ok_and(|then| then == now) {
            return Ok(());
        }
        let reached = self.try_canary(ready)?;
        if !reached.is_empty() {
            let why = format!("the self-test got out: {}", reached.join(", "));
            return Err(missing("self-test", &why).with("reached", reached));
        }
        let _ = fs::write(&stamp, now);
        Ok(())
    }

    /// What the self-test's result depends on.
    fn fingerprint(&self) -> String {
        let file = |path: &Path| {
            fs::metadata(path).map_or_else(
                |_| String::new(),
                |meta| format!("{}:{}:{}", meta.ino(), meta.size(), meta.mtime()),
            )
        };
        let bubblewrap = bubblewrap(self.rules.bubblewrap.as_deref()).unwrap_or_default();
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        format!(
            "{}|{}|{}|{}|{:?}|{:?}",
            boot.trim(),
            file(&bubblewrap),
            file(Path::new("/proc/self/exe")),
            rustix::process::geteuid().as_raw(),
            self.rules.profile,
            self.egress.is_some(),
        )
    }

    /// Sends the canary in, and returns what it reached.
    fn try_canary(&self, ready: &Arc<Ready>) -> Result<Vec<String>, ToolError> {
        let io = |err: io::Error| missing("self-test", &format!("it could not be made: {err}"));
        let folder = self.folder.join("canary");
        fs::create_dir_all(&folder).map_err(io)?;
        let secret = folder.join("secret");
        fs::write(&secret, canary::SECRET).map_err(io)?;
        let _ = fs::remove_file(folder.join("written"));
        let listener = TcpListener::bind("127.0.0.1:0").map_err(io)?;
        let port = listener.local_addr().map_err(io)?.port();
        // From outside it must all be within reach, or its failing inside would say nothing.
        fs::read(&secret).map_err(io)?;
        TcpStream::connect(("127.0.0.1", port)).map_err(io)?;
        let given = Canary {
            secret: secret.display().to_string(),
            spot: folder.join("written").display().to_string(),
            port,
        };
        let launched = self.launch(ready, &canary_order(), Some(given))?;
        let told = hear_canary(launched)?;
        if Path::new(&folder.join("written")).exists() {
            return Ok(vec!["it wrote outside".to_owned()]);
        }
        told.ok_or_else(|| missing("self-test", "the canary did not come to its end"))
    }
}

fn canary_order() -> toolcrib_core::command::CommandRequest {
    use toolcrib_core::command::{CommandRequest, OnTimeout, Shell};
    CommandRequest {
        call: CallId("self-test".to_owned()),
        shell: Shell::Program(Vec::new()),
        text: String::new(),
        directory: None,
        time: PATIENCE,
        on_timeout: OnTimeout::Kill,
        keep: 4096,
        rest_hint: "",
        is_read_only: true,
    }
}

/// Listens to the canary: the lines it prints are what it reached, and the last one says that it came
/// to its end.
fn hear_canary(launched: Launched) -> Result<Option<Vec<String>>, ToolError> {
    let until = Instant::now() + PATIENCE;
    let mut text = Vec::new();
    let mut said = Vec::new();
    let control = launched.lines.control;
    loop {
        let mut polls = [PollFd::new(&control, PollFlags::IN)];
        let left = until.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: 0 };
        if poll(&mut polls, Some(&left)).unwrap_or(0) == 0 {
            return Ok(None);
        }
        match wire::receive::<Report>(&control) {
            Ok(Some((Report::Failed { step, why, errno }, _))) => {
                return Err(notes::not_started(step, &why, errno));
            }
            Ok(Some((Report::Ended { .. }, _)) | None) | Err(_) => break,
            Ok(Some(_)) => {}
        }
    }
    let _ = fs::File::from(launched.lines.stdout).read_to_end(&mut text);
    let _ = fs::File::from(launched.lines.stderr).read_to_end(&mut said);
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    if lines.pop().as_deref() == Some(canary::DONE) {
        return Ok(Some(lines));
    }
    Err(notes::no_sandbox(&String::from_utf8_lossy(&said)))
}

/// Finds out what is in force, by trying it.
pub(crate) fn examine(sandbox: &Sandbox) -> Vec<Finding> {
    let mut findings = vec![
        looked(
            "bubblewrap",
            bubblewrap(sandbox.rules.bubblewrap.as_deref()).map(|path| path.display().to_string()),
        ),
        looked("landlock", landlock_version().map(|version| format!("version {version}, whole"))),
    ];
    let fresh = sandbox.prepare().map(Arc::new);
    let tried = fresh.and_then(|ready| {
        let who = match (ready.view.user, sandbox.rules.profile) {
            (Some(user), _) => format!("commands are user {}, not the superuser", user.uid),
            (None, Profile::RootDegraded) if rustix::process::geteuid().is_root() => {
                "commands are the superuser without capabilities, as the operator chose".to_owned()
            }
            (None, _) => format!("commands are user {}", rustix::process::getuid().as_raw()),
        };
        sandbox.try_canary(&ready).map(|reached| (who, reached))
    });
    let names = [
        "user namespaces",
        "process, network, mount and IPC namespaces",
        "seccomp",
        "no capabilities",
        "user",
        "self-test",
    ];
    match tried {
        Ok((who, reached)) if reached.is_empty() => {
            for name in names {
                let says = match name {
                    "user" => who.clone(),
                    "self-test" => "the canary reached nothing outside".to_owned(),
                    _ => "held against the canary".to_owned(),
                };
                findings.push(Finding {
                    name: name.to_owned(),
                    state: State::Enforced,
                    says,
                    fix: None,
                });
            }
        }
        Ok((_, reached)) => findings.push(Finding {
            name: "self-test".to_owned(),
            state: State::Failed,
            says: format!("the canary got out: {}", reached.join(", ")),
            fix: Some("do not run commands here; report this".to_owned()),
        }),
        Err(err) => {
            let name = err.context.get("missing").and_then(|it| it.as_str()).unwrap_or("sandbox");
            if !findings.iter().any(|it| it.name == name && it.state != State::Enforced) {
                let state = State::Missing;
                let (says, fix) = (err.message.clone(), err.hint.clone());
                findings.push(Finding { name: name.to_owned(), state, says, fix });
            }
            let state = State::Unknown;
            let says = "not tried: something before it is missing".to_owned();
            findings.push(Finding { name: "self-test".to_owned(), state, says, fix: None });
        }
    }
    findings.push(Finding {
        name: "network".to_owned(),
        state: State::Enforced,
        says: if sandbox.rules.egress.is_empty() {
            "none".to_owned()
        } else {
            format!("only {}, through our proxy", sandbox.rules.egress.join(", "))
        },
        fix: None,
    });
    findings.extend(limits(sandbox));
    // What holds commands holds nothing when there can be none.
    if findings.iter().any(|it| it.name == "self-test" && it.state != State::Enforced) {
        for it in &mut findings {
            if it.name == "network" || it.name.starts_with("limit ") {
                it.state = State::Unknown;
            }
        }
    }
    findings
}

fn looked(name: &str, found: Result<String, String>) -> Finding {
    let (state, says, fix) = match found {
        Ok(says) => (State::Enforced, says, None),
        Err(why) => (State::Missing, why, Some(fix(name).to_owned())),
    };
    Finding { name: name.to_owned(), state, says, fix }
}

/// Every limit and what enforces it. None is claimed for a control group: there is none.
fn limits(sandbox: &Sandbox) -> Vec<Finding> {
    let limits = &sandbox.rules.limits;
    let rlimit_and_watchdog = "rlimit per process, watchdog for all together";
    let all = [
        (Limit::Memory, limits.memory, rlimit_and_watchdog),
        (
            Limit::Processes,
            limits.processes,
            "rlimit, in a user namespace of its own, and watchdog",
        ),
        (Limit::Cpu, limits.cpu_seconds, rlimit_and_watchdog),
        (Limit::FileSize, limits.file_size, Mechanism::Rlimit.as_str()),
        (Limit::Growth, limits.growth, Mechanism::Watchdog.as_str()),
        (Limit::Files, limits.files, Mechanism::Watchdog.as_str()),
        (Limit::OpenFiles, limits.open_files, Mechanism::Rlimit.as_str()),
        (Limit::Output, limits.output, Mechanism::Watchdog.as_str()),
    ];
    let finding =
        |name: String, says: String| Finding { name, state: State::Enforced, says, fix: None };
    let mut findings: Vec<Finding> = all
        .into_iter()
        .map(|(limit, allowed, by)| {
            finding(
                format!("limit on {}", limit.as_str()),
                format!("{}, by {by}", limit.show(allowed)),
            )
        })
        .collect();
    findings.push(finding("limit on time".to_owned(), "each call's own, by watchdog".to_owned()));
    let scratch = show_bytes(limits.scratch);
    findings.push(finding(
        "limit on scratch space".to_owned(),
        format!("{scratch} each for /tmp and home, by {}", Mechanism::SizedTmpfs.as_str()),
    ));
    findings
}
