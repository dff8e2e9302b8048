//! The subcommands, one file each.

mod approvals;
mod audit;
mod batch;
mod call;
mod codes;
mod config;
mod doctor;
mod grants;
mod man;
mod output;
mod policy;
mod prompt;
mod queue;
mod render;
mod rules;
mod sandbox;
mod search;
mod stats;
mod story;
mod tools;
mod tour;
mod undo;
mod when;

use std::process::ExitCode;
use std::sync::Arc;

use when::moment;

use crate::cli::{Cli, Command, Global};
use crate::exit::Exit;
use crate::settings::{FlagValue, Settings, key};
use crate::terminal::{Terminal, is_result_lost, print, print_json};
use crate::wiring::{Crib, Plans, WiringError, Wishes};

/// Runs the subcommand.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let terminal = Terminal::new(&cli.global);
    let wants_json = match &cli.command {
        Command::Call(args) => args.json || args.batch,
        Command::Undo(args) => args.json,
        _ => false,
    };
    let ended = match cli.command {
        Command::Call(args) if args.batch => batch::run(&cli.global, terminal, &args),
        Command::Call(args) => call::run(&cli.global, terminal, &args),
        Command::Tools(args) => tools::run(&cli.global, terminal, &args),
        Command::Undo(args) => undo::run(&cli.global, terminal, &args),
        Command::Search(args) => search::run(&cli.global, terminal, &args),
        Command::Sandbox(args) => sandbox::run(&cli.global, terminal, &args),
        Command::Output(args) => output::run(&cli.global, terminal, &args),
        Command::Rules(args) => rules::run(&cli.global, terminal, &args),
        Command::Approvals(args) => approvals::run(&cli.global, terminal, &args),
        Command::Grants(args) => grants::run(&cli.global, terminal, &args),
        Command::Policy(args) => policy::run(&cli.global, terminal, &args),
        Command::Audit(args) => audit::run(&cli.global, terminal, &args),
        Command::Stats(args) => stats::run(&cli.global, terminal, &args),
        Command::Doctor(args) => doctor::run(&cli.global, terminal, &args),
        Command::Config(args) => config::run(&cli.global, terminal, &args),
        Command::Completions { shell } => Ok(man::completions(shell)),
        Command::Man { directory } => man::run(directory.as_deref()),
        Command::Tour => tour::run(terminal),
    };
    match ended {
        // A script must not take silence for success.
        Ok(Exit::Done) if is_result_lost() => Exit::Failed.into(),
        Ok(exit) => exit.into(),
        Err(err) => {
            if wants_json {
                let error = serde_json::json!({"code": "wrong_usage", "message": err.0});
                print_json(&serde_json::json!({"error": error}).to_string());
            } else {
                terminal.fail(&err.0, None);
            }
            Exit::Usage.into()
        }
    }
}

/// Opens everything, as the flags wish.
fn open(global: &Global, terminal: Terminal) -> Result<Crib, WiringError> {
    let crib = Crib::open(&wishes(global))?;
    warn(terminal, &crib.settings);
    Ok(crib)
}

/// Opens everything for a process that answers many calls.
fn open_to_stay(global: &Global, terminal: Terminal) -> Result<Crib, WiringError> {
    let crib = Crib::open(&Wishes { lives_on: true, ..wishes(global) })?;
    warn(terminal, &crib.settings);
    Ok(crib)
}

/// Reads what would be opened, for commands that need no more.
fn read(global: &Global, terminal: Terminal) -> Result<Plans, WiringError> {
    let plans = Plans::read(&wishes(global))?;
    warn(terminal, &plans.settings);
    Ok(plans)
}

fn warn(terminal: Terminal, settings: &Settings) {
    for warning in &settings.warnings {
        terminal.warn(warning);
    }
}

fn wishes(global: &Global) -> Wishes {
    let mut flags = Vec::new();
    if let Some(mode) = &global.mode {
        flags.push(FlagValue::new("--mode", key::MODE, mode.clone()));
    }
    if let Some(toolset) = &global.toolset {
        flags.push(FlagValue::new("--toolset", key::TOOLSET, toolset.clone()));
    }
    let (workspace, assignments) = (global.workspace.clone(), global.set.clone());
    Wishes { workspace, flags, assignments, ..Wishes::default() }
}

/// Runs `work` on an event loop, and does not wait for threads that never end.
fn block_on<T>(work: impl Future<Output = T>) -> Result<T, WiringError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|err| WiringError(format!("no event loop: {err}")))?;
    let done = runtime.block_on(async {
        // With a handler, a write past the file size limit is an error and not our death.
        const SIGXFSZ: i32 = 25;
        let _limit =
            tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ));
        work.await
    });
    runtime.shutdown_background();
    Ok(done)
}

/// Ends when someone wants the process to: Ctrl-C, or the terminal or the system going away.
async fn interrupted() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut hangup)) =
        (signal(SignalKind::terminate()), signal(SignalKind::hangup()))
    else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = term.recv() => {}
        _ = hangup.recv() => {}
    }
}

/// Returns who answers when policy asks: a person at `terminal`, if that is given and one is there.
fn approver(
    global: &Global,
    terminal: Option<Terminal>,
    crib: &Crib,
    parks: bool,
) -> Arc<dyn toolcrib_runtime::Approver> {
    if global.yes {
        return Arc::new(toolcrib_runtime::AlwaysYes("--yes".to_owned()));
    }
    let time = crib.settings.get(key::POLICY_APPROVAL_SECONDS);
    let park_time = crib.settings.get(key::POLICY_PARK_SECONDS);
    let approvals = toolcrib_ledger::Approvals::new(&crib.state);
    Arc::new(queue::Queue {
        approvals,
        prompt: terminal.and_then(|terminal| prompt::Prompt::on_terminal(terminal, time)),
        parks,
        is_single: terminal.is_some(),
        park_time,
        time,
    })
}

/// Prints lines of a result.
fn print_lines(lines: &[String]) {
    let mut text = lines.join("\n");
    text.push('\n');
    print(&text);
}
