//! The door on NATS, beside that on HTTP.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use toolcrib_ledger::TokenFile;
use toolcrib_nats::{BusGateway, BusOptions, BusPrefix, WorkerDispatcher};
use toolcrib_runtime::LiveRuntime;

use super::super::bus_settings::{
    bus_prefix, bus_server, placements, runners_prefix, without_password,
};
use super::super::nats::gateway_key;
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
    let Some(options) = options(&crib.settings, given)? else {
        if placements(crib)?.is_empty() {
            return Ok(None);
        }
        let message = "`nats.places` places tools on workers, and no NATS server is named";
        return Err(CliError::settings(message)
            .hint("write --nats URL or set `nats.url`, or unset `nats.places`"));
    };
    let (runtime, clock) = (Arc::clone(runtime), Arc::clone(&crib.clock));
    let (url, prefix) = (options.server.url.clone(), options.prefix.clone());
    let gateway =
        BusGateway::connect(runtime, clock, Arc::clone(tokens), options).await.map_err(|err| {
            let message = format!("calls from NATS cannot be taken: {err}");
            CliError::new(CliErrorKind::System, message)
        })?;
    reach_runners(crib, &gateway, &prefix).await?;
    place_calls(crib, &gateway, prefix).await?;
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
fn options(settings: &Settings, given: Option<&str>) -> Result<Option<BusOptions>, CliError> {
    let Some(server) = bus_server(settings, given)? else { return Ok(None) };
    Ok(Some(BusOptions {
        server,
        prefix: bus_prefix(settings)?,
        in_flight_each: settings.get(table::SERVE_IN_FLIGHT_PER_TOKEN) as usize,
        most_request_bytes: settings.get(table::SERVE_BODY_BYTES) as usize,
    }))
}

/// Reaches the runners of tools behind the NATS server, if the settings name such tools.
async fn reach_runners(crib: &Crib, gateway: &BusGateway, own: &BusPrefix) -> Result<(), CliError> {
    let Some(prefix) = runners_prefix(&crib.settings, own)? else { return Ok(()) };
    crib.plugins().runners().open(gateway.client(), prefix).await.map_err(|err| {
        CliError::new(CliErrorKind::System, format!("tools over NATS cannot be reached: {err}"))
    })
}

/// Has calls placed on workers, if the settings place some.
async fn place_calls(crib: &Crib, gateway: &BusGateway, prefix: BusPrefix) -> Result<(), CliError> {
    let places = placements(crib)?;
    if places.is_empty() {
        return Ok(());
    }
    let key = gateway_key(&crib.state)?;
    tracing::info!(places = places.len(), key = key.public_key(), "placing calls on workers");
    let clock = Arc::clone(&crib.clock);
    let dispatcher = WorkerDispatcher::open(gateway.client(), key, (prefix, places), clock).await;
    let dispatcher = dispatcher.map_err(|err| {
        CliError::new(CliErrorKind::System, format!("calls cannot be placed on workers: {err}"))
    })?;
    crib.dispatcher.set(Arc::new(dispatcher));
    Ok(())
}
