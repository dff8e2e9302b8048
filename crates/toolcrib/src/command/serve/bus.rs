//! The door on NATS, beside that on HTTP.

use std::sync::Arc;

use tokio::sync::watch;
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
    stop: watch::Sender<Option<Instant>>,
}

/// Opens the door, if the command line or the settings name a NATS server. A server that is down is waited
/// for in the background.
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
    let (stop, mut stopped) = watch::channel(None);
    let run = tokio::spawn(async move {
        let told = async {
            let deadline = stopped.wait_for(Option::is_some).await;
            deadline.ok().and_then(|it| *it).unwrap_or_else(Instant::now)
        };
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

/// Takes no more calls. Those that run may go on until `deadline`.
pub(super) fn stop(bus: Option<&OpenBus>, deadline: Instant) {
    if let Some(bus) = bus {
        bus.stop.send_replace(Some(deadline));
    }
}

/// Waits for the end of the calls that run. Returns how many were cancelled.
pub(super) async fn end(bus: Option<OpenBus>) -> usize {
    let Some(OpenBus { run, stop }) = bus else { return 0 };
    // The server may have ended by itself.
    stop.send_modify(|deadline| {
        deadline.get_or_insert_with(Instant::now);
    });
    run.await.unwrap_or(0)
}

/// Returns the options of the gateway: the command line wins over the settings. Nothing if no server is named.
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
        let message = format!("`{}` is not the URL of a NATS server", without_password(url));
        return Err(CliError::usage(message).hint("write nats://HOST:PORT, or tls://HOST:PORT"));
    }
    let prefix = settings.get(table::NATS_PREFIX);
    let Some(prefix) = BusPrefix::new(&prefix) else {
        let message =
            format!("`nats.prefix` is `{}`, which cannot begin subjects", prefix.escape_debug());
        let hint = "write up to 128 letters, digits, `-` and `_`, with dots between words; the contract has `nachos`";
        return Err(CliError::usage(message).hint(hint));
    };
    let credentials = settings.get(table::NATS_CREDENTIALS);
    Ok(Some(BusOptions {
        url: url.to_owned(),
        credentials: Some(credentials).filter(|path| !path.is_empty()).map(Into::into),
        prefix,
        in_flight_each: settings.get(table::SERVE_IN_FLIGHT_PER_TOKEN) as usize,
        most_request_bytes: settings.get(table::SERVE_BODY_BYTES) as usize,
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
