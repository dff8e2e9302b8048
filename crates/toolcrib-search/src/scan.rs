//! The scan: walking a tree by ignore rules, and searching its files.

pub(crate) mod file_search;
pub(crate) mod filter;
pub(crate) mod hits;
pub(crate) mod ignore_rules;
pub(crate) mod kept_text;
pub(crate) mod mixed_text;
pub(crate) mod open;
pub(crate) mod parallel_search;
pub(crate) mod stamp;
pub(crate) mod stop;
pub(crate) mod text;
pub(crate) mod walk;
