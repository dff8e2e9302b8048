//! The settings and rules files of a project. If they have errors, what they said before holds.

use toolcrib_host::Root;

use super::rules::project_rules;
use crate::error::CliError;
use crate::settings::{ProjectTexts, project_settings};

/// What holds if only the project's files have errors.
pub(super) const OLD_PROJECT: &str =
    "the project's files cannot be used, what they said before holds";

/// Reads the project's files.
pub(super) fn project_texts(root: &Root) -> Result<ProjectTexts, CliError> {
    Ok(ProjectTexts { settings: project_settings(root)?, rules: project_rules(root)? })
}

/// Says what is wrong with the project's files, if something is.
pub(super) fn project_warning(errors: &[String]) -> Option<String> {
    (!errors.is_empty()).then(|| format!("{OLD_PROJECT}: {}", errors.join("; ")))
}
