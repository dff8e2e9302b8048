//! What the net fetches from servers of the test, which stand for the internet.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod addresses;
mod allowed_addresses;
mod bodies;
mod cache;
mod fetch_host;
mod politeness;
mod retries;
mod tls;
