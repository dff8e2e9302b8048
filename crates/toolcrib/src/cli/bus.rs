//! The subcommands about other machines: `worker`, `workers`, `nats`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

/// Arguments of `worker`.
#[derive(Args)]
#[command(after_help = "\
A gateway is `toolcrib serve --nats URL`. It decides about calls, asks people and keeps the record. Its setting \
`nats.places` says which tools run in which workspace. The worker runs nothing that its gateway has not permitted.

The worker stops on Ctrl-C or SIGTERM: it takes no more calls, and lets those that run finish for as long as \
`serve.stop_seconds` says.

Examples:
  toolcrib worker --nats nats://10.0.0.1:4222 --as app --gateway VA…
  toolcrib -C /srv/app worker --nats tls://nats:4222 --as app --gateway VA… --label gpu --tools clemini,wink/read_file")]
pub(crate) struct WorkerArgs {
    /// The NATS server: nats://HOST:PORT, or tls://HOST:PORT
    #[arg(long, value_name = "URL")]
    pub(crate) nats: Option<String>,
    /// The name of the workspace, by which gateways place calls
    #[arg(long = "as", value_name = "NAME")]
    pub(crate) workspace_name: Option<String>,
    /// A label of this worker, which `nats.places` can ask for as WORKSPACE@LABEL; may be repeated
    #[arg(long = "label", value_name = "LABEL")]
    pub(crate) labels: Vec<String>,
    /// The catalogues and tools to serve, separated by commas (default: all)
    #[arg(long, value_name = "NAMES")]
    pub(crate) tools: Option<String>,
    /// Run the calls of the gateway with this public key; may be repeated
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
    /// Print this gateway's public key, for `toolcrib worker --gateway`
    Key,
    /// Write the configuration of a NATS server, and a key for the gateway, each worker and each agent
    #[command(after_help = "\
The configuration lets each user publish and subscribe to what it needs and to nothing else: an agent calls tools \
and hears its own replies, a worker answers the gateway, and nobody can pretend to be another one.

Example:
  toolcrib nats init --dir bus --listen 10.0.0.1:4222 --worker build-1=app --worker gpu-1=app@gpu --agent ci")]
    Init {
        /// The directory to write to, which must not exist yet
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        dir: PathBuf,
        /// The address that the NATS server listens on
        #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:4222")]
        listen: String,
        /// A worker: NAME=WORKSPACE, or NAME=WORKSPACE@LABEL,LABEL; may be repeated
        #[arg(long = "worker", value_name = "WORKER")]
        workers: Vec<String>,
        /// The id of an agent that calls over NATS; may be repeated
        #[arg(long = "agent", value_name = "ID")]
        agents: Vec<String>,
        /// The certificate of the NATS server, as PEM
        #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = ValueHint::FilePath)]
        tls_certificate: Option<PathBuf>,
        /// The key of that certificate
        #[arg(long, value_name = "FILE", requires = "tls_certificate", value_hint = ValueHint::FilePath)]
        tls_key: Option<PathBuf>,
    },
}
