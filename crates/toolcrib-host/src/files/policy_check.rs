//! What policy decided about paths, asked again about the file that was opened. A name can change its meaning
//! between the decision and the opening; a handle cannot.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use toolcrib_core::policy::{DeniedPaths, PathAccess};
use toolcrib_core::{ErrorKind, ToolError};

use crate::files::errno::outside;
use crate::files::root::{Root, real_path};
use crate::files::spelling::{spelt, spelt_root};
use crate::files::workspace::CallFiles;

impl CallFiles {
    /// Fails if policy denies an open file or directory, or decided about another one.
    pub(crate) fn check_opened(
        &self,
        root: &Root,
        file: &OwnedFd,
        shown: &str,
        access: PathAccess,
    ) -> Result<(), ToolError> {
        if self.denied.get().is_none() && self.decided.get().is_none() {
            return Ok(());
        }
        let path = real_path(file.as_fd()).ok_or_else(|| outside(shown))?;
        self.check_denied(&path, shown, access)?;
        self.check_decided(root, path.strip_prefix(root.path()).unwrap_or(&path), shown)
    }

    /// Fails if policy denies the file at `path`, an absolute path without links.
    pub(crate) fn check_denied(
        &self,
        path: &Path,
        shown: &str,
        access: PathAccess,
    ) -> Result<(), ToolError> {
        let Some(rule) = self.denied.get().and_then(|denied| denied.rule(path, access)) else {
            return Ok(());
        };
        let message = format!("policy denies `{shown}`: rule {rule}");
        Err(ToolError::new(ErrorKind::Refused, message)
            .hint("a rule forbids this; use another file, or ask the operator to change the rule")
            .at(shown)
            .with("rule", rule))
    }

    /// Fails if a path now leads to another file than when the call was decided on. `below` is where it leads.
    pub(crate) fn check_decided(
        &self,
        root: &Root,
        below: &Path,
        shown: &str,
    ) -> Result<(), ToolError> {
        let Some(decided) = self.decided.get().and_then(|decided| decided.get(shown)) else {
            return Ok(());
        };
        if *decided == absolute(root, below) {
            return Ok(());
        }
        let message = format!("`{shown}` no longer leads to the file that Toolcrib decided about");
        Err(ToolError::new(ErrorKind::Changed, message)
            .hint(
                "another program is changing folders in this path; repeat the call when it is done",
            )
            .at(shown)
            .with("reason", "changed_since_decision"))
    }

    /// Returns the denied paths of this call, if it has any.
    pub(crate) fn denied_paths(&self) -> Option<&DeniedPaths> {
        self.denied.get()
    }
}

/// Returns the absolute path of what is at `below` under a root, as people and rules write it.
pub(crate) fn absolute(root: &Root, below: &Path) -> String {
    let (root, below) = (spelt_root(root), spelt(below));
    if below.is_empty() { root } else { format!("{}/{below}", root.trim_end_matches('/')) }
}
