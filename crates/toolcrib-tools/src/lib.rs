//! The five catalogues: one file for each tool, and [`operation`] for what several tools do.

mod clemini;
mod forgekeeper;
mod hikai;
mod nachos;
mod operation;
mod wink;

use toolcrib_core::Catalogue;

/// The hashes of the tools' source code, one table for each catalogue. `build.rs` writes them: a
/// catalogue without a folder of its own has no table, and does not compile.
mod source_hash {
    include!(concat!(env!("OUT_DIR"), "/source_hash.rs"));
}

/// Every catalogue.
pub static CATALOGUES: &[&Catalogue] = &[
    &wink::CATALOGUE,
    &clemini::CATALOGUE,
    &nachos::CATALOGUE,
    &hikai::CATALOGUE,
    &forgekeeper::CATALOGUE,
];

#[cfg(test)]
mod tests;
