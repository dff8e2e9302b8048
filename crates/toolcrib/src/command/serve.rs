//! `toolcrib serve`: answers calls over HTTP until it is told to stop.

mod bus;
mod housekeeping;
mod login_link;
mod otlp;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::{Role, counted};
use toolcrib_ledger::{EventKind, ServerLock, TokenFile};
use toolcrib_serve::{
    ListenAddress, Observer, PageSessions, Readiness, RequestRate, Served, Server, ServerConfig,
    ServerEnd, SpanExporter, TlsFiles, mcp_routes, routes,
};

use housekeeping::Housekeeping;

use super::api::{OpenedApi, open_api, warn};
use super::event_loop::{end_subagents, told_to_stop};
use super::log;
use super::mcp;
use super::oauth;
use super::service_manager::ServiceManager;
use super::setup::open_long_lived;
use super::tokens;
use crate::cli::{Global, ServeArgs};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::{LogFormat, Origin, Settings, table};
use crate::terminal::{Terminal, print_lines};
use crate::wiring::Crib;

/// How long a server that stops waits for its collector to take the last spans.
const LAST_SPANS_TIME: Duration = Duration::from_secs(5);

pub(super) fn run(global: &Global, terminal: Terminal, args: &ServeArgs) -> Result<Exit, CliError> {
    refuse_yes(global)?;
    let crib = Arc::new(open_long_lived(global, terminal)?);
    let config = config(&crib.settings, args.address.as_deref())?;
    mcp::check_toolset(&crib)?;
    let lock = ServerLock::take(&crib.state, &config.url());
    let lock = Arc::new(lock.map_err(|err| system(&err))?);
    let collector = otlp::endpoint(&crib.settings)?;
    let oauth = oauth::resource_server(&crib.settings, &crib.clock)?.map(Arc::new);
    let _log = log::start(&crib.settings)?;
    let tokens = Arc::new(TokenFile::new(&crib.state));
    let threads = event_loop()?;
    let (stop_within, body_bytes) = (config.stop_within, config.requests.body_bytes);
    let manager = ServiceManager::from_environment();
    let ended = threads.block_on(async {
        let notice = Arc::new(warn);
        let server = Server::bind(config, notice).map_err(|err| system(&err))?;
        make_first_tokens(&crib, &tokens, terminal)?;
        let exporter = collector.map(SpanExporter::start);
        let observer = Observer::new(exporter.as_ref());
        let OpenedApi { api, live, queue } = open_api(global, &crib, &observer, start_errors)?;
        if let Err(err) = live.watch() {
            live.tell_unwatched(&err);
        }
        let bus = bus::open(&crib, &api.runtime, &tokens, args.nats.as_deref()).await?;
        let (events, readiness) = (Arc::clone(&api.events), readiness(&lock));
        let housekeeping = Housekeeping {
            crib: &crib,
            tokens: &tokens,
            running: api.running.clone(),
            readiness: readiness.clone(),
            manager: &manager,
            url: server.url(),
        };
        let tokens = Arc::clone(&tokens) as _;
        let mcp = Arc::new(mcp::server(&api, &queue, &crib.settings));
        let routes = routes(api).merge(mcp_routes(Arc::clone(&mcp), body_bytes));
        let sessions = Arc::new(PageSessions::new(Arc::clone(&crib.clock)));
        let login_link = login_link::make(args, &server, &sessions)?;
        let served = Served { routes, tokens, oauth, sessions, readiness, observer };
        warn_without_names(server.address(), &crib.settings);
        // Whoever reads that the server listens may tell it to stop at once.
        let told_to_stop = told_to_stop(move || {
            let live = Arc::clone(&live);
            tokio::task::spawn_blocking(move || live.read_again());
        });
        let told = [format!("Listening on {}", housekeeping.url)].into_iter().chain(login_link);
        print_lines(&told.collect::<Vec<_>>());
        log_start(&housekeeping.url, &crib.settings);
        let told_at = OnceLock::new();
        let stop = async {
            told_to_stop.await;
            let _ = told_at.set(Instant::now());
            events.stop();
            bus::stop(bus.as_ref(), Instant::now() + stop_within);
            tokio::spawn(async move { mcp.end_streams().await });
            let seconds = stop_within.as_secs();
            let text = format!("stopping; waiting up to {seconds} s for calls that run");
            manager.tell(&format!("STOPPING=1\nSTATUS={text}"));
            tracing::info!(wait_seconds = seconds, "stopping");
        };
        let ended = tokio::select! {
            ended = server.run(served, stop) => ended,
            never = housekeeping.run() => match never {},
        };
        let told_at = told_at.get().copied().unwrap_or_else(Instant::now);
        let (deadline, running) = (told_at + stop_within, &housekeeping.running);
        let of_both = tokio::join!(running.finish_or_cancel(deadline), bus::end(bus));
        let cancelled = of_both.0 + of_both.1;
        end_subagents(crib.subagents()).await;
        if let Some(exporter) = exporter {
            exporter.finish(LAST_SPANS_TIME).await;
        }
        Ok::<_, CliError>((ended, cancelled))
    });
    threads.shutdown_background();
    // A task of the event loop may still hold the crib.
    crib.close();
    let (ServerEnd { finished, cut }, cancelled) = ended?;
    tell_end(finished, cut, cancelled);
    Ok(Exit::Done)
}

