//! The page in a real browser, in front of a real server.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod browser;
mod bundle;
mod scenarios;

#[path = "../it/node_clients.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod node_clients;
#[path = "../it/place.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod place;
#[path = "../it/running_server.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod running_server;
#[path = "../it/scratch.rs"]
#[expect(dead_code, unused_imports, reason = "shared with other tests, which use all of it")]
mod scratch;
