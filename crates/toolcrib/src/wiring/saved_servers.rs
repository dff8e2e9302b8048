//! The tools of MCP servers as they were accepted, which is all that a process needs to list them.

use std::path::Path;
use std::sync::Arc;

use toolcrib_core::{LoadedTool, LoadedTools, ShelvedTool, ToolHandle};
use toolcrib_plugins::mcp::imported_servers::sorted_in;
use toolcrib_plugins::mcp::mounted_tool::MountedTool;
use toolcrib_plugins::mcp::pin_store::{ServerPins, pins_in};
use toolcrib_plugins::mcp::server_catalogue::catalogue_of;
use toolcrib_plugins::mcp::server_connection::ServerConnection;
use toolcrib_plugins::mcp::server_spec::ServerSpec;
use toolcrib_plugins::plugin_store::PluginStore;

use super::server_specs::server_specs;
use crate::settings::Settings;

/// Returns the names of the servers in the settings that were never mounted, for processes that only list tools.
pub fn unmounted_servers(settings: &Settings, state: &Path) -> Vec<String> {
    let store = PluginStore::new(state);
    let is_mounted = |spec: &ServerSpec| matches!(pins_in(&store, &spec.name), Ok(Some(pins)) if pins.are_of(spec));
    let specs = saved_specs(settings, &store).into_iter();
    specs.filter(|spec| !is_mounted(spec)).map(|spec| spec.name).collect()
}

/// Returns the tools of the servers in the settings as they were accepted, for processes that only list them.
pub(super) fn saved_tools(settings: &Settings, state: &Path) -> LoadedTools {
    let mut loaded = MountedPart::default();
    let store = PluginStore::new(state);
    for spec in saved_specs(settings, &store) {
        if let Ok(Some(pins)) = pins_in(&store, &spec.name)
            && pins.are_of(&spec)
        {
            loaded.add(&pins, &spec, None);
        } else {
            loaded.tools.catalogues.push(catalogue_of(&spec.name));
        }
    }
    loaded.tools
}

/// Returns the servers of the settings as they were accepted.
fn saved_specs(settings: &Settings, store: &PluginStore) -> Vec<ServerSpec> {
    server_specs(settings, &|_, servers| Ok(sorted_in(store, servers))).specs
}

/// The tools of some servers, and a warning for each that is not on offer.
#[derive(Default)]
pub(super) struct MountedPart {
    pub(super) tools: LoadedTools,
    pub(super) warnings: Vec<String>,
}

impl MountedPart {
    /// Adds the tools of a server.
    pub(super) fn add(
        &mut self,
        pins: &ServerPins,
        spec: &ServerSpec,
        connection: Option<&Arc<ServerConnection>>,
    ) {
        let catalogue = catalogue_of(&spec.name);
        let (tools, warnings) = MountedTool::all(pins, spec, connection);
        self.tools.catalogues.push(catalogue);
        self.tools.tools.extend(tools.into_iter().map(|tool| ShelvedTool {
            catalogue,
            tool: ToolHandle::Loaded(tool as Arc<dyn LoadedTool>),
        }));
        self.warnings.extend(warnings);
    }
}