fn refuse_yes(global: &Global) -> Result<(), CliError> {
    if !global.yes {
        return Ok(());
    }
    let message = "--yes is not for a server: it would approve every call of every token";
    let hint = "answer with `toolcrib approvals`, or write a rule with `toolcrib rules add`";
    Err(CliError::usage(message).hint(hint))
}

fn event_loop() -> Result<tokio::runtime::Runtime, CliError> {
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    threads.map_err(|err| {
        CliError::new(CliErrorKind::System, format!("cannot start the event loop: {err}"))
    })
}

fn system(err: &dyn std::error::Error) -> CliError {
    CliError::new(CliErrorKind::System, err.to_string())
}

/// Returns the readiness of a server that starts. It is not ready without the state folder that it has locked.
fn readiness(lock: &Arc<ServerLock>) -> Readiness {
    let lock = Arc::clone(lock);
    let find_loss = move || lock.lost_state().map(|lost| lost.to_string());
    Readiness::waiting("the server starts", Box::new(find_loss))
}

/// Logs and prints how the server stopped.
fn tell_end(finished: usize, cut: usize, cancelled: usize) {
    tracing::info!(finished, cut, cancelled, "stopped");
    let part = |count: usize, noun: &str, what: &str| match count {
        0 => String::new(),
        count => format!("; {} {what}", counted(count as u64, noun)),
    };
    let finished = part(finished, "request", "finished meanwhile");
    let cut = part(cut, "request", "did not finish in time and got no reply");
    let cancelled = part(cancelled, "call", "ran for too long and was cancelled");
    print_lines(&[format!("Stopped{finished}{cut}{cancelled}.")]);
}

/// Logs where the server listens, and which settings somebody set. Their values may be secret.
fn log_start(address: &str, settings: &Settings) {
    let changed = settings.all().filter(|(_, _, origin)| !matches!(origin, Origin::Default));
    let names: Vec<&str> = changed.map(|(setting, _, _)| setting.name).collect();
    let settings = Some(names.join(",")).filter(|names| !names.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, address, settings, "listening");
}

/// Returns what would keep a server from starting under the settings alone.
fn start_errors(settings: &Settings) -> Vec<String> {
    let config = config(settings, None).map_err(|err| err.to_string());
    let server = config.and_then(|config| Server::check(&config).map_err(|err| err.to_string()));
    let collector = otlp::endpoint(settings).map_err(|err| err.to_string());
    let oauth = oauth::check(settings).map_err(|err| err.to_string());
    let roots = settings.get(table::ROOTS).into_iter().filter(|root| !Path::new(root).is_dir());
    let roots = roots.map(|root| format!("`{root}` cannot be a root: it is no directory"));
    server.err().into_iter().chain(collector.err()).chain(oauth.err()).chain(roots).collect()
}

