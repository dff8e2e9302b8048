//! The server over real sockets. Requests are bytes, because a client library would repair what must be refused. The
//! numbers such as H-004 are those of the list of attacks.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod access_tokens;
mod authority;
mod bodies;
mod client;
mod connections;
mod identities;
mod oauth_rig;
mod page_files;
mod page_login;
mod page_requests;
mod page_rig;
mod published_keys;
mod requests;
mod rig;
mod routes;
mod set_clock;
mod sockets;
mod stopping;
mod tls;
