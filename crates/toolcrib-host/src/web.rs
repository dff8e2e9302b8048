//! Services of the web that the operator has chosen: the search engine, and how any of them is asked. All go through
//! the net.

mod engine_replies;
mod search_engine;
mod service;

pub use search_engine::{EngineKind, SearchEngine, SearchEnginePlace};
pub use service::{ServiceWords, ask as ask_service, host_of as host_of_service};
