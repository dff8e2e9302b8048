//! Subcommands that work with a server on another machine, and the server that the command line names.

mod address;
mod authority_file;
mod client;
mod connection;
mod event_parser;
mod offered_tools;
mod served_tool;
mod server_error;
mod tls_error;
mod token_file;

use std::ffi::OsString;
use std::path::PathBuf;

pub(super) use client::{ServerClient, ServerReply, StreamEnd, path_part, pause};
pub(super) use event_parser::{EventParser, ServerEvent};
pub(super) use offered_tools::{execute_path, toolset};

use crate::cli::{Cli, Command, Global};
use crate::error::CliError;
use crate::terminal::Terminal;
use address::ServerAddress;
use authority_file::{CA_VARIABLE, TrustedAuthorities};
use connection::Connector;

/// The variable that names the server if `--server` does not.
const SERVER_VARIABLE: &str = "TOOLCRIB_SERVER";

/// The variable that names the file with the token if `--token-file` does not.
const TOKEN_VARIABLE: &str = "TOOLCRIB_TOKEN_FILE";

/// The subcommands that work with a server.
const SUBCOMMANDS: &str =
    "`call`, `tools`, `approvals`, `audit`, `stats`, `undo`, `proposals` and `plugins`";

/// Refuses a command line that names a server for a subcommand that has none.
pub(super) fn check(cli: &Cli) -> Result<(), CliError> {
    let Global { server, token_file, ca_file, .. } = &cli.global;
    if works_with_a_server(&cli.command) {
        return Ok(());
    }
    let named = [
        ("--server", server.is_some()),
        ("--token-file", token_file.is_some()),
        ("--ca-file", ca_file.is_some()),
    ];
    match named.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => {
            let message = format!("{flag} is not for this subcommand, which works on this machine");
            Err(CliError::usage(message).hint(format!("{SUBCOMMANDS} work with a server")))
        }
    }
}

fn works_with_a_server(command: &Command) -> bool {
    match command {
        Command::Call(_)
        | Command::Tools(_)
        | Command::Undo(_)
        | Command::Approvals(_)
        | Command::Audit(_)
        | Command::Proposals(_)
        | Command::Plugins(_)
        | Command::Stats(_) => true,
        Command::Search(_)
        | Command::Sandbox(_)
        | Command::Output(_)
        | Command::Rules(_)
        | Command::Grants(_)
        | Command::Held(_)
        | Command::Policy(_)
        | Command::Serve(_)
        | Command::Mcp(_)
        | Command::Worker(_)
        | Command::Workers(_)
        | Command::Nats(_)
        | Command::Tokens(_)
        | Command::Doctor(_)
        | Command::Config(_)
        | Command::Connect(_)
        | Command::Completions { .. }
        | Command::CompleteWords { .. }
        | Command::Man { .. }
        | Command::Tour => false,
    }
}

/// Returns the server that the command line or the environment names, once it has answered; nothing if none is named.
pub(super) fn chosen(
    global: &Global,
    terminal: Terminal,
) -> Result<Option<ServerClient>, CliError> {
    let given = global.server.clone().map(Into::into).or_else(|| of_variable(SERVER_VARIABLE));
    let token_file = global.token_file.clone();
    let Some(given) = given else {
        let message = match (&token_file, &global.ca_file) {
            (Some(_), _) => "--token-file needs --server, the server that the token is for",
            (None, Some(_)) => {
                "--ca-file needs --server, the server that the authority vouches for"
            }
            (None, None) => return Ok(None),
        };
        return Err(CliError::usage(message).hint("add --server URL"));
    };
    refuse_local_flags(global)?;
    let address = ServerAddress::parse(&given.to_string_lossy())?;
    let token_file = token_file.or_else(|| of_variable(TOKEN_VARIABLE).map(PathBuf::from));
    let Some(token_file) = token_file else {
        let message = format!("{address} needs a token, and no file with one is named");
        let hint = format!(
            "add --token-file FILE or set {TOKEN_VARIABLE}; `toolcrib tokens add` on the server's machine makes a token"
        );
        return Err(CliError::usage(message).hint(hint));
    };
    let authorities = trusted_authorities(global, &address)?;
    let connector = Connector::new(address, authorities)?;
    let token = token_file::read(&token_file)?;
    let client = ServerClient::new(connector, token, token_file);
    client.greet(terminal)?;
    Ok(Some(client))
}

/// Returns the authorities that the command line or the environment names.
fn trusted_authorities(
    global: &Global,
    address: &ServerAddress,
) -> Result<TrustedAuthorities, CliError> {
    if !address.is_tls() {
        if global.ca_file.is_some() {
            let message = format!("--ca-file is for a server with TLS, and {address} has none");
            return Err(CliError::usage(message).hint("write https:// or leave --ca-file out"));
        }
        return Ok(TrustedAuthorities::OfSystem);
    }
    let given = global.ca_file.clone().or_else(|| of_variable(CA_VARIABLE).map(PathBuf::from));
    Ok(given.map_or(TrustedAuthorities::OfSystem, TrustedAuthorities::In))
}

/// Returns the value of an environment variable that is set and not empty.
fn of_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Refuses flags that are about this machine.
fn refuse_local_flags(global: &Global) -> Result<(), CliError> {
    let Global { workspace, toolset, mode, yes, set, .. } = global;
    let local = [
        (
            "--workspace",
            workspace.is_some(),
            "calls run in the workspace that the server was started in",
        ),
        ("--toolset", toolset.is_some(), "the server offers the tools of its own toolset"),
        ("--mode", mode.is_some(), "the server has its own mode"),
        ("--yes", *yes, "`toolcrib approvals approve` with the token of an approver answers"),
        ("--config", !set.is_empty(), "the server has its own settings"),
    ];
    match local.into_iter().find(|(_, is_given, _)| *is_given) {
        None => Ok(()),
        Some((flag, _, hint)) => {
            let message = format!("{flag} is for this machine, and not for a server");
            let unset = if global.server.is_none() {
                format!("; unset {SERVER_VARIABLE} to work on this machine")
            } else {
                String::new()
            };
            Err(CliError::usage(message).hint(format!("{hint}{unset}")))
        }
    }
}
