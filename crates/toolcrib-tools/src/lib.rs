//! The five catalogues: one file a tool, and [`operation`], which holds what they do, written once.

mod clemini;
mod forgekeeper;
mod hikai;
mod nachos;
mod operation;
mod wink;

use toolcrib_core::Catalogue;

include!(concat!(env!("OUT_DIR"), "/code.rs"));

/// Returns the hash of the file that a tool is in: its own, or that of tools which share one.
fn source_hash(catalogue: &str, tool: &str) -> &'static str {
    let own = CODE.iter().filter(|(of, ..)| *of == catalogue);
    let begins = |name: &str| tool == name || tool.starts_with(&format!("{name}_"));
    own.filter(|(_, name, _)| begins(name)).map(|(.., hash)| *hash).max().unwrap_or_default()
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
