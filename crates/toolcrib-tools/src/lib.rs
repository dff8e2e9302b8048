//! The five catalogues: one file a tool, and [`operation`], which holds what they do, written once.

mod operation;
mod wink;

use toolcrib_core::Catalogue;

/// Every catalogue.
pub static CATALOGUES: &[&Catalogue] = &[
    &wink::CATALOGUE,
];

#[cfg(test)]
mod tests;
