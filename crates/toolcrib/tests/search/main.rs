//! Search against the real ripgrep: the same lines, whatever the tree, the question and what happened
//! just before it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod ask;
mod bombs;
mod chance;
mod checkout;
mod freshness;
mod ground;
mod keeping;
mod rg;
mod same;
mod wild;
