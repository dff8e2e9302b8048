//! A git repository at a revision: compared with git itself, opened at odd revisions, and made to do harm.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![allow(clippy::format_collect, clippy::format_push_string, reason = "test data is small")]
#![expect(clippy::print_stderr, reason = "a test that is skipped says so")]

mod differential;
mod hostile;
mod processes;
mod question;
mod revisions;
#[path = "../behaviours/sample.rs"]
mod sample;
mod sizes;
