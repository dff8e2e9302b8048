//! `toolcrib worker`: runs the calls that a gateway places on this machine.

use std::sync::Arc;

use tokio::time::Instant;
use toolcrib_core::policy::PolicyText;
use toolcrib_core::policy::grant::NoGrants;
use toolcrib_core::{ErrorKind, Recorder, ToolError, counted};
use toolcrib_nats::{BusWorker, TrustedGateway, WorkerHost, WorkerOptions, is_bus_name};
use toolcrib_runtime::{Judge, Nobody, Runtime};

use super::bus_settings::{bus_prefix, bus_server, is_tool_or_catalogue, without_password};
use super::event_loop::{end_subagents, told_to_stop};
use super::log;
use super::setup::{open_options, warn};
use crate::cli::{Global, WorkerArgs};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::{FlagValue, Settings, table};
use crate::terminal::{Terminal, print_lines};
use crate::wiring::{Crib, OpenOptions, policy_for_another, project_rules_stamp};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &WorkerArgs,
) -> Result<Exit, CliError> {
    let mut options = OpenOptions { is_long_lived: true, ..open_options(global) };
    options.flags.extend(flags(args));
    let crib = Arc::new(Crib::open(&options)?);
    warn(terminal, &crib.settings);
    let options = worker_options(&crib)?;
    let _log = log::start(&crib.settings)?;
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let ended = threads.block_on(async {
        let (url, name) = (without_password(&options.server.url), options.name.clone());
        let workspace = options.workspace.clone();
        let host = Arc::new(WorkerCrib(Arc::clone(&crib)));
        let worker = BusWorker::connect(options, host, Arc::clone(&crib.clock)).await;
        let worker = worker.map_err(|err| system(&err))?;
        let stop_within = crib.settings.get(table::SERVE_STOP_SECONDS);
        let stop = told_to_stop(|| {});
        let ready = || {
            print_lines(&[format!("Worker {name} serves the workspace {workspace} on {url}")]);
        };
        let stop = async {
            stop.await;
            tracing::info!(wait_seconds = stop_within.as_secs(), "stopping");
            Instant::now() + stop_within
        };
        let cancelled = Arc::new(worker).run(ready, stop).await.map_err(|err| system(&err));
        end_subagents(crib.subagents()).await;
        cancelled
    });
    threads.shutdown_background();
    crib.close();
    let told = match ended? {
        0 => String::new(),
        cancelled => {
            format!("; {} ran for too long and was cancelled", counted(cancelled as u64, "call"))
        }
    };
    print_lines(&[format!("Stopped{told}.")]);
    Ok(Exit::Done)
}

fn system(err: &dyn std::error::Error) -> CliError {
    let message = format!("the worker cannot run: {err}");
    CliError::new(CliErrorKind::System, message)
}

/// Returns the settings that the command line gives.
fn flags(args: &WorkerArgs) -> Vec<FlagValue> {
    let WorkerArgs { nats, workspace_name, labels, tools, gateways } = args;
    let list = |all: &[String]| (!all.is_empty()).then(|| all.join(","));
    let given = [
        nats.clone().map(|it| FlagValue::new("--nats", table::NATS_URL, it)),
        workspace_name.clone().map(|it| FlagValue::new("--as", table::WORKER_WORKSPACE, it)),
        list(labels).map(|it| FlagValue::new("--label", table::WORKER_LABELS, it)),
        tools.clone().map(|it| FlagValue::new("--tools", table::WORKER_TOOLS, it)),
        list(gateways).map(|it| FlagValue::new("--gateway", table::WORKER_GATEWAYS, it)),
    ];
    given.into_iter().flatten().collect()
}

