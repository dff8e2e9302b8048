//! Shields: mounts over paths of the workspace that commands may not change, or may not even read.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A mount over a path below a root.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shield {
    /// The path below the root, of any bytes.
    #[serde(with = "any_path")]
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

/// Sends a path as text, or as bytes if it is no text.
mod any_path {
    use std::ffi::OsString;
    use std::fmt;
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    use std::path::{Path, PathBuf};

    use serde::de::{Deserializer, Error, SeqAccess, Visitor};
    use serde::ser::{Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
        match path.to_str() {
            Some(text) => text.serialize(to),
            None => path.as_os_str().as_bytes().serialize(to),
        }
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<PathBuf, D::Error> {
        struct TextOrBytes;

        impl<'d> Visitor<'d> for TextOrBytes {
            type Value = PathBuf;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path as text or bytes")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<PathBuf, E> {
                Ok(PathBuf::from(text))
            }

            fn visit_seq<A: SeqAccess<'d>>(self, mut seq: A) -> Result<PathBuf, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(PathBuf::from(OsString::from_vec(bytes)))
            }
        }

        from.deserialize_any(TextOrBytes)
    }
}
