//! `GET /api/version`: which program answers.

use schemars::JsonSchema;
use serde::Serialize;

use super::access::AccessRight;
use super::json_reply::{JsonReply, Reply};
use super::operation::Operation;

/// The operation about the program.
pub(super) fn operations() -> Vec<Operation> {
    vec![
        Operation::get("/api/version", "version", version)
            .about(AccessRight::Any, "Says which program answers, and its version.")
            .replies::<ServerVersion>(),
    ]
}

#[derive(Serialize, JsonSchema)]
struct ServerVersion {
    ok: bool,
    name: &'static str,
    version: &'static str,
}

async fn version() -> Reply {
    JsonReply::ok(&ServerVersion { ok: true, name: "toolcrib", version: env!("CARGO_PKG_VERSION") })
}
