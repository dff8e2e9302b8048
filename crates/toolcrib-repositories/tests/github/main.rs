//! A repository on GitHub: what it costs, what is sent where, and what goes wrong, against a server that speaks the
//! documented API.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod changes;
mod failures;
mod github_net;
mod github_server;
mod limits;
mod pull_requests;
mod request_counts;
#[path = "../behaviours/sample.rs"]
mod sample;
mod secrets;
mod served;
