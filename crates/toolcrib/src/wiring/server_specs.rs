//! Which MCP servers are mounted: those of the settings, and those of the files that the settings import.

use std::path::Path;

use toolcrib_core::escape;
use toolcrib_plugins::PluginError;
use toolcrib_plugins::mcp::imported_servers::{ImportedServer, SortedServers, read_file};
use toolcrib_plugins::mcp::server_spec::{ServerSpec, ServerWay};
use toolcrib_tools::catalogues;

use crate::settings::{Settings, table};

/// The servers that are mounted, and what became of the others.
#[derive(Default)]
pub(super) struct ServerSpecs {
    pub(super) specs: Vec<ServerSpec>,
    pub(super) waiting: Vec<ImportedServer>,
    pub(super) warnings: Vec<String>,
}

/// Says which servers of a file are accepted.
pub(super) type SortServers<'a> =
    dyn Fn(&Path, Vec<ImportedServer>) -> Result<SortedServers, PluginError> + 'a;

/// Collects the servers. `sort` says which of a file's are accepted.
pub(super) fn server_specs(settings: &Settings, sort: &SortServers<'_>) -> ServerSpecs {
    let mut found = ServerSpecs::default();
    if !settings.get(table::PLUGINS_ENABLED) {
        return found;
    }
    found.specs = settings.get(table::MCP_SERVERS);
    for file in settings.get(table::MCP_IMPORT) {
        let path = Path::new(&file);
        if !path.is_absolute() {
            let shown = escape::line(&file);
            found.warnings.push(format!("`mcp.import` lists absolute paths, not `{shown}`"));
            continue;
        }
        let servers = read_file(path).unwrap_or_else(|err| {
            found.warnings.push(err.to_string());
            // Whatever is there later waits, like what is added to a file.
            Vec::new()
        });
        match sort(path, servers) {
            Ok(sorted) => found.add(sorted),
            Err(err) => found.warnings.push(err.to_string()),
        }
    }
    for spec in found.specs.extract_if(.., |spec| spec.way == ServerWay::Imported) {
        let name = &spec.name;
        // What waits was told already.
        if found.waiting.iter().any(|server| server.name() == *name) {
            continue;
        }
        found.warnings.push(format!(
            "`[mcp.{name}]` has neither `command` nor `url`, and no file of `mcp.import` has this server"
        ));
    }
    found
}

impl ServerSpecs {
    fn add(&mut self, sorted: SortedServers) {
        for server in sorted.accepted {
            let (name, file) = (server.name(), server.file.display().to_string());
            let left_out = |why: &str| format!("the server {name} of {file} is left out: {why}");
            match server.spec {
                Ok(spec) => {
                    if let Err(why) = self.add_one(spec) {
                        self.warnings.push(left_out(why));
                    }
                }
                Err(err) => self.warnings.push(left_out(&err.to_string())),
            }
        }
        for server in sorted.waiting {
            self.warnings.push(format!(
                "the server {} of {} is new or has changed, and waits: `toolcrib plugins accept {0}`",
                server.name(),
                server.file.display()
            ));
            self.waiting.push(server);
        }
    }

    /// Adds a server of a file, with what the settings say about it besides.
    fn add_one(&mut self, imported: ServerSpec) -> Result<(), &'static str> {
        if catalogues().iter().any(|catalogue| catalogue.name == imported.name) {
            return Err("a catalogue has that name");
        }
        match self.specs.iter_mut().find(|spec| spec.name == imported.name) {
            None => self.specs.push(imported),
            Some(spec) if spec.way == ServerWay::Imported => {
                spec.way = imported.way;
                spec.environment.extend(imported.environment);
            }
            Some(_) => return Err("another server has that name"),
        }
        Ok(())
    }
}
