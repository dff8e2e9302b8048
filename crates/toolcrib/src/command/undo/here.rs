//! The workspace whose changes are undone, and the roots beside it.

use std::path::{Path, PathBuf};

use toolcrib_core::{Change, escape};
use toolcrib_host::root_path;

use crate::settings::table;
use crate::wiring::StateAccess;

/// The workspace that the command was started in, or that a server works in, and the roots beside it.
pub(super) struct Here {
    pub(super) roots: Vec<String>,
}

impl Here {
    pub(super) fn of(access: &StateAccess) -> Self {
        let mut roots: Vec<String> =
            access.directory().map(|path| path.display().to_string()).into_iter().collect();
        // Changes have the path that a root leads to.
        let resolved = |root: String| {
            let path = std::fs::canonicalize(&root).unwrap_or_else(|_| PathBuf::from(&root));
            path.display().to_string()
        };
        roots.extend(access.settings.get(table::ROOTS).into_iter().map(resolved));
        Self { roots }
    }

    /// Returns whether a change was made in this workspace, or in a root beside it. A workspace in a folder below is
    /// another one: whoever works in the folder above does not mean its changes.
    pub(super) fn holds(&self, change: &Change) -> bool {
        let of_change = root_path(&change.root);
        self.roots.iter().any(|root| Path::new(root) == of_change)
    }

    /// Returns a path as a person in this workspace reads it: below the workspace, or whole.
    pub(super) fn shown(&self, root: &str, path: &str) -> String {
        let whole = format!("{}/{path}", root.trim_end_matches('/'));
        let below = self.roots.first().and_then(|here| whole.strip_prefix(here.as_str()));
        let below = below.and_then(|below| below.strip_prefix('/')).map(str::to_owned);
        escape::line(&below.unwrap_or(whole)).into_owned()
    }
}
