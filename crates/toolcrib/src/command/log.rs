//! The log of a server or a worker on stderr. Lines wait in a queue for a thread that writes them, so that a terminal or a pipe that
//! takes nothing holds up no call.

use std::fmt;
use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::error::{CliError, CliErrorKind};
use crate::settings::{LogFormat, LogLevel, Settings, table};

/// How many bytes wait at most. What comes when there are more is lost, and the log says so.
const MOST_WAITING_BYTES: usize = 1 << 20;

/// How long the writer waits for more lines, so that a busy server does not wake it for each.
const COLLECT_TIME: Duration = Duration::from_millis(10);

/// How long the end of the program waits for the last lines.
const LAST_LINES_TIME: Duration = Duration::from_secs(1);

/// The log, until it is dropped.
pub(super) struct ServerLog(LineQueue);

/// Starts the log, as the settings say.
pub(super) fn start(settings: &Settings) -> Result<ServerLog, CliError> {
    let failed = |err: &dyn fmt::Display| {
        CliError::new(CliErrorKind::System, format!("cannot start the log: {err}"))
    };
    let queue = LineQueue::default();
    let (lines, writer) = (queue.clone(), queue.clone());
    let thread = std::thread::Builder::new().name("log".to_owned());
    thread.spawn(move || writer.write_lines()).map_err(|err| failed(&err))?;
    let level = match settings.get(table::LOG_LEVEL) {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let log = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(false)
        .with_timer(UtcTime)
        .with_writer(move || lines.clone());
    // The SDK logs what clients send, and two lines for each request; the server has a line of its own for it. The
    // gateway has one for what the client of NATS says twice.
    let ours = Targets::new()
        .with_default(level)
        .with_target("rmcp", LevelFilter::OFF)
        .with_target("async_nats", LevelFilter::OFF);
    match settings.get(table::LOG_FORMAT) {
        LogFormat::Text => log.finish().with(ours).try_init().map_err(|err| failed(&err))?,
        LogFormat::Json => {
            let log = log.json().flatten_event(true);
            let log = log.with_current_span(false).with_span_list(false);
            log.finish().with(ours).try_init().map_err(|err| failed(&err))?;
        }
    }
    log_panics();
    Ok(ServerLog(queue))
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        self.0.write_all_within(LAST_LINES_TIME);
    }
}

/// Logs the place of a panic and not its message, because the message could hold anything that a tool was given.
fn log_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "Toolcrib has a bug; please report it");
    }));
}

/// The lines that wait to be written. Clones share them.
#[derive(Clone, Default)]
struct LineQueue(Arc<(Mutex<WaitingLines>, Condvar)>);

#[derive(Default)]
struct WaitingLines {
    bytes: Vec<u8>,
    /// How many lines did not fit.
    lost: u64,
    writer: WriterState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum WriterState {
    /// Waits until there is a line.
    #[default]
    Asleep,
    Awake,
    /// Is to write without waiting for more lines, because the program ends.
    Hurried,
}

impl LineQueue {
    fn waiting(&self) -> MutexGuard<'_, WaitingLines> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, waiting: MutexGuard<'a, WaitingLines>) -> MutexGuard<'a, WaitingLines> {
        self.0.1.wait(waiting).unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes lines for as long as the program runs.
    fn write_lines(&self) {
        loop {
            let mut waiting = self.waiting();
            while waiting.bytes.is_empty() {
                waiting.writer = WriterState::Asleep;
                self.0.1.notify_all();
                waiting = self.wait(waiting);
            }
            if waiting.writer == WriterState::Asleep {
                waiting.writer = WriterState::Awake;
            }
            if waiting.writer == WriterState::Awake {
                let waited = self.0.1.wait_timeout(waiting, COLLECT_TIME);
                waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
            }
            let (bytes, lost) = (mem::take(&mut waiting.bytes), mem::take(&mut waiting.lost));
            drop(waiting);
            // Without stderr, there is nobody to tell.
            let _ = io::stderr().write_all(&bytes);
            if lost > 0 {
                tracing::warn!(lost, "lines of the log were lost, because stderr took no more");
            }
        }
    }

    /// Waits until all lines are written, but no longer than this.
    fn write_all_within(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut waiting = self.waiting();
        while waiting.writer != WriterState::Asleep || !waiting.bytes.is_empty() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            waiting.writer = WriterState::Hurried;
            self.0.1.notify_all();
            let waited = self.0.1.wait_timeout(waiting, left);
            waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The log hands over one whole line at a time.
impl Write for LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut waiting = self.waiting();
        if waiting.bytes.len() + line.len() > MOST_WAITING_BYTES {
            waiting.lost += 1;
            return Ok(line.len());
        }
        waiting.bytes.extend_from_slice(line);
        if waiting.writer == WriterState::Asleep {
            self.0.1.notify_all();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct UtcTime;

impl FormatTime for UtcTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", Timestamp::now())
    }
}
