//! The five catalogues: one file a tool, and [`operation`], which holds what they do, written once.

mod clemini;
mod forgekeeper;
mod hikai;
mod nachos;
mod operation;
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
