//! `toolcrib serve`: answers calls over HTTP until it is told to stop.

mod log;
mod otlp;

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use toolcrib_core::{Role, counted};
use toolcrib_ledger::{Approvals, EventKind, IdempotencyKeys, ServerLock, TokenFile, this_process};
use toolcrib_runtime::{
    ApprovalAnswers, ApprovalQueue, Approver, ParkedQuestions, SessionKind, Unattended,
};
use toolcrib_serve::{
    Api, EventFeed, ListenAddress, ObservedRecorder, Observer, Readiness, RequestRate, Served,
    Server, ServerConfig, ServerEnd, SpanExporter, routes,
};

use super::backend::ServerBackend;
use super::event_loop::told_to_stop;
use super::setup::{open_long_lived, open_options};
use super::tokens;
use crate::cli::{Global, ServeArgs};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::{Origin, Settings, table};
use crate::terminal::{Terminal, print_lines};
use crate::wiring::{Crib, LiveParts, LiveSettings, OpenOptions};

/// How long a server that stops waits for its collector to take the last spans.
const LAST_SPANS_TIME: Duration = Duration::from_secs(5);

pub(super) fn run(global: &Global, terminal: Terminal, args: &ServeArgs) -> Result<Exit, CliError> {
    if global.yes {
        let hint = "answer with `toolcrib approvals`, or write a rule with `toolcrib rules add`";
        return Err(CliError::usage(
            "--yes is not for a server: it would approve every call of every token",
        )
        .hint(hint));
    }
    let crib = Arc::new(open_long_lived(global, terminal)?);
    let config = config(&crib.settings, args)?;
    let lock = ServerLock::take(&crib.state, &config.address.to_string());
    let _lock = lock.map_err(|err| CliError::new(CliErrorKind::System, err.to_string()))?;
    let collector = otlp::endpoint(&crib.settings)?;
    let _log = log::start(&crib.settings)?;
    let tokens = Arc::new(TokenFile::new(&crib.state));
    let threads = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let threads = threads.map_err(|err| {
        CliError::new(CliErrorKind::System, format!("cannot start the event loop: {err}"))
    })?;
    let stop_within = config.stop_within;
    let ended = threads.block_on(async {
        let server = Server::bind(config)
            .map_err(|err| CliError::new(CliErrorKind::System, err.to_string()))?;
        make_first_tokens(&crib, &tokens, terminal)?;
        let exporter = collector.map(SpanExporter::start);
        let observer = Observer::new(exporter.as_ref());
        let (api, live) = api(global, &crib, &observer, terminal)?;
        let api = Arc::new(api);
        if let Err(err) = live.watch() {
            live.tell_unwatched(&err);
        }
        let (running, events) = (api.running.clone(), Arc::clone(&api.events));
        let readiness = Readiness::waiting("the server starts");
        let served = Served { routes: routes(api), tokens, readiness: readiness.clone(), observer };
        // Whoever reads that the server listens may tell it to stop at once.
        let told_to_stop = {
            let live = Arc::clone(&live);
            told_to_stop(move || {
                let live = Arc::clone(&live);
                tokio::task::spawn_blocking(move || live.read_again());
            })
        };
        print_lines(&[format!("Listening on {}", server.address())]);
        log_start(server.address(), &crib.settings);
        readiness.set_ready();
        let told_at = OnceLock::new();
        let stop = async {
            told_to_stop.await;
            let _ = told_at.set(Instant::now());
            events.stop();
            let seconds = stop_within.as_secs();
            tracing::info!(wait_seconds = seconds, "stopping");
        };
        let ended = server.run(served, stop).await;
        let told_at = told_at.get().copied().unwrap_or_else(Instant::now);
        let cancelled = running.finish_or_cancel(told_at + stop_within).await;
        if let Some(exporter) = exporter {
            exporter.finish(LAST_SPANS_TIME).await;
        }
        Ok::<_, CliError>((ended, cancelled))
    });
    threads.shutdown_background();
    // A task of the event loop may still hold the crib.
    crib.close();
    let (ServerEnd { finished, cut }, cancelled) = ended?;
    tracing::info!(finished, cut, cancelled, "stopped");
    let mut left = String::new();
    if cut > 0 {
        left =
            format!("; {} did not finish in time and got no reply", counted(cut as u64, "request"));
    }
    if cancelled > 0 {
        left = format!(
            "{left}; {} ran for too long and was cancelled",
            counted(cancelled as u64, "call")
        );
    }
    let finished = match finished {
        0 => String::new(),
        count => format!("; {} finished meanwhile", counted(count as u64, "request")),
    };
    print_lines(&[format!("Stopped{finished}{left}.")]);
    Ok(Exit::Done)
}

