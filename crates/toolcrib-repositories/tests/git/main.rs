//! A git repository at a revision: compared with git itself, opened at odd revisions, and made to do harm.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on has failed")]
#![expect(
    clippy::format_collect,
    clippy::format_push_string,
    clippy::print_stderr,
    reason = "tests are short before they are fast, and say what they skip"
)]

mod differential;
mod elsewhere;
mod hostile;
mod processes;
mod question;
mod revisions;
#[path = "../fixture/sample.rs"]
mod sample;
mod sizes;
