//! The real binary on real files, from the outside.

mod examples;
mod scratch;
