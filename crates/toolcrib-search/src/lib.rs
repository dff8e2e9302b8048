//! Grep and glob. Answers are those of a full scan by ripgrep's rules, index or not: the index only
//! says which files need not be looked at.

mod engine;
mod filter;
mod gather;
mod hits;
mod look;
mod paths;
mod pattern;
mod rules;
mod walk;

pub use engine::Engine;
