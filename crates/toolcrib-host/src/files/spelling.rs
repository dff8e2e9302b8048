//! Paths as text: any name that a file can have, written and parsed back.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use toolcrib_core::escape::{name, unname};

use crate::files::root::Root;

/// Spells a path below a root so that any name in it can be kept as text.
pub(crate) fn spelt(below: &Path) -> String {
    let names: Vec<_> = below
        .components()
        .filter(|component| matches!(component, Component::Normal(_)))
        .map(|component| name(component.as_os_str().as_encoded_bytes()).into_owned())
        .collect();
    names.join("/")
}

/// Spells the path of a root.
pub(crate) fn spelt_root(root: &Root) -> String {
    format!("/{}", spelt(root.path()))
}

/// Parses a path that [`spelt`] wrote.
pub(crate) fn unspelt(path: &str) -> PathBuf {
    path.split('/').map(|name| OsString::from_vec(unname(name).into_owned())).collect()
}

/// Parses the path of a root that was spelt for a change.
pub fn root_path(root: &str) -> PathBuf {
    Path::new("/").join(unspelt(root.trim_start_matches('/')))
}
