//! A git repository at a revision: compared with git itself, opened at odd revisions, and made to do harm.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]

mod differential;
mod hostile;
mod processes;
mod question;
mod revisions;
#[path = "../sample.rs"]
mod sample;
mod sizes;
