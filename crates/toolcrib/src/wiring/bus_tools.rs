//! The tools on the shelf whose runners listen behind a NATS server.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{LoadedTool, LoadedTools, ShelvedTool, ToolHandle, escape};
use toolcrib_nats::{BusTool, RunnerLine};
use toolcrib_tools::BUS;

use crate::settings::{Settings, read_trusted, table};

/// Reads the manifests that the settings name. Returns a warning for each that declares no tool.
pub(super) fn bus_tools(settings: &Settings, line: &Arc<RunnerLine>) -> (LoadedTools, Vec<String>) {
    let paths = settings.get(table::NATS_TOOLS);
    let (mut loaded, mut warnings) = (LoadedTools::default(), Vec::new());
    if paths.is_empty() {
        return (loaded, warnings);
    }
    loaded.catalogues.push(&BUS);
    for path in &paths {
        let read = match read_trusted(Path::new(path)) {
            Ok(Some(text)) => BusTool::read(&text, Arc::clone(line)).map_err(|err| err.message),
            Ok(None) => Err("there is no such file".to_owned()),
            Err(err) => Err(err.to_string()),
        };
        match read {
            Ok(tool) => {
                let tool = ToolHandle::Loaded(tool as Arc<dyn LoadedTool>);
                loaded.tools.push(ShelvedTool { catalogue: &BUS, tool });
            }
            Err(why) => {
                let path = escape::line(path);
                warnings.push(format!("the manifest `{path}` declares no tool: {why}"));
            }
        }
    }
    (loaded, warnings)
}
