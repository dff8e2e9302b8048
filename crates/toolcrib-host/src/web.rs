//! Services of the web that tools use: a search engine, and a language model. Both go through the net.

mod chat_model;
mod engine_replies;
mod search_engine;
mod service;

pub use chat_model::{ChatModel, ChatModelPlace};
pub use search_engine::{EngineKind, SearchEngine, SearchEnginePlace};
