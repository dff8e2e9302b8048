//! The subcommands about other machines: `worker`, `workers`, `nats`.

use clap::{Args, Subcommand};

/// Arguments of `worker`.
#[derive(Args)]
#[command(after_help = "\
A gateway is `toolcrib serve --nats URL`. It decides about calls, has people asked and keeps the record; `nats.places` \
says which of them go to which workspace. The worker runs nothing that its gateway has not permitted.

The worker stops on Ctrl-C or SIGTERM: it takes no more calls, and lets those that run finish for as long as \
`serve.stop_seconds` says.

Examples:
  toolcrib worker --nats nats://10.0.0.1:4222 --as app --gateway VA…
  toolcrib -C /srv/app worker --nats tls://nats:4222 --as app --label gpu --tools clemini,nachos/calculator")]
pub(crate) struct WorkerArgs {
    /// The NATS server: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// The name of the workspace, by which gateways place calls
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) workspace_name: Option<String>,
    /// What else calls are placed by; may be repeated
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// The catalogues and tools to serve, separated by commas (default: all)
    #[arg(long, value_name = "NAMES")]
    pub(crate) tools: Option<String>,
    /// The public key of a gateway whose calls to run; may be repeated. `toolcrib nats key` prints it
    #[arg(long = "gateway", value_name = "KEY")]
    pub(crate) gateways: Vec<String>,
}

/// Arguments of `workers`.
#[derive(Args)]
pub(crate) struct WorkersArgs {
    /// The NATS server: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Arguments of `nats`.
#[derive(Args)]
pub(crate) struct NatsArgs {
    #[command(subcommand)]
    pub(crate) command: NatsCommand,
}

#[derive(Subcommand)]
pub(crate) enum NatsCommand {
    /// Print the public key of the gateway that uses this state folder; workers are told it
    Key,
}
