//! The house rules that a machine can check. Offenders that are still to be mended stand in
//! `known.txt`, which may only shrink.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::panic, reason = "a broken rule is told in words")]

mod circles;
mod documents;
mod known;
mod layers;
mod licences;
mod names;
mod page_sentences;
mod policy_page;
mod retired;
mod rules;
mod signatures;
mod sizes;
mod source;
