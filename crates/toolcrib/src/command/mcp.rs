//! `toolcrib mcp`: answers an MCP client over stdin and stdout, and is added to clients.

mod client_file;
mod clients;
mod edit_error;
mod entry_edit;
mod install;
mod json_edit;
mod json_text;
mod listing;
mod server_entry;
pub(super) mod snippets;
mod toml_edit;
mod yaml_edit;
mod yaml_text;

use std::cell::OnceCell;
use std::sync::Arc;

use tokio::task::spawn_blocking;
use toolcrib_core::{Principal, Role, SessionId, Toolset};
use toolcrib_serve::{
    Api, ClientTrust, McpConfig, McpServer, Observer, PipedClient, StdioEnd, ToolListing,
    TrustedAnswers, serve_stdio,
};

use super::api::{OpenedApi, QuestionQueue, QuestionTimes, open_api};
use super::event_loop::{block_on, end_subagents, interrupted};
use super::setup::open_long_lived;
use crate::cli::{Global, McpArgs};
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::settings::{ClientAnswers, Settings, table};
use crate::terminal::Terminal;
use crate::wiring::{Crib, NamedPlace, check_connection, user_at_terminal};

pub(super) fn run(global: &Global, terminal: Terminal, args: &McpArgs) -> Result<Exit, CliError> {
    match &args.command {
        Some(_) if args.connection.is_some() => {
            let message = "--connection is not for this: it is a word of the entry itself";
            Err(CliError::usage(message)
                .hint("add `--connection NAME` to the arguments of the entry"))
        }
        Some(command) => install::run(global, terminal, command),
        None => serve(global, terminal, args.connection.clone()),
    }
}

/// Answers the client that started this process.
fn serve(
    global: &Global,
    terminal: Terminal,
    connection: Option<String>,
) -> Result<Exit, CliError> {
    if global.yes {
        let hint = "write a rule with `toolcrib rules add`, or answer in the client";
        let message = "--yes is not for MCP: it would approve every call of the client";
        return Err(CliError::usage(message).hint(hint));
    }
    let crib = OnceCell::new();
    let opening = async {
        let (global, chosen) = (global.clone(), connection.clone());
        let opened = spawn_blocking(move || open(&global, terminal, chosen.as_deref())).await;
        let opened = opened.map_err(|err| {
            CliError::new(CliErrorKind::System, format!("Toolcrib cannot be opened: {err}"))
        })??;
        let _ = crib.set(opened.crib);
        Ok::<_, CliError>(opened.server)
    };
    let session = SessionId(format!("mcp-{}", toolcrib_ledger::new_call_id()));
    let client = PipedClient { principal: local_user(), session, connection: connection.clone() };
    let ended = block_on(async {
        let ended = serve_stdio(opening, client, interrupted()).await;
        if let Some(crib) = crib.get() {
            end_subagents(crib.subagents()).await;
        }
        ended
    });
    if let Some(crib) = crib.get() {
        crib.close();
    }
    let end = ended??.map_err(|err| {
        let text = format!("the client cannot be served: {err}");
        CliError::new(CliErrorKind::System, text)
            .hint("an MCP client starts this command; `toolcrib mcp install` adds it to one")
    })?;
    match end {
        StdioEnd::Closed => Ok(Exit::Done),
        StdioEnd::Stopped => Ok(Exit::Interrupted),
    }
}

/// A server that was opened, and what it works with.
struct OpenedServer {
    crib: Arc<Crib>,
    server: Arc<McpServer>,
}

/// Opens what calls need. Meanwhile, the client gets its first answer.
fn open(
    global: &Global,
    terminal: Terminal,
    connection: Option<&str>,
) -> Result<OpenedServer, CliError> {
    let crib = Arc::new(open_long_lived(global, terminal)?);
    if let Some(name) = connection {
        check_connection(&NamedPlace::all(&crib.settings)?, name)?;
    }
    check_toolset(&crib)?;
    let opened = open_api(global, &crib, &Observer::new(None), |_| Vec::new())?;
    let OpenedApi { api, live, queue } = opened;
    if let Err(err) = live.watch() {
        live.tell_unwatched(&err);
    }
    let server = Arc::new(server(&api, &queue, &crib.settings));
    Ok(OpenedServer { crib, server })
}

/// Refuses settings that offer clients what does not exist. Two tools may share a name here.
pub(super) fn check_toolset(crib: &Crib) -> Result<(), CliError> {
    let shelf = crib.plugins().shelf();
    for choice in crib.settings.get(table::MCP_TOOLSET) {
        Toolset::choose(shelf.clone(), &[choice]).map_err(|err| {
            let name = table::MCP_TOOLSET.setting.name;
            CliError::new(CliErrorKind::Settings, format!("`{name}`: {err}"))
        })?;
    }
    Ok(())
}

/// Returns the MCP server that the settings describe.
pub(super) fn server(api: &Arc<Api>, queue: &QuestionQueue, settings: &Settings) -> McpServer {
    // Who chose a toolset for all doors wants it here too.
    let is_chosen = settings.is_set(table::TOOLSET);
    let toolset = (!is_chosen).then(|| settings.get(table::MCP_TOOLSET));
    let highest_tier = if settings.get(table::MCP_APPROVE_TIER_3) { 4 } else { 2 };
    let config = McpConfig {
        toolset,
        listing: if settings.get(table::MCP_SEARCH) {
            ToolListing::Search
        } else {
            ToolListing::All
        },
        trust: ClientTrust {
            answers: match settings.get(table::MCP_APPROVE) {
                ClientAnswers::Off => TrustedAnswers::None,
                ClientAnswers::Once => TrustedAnswers::Once,
                ClientAnswers::Always => TrustedAnswers::Always,
            },
            highest_tier,
            over_http: settings.get(table::MCP_APPROVE_OVER_HTTP),
        },
        answer_time: settings.get(table::POLICY_APPROVAL_SECONDS),
        detach_after: settings.get(table::MCP_TASK_SECONDS),
    };
    let parked = queue.parked.clone();
    let (queue, times) = (queue.clone(), QuestionTimes::from(settings));
    let approver = Box::new(move |prompt| queue.approver(times, prompt));
    McpServer::new(Arc::clone(api), config, approver, parked)
}

/// Returns the user of this machine, who started the client or whose program did.
fn local_user() -> Principal {
    let Principal { name, .. } = user_at_terminal().principal.clone();
    Principal { name, role: Role::User }
}