/// Returns what the settings and the command line say about the server.
fn config(settings: &Settings, given: Option<&str>) -> Result<ServerConfig, CliError> {
    let set = settings.get(table::SERVE_ADDRESS);
    let text = given.unwrap_or(&set);
    let mut config = ServerConfig::new(address(text)?);
    config.host_names = settings.get(table::SERVE_HOST_NAMES);
    config.tls = tls_files(settings)?;
    config.connections.most_open = settings.get(table::SERVE_MAX_CONNECTIONS) as usize;
    config.requests.body_bytes = settings.get(table::SERVE_BODY_BYTES) as usize;
    config.requests.in_flight_each = settings.get(table::SERVE_IN_FLIGHT_PER_TOKEN) as usize;
    let per_second = settings.get(table::SERVE_REQUESTS_PER_SECOND);
    let per_second = per_second.and_then(|number| u32::try_from(number).ok());
    config.requests.rate_each = per_second
        .map(|per_second| RequestRate { per_second, burst: per_second.saturating_mul(2) });
    config.stop_within = settings.get(table::SERVE_STOP_SECONDS);
    Ok(config)
}

/// Warns if clients on other machines could connect, but no name that they use is accepted.
fn warn_without_names(address: &ListenAddress, settings: &Settings) {
    let names = table::SERVE_HOST_NAMES;
    if let ListenAddress::Tcp(address) = address
        && address.ip().is_unspecified()
        && settings.get(names).is_empty()
    {
        let (name, port) = (names.setting.name, address.port());
        warn(&format!(
            "clients on other machines are refused until `{name}` has the name that they use, such as \
             tools.example.org:{port}"
        ));
    }
}

/// Returns the files of TLS, if both are set.
fn tls_files(settings: &Settings) -> Result<Option<TlsFiles>, CliError> {
    let certificate = settings.get(table::SERVE_TLS_CERTIFICATE);
    let key = settings.get(table::SERVE_TLS_KEY);
    let missing = match (certificate.is_empty(), key.is_empty()) {
        (true, true) => return Ok(None),
        (false, false) => {
            let (certificate, key) = (PathBuf::from(certificate), PathBuf::from(key));
            return Ok(Some(TlsFiles { certificate, key }));
        }
        (true, false) => table::SERVE_TLS_CERTIFICATE.setting.name,
        (false, true) => table::SERVE_TLS_KEY.setting.name,
    };
    Err(CliError::usage(format!("TLS needs a certificate and its key, but `{missing}` is not set"))
        .hint(format!("`toolcrib config set {missing} PATH` sets it")))
}

fn address(text: &str) -> Result<ListenAddress, CliError> {
    if let Some(path) = text.strip_prefix("unix:") {
        return Ok(ListenAddress::Unix(PathBuf::from(path)));
    }
    text.parse().map(ListenAddress::Tcp).map_err(|_| {
        CliError::usage(format!("`{text}` is no address to listen on"))
            .hint("write an address with its port, such as 127.0.0.1:7766, or unix:PATH")
    })
}

/// Makes a token for each role if there is none at all, and puts each into a file that only the user can read.
fn make_first_tokens(crib: &Crib, tokens: &TokenFile, terminal: Terminal) -> Result<(), CliError> {
    // Somebody who has revoked them all wants no new ones.
    if !tokens.all()?.is_empty() {
        return Ok(());
    }
    let folder = crib.state.folder().join("first_tokens");
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    for role in Role::OF_TOKENS {
        let name = role.as_str();
        let token = tokens.add(name, role, crib.clock.now())?;
        write_secret(&folder.join(name), &token)?;
        tokens::note(crib, EventKind::Added, name, Some(role))?;
    }
    let told =
        format!("the first start made a token for each role; they are in {}", folder.display());
    match crib.settings.get(table::LOG_FORMAT) {
        LogFormat::Text => terminal.note(&told),
        LogFormat::Json => warn(&told),
    }
    Ok(())
}

fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")
}
