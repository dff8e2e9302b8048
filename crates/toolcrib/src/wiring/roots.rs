//! Opens roots, and refuses directories that must not be one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::Clock;
use toolcrib_host::{FileRules, Root, UndoStore, Workspace};

use crate::error::{CliError, CliErrorKind};
use crate::settings::Settings;
use crate::settings::{BroadRoot, table};

/// Directories that hold more than one project.
const BROAD_DIRECTORIES: [&str; 13] = [
    "/", "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/proc", "/root", "/run", "/sys",
    "/usr", "/var",
];

/// Opens workspaces, all under the same rules.
pub(super) struct RootOpener<'a> {
    pub(super) settings: &'a Settings,
    pub(super) undo: &'a UndoStore,
    pub(super) clock: &'a Arc<dyn Clock>,
    /// The home directory, which a root may not contain.
    pub(super) home: Option<PathBuf>,
    /// Our own folders, which no call may reach.
    pub(super) hidden: Vec<PathBuf>,
}

impl RootOpener<'_> {
    /// Opens the workspace at `root`, with the roots that the settings name beside it.
    pub(super) fn open(&self, root: Root) -> Result<Arc<Workspace>, CliError> {
        self.check(&root)?;
        let mut roots = vec![root];
        for path in self.settings.get(table::ROOTS) {
            if !Path::new(&path).is_absolute() {
                let message = format!("`roots`: `{path}` is not an absolute path");
                return Err(CliError::settings(message));
            }
            let root = Root::open(Path::new(&path))?;
            self.check(&root)?;
            roots.push(root);
        }
        Ok(Arc::new(self.workspace(roots)))
    }

    /// Returns a workspace of these roots, which are not checked.
    pub(super) fn workspace(&self, roots: Vec<Root>) -> Workspace {
        let rules = FileRules {
            hardlinks: self.settings.get(table::FILES_HARDLINKS),
            protected: self.settings.get(table::FILES_PROTECTED),
            undo_bytes: self.settings.get(table::UNDO_MAX_BYTES),
        };
        let (undo, clock) = (self.undo.clone(), Arc::clone(self.clock));
        Workspace::new(roots, rules, &self.hidden, undo, clock)
    }

    /// Refuses a root that is broader than one project, or that overlaps our own folders.
    fn check(&self, root: &Root) -> Result<(), CliError> {
        if self.settings.get(table::FILES_BROAD_ROOT) == BroadRoot::Allow {
            return Ok(());
        }
        let path = root.path();
        let shown = path.display();
        let refuse = |message: String| CliError::new(CliErrorKind::Workspace, message);
        let home = self.home.as_deref().and_then(|home| std::fs::canonicalize(home).ok());
        let holds_home = home.is_some_and(|home| home.starts_with(path));
        if holds_home || BROAD_DIRECTORIES.iter().any(|broad| path == Path::new(broad)) {
            let message = format!(
                "`{shown}` cannot be the workspace: tools could reach files outside your project"
            );
            return Err(refuse(message)
                .hint("use a project folder or `-C DIR`, or set `files.broad_root=allow`"));
        }
        for own in &self.hidden {
            if own.starts_with(path) || path.starts_with(own) {
                let message = format!(
                    "`{shown}` cannot be a root: it overlaps Toolcrib's own folder `{}`, and no tool may \
                     reach the record or the settings",
                    own.display()
                );
                return Err(refuse(message)
                    .hint("choose another root, or set TOOLCRIB_STATE to another folder"));
            }
        }
        Ok(())
    }
}
