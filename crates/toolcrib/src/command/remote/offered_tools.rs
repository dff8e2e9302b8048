//! The tools that a server offers. Their declarations are this version's own, and the names and limits the server's.

use std::collections::HashMap;

use serde::Deserialize;
use toolcrib_core::{Limits, ToolName, Toolset};
use toolcrib_tools::catalogues;

use super::client::ServerClient;
use crate::error::CliError;
use crate::terminal::Terminal;

/// The catalogue whose tools the API has by their bare names.
const CONTRACT_CATALOGUE: &str = "forgekeeper";

#[derive(Deserialize)]
struct OfferedTools {
    names: Vec<String>,
    limits: Vec<OfferedLimits>,
}

#[derive(Deserialize)]
struct OfferedLimits {
    deadline_ms: u64,
    output_bytes: usize,
}

/// Returns the tools that a server offers.
pub(in crate::command) fn toolset(
    client: &ServerClient,
    terminal: Terminal,
) -> Result<Toolset, CliError> {
    let OfferedTools { names, limits } = client.get("/api/tools?toolset=all")?;
    let full_name = |name: &String| match name.split_once('/') {
        Some((catalogue, tool)) => ToolName::new(catalogue, tool),
        None => ToolName::new(CONTRACT_CATALOGUE, name),
    };
    let mut offered: HashMap<ToolName, OfferedLimits> =
        names.iter().map(full_name).zip(limits).collect();
    let mut toolset = Toolset::everything(catalogues());
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
