//! MCP servers of others, mounted as tools: the server runs as a worker in the sandbox, and each of its tools is a tool
//! like any other.

mod bounded_body;
mod client_loop;
mod client_side;
pub mod definition;
pub mod failed_starts;
mod http_client;
pub mod imported_servers;
mod live_server;
pub mod mounted_tool;
pub mod pin_store;
mod pipe_transport;
pub mod server_catalogue;
pub mod server_connection;
pub mod server_spec;
pub mod server_text;
