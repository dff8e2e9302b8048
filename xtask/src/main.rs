//! `cargo xtask docs` writes the reference, `bench` compares with the peers, `tools` installs what the
//! tests need of the machine.

#![expect(clippy::print_stderr, reason = "a chore talks to whoever runs it")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("docs") => xtask::docs::write(),
        Some("bench") => xtask::bench::run(),
        Some("tools") => xtask::tools::install(),
        _ => Err("usage: cargo xtask docs|bench|tools".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}
