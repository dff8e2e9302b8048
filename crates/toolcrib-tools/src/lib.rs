//! The five catalogues: one file for each tool, and [`operation`] for what several tools do.

mod clemini;
mod forgekeeper;
mod hikai;
mod nachos;
mod operation;
mod source_hash;
mod wink;

use std::sync::OnceLock;

use toolcrib_core::Catalogue;

/// The catalogues that Toolcrib comes with.
pub static CATALOGUES: &[&Catalogue] = &[
    &wink::CATALOGUE,
    &clemini::CATALOGUE,
    &nachos::CATALOGUE,
    &hikai::CATALOGUE,
    &forgekeeper::CATALOGUE,
];

static ALL: OnceLock<&[&Catalogue]> = OnceLock::new();

/// Returns every catalogue: those that Toolcrib comes with, and those that this program added.
pub fn catalogues() -> &'static [&'static Catalogue] {
    ALL.get_or_init(|| CATALOGUES)
}

/// Adds catalogues to those that Toolcrib comes with. It has no effect once [`catalogues`] was called, so a program does
/// this first.
pub fn add_catalogues(more: &[&'static Catalogue]) {
    let _ = ALL.set([CATALOGUES, more].concat().leak());
}

#[cfg(test)]
mod tests;
