//! The net that tools reach, as the settings say.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use toolcrib_core::net::Net;
use toolcrib_host::NetClient;
use toolcrib_serve::{TrustError, TrustedRoots, client_config};

use super::options::OpenOptions;
use crate::error::CliError;
use crate::settings::{Settings, table};

/// Returns the net. The certificates of the system are read when the first host wants TLS.
pub(super) fn open_net(
    settings: &Settings,
    options: &OpenOptions,
) -> Result<Arc<dyn Net>, CliError> {
    if let Some(net) = &options.net {
        return Ok(Arc::clone(net));
    }
    let ports: Result<Vec<u16>, _> =
        settings.get(table::NET_PORTS).iter().map(|port| port.parse()).collect();
    let ports = ports.map_err(|_| {
        CliError::settings("`net.ports` must be a list of ports, such as [\"443\", \"80\"]")
    })?;
    let tls = || system_tls().map_err(io::Error::other);
    Ok(Arc::new(NetClient::new(ports, Box::new(tls))))
}

/// Returns how the certificates of servers are checked: by the authorities that the system trusts. They are read once.
pub(super) fn system_tls() -> Result<Arc<ClientConfig>, TrustError> {
    static KNOWN: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = KNOWN.get() {
        return Ok(Arc::clone(config));
    }
    let config = client_config(TrustedRoots::OfSystem)?;
    Ok(Arc::clone(KNOWN.get_or_init(|| config)))
}
