//! The server of the Model Context Protocol (MCP): the same tools, decisions and record, for clients that speak it. It is
//! built on the official SDK, rmcp. Only this module uses the SDK, because its API changes often.

mod approval_form;
mod asked_call;
mod client_connection;
mod client_prompt;
mod completion;
mod handler;
mod http;
mod line_transport;
mod list_changes;
mod progress;
mod prompts;
mod resources;
mod server;
mod stdio;
mod tool_call;
mod tool_list;

pub use http::mcp_routes;
pub use server::{ApproverSource, ClientTrust, McpConfig, McpServer, TrustedAnswers};
pub use stdio::{StdioEnd, serve_stdio};