fn worker_options(crib: &Crib) -> Result<WorkerOptions, CliError> {
    let settings = &crib.settings;
    let missing = |what: &str, hint: &str| Err(CliError::usage(what).hint(hint));
    let Some(server) = bus_server(settings, None)? else {
        return missing(
            "no NATS server is named",
            "write --nats nats://HOST:PORT, or set `nats.url`",
        );
    };
    let workspace = settings.get(table::WORKER_WORKSPACE);
    if workspace.is_empty() {
        return missing("the workspace has no name", "write --as NAME: gateways place calls by it");
    }
    let labels = settings.get(table::WORKER_LABELS);
    let name = settings.get(table::WORKER_NAME);
    let name = if name.is_empty() { made_name() } else { name };
    for (what, name) in [("workspace", &workspace), ("worker", &name)]
        .into_iter()
        .chain(labels.iter().map(|label| ("label", label)))
    {
        if !is_bus_name(name) {
            let message = format!("`{}` cannot be the name of a {what}", name.escape_debug());
            return missing(&message, "write up to 64 lowercase letters, digits, `-` and `_`");
        }
    }
    Ok(WorkerOptions {
        server,
        prefix: bus_prefix(settings)?,
        name,
        workspace,
        labels,
        tools: served_tools(crib)?,
        most_running: settings.get(table::WORKER_MOST_RUNNING) as usize,
        gateways: gateways(settings)?,
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// Returns the keys of the gateways to trust.
fn gateways(settings: &Settings) -> Result<Vec<TrustedGateway>, CliError> {
    let hint =
        "`toolcrib nats key` on the machine of the gateway prints its key; write --gateway KEY";
    let keys = settings.get(table::WORKER_GATEWAYS);
    if keys.is_empty() {
        return Err(CliError::usage("no gateway is trusted, so nothing could run").hint(hint));
    }
    let parse = |text: &String| {
        TrustedGateway::parse(text).ok_or_else(|| {
            let message = format!("`{}` is no public key of a gateway", text.escape_debug());
            CliError::usage(message).hint(hint)
        })
    };
    keys.iter().map(parse).collect()
}

/// Returns the catalogues and tools to serve. A name that nothing has is an error.
fn served_tools(crib: &Crib) -> Result<Vec<String>, CliError> {
    let tools = crib.settings.get(table::WORKER_TOOLS);
    let shelf = crib.plugins().shelf();
    for name in &tools {
        if !is_tool_or_catalogue(&shelf, name) {
            let message = format!("there is no catalogue and no tool `{}`", name.escape_debug());
            return Err(CliError::usage(message)
                .hint("`toolcrib tools` lists them; write catalogue or catalogue/tool"));
        }
    }
    Ok(tools)
}

/// Returns a name for a worker: that of the machine, and four random characters.
fn made_name() -> String {
    let system = rustix::system::uname();
    let machine = system.nodename().to_string_lossy().to_lowercase();
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || *it == '-';
    let machine: String = machine.chars().filter(is_plain).take(40).collect();
    let machine = if machine.is_empty() { "worker" } else { &machine };
    let random = toolcrib_ledger::new_call_id().0.to_lowercase();
    format!("{machine}-{}", &random[random.len().saturating_sub(4)..])
}

/// What a worker runs calls with: everything of this machine, under the policy of its gateway.
struct WorkerCrib(Arc<Crib>);

impl WorkerHost for WorkerCrib {
    fn runtime(&self, policy: &PolicyText) -> Result<Runtime, ToolError> {
        let crib = &self.0;
        let unavailable = |err: CliError| ToolError::new(ErrorKind::Unavailable, err.to_string());
        let shell = &crib.rules.shell;
        let policy = policy_for_another(policy, crib.workspace().root(), &**shell);
        let policy = Arc::new(policy.map_err(unavailable)?);
        let runtime = crib.runtime_with(Arc::clone(&policy), Arc::new(Nobody));
        let runtime = runtime.map_err(unavailable)?;
        // What people granted, and the limits of sessions, are where the calls were asked for.
        let judge = Judge::new(policy, Arc::clone(shell) as _, Arc::new(NoGrants));
        Ok(Runtime { judge: Arc::new(judge), dispatcher: None, ..runtime })
    }

    fn project_rules_stamp(&self) -> Result<String, ToolError> {
        let unavailable = |err: CliError| ToolError::new(ErrorKind::Unavailable, err.to_string());
        project_rules_stamp(self.0.workspace().root()).map_err(unavailable)
    }

    fn recorder(&self) -> &dyn Recorder {
        &*self.0.recorder
    }
}
