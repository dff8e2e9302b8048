//! The server of the Model Context Protocol (MCP): the same tools, decisions and record, for clients that speak it. It is
//! built on the official SDK, rmcp. Only this module uses the SDK, because its API changes often.

#![expect(
    deprecated,
    reason = "clients are served whose protocols have log messages, questions to models and folders"
)]

mod approval_form;
mod asked_call;
mod call_client;
mod call_gate;
mod call_state;
mod client_connection;
mod client_pipes;
mod client_prompt;
mod client_question;
mod client_request;
mod completion;
mod handler;
mod http;
mod input_watch;
mod line_input;
mod line_output;
mod line_transport;
mod list_changes;
mod message_line;
mod offered_tool;
mod progress;
mod prompts;
mod reader_thread;
mod resource_updates;
mod resources;
mod running_task;
mod server;
mod server_slot;
mod stdio;
mod subscribed_resources;
mod tasks;
mod tool_call;
mod tool_list;
mod tool_search;

pub use client_connection::PipedClient;
pub use http::mcp_routes;
pub use server::{ApproverSource, ClientTrust, McpConfig, McpServer, ToolListing, TrustedAnswers};
pub use stdio::{StdioEnd, serve_stdio};
