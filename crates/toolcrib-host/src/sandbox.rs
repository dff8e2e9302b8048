//! Commands, each in a sandbox of its own: namespaces by bubblewrap, Landlock, seccomp, limits. If a mechanism cannot be
//! enforced, commands are refused.

mod changed_files;
mod commands;
mod config;
mod cover;
mod cover_cache;
mod egress;
mod end_notes;
mod etc_folder;
#[cfg(test)]
mod finished_fixture;
mod folder_stamp;
mod growth;
mod guard;
mod inside_program;
mod job;
mod launch;
mod mask;
mod mechanism;
mod network_link;
mod output;
mod output_store;
mod output_tee;
mod pipes;
mod probe;
mod program_search;
mod runner;
mod runs_later_notes;
mod sample;
mod self_test;
mod shell;
mod spawner;
mod state_folder;
mod stop_notes;
mod supervisor;
mod sweep;
mod view;
mod walk;
mod worker;
mod worker_start;
mod worker_supervisor;

pub use changed_files::changed_since;
pub use commands::SharedSandbox;
pub use config::{CommandLimits, Operator, Profile, SandboxRules};
pub(crate) use egress::is_host_name;
pub use egress::{BadHost, Egress, HostRule, Resolver};
pub use job::{TaskEnd, TaskOwner};
pub use output_store::{OutputStore, SavedCommand};
pub use output_tee::{OutputPiece, OutputTee, OutputTeeReader};
pub use probe::{Enforcement, SandboxFinding};
pub use runner::{Protection, Sandbox, TaskListener};
pub use sweep::{HeldItem, HeldKind, HeldStore};
pub use worker::WorkerSandbox;
