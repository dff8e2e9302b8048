//! Tools from other authors: proposed, reviewed, loaded while Toolcrib runs, and confined.

pub mod permissions;
pub mod plugin_declaration;
pub mod plugin_error;
