//! The directory that a tool works in by default.

/// Returns the default directory: the working directory.
#[expect(clippy::unnecessary_wraps, reason = "serde wants the field's type")]
pub(crate) fn current() -> Option<String> {
    Some(".".to_owned())
}
