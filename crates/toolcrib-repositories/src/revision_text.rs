//! A revision as people write it, before anybody is asked where it leads.

use toolcrib_core::{ErrorKind, ToolError};

/// The longest revision, in bytes.
const LONGEST_REVISION_BYTES: usize = 1000;

/// Fails if a text cannot be the revision of one commit.
pub(crate) fn check_revision(revision: &str) -> Result<(), ToolError> {
    let refuse = |why: &str, hint: &str| {
        let revision: String = revision.chars().take(100).collect();
        let message = format!("the revision `{}` {why}", revision.escape_debug());
        Err(ToolError::new(ErrorKind::BadArgs, message).hint(hint))
    };
    let names = "write a branch, a tag or a commit, such as `main`, `v1.2` or `HEAD~3`";
    if revision.is_empty() {
        return refuse("is empty", names);
    }
    if revision.len() > LONGEST_REVISION_BYTES {
        return refuse("is too long", names);
    }
    if revision.starts_with('-') {
        return refuse("begins with a dash, as no branch, tag or commit does", names);
    }
    if revision.contains(|c: char| c.is_control()) {
        return refuse("contains a control character", names);
    }
    if revision.contains("..") || revision.starts_with('^') {
        return refuse("means several commits, and one is needed", names);
    }
    Ok(())
}
