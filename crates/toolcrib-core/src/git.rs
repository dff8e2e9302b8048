//! What a git repository says about itself: its settings, and the repositories within it. Both are parsed from bytes
//! that somebody else has read, so that no `git` has to run before it is known what git would run.

mod config;
mod hook;
mod index;
mod program_key;
mod rebase;

pub use config::{GitConfigError, GitSetting, parse_config, remove_settings};
pub use hook::is_hook;
pub use index::{GitIndexError, HashSize, gitlinks};
pub use program_key::{runs_program, runs_when_reading};
pub use rebase::{REBASE_PLAN, STRATEGY_FILES, names_strategy, program_lines};
