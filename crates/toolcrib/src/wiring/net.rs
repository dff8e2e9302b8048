//! The net that tools reach, as the settings say.

use std::io;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;
use toolcrib_core::net::Net;
use toolcrib_host::{CachedNet, NetClient, NetManners, SystemClock};
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
    let manners = manners(settings)?;
    let cache_bytes = manners.cache_bytes;
    let net: Arc<dyn Net> = Arc::new(NetClient::new(ports, Box::new(tls)).with_manners(manners));
    if cache_bytes == 0 {
        return Ok(net);
    }
    Ok(Arc::new(CachedNet::new(net, cache_bytes, Arc::new(SystemClock::default()))))
}

/// Returns the manners of the net, as the settings say.
fn manners(settings: &Settings) -> Result<NetManners, CliError> {
    let manners = NetManners {
        crawl_delay: settings.get(table::WEB_CRAWL_DELAY_MS),
        robots: settings.get(table::WEB_ROBOTS),
        cache_bytes: settings.get(table::WEB_CACHE_BYTES),
        ..NetManners::default()
    };
    let user_agent = settings.get(table::WEB_USER_AGENT);
    if user_agent.is_empty() {
        return Ok(manners);
    }
    manners
        .with_user_agent(&user_agent)
        .map_err(|err| CliError::settings(format!("`web.user_agent`: {err}")))
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
