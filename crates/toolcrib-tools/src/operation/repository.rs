//! The connected repository, for tools that read one instead of the workspace.

use toolcrib_core::{Connection, Ctx, ErrorKind, Plan, ToolError, Tree};

use super::check;

/// Returns the connected repository, or the contract's error if none is connected.
pub(crate) fn connection(ctx: &Ctx) -> Result<&Connection, ToolError> {
    ctx.outside
        .connection
        .as_ref()
        .ok_or_else(|| ToolError::new(ErrorKind::NoConnection, "No active GitHub connection found"))
}

/// Returns what a call would do that reads a file of the connected repository. Fails if `path` is no file.
pub(crate) fn plan_file(ctx: &Ctx, path: &str) -> Result<Plan, ToolError> {
    plan(ctx, path, check::file)
}

/// Returns what a call would do that lists a directory of the connected repository. Fails if `path` is none.
pub(crate) fn plan_directory(ctx: &Ctx, path: &str) -> Result<Plan, ToolError> {
    plan(ctx, path, check::directory)
}

/// A repository on another host is not asked before the call is decided: what is wrong with the path is said later.
fn plan(
    ctx: &Ctx,
    path: &str,
    check: fn(&dyn Tree, &str) -> Result<Plan, ToolError>,
) -> Result<Plan, ToolError> {
    let connection = connection(ctx)?;
    match &connection.host {
        None => check(&*connection.files, path),
        Some(host) => Ok(Plan { hosts: vec![host.clone()], ..Plan::read(path) }),
    }
}

/// Returns the path of `name` in the directory `base`.
pub(crate) fn join(base: &str, name: &str) -> String {
    match base.trim_end_matches('/') {
        "" | "." => name.to_owned(),
        base => format!("{}/{name}", base.trim_start_matches("./")),
    }
}
