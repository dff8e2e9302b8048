//! The connected repository, for tools that read one instead of the workspace.

use toolcrib_core::{Connection, Ctx, ErrorKind, ToolError};

/// Returns the connected repository, or the contract's error if none is connected.
pub(crate) fn connection(ctx: &Ctx) -> Result<&Connection, ToolError> {
    ctx.outside
        .connection
        .as_ref()
        .ok_or_else(|| ToolError::new(ErrorKind::NoConnection, "No active GitHub connection found"))
}

/// Returns the path of `name` in the directory `base`.
pub(crate) fn join(base: &str, name: &str) -> String {
    match base.trim_end_matches('/') {
        "" | "." => name.to_owned(),
        base => format!("{}/{name}", base.trim_start_matches("./")),
    }
}
