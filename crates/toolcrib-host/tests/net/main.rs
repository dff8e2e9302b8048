//! What the net fetches from servers of the test, which stand for the internet.

mod bodies;
mod cache;
mod fetch_host;
mod politeness;
mod reach;
mod retries;
