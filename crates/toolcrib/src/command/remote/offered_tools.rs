//! The tools that a server offers. Their declarations are this version's own, and the names and limits the server's.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use toolcrib_core::{Limits, LoadedTools, Shelf, ShelvedTool, ToolHandle, ToolName, Toolset};
use toolcrib_plugins::name_form::check_form;
use toolcrib_tools::{PLUGINS, catalogues};

use super::client::ServerClient;
use super::served_tool::{ServedDeclaration, ServedTool};
use crate::error::{CliError, CliErrorKind};
use crate::terminal::Terminal;

/// The catalogue whose tools the API has by their bare names.
const CONTRACT_CATALOGUE: &str = "forgekeeper";

#[derive(Deserialize)]
struct OfferedTools {
    names: Vec<String>,
    #[serde(default)]
    defs: Vec<ServedDeclaration>,
    limits: Vec<OfferedLimits>,
}

#[derive(Clone, Copy, Deserialize)]
struct OfferedLimits {
    deadline_ms: u64,
    output_bytes: usize,
}

/// Returns the tools that a server offers. Those that this program has not are declared as the server does.
pub(in crate::command) fn toolset(
    client: &ServerClient,
    terminal: Terminal,
) -> Result<Toolset, CliError> {
    let OfferedTools { names, defs, limits } = client.get("/api/tools?toolset=all")?;
    let compiled = Shelf::from(catalogues());
    // A bare name is one of the contract's own catalogue, or of the tools from other authors.
    let full_name = |name: &String| {
        if let Some((catalogue, tool)) = name.split_once('/') {
            return ToolName::new(catalogue, tool);
        }
        let own = ToolName::new(CONTRACT_CATALOGUE, name);
        if compiled.has(&own) { own } else { ToolName::new(PLUGINS.name, name) }
    };
    let mut defs = defs.into_iter();
    let mut offered: HashMap<ToolName, OfferedLimits> = HashMap::new();
    let mut tools = Vec::new();
    for (name, limits) in names.iter().map(full_name).zip(limits) {
        let declared = defs.next();
        // A name of another form is told as unknown.
        if name.catalogue() == Some(PLUGINS.name)
            && check_form(name.tool()).is_ok()
            && let Some(declared) = declared
        {
            let OfferedLimits { deadline_ms, output_bytes } = limits;
            let bounds = Limits { deadline_ms, output_bytes };
            let tool = ToolHandle::Loaded(Arc::new(ServedTool::new(name.tool(), declared, bounds)));
            tools.push(ShelvedTool { catalogue: &PLUGINS, tool });
        }
        offered.insert(name, limits);
    }
    let shelf = compiled.with(LoadedTools { catalogues: Vec::new(), tools }).map_err(|name| {
        CliError::new(CliErrorKind::Server, format!("the server has two tools `{name}`"))
    })?;
    let mut toolset = Toolset::everything(shelf);
    let unknown = std::cell::RefCell::new(std::mem::take(&mut offered));
    toolset.adjust(|offer| match unknown.borrow_mut().remove(offer.full_name()) {
        Some(OfferedLimits { deadline_ms, output_bytes }) => {
            offer.limits = Limits { deadline_ms, output_bytes };
            true
        }
        None => false,
    });
    let mut unknown: Vec<String> =
        unknown.into_inner().into_keys().map(|it| it.to_string()).collect();
    unknown.sort_unstable();
    if !unknown.is_empty() {
        terminal.warn(&format!(
            "the server also offers {}, which this version does not know",
            unknown.join(", ")
        ));
    }
    Ok(toolset)
}

/// Returns the path at which the server executes a tool.
pub(in crate::command) fn execute_path(tool: &ToolName) -> String {
    let parts: Vec<String> = tool.as_str().split('/').map(super::client::path_part).collect();
    format!("/api/tools/execute/{}", parts.join("/"))
}
