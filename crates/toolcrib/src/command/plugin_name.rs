//! The name of a plugin, as people give it.

/// Returns the name of a plugin without its catalogue, with which outputs print it.
pub(super) fn bare(tool: &str) -> &str {
    tool.strip_prefix("plugins/").unwrap_or(tool)
}
