//! What a caller's path means: a root, and a path below it.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use toolcrib_core::ToolError;
use toolcrib_core::path_names::{leaves_root, path_names};

use crate::files::errno::outside;
use crate::files::root::Root;

/// A path below a root.
pub(crate) struct RootedPath<'a> {
    pub(crate) root: &'a Root,
    /// Relative to the root; `.` for the root itself.
    pub(crate) below: PathBuf,
    /// The path as the caller wrote it.
    pub(crate) shown: &'a str,
}

impl<'a> RootedPath<'a> {
    /// Parses `shown`. Nothing is expanded or cleaned up: no `~`, no `$HOME`, no `%2e`.
    pub(crate) fn parse(roots: &'a [Root], shown: &'a str) -> Result<Self, ToolError> {
        let names = path_names(shown)?;
        let names: Vec<OsString> = names.into_iter().map(OsString::from_vec).collect();
        let place = |root: &'a Root, names: &[OsString]| {
            let below: PathBuf = names.iter().collect();
            // A path whose `..` leave the root is outside, whatever exists on the way.
            if leaves_root(names.iter().map(|name| name.as_bytes())) {
                return Err(outside(shown));
            }
            let below = if below.as_os_str().is_empty() { PathBuf::from(".") } else { below };
            Ok(Self { root, below, shown })
        };
        if !shown.starts_with('/') {
            return match roots.first() {
                Some(root) => place(root, &names),
                None => Err(outside(shown)),
            };
        }
        let best = roots
            .iter()
            .flat_map(|root| [(root, root.path()), (root, root.given())])
            // A root that was given with `..` in its path is not known by that path.
            .filter(|(_, prefix)| prefix.components().all(|it| it != Component::ParentDir))
            .filter(|(_, prefix)| starts_with(&names, prefix))
            .max_by_key(|(_, prefix)| prefix.components().count());
        match best {
            Some((root, prefix)) => place(root, &names[names_of(prefix).count()..]),
            None => Err(outside(shown)),
        }
    }

    /// Whether the caller wrote the path as a directory.
    pub(crate) fn is_written_as_directory(&self) -> bool {
        self.shown.ends_with('/') || self.shown.ends_with("/.") || self.below == Path::new(".")
    }
}

fn names_of(path: &Path) -> impl Iterator<Item = &std::ffi::OsStr> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        _ => None,
    })
}

/// Whether `names` begin with the names of `prefix`, name by name.
fn starts_with(names: &[OsString], prefix: &Path) -> bool {
    let prefix: Vec<_> = names_of(prefix).collect();
    names.len() >= prefix.len()
        && names.iter().zip(&prefix).all(|(a, b)| a.as_bytes() == b.as_bytes())
}
