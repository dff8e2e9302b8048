//! The door on NATS, beside that on HTTP.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib_ledger::TokenFile;
use toolcrib_nats::{BusGateway, BusOptions, BusPrefix};
use toolcrib_runtime::LiveRuntime;

use crate::error::{CliError, CliErrorKind};
use crate::settings::{Settings, table};
use crate::wiring::Crib;

/// The door while it is open.
pub(super) struct OpenBus {
    /// Returns how many calls were cancelled at the end.
    run: JoinHandle<usize>,
    stop: oneshot::Sender<Instant>,
}

/// Opens the door, if the command line or the settings name a server of NATS. A server that is not there is waited for in
/// the background.
pub(super) async fn open(
    crib: &Crib,
    runtime: &Arc<LiveRuntime>,
    tokens: &Arc<TokenFile>,
    given: Option<&str>,
) -> Result<Option<OpenBus>, CliError> {
    let Some(options) = options(&crib.settings, given)? else { return Ok(None) };
    let (runtime, clock) = (Arc::clone(runtime), Arc::clone(&crib.clock));
    let url = options.url.clone();
    let gateway =
        BusGateway::connect(runtime, clock, Arc::clone(tokens), options).await.map_err(|err| {
            let message = format!("calls from NATS cannot be taken: {err}");
            CliError::new(CliErrorKind::System, message)
        })?;
    tracing::info!(url = without_password(&url), "taking calls from NATS");
    let (stop, stopped) = oneshot::channel();
    let run = tokio::spawn(async move {
        let told = async { stopped.await.unwrap_or_else(|_| Instant::now()) };
        match Arc::new(gateway).run(told).await {
            Ok(run) => run.cancelled,
            Err(err) => {
                tracing::error!(%err, "calls from NATS are not taken any more");
                0
            }
        }
    });
    Ok(Some(OpenBus { run, stop }))
}

/// Takes no more calls, and waits until `deadline` for those that run. Returns how many were cancelled.
pub(super) async fn close(bus: Option<OpenBus>, deadline: Instant) -> usize {
    let Some(OpenBus { run, stop }) = bus else { return 0 };
    let _ = stop.send(deadline);
    run.await.unwrap_or(0)
}

/// Returns what the command line and the settings say.
pub(super) fn options(
    settings: &Settings,
    given: Option<&str>,
) -> Result<Option<BusOptions>, CliError> {
    let set = settings.get(table::NATS_URL);
    let url = given.unwrap_or(&set);
    if url.is_empty() {
        return Ok(None);
    }
    if !(url.starts_with("nats://") || url.starts_with("tls://")) {
        let message = format!("`{}` is no server of NATS", without_password(url));
        return Err(CliError::usage(message).hint("write nats://HOST:PORT, or tls://HOST:PORT"));
    }
    let prefix = BusPrefix::new(&settings.get(table::NATS_PREFIX));
    let prefix = prefix.map_err(|err| {
        CliError::usage(format!("`nats.prefix`: {err}"))
            .hint("leave it out to use the prefix of the contract, `nachos`")
    })?;
    let credentials = settings.get(table::NATS_CREDENTIALS);
    Ok(Some(BusOptions {
        url: url.to_owned(),
        credentials: Some(credentials).filter(|path| !path.is_empty()).map(Into::into),
        prefix,
        most_running_each: settings.get(table::SERVE_IN_FLIGHT_PER_TOKEN) as usize,
    }))
}

/// Returns an address as it may be shown and logged.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        assert_eq!(without_password("nats://user:p@ss@host:4222"), "nats://host:4222");
        assert_eq!(without_password("tls://host:4222"), "tls://host:4222");
    }
}
