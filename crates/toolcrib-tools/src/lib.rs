//! The five catalogues: one file for each tool, and [`operation`] for what several tools do.

mod clemini;
mod forgekeeper;
mod hikai;
mod nachos;
mod operation;
mod source_hash;
mod wink;

use toolcrib_core::Catalogue;

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
