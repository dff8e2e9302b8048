//! `toolcrib sandbox run`: runs anything as commands are run, for trying it.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::Cancel;
use toolcrib_core::command::{After, End, Finished, Order, Shell, Stream, show_bytes};

use super::{block_on, interrupted, open};
use crate::cli::{Global, SandboxArgs, SandboxCommand};
use crate::exit::Exit;
use crate::terminal::Terminal;
use crate::wiring::{Crib, WiringError};

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    args: &SandboxArgs,
) -> Result<Exit, WiringError> {
    let SandboxCommand::Run { seconds, command } = &args.command;
    let crib = open(global, terminal)?;
    let order = Order {
        call: toolcrib_ledger::new_call_id(),
        shell: Shell::Program(command.clone()),
        text: command.join(" "),
        directory: None,
        time: Duration::from_secs(*seconds),
        after: After::Kill,
        keep: 1 << 20,
        rest: "",
    };
    match follow(&crib, order)? {
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

type Ended = Result<Finished, toolcrib_core::ToolError>;

/// Runs it on a thread of its own, so that an interrupt can end it.
fn follow(crib: &Crib, order: Order) -> Result<Ended, WiringError> {
    let (sandbox, cancel) = (Arc::clone(&crib.sandbox), Cancel::default());
    let wanted = cancel.clone();
    block_on(async move {
        let work = move || sandbox.run_live(&order, &wanted, Box::new(pass_on));
        let mut work = tokio::task::spawn_blocking(work);
        let done = tokio::select! {
            done = &mut work => done,
            () = interrupted() => {
                cancel.cancel();
                work.await
            }
        };
        done.map_err(|err| WiringError(format!("the command was lost: {err}")))
    })?
}

fn pass_on(stream: Stream, bytes: &[u8]) {
    // Whoever reads it may have gone; the command's end is still told by the exit code.
    let _ = match stream {
        Stream::Stdout => {
            std::io::stdout().write_all(bytes).and_then(|()| std::io::stdout().flush())
        }
        Stream::Stderr => std::io::stderr().write_all(bytes),
    };
}

fn report(terminal: Terminal, finished: &Finished) {
    if finished.end == End::TimedOut {
        let seconds = finished.elapsed.as_secs_f64();
        terminal.warn(&format!("it was ended after {seconds:.1} s; --time gives it longer"));
    }
    for note in &finished.notes {
        terminal.warn(note);
    }
    if terminal.verbosity > 0 {
        let usage = &finished.usage;
        terminal.note(&format!(
            "{:.1} ms, {:.1} ms of processor, {} of memory at most, {} read, {} written, {} processes",
            finished.elapsed.as_secs_f64() * 1e3,
            usage.cpu_us as f64 / 1e3,
            show_bytes(usage.peak_memory),
            show_bytes(usage.read_bytes),
            show_bytes(usage.written_bytes),
            usage.processes,
        ));
    }
}
