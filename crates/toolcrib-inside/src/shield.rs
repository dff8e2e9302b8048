//! One mount over a path of the workspace that commands may not change.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One mount over a path below a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shield {
    /// The path below the root.
    pub path: PathBuf,
    /// Whether it is read-only, and not only held in its place.
    pub is_read_only: bool,
    /// Which file or folder it is: device and inode.
    pub is: (u64, u64),
}
