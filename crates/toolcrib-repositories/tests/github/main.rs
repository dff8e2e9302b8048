//! A repository on GitHub: what it costs, what is sent where, and what goes wrong, against a server that speaks the
//! documented API.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod changes;
mod failures;
#[path = "../fixture/github_net.rs"]
mod github_net;
#[path = "../fixture/github_server.rs"]
mod github_server;
mod limits;
mod pull_requests;
mod request_counts;
#[path = "../fixture/sample.rs"]
mod sample;
mod secrets;
mod served;
