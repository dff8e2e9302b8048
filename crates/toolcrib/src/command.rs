//! The subcommands, one file each.

mod api;
mod approvals;
mod approver;
mod arguments;
mod audit;
mod backend;
mod batch;
mod bus_settings;
mod call;
mod call_history;
mod command_end;
mod complete;
mod config;
mod connect;
mod difference;
mod doctor;
mod editor;
mod event_loop;
mod grants;
mod held;
mod layout;
mod live_output;
mod log;
mod man;
mod mcp;
mod nats;
mod oauth;
mod outcome_gathering;
mod output;
mod past_call;
mod plugin_name;
mod plugins;
mod policy;
mod prompt;
mod proposals;
mod question;
mod remote;
mod remote_call;
mod render;
mod rows;
mod rule_removal;
mod rules;
mod rules_replay;
mod sandbox;
mod screen;
mod search;
mod serve;
mod service_manager;
mod setup;
mod short_id;
mod stats;
mod tokens;
mod tool_help;
mod tools;
mod tour;
mod undo;
mod waiting_call;
mod when;
mod worker;
mod workers;

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, is_result_lost, print_json};

/// Runs the subcommand, and prints the error if it cannot do its work.
pub(crate) fn run(cli: Cli) -> ExitCode {
    let terminal = Terminal::new(&cli.global);
    let wants_json = match &cli.command {
        Command::Call(args) => args.json || args.batch,
        Command::Undo(args) => args.json,
        _ => false,
    };
    let ended = remote::check(&cli).and_then(|()| dispatch(cli, terminal));
    match ended {
        // A result that could not be printed is a failure: a script must not take silence for success.
        Ok(Exit::Done) if is_result_lost() => Exit::Failed.into(),
        Ok(Exit::Interrupted) if event_loop::is_by_ctrl_c() => toolcrib_inside::end_by_interrupt(),
        Ok(exit) => exit.into(),
        Err(err) => fail(terminal, &err, Format::from(wants_json)),
    }
}

/// Tells why a subcommand cannot do its work. Returns how the process ends.
fn fail(terminal: Terminal, err: &CliError, format: Format) -> ExitCode {
    let (code, exit) = match err.kind {
        CliErrorKind::Server => ("server_error", Exit::Failed),
        CliErrorKind::Interrupted => ("interrupted", Exit::Interrupted),
        CliErrorKind::Usage
        | CliErrorKind::Settings
        | CliErrorKind::Rules
        | CliErrorKind::Workspace
        | CliErrorKind::State
        | CliErrorKind::System => ("wrong_usage", Exit::Usage),
    };
    match format {
        Format::Json => {
            let error = serde_json::json!({"code": code, "message": err.to_string()});
            print_json(&serde_json::json!({"error": error}).to_string());
        }
        Format::Text => terminal.fail(&err.message, err.hint.as_deref()),
    }
    if exit == Exit::Interrupted && event_loop::is_by_ctrl_c() {
        toolcrib_inside::end_by_interrupt();
    }
    exit.into()
}

/// Runs the subcommand that the command line names.
fn dispatch(cli: Cli, terminal: Terminal) -> Result<Exit, CliError> {
    match cli.command {
        Command::Call(args) if args.help => tool_help::run(&cli.global, terminal, &args),
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
        Command::Proposals(args) => proposals::run(&cli.global, terminal, &args),
        Command::Plugins(args) => plugins::run(&cli.global, terminal, &args),
        Command::Held(args) => held::run(&cli.global, terminal, &args),
        Command::Policy(args) => policy::run(&cli.global, terminal, &args),
        Command::Audit(args) => audit::run(&cli.global, terminal, &args),
        Command::Stats(args) => stats::run(&cli.global, terminal, &args),
        Command::Serve(args) => serve::run(&cli.global, terminal, &args),
        Command::Mcp(args) => mcp::run(&cli.global, terminal, &args),
        Command::Worker(args) => worker::run(&cli.global, terminal, &args),
        Command::Workers(args) => workers::run(&cli.global, terminal, &args),
        Command::Nats(args) => nats::run(&cli.global, terminal, &args),
        Command::Tokens(args) => tokens::run(&cli.global, terminal, &args),
        Command::Doctor(args) => Ok(doctor::run(&cli.global, terminal, &args)),
        Command::Connect(args) => connect::run(&cli.global, terminal, &args),
        Command::Config(args) => config::run(&cli.global, terminal, &args),
        Command::Completions { shell } => Ok(man::completions(shell)),
        Command::CompleteWords { index, words } => Ok(complete::run(&cli.global, index, &words)),
        Command::Man { directory } => man::run(directory.as_deref()),
        Command::Tour => tour::run(terminal),
    }
}
