//! `toolcrib sandbox run`: runs a program in the sandbox of commands, to try the sandbox out.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::command::{CommandRequest, End, Finished, OnTimeout, Shell, show_bytes};
use toolcrib_core::{Cancel, ToolName, counted};
use toolcrib_host::OutputTee;

use super::event_loop::{block_on, interrupted};
use super::live_output::LiveOutput;
use super::setup::open;
use crate::cli::{Global, SandboxArgs, SandboxCommand};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::terminal::Terminal;
use crate::wiring::Crib;

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &SandboxArgs,
) -> Result<Exit, CliError> {
    let SandboxCommand::Run { seconds, command } = &args.command;
    let crib = open(global, terminal)?;
    let request = CommandRequest {
        call: toolcrib_ledger::new_call_id(),
        shell: Shell::Program(command.clone()),
        text: command.join(" "),
        directory: None,
        time: Duration::from_secs(*seconds),
        on_timeout: OnTimeout::Kill,
        keep: 1 << 20,
        rest_hint: "",
        // The run is not recorded, so nothing is kept for undo.
        is_read_only: false,
    };
    match follow(&crib, request)? {
        Ok(finished) => {
            report(terminal, &finished);
            Ok(match finished.end {
                End::TimedOut => Exit::Timeout,
                End::Killed => Exit::Interrupted,
                end => Exit::OfCommand(u8::try_from(end.exit_code()).unwrap_or(1)),
            })
        }
        Err(err) => {
            terminal.fail(&err.message, err.hint.as_deref());
            Ok(Exit::of(err.kind))
        }
    }
}

type RunResult = Result<Finished, toolcrib_core::ToolError>;

/// Runs the program on a thread of its own, so that an interrupt can end it. It sees the files that a command of
/// `clemini/bash` sees.
fn follow(crib: &Crib, request: CommandRequest) -> Result<RunResult, CliError> {
    let (sandbox, cancel) = (Arc::clone(crib.sandbox()), Cancel::default());
    let root = || crib.workspace().root().map(|root| root.path().to_owned()).unwrap_or_default();
    let denied = crib.rules.policy.masked_paths(
        &ToolName::new("clemini", "bash"),
        crib.clock.now(),
        root,
        &[],
    );
    let wanted = cancel.clone();
    block_on(async move {
        let (tee, printed) = OutputTee::pair();
        let unread = cancel.clone();
        // A slow reader of our output must not stop the supervision of the command.
        let writer = std::thread::spawn(move || {
            let mut live = LiveOutput::default();
            while let Some((stream, bytes)) = printed.next() {
                // Without a reader there is no use in going on.
                if live.print(stream, &bytes).is_err() {
                    unread.cancel();
                }
            }
        });
        let work = move || sandbox.run_live(&request, denied.as_ref(), &wanted, tee);
        let mut work = tokio::task::spawn_blocking(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = interrupted() => {
                cancel.cancel();
                work.await
            }
        };
        if done.is_ok() && !cancel.is_cancelled() {
            let _ = writer.join();
        }
        done.map_err(|err| {
            CliError::new(
                CliErrorKind::System,
                format!("the thread that ran the command failed: {err}"),
            )
        })
    })?
}

/// Prints warnings about the run, and with `-v` what it used.
fn report(terminal: Terminal, finished: &Finished) {
    if finished.end == End::TimedOut {
        let seconds = finished.elapsed.as_secs_f64();
        terminal.warn(&format!(
            "the command was killed after {seconds:.1} s; use `--time` to give it longer, such as `--time 1h`"
        ));
    }
    for note in &finished.notes {
        terminal.warn(note);
    }
    if terminal.verbosity > 0 {
        let usage = &finished.usage;
        terminal.note(&format!(
            "{:.1} ms, {:.1} ms of processor time, {} of memory at most, {} read, {} written, {}",
            finished.elapsed.as_secs_f64() * 1e3,
            usage.cpu_us as f64 / 1e3,
            show_bytes(usage.peak_memory),
            show_bytes(usage.read_bytes),
            show_bytes(usage.written_bytes),
            counted(usage.processes, "process"),
        ));
        for host in &finished.network.hosts {
            terminal.note(&format!("{}: {}", host.host, host.describe()));
        }
    }
}
