//! The engine in this process: everything that `Crib::open` puts together, on real files, real rules, a real
//! record and a real journal. No process is started, so no command runs.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod always;
mod approvals;
mod ask_user;
mod attacks;
mod callers;
mod contracts;
mod denied_paths;
mod detours;
mod detours_words;
mod edit_grants;
mod files;
mod git_settings;
mod granted_places;
mod granted_scripts;
mod guard;
mod input;
mod limits;
mod memory;
mod net;
mod opened;
mod ordinary;
#[path = "../it/past.rs"]
mod past;
mod pins;
#[path = "../it/place.rs"]
mod place;
mod policy;
mod precedence;
#[path = "../it/privilege.rs"]
#[expect(dead_code, reason = "shared with other tests, which use all of it")]
mod privilege;
mod processes;
mod record;
#[path = "../it/reply.rs"]
mod reply;
mod rule_keys;
mod runs_later;
mod search;
mod settings;
mod stats;
mod subagents;
mod test_host;
mod undo;
mod web;
mod write_order;
