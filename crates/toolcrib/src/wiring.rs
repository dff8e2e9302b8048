//! Puts the parts together: settings, state folder, roots, rules, sandbox, tools, record.
//!
//! `Config` is what the settings and the environment say, before anything is opened. `Crib` is everything,
//! opened. `StateAccess` is what of it needs no workspace. `Diagnosis` opens each part on its own, for `toolcrib doctor`.

mod bus_tools;
mod capabilities;
mod catalogue;
mod config;
mod connection;
mod contract_names;
mod crib;
mod diagnosis;
mod file_area;
mod file_watch;
mod kept_stats;
mod late_dispatcher;
mod live_config;
mod live_plugins;
mod live_settings;
mod locations;
mod maintenance;
mod mounted_servers;
mod named_connections;
mod net;
mod options;
mod plugin_shelf;
mod plugins;
mod project_files;
mod quota;
mod record;
mod recovery;
mod reports;
mod roots;
mod rules;
mod rules_seen;
mod rules_trial;
mod sandbox;
mod saved_servers;
mod server_specs;
mod state_access;
mod steady_files;
mod toolchains;
mod toolset;
mod undo;
mod web;

pub use config::Config;
pub use connection::{NamedPlace, RepositoryOpener, connected_place, written_place};
pub(crate) use contract_names::name_in_contract;
pub use crib::{Crib, RulesInForce, call_at_terminal, session, user_at_terminal};
pub use diagnosis::Diagnosis;
pub use file_area::index_options;
pub use late_dispatcher::LateDispatcher;
pub use live_settings::{ApproverUnder, LiveParts, LiveSettings};
pub use locations::user_settings_file;
pub use maintenance::RecordMaintenance;
pub use mounted_servers::WhichServers;
pub use named_connections::check_connection;
pub use options::OpenOptions;
pub use plugin_shelf::saved_shelf;
pub use plugins::Plugins;
pub(crate) use reports::find_tool;
pub use reports::{LiveToolLimits, ToolReports};
pub(crate) use rules::{policy_for_another, project_rules_stamp};
pub use saved_servers::unmounted_servers;
pub use state_access::StateAccess;
pub use toolset::toolset;
