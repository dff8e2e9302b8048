//! What the command line asks for, before anything is opened.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_core::net::Net;

use crate::settings::FlagValue;

/// What the operator asks for on the command line.
#[derive(Default)]
pub struct OpenOptions {
    /// The workspace; the current directory if absent.
    pub workspace: Option<PathBuf>,
    /// The state folder; if absent, the one that the environment names.
    pub state: Option<PathBuf>,
    /// The environment variables, such as `HOME`; those of this process if absent.
    pub environment: Option<BTreeMap<String, OsString>>,
    /// The settings that flags set.
    pub flags: Vec<FlagValue>,
    /// The settings that `-c` sets, as `KEY=VALUE`.
    pub assignments: Vec<String>,
    /// The program that runs modules; this one if absent.
    pub worker_program: Option<PathBuf>,
    /// The net; the real one if absent.
    pub net: Option<Arc<dyn Net>>,
    /// Whether the process answers many calls, so that an index is worth having.
    pub is_long_lived: bool,
}
