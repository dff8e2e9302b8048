//! The catalogue `plugins`: tools from other authors. They come and go while Toolcrib runs, so none is listed here.
//! Their replies have the form of `forgekeeper`, whose contract says how such tools are proposed and approved.

use toolcrib_core::Catalogue;
use toolcrib_core::catalogue::{CatalogueSettings, ReplyView};
use toolcrib_core::material::Material;

use crate::forgekeeper;

/// The catalogue of tools from other authors.
pub static PLUGINS: Catalogue = Catalogue {
    name: "plugins",
    about: "Tools from other authors: proposed, approved, loaded while Toolcrib runs",
    tools: &[],
    call_keys: &[],
    source_hashes: &[],
    settings: CatalogueSettings {
        root: Some("forgekeeper.root"),
        switches: &[("propose_tool", "plugins.self_update")],
        timeout_ms: Some("forgekeeper.timeout_ms"),
        ..CatalogueSettings::NONE
    },
    reply: forgekeeper::reply,
    error_reply: forgekeeper::error_reply,
    error_code: Some(forgekeeper::error_code),
    saves_replies_above: None,
    view: ReplyView {
        render: forgekeeper::render,
        render_error: forgekeeper::render_error,
        blocks: |_| None,
        schema: forgekeeper::reply_schema,
    },
    material: Material::NONE,
};
