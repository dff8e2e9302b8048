//! Finds out which mechanisms are in force on this machine: by searching for each one, and by running the canary.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use toolcrib_core::command::{Limit, Mechanism, show_bytes};
use toolcrib_inside::landlock_version;

use super::config::Profile;
use super::launch::{LaunchContext, ReadyLauncher};
use super::mechanism::{find_bubblewrap, fix};

/// A mechanism or limit of the sandbox, and whether it is in force.
#[derive(Clone, Debug, Serialize)]
pub struct SandboxFinding {
    /// The name of the mechanism or limit.
    pub name: String,
    /// Whether it is in force.
    pub state: Enforcement,
    /// What was found out about it.
    pub says: String,
    /// What to do if it is not in force.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Whether a mechanism is in force.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Enforcement {
    /// It is in force.
    Enforced,
    /// It is missing.
    Missing,
    /// It exists, and the self-test got past it.
    Failed,
    /// It was not tried, because something that it needs is missing.
    Unknown,
}

/// Returns whether commands find the developers' programs that the operator finds.
fn toolchains(context: &LaunchContext) -> SandboxFinding {
    let unseen = context.programs().unseen(&context.operator.path);
    let name = "toolchains".to_owned();
    if unseen.is_empty() {
        let says = "commands find every developer tool on your PATH".to_owned();
        return SandboxFinding { name, state: Enforcement::Enforced, says, fix: None };
    }
    let named: Vec<String> =
        unseen.iter().map(|(program, folder)| format!("`{program}` in {folder}")).collect();
    SandboxFinding {
        name,
        state: Enforcement::Missing,
        says: format!("on your PATH, but not visible to commands: {}", named.join(", ")),
        fix: Some(
            "add the folder to `sandbox.toolchains` if it is in your home directory; else set the toolchain's own \
             variable, such as CARGO_HOME, GOPATH or JAVA_HOME"
                .to_owned(),
        ),
    }
}

/// Finds out which mechanisms are in force, by trying them.
pub(crate) fn examine(context: &LaunchContext) -> Vec<SandboxFinding> {
    let rules = &context.rules;
    let bubblewrap = find_bubblewrap(rules.bubblewrap.as_deref());
    let mut findings = vec![
        searched("bubblewrap", bubblewrap.map(|path| path.display().to_string())),
        searched(
            "landlock",
            landlock_version().map(|version| format!("version {version}, fully supported")),
        ),
    ];
    findings.push(toolchains(context));
    let tried = context.prepare().map(Arc::new).and_then(|launcher| {
        let user = commands_user(&launcher, rules.profile);
        context.run_canary(&launcher).map(|reached| (user, reached))
    });
    match tried {
        Ok((user, reached)) if reached.is_empty() => findings.extend(held_against_canary(&user)),
        Ok((_, reached)) => findings.push(SandboxFinding {
            name: "self-test".to_owned(),
            state: Enforcement::Failed,
            says: format!(
                "the canary escaped from the sandbox and reached: {}",
                reached.join(", ")
            ),
            fix: Some("do not run commands on this machine, and report this".to_owned()),
        }),
        Err(err) => {
            let name = err.context.get("missing").and_then(|it| it.as_str()).unwrap_or("sandbox");
            if !findings.iter().any(|it| it.name == name && it.state != Enforcement::Enforced) {
                let state = Enforcement::Missing;
                let (says, fix) = (err.message.clone(), err.hint.clone());
                findings.push(SandboxFinding { name: name.to_owned(), state, says, fix });
            }
            let state = Enforcement::Unknown;
            let says = "not tried, because something that it needs is missing".to_owned();
            findings.push(SandboxFinding { name: "self-test".to_owned(), state, says, fix: None });
        }
    }
    let network = if rules.egress.is_empty() {
        "none".to_owned()
    } else {
        format!("only {}, through the proxy", rules.egress.join(", "))
    };
    findings.push(enforced("network", network));
    findings.extend(limits(context));
    // If no command can run, nothing is in force for it.
    if findings.iter().any(|it| it.name == "self-test" && it.state != Enforcement::Enforced) {
        for it in &mut findings {
            if it.name == "network" || it.name.starts_with("limit ") {
                it.state = Enforcement::Unknown;
            }
        }
    }
    findings
}

/// Says which user commands run as.
fn commands_user(launcher: &ReadyLauncher, profile: Profile) -> String {
    match (launcher.view.user, profile) {
        (Some(user), _) => format!("commands run as user {}, not as root", user.uid),
        (None, Profile::RootDegraded) if rustix::process::geteuid().is_root() => {
            "commands run as root without capabilities (`sandbox.profile` is `root-degraded`)"
                .to_owned()
        }
        (None, _) => format!("commands run as user {}", rustix::process::getuid().as_raw()),
    }
}

/// Returns the mechanisms that are in force if the canary reached nothing.
fn held_against_canary(user: &str) -> Vec<SandboxFinding> {
    let held = "the canary could not break out";
    [
        ("user namespaces", held),
        ("process, network, mount and IPC namespaces", held),
        ("seccomp", held),
        ("no capabilities", held),
        ("user", user),
        ("self-test", "the canary reached nothing outside"),
    ]
    .map(|(name, says)| enforced(name, says.to_owned()))
    .into()
}

fn enforced(name: &str, says: String) -> SandboxFinding {
    SandboxFinding { name: name.to_owned(), state: Enforcement::Enforced, says, fix: None }
}

/// Returns the finding for a mechanism that was searched for.
fn searched(name: &str, found: Result<String, impl fmt::Display>) -> SandboxFinding {
    match found {
        Ok(says) => enforced(name, says),
        Err(why) => SandboxFinding {
            name: name.to_owned(),
            state: Enforcement::Missing,
            says: why.to_string(),
            fix: Some(fix(name).to_owned()),
        },
    }
}

/// Returns every limit and what enforces it. None is enforced by a control group: Toolcrib uses none.
fn limits(context: &LaunchContext) -> Vec<SandboxFinding> {
    let limits = &context.rules.limits;
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
        (Limit::Network, limits.network, Mechanism::Watchdog.as_str()),
    ];
    let mut findings: Vec<SandboxFinding> = all
        .into_iter()
        .map(|(limit, allowed, by)| {
            let name = format!("limit on {}", limit.as_str());
            enforced(&name, format!("{}, by {by}", limit.show(allowed)))
        })
        .collect();
    findings.push(enforced("limit on time", "the timeout of each call, by watchdog".to_owned()));
    let scratch = show_bytes(limits.scratch);
    findings.push(enforced(
        "limit on scratch space",
        format!("{scratch} each for /tmp and home, by {}", Mechanism::SizedTmpfs.as_str()),
    ));
    findings
}
