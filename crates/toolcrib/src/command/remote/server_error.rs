//! Errors about a server.

use super::address::ServerAddress;
use crate::error::{CliError, CliErrorKind};

/// Returns an error about a server, without a hint.
pub(super) fn server_error(message: String) -> CliError {
    CliError::new(CliErrorKind::Server, message)
}

/// Returns the error for a server that no connection can be made to.
pub(super) fn not_reached(address: &ServerAddress, why: &str) -> CliError {
    let message = format!("the server at {address} cannot be reached: {why}");
    server_error(message).hint(
        "check that `toolcrib serve` runs there and prints this address, and that nothing between keeps you out",
    )
}
