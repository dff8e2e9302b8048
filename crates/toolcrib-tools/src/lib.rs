//! The five catalogues: one file for each tool, and [`operation`] for what several tools do. Two more are for
//! tools from other authors, and for those behind a NATS server.

mod bus;
mod clemini;
mod forgekeeper;
mod hikai;
mod nachos;
mod operation;
mod plugins;
mod source_hash;
mod wink;

use std::sync::OnceLock;

pub use bus::{BUS, TOOL_ERROR};
pub use plugins::PLUGINS;
use toolcrib_core::Catalogue;

/// The catalogues whose tools are compiled in.
pub static CATALOGUES: &[&Catalogue] = &[
    &wink::CATALOGUE,
    &clemini::CATALOGUE,
    &nachos::CATALOGUE,
    &hikai::CATALOGUE,
    &forgekeeper::CATALOGUE,
];

static ALL: OnceLock<&[&Catalogue]> = OnceLock::new();

/// Returns every catalogue: those whose tools are compiled in, that of tools from other authors, and those that this
/// program added.
pub fn catalogues() -> &'static [&'static Catalogue] {
    ALL.get_or_init(|| with_plugins(&[]))
}

fn with_plugins(more: &[&'static Catalogue]) -> &'static [&'static Catalogue] {
    [CATALOGUES, &[&PLUGINS], more].concat().leak()
}

/// Adds catalogues to those that Toolcrib comes with. It has no effect once [`catalogues`] was called, so a program does
/// this first.
pub fn add_catalogues(more: &[&'static Catalogue]) {
    let _ = ALL.set(with_plugins(more));
}

#[cfg(test)]
mod tests;
