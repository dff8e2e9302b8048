//! The server's log on stderr. Lines wait in a queue for a thread that writes them, so that a terminal or a pipe that
//! takes nothing holds up no call.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

use jiff::Timestamp;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::time::FormatTime;

use crate::error::{CliError, CliErrorKind};
use crate::settings::{LogFormat, LogLevel, Settings, table};

/// How many lines wait at most. More are lost, and the log says so.
const MOST_WAITING_LINES: usize = 8192;

/// How long the end of the program waits for the last lines.
const LAST_LINES_TIME: Duration = Duration::from_secs(1);

/// The log, until it is dropped.
pub(super) struct ServerLog(SyncSender<LogMessage>);

enum LogMessage {
    Line(Vec<u8>),
    /// All lines before this are to be written, and the sender told.
    End(Sender<()>),
}

/// Starts the log, as the settings say.
pub(super) fn start(settings: &Settings) -> Result<ServerLog, CliError> {
    let failed = |err: &dyn fmt::Display| {
        CliError::new(CliErrorKind::System, format!("cannot start the log: {err}"))
    };
    let (sender, receiver) = sync_channel(MOST_WAITING_LINES);
    let lost = Arc::new(AtomicU64::new(0));
    let lines = LineQueue { sender: sender.clone(), lost: Arc::clone(&lost) };
    let thread = std::thread::Builder::new().name("log".to_owned());
    thread.spawn(move || write_lines(&receiver, &lost)).map_err(|err| failed(&err))?;
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
    match settings.get(table::LOG_FORMAT) {
        LogFormat::Text => log.try_init().map_err(|err| failed(&err))?,
        LogFormat::Json => {
            let log = log.json().flatten_event(true);
            let log = log.with_current_span(false).with_span_list(false);
            log.try_init().map_err(|err| failed(&err))?;
        }
    }
    log_panics();
    Ok(ServerLog(sender))
}

impl Drop for ServerLog {
    fn drop(&mut self) {
        let (tell, told) = channel();
        if self.0.try_send(LogMessage::End(tell)).is_ok() {
            let _ = told.recv_timeout(LAST_LINES_TIME);
        }
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

/// Takes lines, and never waits.
#[derive(Clone)]
struct LineQueue {
    sender: SyncSender<LogMessage>,
    lost: Arc<AtomicU64>,
}

/// The log hands over one whole line at a time.
impl Write for LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.sender.try_send(LogMessage::Line(line.to_vec())).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn write_lines(receiver: &Receiver<LogMessage>, lost: &AtomicU64) {
    while let Ok(message) = receiver.recv() {
        match message {
            LogMessage::Line(line) => {
                // Without stderr, there is nobody to tell.
                let _ = io::stderr().write_all(&line);
            }
            LogMessage::End(tell) => drop(tell.send(())),
        }
        let lines = lost.swap(0, Ordering::Relaxed);
        if lines > 0 {
            tracing::warn!(lines, "lines of the log were lost, because stderr took no more");
        }
    }
}

struct UtcTime;

impl FormatTime for UtcTime {
    fn format_time(&self, writer: &mut Writer<'_>) -> fmt::Result {
        write!(writer, "{:.3}", Timestamp::now())
    }
}
