//! Tools from other authors: proposed, reviewed, loaded while Toolcrib runs, and confined.

pub mod activation;
pub mod examination;
pub mod host_uses;
mod inner_uses;
pub mod lifecycle;
#[cfg(test)]
mod lifecycle_fixture;
mod line_pipe;
mod live_worker;
mod module_clock;
mod module_ctx;
mod module_engine;
mod module_error;
mod module_failure;
pub mod module_tool;
pub mod module_worker;
pub mod name_check;
pub mod name_form;
pub mod permissions;
pub mod plugin_declaration;
pub mod plugin_error;
pub mod plugin_source;
pub mod plugin_store;
mod pool_bell;
mod private_file;
pub mod proposal_store;
pub mod propose;
pub mod propose_tool;
pub mod reload;
pub mod review;
pub mod schema_check;
pub mod tool_proposal;
pub mod tool_state;
mod tools_folder;
pub mod version_approval;
pub mod version_hash;
pub mod version_store;
mod worker_line;
pub mod worker_pool;

pub use plugin_error::{PluginError, PluginErrorKind};
