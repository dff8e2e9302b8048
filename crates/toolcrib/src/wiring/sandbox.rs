//! Puts the sandbox together from the settings and the operator's environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{Cancel, Clock, Durability, Event, Files, Moment, Recorder};
use toolcrib_host::{CommandLimits, HostRule, Operator, Sandbox, SandboxRules, Workspace};
use toolcrib_runtime::UserQuota;

use super::options::OpenOptions;
use super::toolchains;
use crate::error::CliError;
use crate::settings::{Settings, table};

/// Prefixes of variables that make a loader, a shell or an interpreter run something else. No setting
/// passes them to a command.
const NEVER_PASSED: [&str; 20] = [
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

/// Variables that are passed to commands without a setting.
const ALWAYS_PASSED: [&str; 3] = ["LANG", "LANGUAGE", "TZ"];

/// Returns the sandbox for commands in `workspace`.
pub(super) fn open(
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
    workspace: &Arc<Workspace>,
    clock: &Arc<dyn Clock>,
    state: &Path,
    options: &OpenOptions,
) -> Result<Sandbox, CliError> {
    let rules = rules(settings, options)?;
    let mut operator = operator(settings, environment)?;
    // What commands can change, and what they must not see.
    let mut closed: Vec<PathBuf> =
        settings.get(table::ROOTS).into_iter().map(PathBuf::from).collect();
    closed.extend(workspace.root().map(|root| root.path().to_owned()));
    closed.push(state.to_owned());
    let allowed = settings.get(table::SANDBOX_TOOLCHAINS);
    let found = toolchains::find(environment, operator.home.as_deref(), &allowed, &closed);
    operator.toolchains = found.folders;
    operator.environment.extend(found.environment);
    let (workspace, clock) = (Arc::clone(workspace), Arc::clone(clock));
    Sandbox::new(rules, operator, workspace, clock, state)
        .map_err(|err| CliError::settings(format!("`sandbox.egress`: {err}")))
}

/// Fails if commands cannot run under these settings.
pub(super) fn check(
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
    options: &OpenOptions,
) -> Result<(), CliError> {
    let rules = rules(settings, options)?;
    for host in &rules.egress {
        HostRule::parse(host)
            .map_err(|err| CliError::settings(format!("`sandbox.egress`: {err}")))?;
    }
    operator(settings, environment).map(drop)
}

/// Puts the end of every task on the record, and counts its usage against the quota of the user.
pub(super) fn record_tasks(
    sandbox: Sandbox,
    recorder: &Arc<dyn Recorder>,
    clock: &Arc<dyn Clock>,
    workspace: &Arc<Workspace>,
    quota: Option<Arc<dyn UserQuota>>,
) -> Arc<Sandbox> {
    let (recorder, clock) = (Arc::clone(recorder), Arc::clone(clock));
    let workspace = Arc::clone(workspace);
    sandbox.on_task_end(Box::new(move |ended| {
        if let Some(quota) = &quota {
            quota.spend(ended.written_bytes(), ended.elapsed, clock.now());
        }
        let (call, tool) = (ended.call.clone(), &ended.owner.tool);
        workspace.for_call(call, tool, Cancel::default()).resolve_snapshots();
        let elapsed_us = ended.elapsed.as_micros() as u64;
        // Nobody waits for a task, so nobody can be told that the record failed.
        let event = Event {
            at: clock.now(),
            call: &ended.call,
            session: &ended.owner.session,
            trace: None,
            tool: &ended.owner.tool,
            moment: Moment::TaskEnded {
                end: ended.end,
                elapsed_us,
                usage: ended.usage,
                touched: Some(&ended.touched).filter(|touched| !touched.is_empty()),
                network: Some(&ended.network).filter(|network| !network.is_empty()),
            },
        };
        let _ = recorder.record(&event, Durability::Written);
    }));
    Arc::new(sandbox)
}

fn rules(settings: &Settings, options: &OpenOptions) -> Result<SandboxRules, CliError> {
    let ports: Result<Vec<u16>, _> =
        settings.get(table::SANDBOX_EGRESS_PORTS).iter().map(|port| port.parse()).collect();
    let ports = ports.map_err(|_| {
        CliError::settings("`sandbox.egress_ports` must be a list of ports, such as [\"443\"]")
    })?;
    let (toolchains, variables): (Vec<String>, Vec<String>) =
        settings.get(table::SANDBOX_TOOLCHAINS).into_iter().partition(|it| !it.starts_with('$'));
    if let Some(unknown) = variables.iter().find(|it| !toolchains::is_known_variable(it)) {
        let message = format!("`sandbox.toolchains`: `{unknown}` is not a toolchain variable");
        return Err(CliError::settings(message)
            .hint("the toolchain variables are `$GOROOT` and `$JAVA_HOME`"));
    }
    for name in toolchains.iter().chain(&settings.get(table::SANDBOX_CACHES)) {
        check_folder(name)?;
    }
    let protected = settings.get(table::SANDBOX_PROTECTED);
    for name in &protected {
        if name.is_empty() || name.contains('/') || name == "." || name == ".." {
            return Err(CliError::settings(format!(
                "`sandbox.protected`: `{name}` is not a name at the root of the workspace"
            )));
        }
    }
    let bubblewrap = settings.get(table::SANDBOX_BUBBLEWRAP);
    Ok(SandboxRules {
        profile: settings.get(table::SANDBOX_PROFILE),
        bubblewrap: (!bubblewrap.is_empty()).then(|| PathBuf::from(bubblewrap)),
        limits: CommandLimits {
            memory: settings.get(table::SANDBOX_MEMORY_BYTES),
            processes: settings.get(table::SANDBOX_PROCESSES),
            cpu_seconds: settings.get(table::SANDBOX_CPU_SECONDS),
            task_time: settings.get(table::SANDBOX_TASK_SECONDS),
            file_size: settings.get(table::SANDBOX_FILE_BYTES),
            growth: settings.get(table::SANDBOX_GROWTH_BYTES),
            files: settings.get(table::SANDBOX_GROWTH_FILES),
            open_files: settings.get(table::SANDBOX_OPEN_FILES),
            output: settings.get(table::SANDBOX_OUTPUT_BYTES),
            network: settings.get(table::SANDBOX_EGRESS_BYTES),
            saved: settings.get(table::SANDBOX_SAVED_BYTES),
            scratch: settings.get(table::SANDBOX_SCRATCH_BYTES),
        },
        egress: settings.get(table::SANDBOX_EGRESS),
        egress_ports: ports,
        toolchains,
        caches: settings.get(table::SANDBOX_CACHES),
        protected,
        unprotected: settings.get(table::SANDBOX_UNPROTECTED),
        user: settings.get(table::SANDBOX_USER),
        most_tasks: settings.get(table::SANDBOX_TASKS) as usize,
        lives_on: options.is_long_lived,
    })
}

/// Refuses a path that is not a folder below the home directory.
fn check_folder(name: &str) -> Result<(), CliError> {
    use std::path::Component;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !name.is_empty() && Path::new(name).components().all(is_plain) {
        return Ok(());
    }
    let message = format!("`{name}` is not a folder below the home directory");
    Err(CliError::settings(message).hint("write it relative to the home, such as `.cargo/bin`"))
}

/// Returns what commands may know of the operator: home, search path, shell, and the variables that are passed.
fn operator(
    settings: &Settings,
    environment: &BTreeMap<String, OsString>,
) -> Result<Operator, CliError> {
    let text = |name: &str| environment.get(name).and_then(|value| value.to_str());
    let wanted = settings.get(table::SANDBOX_ENVIRONMENT);
    let is_never_passed = |name: &String| NEVER_PASSED.iter().any(|never| name.starts_with(never));
    if let Some(name) = wanted.iter().find(|name| is_never_passed(name)) {
        return Err(CliError::settings(format!(
            "`sandbox.environment`: `{name}` is never passed to a command, because it can make another program run"
        )));
    }
    let is_wanted = |name: &str| {
        wanted.iter().any(|wanted| wanted == name)
            || ALWAYS_PASSED.contains(&name)
            || name.starts_with("LC_")
    };
    let passed = environment.iter().filter(|(name, _)| is_wanted(name));
    Ok(Operator {
        home: text("HOME").map(PathBuf::from),
        path: text("PATH").unwrap_or_default().to_owned(),
        shell: text("SHELL").map(PathBuf::from),
        toolchains: Vec::new(),
        environment: passed
            .filter_map(|(name, value)| Some(format!("{name}={}", value.to_str()?)))
            .collect(),
    })
}
