//! MCP servers on the shelf: which are mounted, and which of their tools are on offer.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::{Arc, Mutex, PoisonError};

use toolcrib_core::worker::Workers;
use toolcrib_core::{ErrorKind, LoadedTools, ToolError, escape};
use toolcrib_ledger::is_secret_name;
use toolcrib_plugins::mcp::pin_store::PinStore;
use toolcrib_plugins::mcp::server_catalogue::catalogue_of;
use toolcrib_plugins::mcp::server_connection::{ClientLoop, ConnectionTools, ServerConnection};
use toolcrib_plugins::mcp::server_spec::ServerSpec;
use toolcrib_plugins::plugin_store::PluginStore;
use toolcrib_plugins::secret_values::SecretValues;

use super::net::system_tls;
use super::options::OpenOptions;
use super::saved_servers::MountedPart;
use super::server_specs::{ServerSpecs, server_specs};
use super::state_access::StateAccess;
use crate::settings::Settings;

/// The MCP servers of this process.
pub(super) struct MountedServers {
    tools: ConnectionTools,
    /// Whether the process lives long enough to mount servers while it does other things.
    is_long_lived: bool,
    /// The connections. A server whose settings stay the same keeps its own.
    connections: Mutex<Vec<Arc<ServerConnection>>>,
}

impl MountedServers {
    /// Prepares to mount servers. Nothing is started yet.
    pub(super) fn new(
        access: &StateAccess,
        workers: Arc<dyn Workers>,
        options: &OpenOptions,
        environment: &BTreeMap<String, OsString>,
    ) -> Self {
        let store = PluginStore::new(access.state.folder());
        let text = |(name, value): (&String, &OsString)| {
            value.to_str().map(|value| (name.clone(), value.to_owned()))
        };
        let pins = PinStore::new(store, Arc::clone(&access.recorder), Arc::clone(&access.clock));
        let tools = ConnectionTools {
            workers,
            pins,
            event_loop: Arc::new(ClientLoop::default()),
            environment: Arc::new(environment.iter().filter_map(text).collect()),
            secrets: SecretValues::new(
                environment.iter().filter(|(name, _)| is_secret_name(name)).filter_map(text),
            ),
            tls: Arc::new(|| {
                system_tls().map_err(|err| ToolError::new(ErrorKind::Unavailable, err.to_string()))
            }),
        };
        Self { tools, is_long_lived: options.is_long_lived, connections: Mutex::default() }
    }

    /// Returns the tools of the servers in the settings as they were accepted, and a warning for each that is not on
    /// offer. Nobody waits for a server here: one that was never mounted is mounted in the background, if the process
    /// lives long enough, or by [`Self::mount`]. Others are not started before the first call.
    pub(super) fn load(&self, settings: &Settings) -> (LoadedTools, Vec<String>) {
        let ServerSpecs { specs, warnings, .. } = self.specs(settings);
        let mut loaded = MountedPart { warnings, ..MountedPart::default() };
        for connection in self.connections_for(&specs) {
            let spec = connection.spec();
            match self.tools.pins.pins(&spec.name) {
                Ok(Some(pins)) if pins.are_of(spec) => loaded.add(&pins, spec, Some(&connection)),
                Ok(_) => {
                    loaded.tools.catalogues.push(catalogue_of(&spec.name));
                    // A short process says so when it needs the server, and not whatever it does.
                    if self.is_long_lived {
                        if let Some(failed) = self.tools.pins.failed_starts().find(spec) {
                            let hint = failed.hint.as_deref();
                            loaded.warnings.push(not_on_offer(spec, &failed.message, hint));
                        }
                        connection.mount_in_background();
                    }
                }
                Err(err) => {
                    loaded.warnings.push(not_on_offer(spec, &err.message, err.hint.as_deref()));
                }
            }
        }
        (loaded.tools, loaded.warnings)
    }

    /// Mounts the servers that were never mounted, and waits for them. Returns a warning for each that cannot be.
    pub(super) fn mount(&self, settings: &Settings, which: &WhichServers<'_>) -> Vec<String> {
        let mut warnings = Vec::new();
        for connection in self.connections_for(&self.specs(settings).specs) {
            let spec = connection.spec();
            let is_mounted =
                || matches!(self.tools.pins.pins(&spec.name), Ok(Some(pins)) if pins.are_of(spec));
            let is_wanted = match which {
                WhichServers::Named(name) => spec.name == *name && !is_mounted(),
                WhichServers::New => !is_mounted(),
                WhichServers::All => {
                    // A person wants to know, and does not want to wait for a pause.
                    connection.forget_failures();
                    true
                }
            };
            if is_wanted && let Err(err) = connection.mount() {
                warnings.push(not_on_offer(spec, &err.message, err.hint.as_deref()));
            }
        }
        warnings
    }

    /// Returns the servers that are mounted, and those that wait.
    pub(super) fn specs(&self, settings: &Settings) -> ServerSpecs {
        server_specs(settings, &|file, servers| self.tools.pins.import(file, servers))
    }

    /// Returns the pins of all servers.
    pub(super) fn pins(&self) -> &PinStore {
        &self.tools.pins
    }

    /// Ends all servers.
    pub(super) fn close(&self) {
        self.tools.event_loop.close();
    }

    fn connections_for(&self, specs: &[ServerSpec]) -> Vec<Arc<ServerConnection>> {
        let mut held = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = |spec: &ServerSpec| {
            let known = held.iter().find(|known| known.spec() == spec).map(Arc::clone);
            known.unwrap_or_else(|| ServerConnection::new(spec.clone(), self.tools.clone()))
        };
        let connections: Vec<_> = specs.iter().map(connection).collect();
        held.clone_from(&connections);
        connections
    }
}

/// Which servers are mounted while somebody waits.
pub enum WhichServers<'a> {
    /// The one with this name, if it was never mounted.
    Named(&'a str),
    /// Those that were never mounted.
    New,
    /// All of them, to compare their tools with those that were accepted.
    All,
}

fn not_on_offer(spec: &ServerSpec, message: &str, hint: Option<&str>) -> String {
    let hint = hint.map_or_else(String::new, |hint| format!("; {}", escape::line(hint)));
    format!("no tool of {} is on offer: {}{hint}", spec.name, escape::line(message))
}