/// Logs where the server listens, and which settings somebody set. Their values may be secret.
fn log_start(address: &ListenAddress, settings: &Settings) {
    let changed = settings.all().filter(|(_, _, origin)| !matches!(origin, Origin::Default));
    let names: Vec<&str> = changed.map(|(setting, _, _)| setting.name).collect();
    let settings = Some(names.join(",")).filter(|names| !names.is_empty());
    let version = env!("CARGO_PKG_VERSION");
    tracing::info!(version, %address, settings, "listening");
}

/// Returns what the handlers work with, and the settings that can change while they do.
fn api(
    global: &Global,
    crib: &Arc<Crib>,
    observer: &Observer,
    terminal: Terminal,
) -> Result<(Api, Arc<LiveSettings>), CliError> {
    let approvals = Arc::new(Approvals::new(&crib.state));
    let parked = ParkedQuestions::default();
    let (store, clock) = (Arc::clone(&approvals), Arc::clone(&crib.clock));
    let approver = move |settings: &Settings| {
        Arc::new(ApprovalQueue {
            store: Arc::clone(&store) as _,
            prompt: None,
            unattended: Unattended::Park(settings.get(table::POLICY_PARK_SECONDS)),
            session: SessionKind::ManyCalls,
            prompt_time: settings.get(table::POLICY_APPROVAL_SECONDS),
            process: this_process(),
            clock: Arc::clone(&clock),
            parked: parked.clone(),
        }) as Arc<dyn Approver>
    };
    let recorder = Arc::new(ObservedRecorder::new(Arc::clone(&crib.recorder), observer));
    let reports = crib.reports();
    let parts = LiveParts {
        options: OpenOptions { is_long_lived: true, ..open_options(global) },
        approver: Box::new(approver),
        recorder: Arc::clone(&recorder) as _,
        tell: Box::new(move |line| terminal.note(line)),
    };
    let live = LiveSettings::start(Arc::clone(crib), reports.limits().clone(), parts)?;
    let live = Arc::new(live);
    let root = crib.workspace().root();
    let api = Api {
        runtime: Arc::clone(live.runtime()),
        answers: ApprovalAnswers { store: approvals, recorder, clock: Arc::clone(&crib.clock) },
        state: crib.state.clone(),
        redactor: crib.redactor.clone(),
        workspace: root.map(|root| root.path().display().to_string()).unwrap_or_default(),
        keys: IdempotencyKeys::new(&crib.state),
        statistics: Box::new(reports),
        backend: Arc::new(ServerBackend {
            crib: Arc::clone(crib),
            options: open_options(global),
            live: Arc::clone(&live),
        }),
        config: Arc::clone(&live) as _,
        events: EventFeed::new(&crib.state),
        running: toolcrib_serve::RunningCalls::default(),
        observer: observer.clone(),
    };
    Ok((api, live))
}

/// Returns what the settings and the command line say about the server.
fn config(settings: &Settings, args: &ServeArgs) -> Result<ServerConfig, CliError> {
    let set = settings.get(table::SERVE_ADDRESS);
    let text = args.address.as_deref().unwrap_or(&set);
    let mut config = ServerConfig::new(address(text)?);
    config.host_names = settings.get(table::SERVE_HOST_NAMES);
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
    terminal.note(&format!(
        "the first start made a token for each role; they are in {}",
        folder.display()
    ));
    Ok(())
}

fn write_secret(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = fs::OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    writeln!(file, "{text}")
}
