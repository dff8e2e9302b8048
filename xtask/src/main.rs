//! `cargo xtask docs` writes the reference; `cargo xtask bench` compares with the peers.

#![expect(clippy::print_stderr, reason = "a chore talks to whoever runs it")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("docs") => xtask::docs::write(),
        Some("bench") => xtask::bench::run(),
        _ => Err("usage: cargo xtask docs|bench".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}
