//! The event loop that a subcommand runs its work on.

use std::sync::atomic::{AtomicBool, Ordering};

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
        let _limit =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ));
        work.await
    });
    runtime.shutdown_background();
    Ok(done)
}

/// Whether Ctrl-C told the process to end.
static IS_BY_CTRL_C: AtomicBool = AtomicBool::new(false);

/// Returns whether Ctrl-C told the process to end.
pub(super) fn is_by_ctrl_c() -> bool {
    IS_BY_CTRL_C.load(Ordering::Relaxed)
}

/// Waits until the process is told to end: by Ctrl-C, by a signal, or because its terminal is closed. A signal counts
/// from when this is called, not from when it is awaited.
pub(super) fn interrupted() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let signals = kinds.map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut term), Ok(mut hangup)] = signals else {
            let _ = tokio::signal::ctrl_c().await;
            return;
        };
        tokio::select! {
            _ = interrupt.recv() => IS_BY_CTRL_C.store(true, Ordering::Relaxed),
            _ = term.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}

/// Waits until a server is told to end. `SIGHUP` ends it only if its terminal is closed, and otherwise calls `hung_up`.
/// A signal counts from when this is called, not from when it is awaited.
pub(super) fn told_to_stop(mut hung_up: impl FnMut()) -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let has_terminal = || std::fs::File::open("/dev/tty").is_ok();
    let had_terminal = has_terminal();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    let signals = kinds.map(signal);
    async move {
        let [Ok(mut interrupt), Ok(mut term), Ok(mut hangup)] = signals else {
            let _ = tokio::signal::ctrl_c().await;
            return;
        };
        loop {
            tokio::select! {
                _ = interrupt.recv() => {
                    IS_BY_CTRL_C.store(true, Ordering::Relaxed);
                    return;
                }
                _ = term.recv() => return,
                _ = hangup.recv() => {
                    if had_terminal && !has_terminal() {
                        return;
                    }
                    hung_up();
                }
            }
        }
    }
}
