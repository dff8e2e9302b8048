//! `toolcrib nats`: sets up what gateways and workers need.

use std::path::PathBuf;

use toolcrib_ledger::StateFolder;
use toolcrib_nats::GatewayKey;

use super::setup::open_state;
use crate::cli::{Global, NatsArgs, NatsCommand};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::terminal::{Terminal, print_lines};

pub(super) fn run(global: &Global, terminal: Terminal, args: &NatsArgs) -> Result<Exit, CliError> {
    match args.command {
        NatsCommand::Key => {
            let access = open_state(global, terminal)?;
            print_lines(&[gateway_key(&access.state)?.public_key()]);
        }
    }
    Ok(Exit::Done)
}

/// Returns the key of the gateway that uses a state folder. The first who asks makes it.
pub(super) fn gateway_key(state: &StateFolder) -> Result<GatewayKey, CliError> {
    let path: PathBuf = state.folder().join("gateway.nk");
    GatewayKey::open(&path).map_err(|err| CliError::new(CliErrorKind::State, err.to_string()))
}
