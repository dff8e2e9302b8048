//! Grep and glob. Answers are those of a full scan by ripgrep's rules, index or not: the index only
//! says which files need not be looked at.

mod crew;
mod engine;
mod file;
mod filter;
mod gather;
mod gram;
mod hits;
mod index;
mod keep;
mod look;
mod pack;
mod paths;
mod pattern;
mod plan;
mod rules;
mod segment;
mod status;
mod upkeep;
mod walk;
mod watch;

pub use engine::Engine;
pub use keep::{Kept, folder_of, forget, is_off, kept, switch};
pub use status::{Note, Phase, Status, notes};
pub use upkeep::Ceiling;
