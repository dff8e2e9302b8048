//! The real binary on real files, from the outside.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod examples;
mod scratch;
