//! Search compared with the real ripgrep: the same lines, whatever the tree, the question, and the change just before
//! it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod checkout;
mod fixture;
mod freshness;
mod memory_limits;
mod question;
mod random;
mod random_tree;
mod ripgrep;
mod saved_index;
mod unchanged_trees;
