//! What a person adds to the file of an MCP client.

use schemars::JsonSchema;
use serde::Serialize;

/// How a client is connected, as `toolcrib mcp install` does it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ClientSnippet {
    /// The name of the client on the command line.
    pub client: String,
    /// The name that people know.
    pub title: String,
    /// For which calls: `user` for the user's file, `project` for the file of the workspace.
    pub scope: &'static str,
    /// The command that writes the file.
    pub command: String,
    /// The file of the client.
    pub file: String,
    /// Exactly what the command prints with `--print`.
    pub text: String,
    /// What a person does in the client afterwards.
    pub afterwards: String,
    /// What a person should know about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warning: Option<String>,
}
