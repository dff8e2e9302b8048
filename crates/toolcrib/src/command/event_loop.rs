//! The event loop that a subcommand runs its work on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::signal::unix::{Signal, SignalKind, signal};
use toolcrib_agent::SubagentPool;

use crate::error::{CliError, CliErrorKind};

/// Runs `work` on an event loop, and does not wait for threads that never end.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, CliError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|err| {
        CliError::new(CliErrorKind::System, format!("cannot start the event loop: {err}"))
    })?;
    let done = runtime.block_on(async {
        // With a handler, a write past the file size limit is an error; without one, it ends the process.
        const SIGXFSZ: i32 = 25;
        let _limit = signal(SignalKind::from_raw(SIGXFSZ));
        work.await
    });
    runtime.shutdown_background();
    Ok(done)
}

/// Ends the subagents that still run. Their calls need the event loop until then.
pub(super) async fn end_subagents(pool: Arc<SubagentPool>) {
    let _ = tokio::task::spawn_blocking(move || pool.close()).await;
}

/// Whether Ctrl-C told the process to end.
static IS_BY_CTRL_C: AtomicBool = AtomicBool::new(false);

/// Returns whether Ctrl-C told the process to end.
pub(super) fn is_by_ctrl_c() -> bool {
    IS_BY_CTRL_C.load(Ordering::Relaxed)
}

/// What tells a process to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndSignal {
    CtrlC,
    Terminate,
    /// Its terminal is closed, or somebody sent `SIGHUP`.
    HangUp,
}

/// The signals that tell a process to end. They count from when this is made, not from when they are awaited.
struct EndSignals([Signal; 3]);

impl EndSignals {
    /// Returns nothing if the system does not tell of signals.
    fn listen() -> Option<Self> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [Ok(interrupt), Ok(terminate), Ok(hang_up)] = kinds.map(signal) else { return None };
        Some(Self([interrupt, terminate, hang_up]))
    }

    async fn next(&mut self) -> EndSignal {
        let Self([interrupt, terminate, hang_up]) = self;
        tokio::select! {
            _ = interrupt.recv() => {
                IS_BY_CTRL_C.store(true, Ordering::Relaxed);
                EndSignal::CtrlC
            }
            _ = terminate.recv() => EndSignal::Terminate,
            _ = hang_up.recv() => EndSignal::HangUp,
        }
    }
}

/// Waits until the process is told to end: by Ctrl-C, by a signal, or because its terminal is closed. A signal counts
/// from when this is called, not from when it is awaited.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    end_after(|signal| match signal {
        EndSignal::CtrlC | EndSignal::Terminate | EndSignal::HangUp => true,
    })
}

/// Waits until a server is told to end. `SIGHUP` ends it only if its terminal is closed, and otherwise calls `hung_up`.
/// A signal counts from when this is called, not from when it is awaited.
pub(super) fn told_to_stop(mut hung_up: impl FnMut()) -> impl Future<Output = ()> {
    let has_terminal = || std::fs::File::open("/dev/tty").is_ok();
    let had_terminal = has_terminal();
    end_after(move |signal| match signal {
        EndSignal::CtrlC | EndSignal::Terminate => true,
        EndSignal::HangUp if had_terminal && !has_terminal() => true,
        EndSignal::HangUp => {
            hung_up();
            false
        }
    })
}

/// Waits for a signal of which `ends` says that it ends the process.
fn end_after(mut ends: impl FnMut(EndSignal) -> bool) -> impl Future<Output = ()> {
    let signals = EndSignals::listen();
    async move {
        let Some(mut signals) = signals else {
            let _ = tokio::signal::ctrl_c().await;
            return;
        };
        while !ends(signals.next().await) {}
    }
}
