//! Shields: mounts over paths of the workspace that commands may not change.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A mount over a path below a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shield {
    /// The path below the root.
    pub path: PathBuf,
    /// Whether the mount is read-only. If not, it only holds the folder in its place.
    pub is_read_only: bool,
    /// The device and inode of the file or folder.
    pub is: (u64, u64),
}
