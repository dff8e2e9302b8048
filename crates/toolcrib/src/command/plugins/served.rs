//! `toolcrib plugins` with a server. The token says who it is that changes something.

use std::path::Path;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use toolcrib_plugins::plugin_source::PluginSource;
use toolcrib_serve::{PluginDetailFields, PluginFields, ProposalFields};

use super::plugin_path::plugin_at;
use super::view::{self, FoundView};
use crate::cli::PluginsCommand;
use crate::command::plugin_name::bare;
use crate::command::remote::{ServerClient, path_part};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Format, Terminal, print_json};

#[derive(Deserialize)]
struct PluginsBody {
    plugins: Box<RawValue>,
}

#[derive(Deserialize)]
struct PluginBody {
    plugin: PluginDetailFields,
}

#[derive(Deserialize)]
struct ProposedBody {
    proposal: ProposalFields,
}

#[derive(Deserialize)]
struct ChangedBody {
    name: String,
    changed: bool,
    version: Option<String>,
}

#[derive(Deserialize)]
struct ReloadBody {
    reloaded: usize,
    waiting: Vec<ServedFile>,
    errors: Vec<ServedFile>,
}

#[derive(Deserialize)]
struct ServedFile {
    name: String,
    path: String,
    hash: Option<String>,
    error: Option<String>,
}

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    command: &PluginsCommand,
) -> Result<Exit, CliError> {
    match command {
        PluginsCommand::List { json } => {
            let PluginsBody { plugins } = client.get("/api/plugins")?;
            match Format::from(*json) {
                Format::Json => {
                    print_json(plugins.get());
                }
                Format::Text => {
                    let all: Vec<PluginFields> = serde_json::from_str(plugins.get())?;
                    view::print_plugins(&all);
                }
            }
        }
        PluginsCommand::Show { tool, json } => {
            let PluginBody { plugin } = client.get(&path_of(tool, ""))?;
            match Format::from(*json) {
                Format::Json => {
                    print_json(&json!(plugin.plugin).to_string());
                }
                Format::Text => view::print_plugin(&plugin),
            }
        }
        PluginsCommand::Propose { path, why } => propose(client, path, why)?,
        PluginsCommand::Rollback { tool, version } => {
            let body = json!({"version": version});
            let back: ChangedBody = client.post(&path_of(tool, "/rollback"), &body)?;
            view::print_rolled_back(&back.name, back.version.as_deref().unwrap_or_default());
        }
        PluginsCommand::Disable { tool } => switch(client, tool, "/disable", "Disabled")?,
        PluginsCommand::Enable { tool } => switch(client, tool, "/enable", "Enabled")?,
        PluginsCommand::Reload { json } => reload(client, terminal, Format::from(*json))?,
        PluginsCommand::New { .. }
        | PluginsCommand::Test { .. }
        | PluginsCommand::Servers { .. }
        | PluginsCommand::Accept { .. } => {
            let message = "this is done on the server's machine, or before a tool is proposed";
            return Err(CliError::usage(message).hint("leave --server out"));
        }
    }
    Ok(Exit::Done)
}

fn path_of(tool: &str, action: &str) -> String {
    format!("/api/plugins/{}{action}", path_part(bare(tool)))
}

fn propose(client: &ServerClient, path: &Path, why: &str) -> Result<(), CliError> {
    let (name, source) = plugin_at(path)?;
    let PluginSource::Module(code) = source else {
        let message = "a server is sent modules only, and this is a program";
        return Err(CliError::usage(message).hint("propose it on the server's machine"));
    };
    let body = json!({"name": name, "description": "", "code": code, "reasoning": why});
    let ProposedBody { proposal } = client.post("/api/tools/propose", &body)?;
    view::print_proposed(&proposal);
    Ok(())
}

fn switch(client: &ServerClient, tool: &str, action: &str, told: &str) -> Result<(), CliError> {
    let ChangedBody { name, changed, .. } = client.post(&path_of(tool, action), &json!({}))?;
    let told = if changed { told.to_owned() } else { format!("{told} already") };
    view::print_switched(&told, &name);
    Ok(())
}

fn reload(client: &ServerClient, terminal: Terminal, format: Format) -> Result<(), CliError> {
    let ReloadBody { reloaded, waiting, errors } = client.post("/api/tools/reload", &json!({}))?;
    let of = |state| {
        move |it: ServedFile| {
            let ServedFile { name, path, hash, error } = it;
            let detail = error.or_else(|| hash.map(|hash| crate::command::proposals::short(&hash)));
            FoundView { name, path, state, detail: detail.unwrap_or_default() }
        }
    };
    let waiting = waiting.into_iter().map(of("waiting"));
    let found: Vec<FoundView> = waiting.chain(errors.into_iter().map(of("broken"))).collect();
    match format {
        Format::Json => {
            print_json(&json!(found).to_string());
        }
        Format::Text => {
            if !found.is_empty() {
                view::print_found(&found);
            }
            terminal.note(&format!("the server has {reloaded} tools on offer"));
        }
    }
    Ok(())
}
