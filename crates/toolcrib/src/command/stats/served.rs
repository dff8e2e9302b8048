//! `toolcrib stats` with a server: the figures are there, and shown here.

use serde::Deserialize;
use serde_json::json;
use toolcrib_ledger::ToolStats;
use toolcrib_serve::{RebuiltStats, ReportKind};

use super::contract;
use super::named_tool::ReportForm;
use super::rebuilt;
use super::tables::StatsTables;
use super::windowed;
use crate::cli::{StatsArgs, StatsCommand};
use crate::command::remote::{ServerClient, path_part};
use crate::error::CliError;
use crate::exit::Exit;
use crate::terminal::{Terminal, print_json};

#[derive(Deserialize)]
struct StatsBody {
    tools: Vec<ToolStats>,
}

pub(super) fn run(
    client: &ServerClient,
    terminal: Terminal,
    args: &StatsArgs,
) -> Result<Exit, CliError> {
    if let Some(StatsCommand::Rebuild { json }) = &args.command {
        let figures: RebuiltStats = client.post("/api/stats/rebuild", &json!({}))?;
        return Ok(rebuilt::show(terminal, &figures, (*json).into()));
    }
    if let Some(window) = args.window {
        return windowed::show_served(client, terminal, window, args.json.into());
    }
    let StatsBody { tools } = client.get("/api/stats")?;
    let tables = StatsTables::new(terminal, tools);
    if let Some((kind, of)) = contract::wanted(args) {
        let path = match &of.tool {
            None => format!("/api/tools/{}", kind.as_str()),
            Some(wanted) => match tables.find(wanted) {
                Ok(name) => path_of(kind, name.as_str()),
                Err(err) => return contract::fail_in_json(err),
            },
        };
        let reply = client.done(client.get_for_reply(&path)?)?;
        print_json(&String::from_utf8_lossy(&reply.body));
        return Ok(Exit::Done);
    }
    if let Some(StatsCommand::Clear { what, tool, json }) = &args.command {
        let Some(kind) = ReportKind::parse(what) else {
            return Err(CliError::usage(format!("there are no figures called `{what}`")));
        };
        let form = if *json { ReportForm::Json } else { ReportForm::Text };
        let cleared = match tables.find(tool) {
            Ok(name) => {
                Ok(client.post(&format!("{}/clear", path_of(kind, name.as_str())), &json!({}))?)
            }
            Err(err) => Err(err),
        };
        return contract::show_cleared(terminal, kind, tool, cleared, form);
    }
    Ok(tables.print(args))
}

fn path_of(kind: ReportKind, tool: &str) -> String {
    let parts: Vec<String> = tool.split('/').map(path_part).collect();
    format!("/api/tools/{}/{}", kind.as_str(), parts.join("/"))
}
