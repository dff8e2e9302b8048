//! `toolcrib nats`: sets up what gateways and workers need.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use toolcrib_ledger::StateFolder;
use toolcrib_nats::{BusPlan, BusUser, GatewayKey, PlannedWorker};

use super::bus_settings::bus_prefix;
use super::setup::{open_state, read_config};
use crate::cli::{Global, NatsArgs, NatsCommand};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::Settings;
use crate::terminal::{Terminal, print_lines};

pub(super) fn run(global: &Global, terminal: Terminal, args: &NatsArgs) -> Result<Exit, CliError> {
    match &args.command {
        NatsCommand::Key => {
            let access = open_state(global, terminal)?;
            print_lines(&[gateway_key(&access.state)?.public_key()]);
        }
        NatsCommand::Init { dir, .. } => {
            let plan = plan(&read_config(global, terminal)?.settings, &args.command)?;
            write(&plan, dir)?;
            print_lines(&next_steps(&plan, dir));
            if plan.tls.is_none() && !plan.listen.starts_with("127.0.0.1:") {
                terminal.warn(
                    "without --tls-certificate and --tls-key, others on the network can read the messages",
                );
            }
        }
    }
    Ok(Exit::Done)
}

/// Returns the key of the gateway that uses a state folder. The first who asks makes it.
pub(super) fn gateway_key(state: &StateFolder) -> Result<GatewayKey, CliError> {
    let path: PathBuf = state.folder().join("gateway.nk");
    GatewayKey::open(&path).map_err(|err| CliError::new(CliErrorKind::State, err.to_string()))
}

/// Returns what is to be on the bus.
fn plan(settings: &Settings, command: &NatsCommand) -> Result<BusPlan, CliError> {
    let NatsCommand::Init { listen, workers, agents, tls_certificate, tls_key, .. } = command
    else {
        return Err(CliError::usage("nothing is to be written"));
    };
    let is_address = listen.rsplit_once(':').is_some_and(|(host, port)| {
        let is_plain = |it: u8| it.is_ascii_alphanumeric() || b".-_[]:".contains(&it);
        !host.is_empty() && host.bytes().all(is_plain) && port.parse::<u16>().is_ok()
    });
    if !is_address {
        let message = format!("`{}` is no address to listen on", listen.escape_debug());
        return Err(CliError::usage(message).hint("write HOST:PORT, such as 10.0.0.1:4222"));
    }
    let worker = |text: &String| {
        PlannedWorker::parse(text).ok_or_else(|| {
            let message = format!("`{}` is no worker", text.escape_debug());
            CliError::usage(message).hint(
                "write NAME=WORKSPACE or NAME=WORKSPACE@LABEL, each with up to 64 lowercase letters, digits, `-` and `_`",
            )
        })
    };
    let workers = workers.iter().map(worker).collect::<Result<Vec<_>, _>>()?;
    if let Some(agent) = agents.iter().find(|id| !BusPlan::is_agent(id)) {
        let message = format!("`{}` cannot be the id of an agent", agent.escape_debug());
        return Err(
            CliError::usage(message).hint("write up to 64 lowercase letters, digits, `-` and `_`")
        );
    }
    let mut names: Vec<&String> = workers.iter().map(|it| &it.name).collect();
    let mut ids: Vec<&String> = agents.iter().collect();
    for all in [&mut names, &mut ids] {
        all.sort();
        let twice = all.windows(2).find_map(|pair| (pair[0] == pair[1]).then_some(pair[0]));
        if let Some(name) = twice {
            return Err(CliError::usage(format!("`{name}` is named twice")));
        }
    }
    let full = |path: &PathBuf| {
        let path = fs::canonicalize(path)
            .map_err(|err| CliError::usage(format!("`{}`: {err}", path.display())))?;
        Ok::<_, CliError>(path.display().to_string())
    };
    let tls = match (tls_certificate, tls_key) {
        (Some(certificate), Some(key)) => Some((full(certificate)?, full(key)?)),
        _ => None,
    };
    let (listen, agents) = (listen.clone(), agents.clone());
    Ok(BusPlan { prefix: bus_prefix(settings)?, listen, tls, workers, agents })
}

/// Writes the configuration, and a file with a seed for each user.
fn write(plan: &BusPlan, dir: &Path) -> Result<(), CliError> {
    let config = plan.server_config()?;
    fs::DirBuilder::new().mode(0o700).create(dir).map_err(|err| {
        let message = format!("the directory `{}` cannot be made: {err}", dir.display());
        CliError::usage(message).hint("name one that does not exist, in one that does")
    })?;
    write_private(&dir.join("nats.conf"), &config.text)?;
    for BusUser { name, seed } in &config.users {
        write_private(&dir.join(format!("{name}.nk")), &format!("{seed}\n"))?;
    }
    Ok(())
}

fn write_private(path: &Path, text: &str) -> Result<(), CliError> {
    let mut options = fs::OpenOptions::new();
    let file = options.write(true).create_new(true).mode(0o600).open(path);
    let written = file.and_then(|mut file| file.write_all(text.as_bytes()));
    written
        .map_err(|err| CliError::new(CliErrorKind::System, format!("`{}`: {err}", path.display())))
}

/// Returns what to do with the files.
fn next_steps(plan: &BusPlan, dir: &Path) -> Vec<String> {
    let dir = dir.display();
    let scheme = if plan.tls.is_some() { "tls" } else { "nats" };
    let url = format!("{scheme}://{}", plan.listen);
    let mut lines = vec![
        format!("Wrote {dir}/nats.conf, and a key for each user beside it. Keep the keys secret."),
        String::new(),
        "Start the NATS server:".to_owned(),
        format!("  nats-server --config {dir}/nats.conf"),
        "On the machine of the gateway, with gateway.nk:".to_owned(),
        format!("  toolcrib -c nats.credentials=gateway.nk serve --nats {url}"),
    ];
    for PlannedWorker { name, workspace, labels } in &plan.workers {
        let labels = labels.iter().fold(String::new(), |all, it| all + " --label " + it);
        lines.push(format!("On the machine of the worker {name}, with worker-{name}.nk:"));
        lines.push(format!(
            "  toolcrib -c nats.credentials=worker-{name}.nk -c worker.name={name} worker --nats {url} --as {workspace}{labels} --gateway KEY"
        ));
    }
    if !plan.workers.is_empty() {
        lines.push(
            "KEY is what `toolcrib nats key` prints on the machine of the gateway.".to_owned(),
        );
    }
    for id in &plan.agents {
        lines.push(format!(
            "The agent {id} logs in with agent-{id}.nk, has the inbox _INBOX_{id}, and asks on {}.agent.{id}.tool.TOOL.request.",
            plan.prefix
        ));
    }
    lines
}
