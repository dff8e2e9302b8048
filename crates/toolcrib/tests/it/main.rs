//! The real binary on real files, from the outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![expect(clippy::format_collect, reason = "input is built once, and reads best so")]

mod always;
mod answer;
mod approvals;
mod attacks;
mod audit;
#[path = "../../../toolcrib-serve/tests/serve/authority.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod authority;
mod changed_call;
mod chosen_connection;
mod client_scenario;
mod command_end;
mod concurrency;
mod connect;
mod detours;
mod doctor;
mod examples;
mod files;
mod github_repository;
#[path = "../../../toolcrib-repositories/tests/fixture/github_server.rs"]
mod github_server;
mod guard;
mod host_question;
mod input;
mod keys;
mod kill;
mod mcp;
mod mcp_agents;
mod mcp_client;
mod mcp_conformance;
mod mcp_http;
mod mcp_inspector;
mod mcp_install;
mod mcp_load;
mod mcp_mount;
mod mcp_mount_http;
mod mcp_mount_real;
mod mcp_python;
mod mcp_tasks;
mod mcp_typescript;
mod memory;
mod nats;
mod nats_bus;
mod node_clients;
mod oauth;
mod operations;
mod past;
mod place;
mod plugin_attacks;
mod plugin_load;
mod plugin_programs;
mod plugins;
mod policy;
mod privilege;
mod prompt;
mod race;
mod readme;
mod record;
mod record_damage;
mod record_recovery;
mod remote;
mod remote_errors;
mod remote_plugins;
mod remote_tls;
mod reply;
mod retention;
mod running_server;
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod scratch;
mod scripted_model;
mod search;
mod searx;
mod server;
mod server_approvals;
mod server_events;
mod server_examples;
mod server_life;
mod server_load;
mod server_manage;
mod server_observation;
mod server_overview;
mod server_page;
mod server_schema;
mod server_settings;
mod server_settings_files;
mod server_spans;
mod server_tokens;
mod settings;
mod stats;
mod terminal;
mod tour;
mod undo;
mod web_search;
