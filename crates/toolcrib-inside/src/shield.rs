//! Shields: mounts over paths of the workspace that commands may not change, or may not even read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A mount over a path below a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shield {
    /// The path below the root.
    pub path: PathBuf,
    /// What the mount prevents.
    pub kind: ShieldKind,
    /// The device and inode of the file or folder that is shielded.
    pub is: (u64, u64),
}

/// What a shield prevents, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ShieldKind {
    /// The folder can be changed, but not moved or replaced.
    InPlace,
    /// The file or folder can be neither changed nor moved.
    ReadOnly,
    /// Something empty that nobody may open is in the place of the file or folder.
    Masked,
}
