//! Mounted MCP servers, as JSON tells them: over HTTP, and with `--json` at the terminal.

use schemars::JsonSchema;
use serde::Serialize;
use toolcrib_plugins::mcp::imported_servers::ImportedServer;
use toolcrib_plugins::mcp::pin_store::ServerPins;
use toolcrib_plugins::mcp::server_spec::ServerSpec;

/// A mounted MCP server.
#[derive(Serialize, JsonSchema)]
pub struct ServerFields {
    name: String,
    /// The command or the address, as the settings have it.
    command: String,
    /// The tier of its tools.
    tier: Option<u8>,
    /// Whether its tools are known. A server that was never reached is not mounted.
    mounted: bool,
    /// The tools on offer, by their names on the wire.
    tools: Vec<String>,
    /// The tools that are new or have changed. They are not on offer until somebody accepts them.
    waiting: Vec<WaitingTool>,
    /// The hash of all that waits, which an acceptance is bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_hash: Option<String>,
    /// Why it could not be started or reached last, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// What a file of `mcp.import` says about the server, if nobody has accepted that yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<WaitingImport>,
}

/// A tool of a server that is new or has changed.
#[derive(Serialize, JsonSchema)]
struct WaitingTool {
    name: String,
    /// Whether no definition of it was accepted before.
    new: bool,
    /// The hash of its definition.
    hash: String,
    /// What differs from the definition that was accepted, as lines.
    difference: String,
}

/// A server of an imported file that is new or has changed.
#[derive(Serialize, JsonSchema)]
struct WaitingImport {
    file: String,
    /// What the file says about it.
    written: String,
}

impl ServerFields {
    /// Returns what is told of a server of the settings, and of its tools if it is mounted.
    pub fn of(spec: &ServerSpec, pins: Option<&ServerPins>, problem: Option<String>) -> Self {
        let tools = pins.map(|pins| pins.on_offer().map(|it| it.name.clone()).collect());
        let waiting = pins.into_iter().flat_map(|pins| pins.waiting.values()).map(|it| {
            let accepted = pins.and_then(|pins| pins.accepted.get(&it.name));
            WaitingTool {
                name: it.name.clone(),
                new: accepted.is_none(),
                hash: it.hash(),
                difference: it.difference(accepted),
            }
        });
        Self {
            name: spec.name.clone(),
            command: spec.way.written(),
            tier: Some(spec.tier.number()),
            mounted: pins.is_some(),
            tools: tools.unwrap_or_default(),
            waiting: waiting.collect(),
            waiting_hash: pins.and_then(ServerPins::waiting_hash),
            problem,
            import: None,
        }
    }

    /// Returns whether something of it waits for a person.
    pub(crate) fn waits(&self) -> bool {
        self.waiting_hash.is_some()
    }

    /// Returns what is told of a server of an imported file that waits itself.
    pub fn of_import(import: &ImportedServer) -> Self {
        let spec = import.spec.as_ref();
        Self {
            name: import.name(),
            command: spec.map(|spec| spec.way.written()).unwrap_or_default(),
            tier: spec.ok().map(|spec| spec.tier.number()),
            mounted: false,
            tools: Vec::new(),
            waiting: Vec::new(),
            waiting_hash: Some(import.hash()),
            problem: spec.err().map(ToString::to_string),
            import: Some(WaitingImport {
                file: import.file.display().to_string(),
                written: import.written(),
            }),
        }
    }
}
