//! MCP servers in the settings: `[mcp.NAME]` is the server NAME, unless `mcp.NAME` is a setting.

use toml::{Table, Value};
use toolcrib_plugins::PluginError;
use toolcrib_plugins::mcp::server_spec::ServerSpec;
use toolcrib_tools::catalogues;

use super::error::{SettingsError, SettingsErrorKind};

/// The setting that holds all servers.
pub(super) const SERVERS: &str = "mcp.servers";

/// The table that servers stand in.
const SERVERS_PREFIX: &str = "mcp.";

/// Returns the name of the server whose table has this name in a file.
pub(super) fn server_name(name: &str) -> Option<&str> {
    name.strip_prefix(SERVERS_PREFIX).filter(|server| !server.contains('.'))
}

/// Fails unless every server can be mounted.
pub(super) fn check_servers(table: &Table) -> Result<(), SettingsError> {
    let mut errors = Vec::new();
    for (name, server) in table {
        if let Err(err) = spec(name, server) {
            let mut error = SettingsError::new(SettingsErrorKind::Value, err.message);
            error.hint = err.hint;
            errors.push(error.at(&format!("`[mcp.{name}]`")));
        } else if catalogues().iter().any(|catalogue| catalogue.name == name) {
            let message = format!("`{name}` is a catalogue already");
            let error = SettingsError::new(SettingsErrorKind::Value, message);
            errors.push(error.hint("give the server another name"));
        }
    }
    SettingsError::all(errors)
}

/// Returns the servers of a table that was checked.
pub(super) fn server_list(value: &Value) -> Vec<ServerSpec> {
    let servers = value.as_table().into_iter().flatten();
    let mut servers: Vec<ServerSpec> =
        servers.filter_map(|(name, server)| spec(name, server).ok()).collect();
    servers.sort_by(|one, other| one.name.cmp(&other.name));
    servers
}

/// Adds servers to those of another file. One that both have is the later one's.
pub(super) fn merged(held: &Value, mut added: Value) -> Value {
    if let (Some(held), Value::Table(added)) = (held.as_table(), &mut added) {
        for (name, server) in held {
            added.entry(name.clone()).or_insert_with(|| server.clone());
        }
    }
    added
}

fn spec(name: &str, server: &Value) -> Result<ServerSpec, PluginError> {
    ServerSpec::of_table(name, &serde_json::to_value(server).unwrap_or_default())
}
