//! Puts the sandbox together from the settings and the operator's environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{Cancel, Clock, Durability, Event, Files, Moment, Recorder};
use toolcrib_host::{CommandLimits, Operator, Profile, Sandbox, SandboxRules, Workspace};
use toolcrib_runtime::UserQuota;

use super::{WiringError, Wishes};
use crate::settings::Settings;

/// Beginnings of names that make a loader, a shell or an interpreter run something else: no setting
/// hands them on.
const NEVER: [&str; 20] = [
    "BASH_",
    "DYLD_",
    "ENV",
    "GIT_",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_",
    "LESSOPEN",
    "NODE_OPTIONS",
    "NODE_PATH",
    "PATH",
    "PERL",
    "PROMPT_COMMAND",
    "PS4",
    "PYTHON",
    "RUBY",
    "SHELLOPTS",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
];

/// Names that are handed on without anyone saying so.
const ALWAYS: [&str; 3] = ["LANG", "LANGUAGE", "TZ"];

/// Returns the sandbox for commands in `workspace`.
pub(super) fn sandbox(
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
    workspace: &Arc<Workspace>,
    clock: &Arc<dyn Clock>,
    state: &Path,
    wishes: &Wishes,
) -> Result<Sandbox, WiringError> {
    let rules = rules(settings, wishes)?;
    let operator = operator(settings, environment)?;
    let (workspace, clock) = (Arc::clone(workspace), Arc::clone(clock));
    Sandbox::new(rules, operator, workspace, clock, state)
        .map_err(|err| WiringError(format!("`sandbox.egress`: {err}")))
}

/// Puts the end of every task on the record, and counts what it took as its user's.
pub(super) fn on_record(
    sandbox: Sandbox,
    recorder: &Arc<dyn Recorder>,
    clock: &Arc<dyn Clock>,
    workspace: &Arc<Workspace>,
    tally: Option<Arc<dyn UserQuota>>,
) -> Arc<Sandbox> {
    let (recorder, clock) = (Arc::clone(recorder), Arc::clone(clock));
    let workspace = Arc::clone(workspace);
    sandbox.on_task_end(Box::new(move |ended| {
        if let Some(tally) = &tally {
            tally.spend(ended.usage.written_bytes, ended.elapsed, clock.now());
        }
        let (call, tool) = (ended.call.clone(), &ended.owner.tool);
        workspace.for_call(call, tool, Cancel::default()).resolve_snapshots();
        let elapsed_us = ended.elapsed.as_micros() as u64;
        // Nobody waits for a task that could be told that the record failed.
        let event = Event {
            at: clock.now(),
            call: &ended.call,
            session: &ended.owner.session,
            tool: &ended.owner.tool,
            moment: Moment::TaskEnded {
                end: ended.end,
                elapsed_us,
                usage: ended.usage,
                touched: Some(&ended.touched).filter(|touched| !touched.is_empty()),
            },
        };
        let _ = recorder.record(&event, Durability::Written);
    }));
    Arc::new(sandbox)
}

fn rules(settings: &Settings, wishes: &Wishes) -> Result<SandboxRules, WiringError> {
    let count = |name: &str| settings.count(&format!("sandbox.{name}"));
    let names = |name: &str| settings.names(&format!("sandbox.{name}"));
    let ports: Result<Vec<u16>, _> =
        names("egress_ports").iter().map(|port| port.parse()).collect();
    let ports = ports.map_err(|_| {
        WiringError("`sandbox.egress_ports` must be ports, such as [\"443\"]".to_owned())
    })?;
    for name in names("toolchains").iter().chain(&names("caches")) {
        check_folder(name)?;
    }
    let protected = names("protected");
    for name in &protected {
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(WiringError(format!(
                "`sandbox.protected`: `{name}` is not a name at the workspace's root"
            )));
        }
    }
    let bubblewrap = settings.text("sandbox.bubblewrap");
    Ok(SandboxRules {
        profile: match settings.text("sandbox.profile") {
            "root-degraded" => Profile::RootDegraded,
            _ => Profile::Strict,
        },
        bubblewrap: (!bubblewrap.is_empty()).then(|| PathBuf::from(bubblewrap)),
        limits: CommandLimits {
            memory: count("memory_bytes"),
            processes: count("processes"),
            cpu_seconds: count("cpu_seconds"),
            task_time: Duration::from_secs(count("task_seconds")),
            file_size: count("file_bytes"),
            growth: count("growth_bytes"),
            files: count("growth_files"),
            open_files: count("open_files"),
            output: count("output_bytes"),
            saved: count("saved_bytes"),
            scratch: count("scratch_bytes"),
        },
        egress: names("egress"),
        egress_ports: ports,
        toolchains: names("toolchains"),
        caches: names("caches"),
        protected,
        unprotected: names("unprotected"),
        user: u32::try_from(count("user")).unwrap_or(u32::MAX - 1),
        lives_on: wishes.lives_on,
    })
}

fn check_folder(name: &str) -> Result<(), WiringError> {
    use std::path::Component;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !name.is_empty() && Path::new(name).components().all(is_plain) {
        return Ok(());
    }
    Err(WiringError(format!(
        "`{name}` is not a folder of the home: write it relative to the home, such as `.cargo/bin`"
    )))
}

fn operator(
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
) -> Result<Operator, WiringError> {
    let text = |name: &str| environment.get(name).and_then(|value| value.to_str());
    let wanted = settings.names("sandbox.environment");
    if let Some(name) = wanted.iter().find(|name| NEVER.iter().any(|never| name.starts_with(never)))
    {
        return Err(WiringError(format!(
            "`sandbox.environment`: `{name}` is never handed on: it can make another program run"
        )));
    }
    let is_wanted = |name: &str| {
        wanted.iter().any(|wanted| wanted == name)
            || ALWAYS.contains(&name)
            || name.starts_with("LC_")
    };
    let handed = environment.iter().filter(|(name, _)| is_wanted(name));
    Ok(Operator {
        home: text("HOME").map(PathBuf::from),
        path: text("PATH").unwrap_or_default().to_owned(),
        shell: text("SHELL").map(PathBuf::from),
        environment: handed
            .filter_map(|(name, value)| Some(format!("{name}={}", value.to_str()?)))
            .collect(),
    })
}
