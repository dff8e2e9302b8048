//! `cargo xtask CHORE`: `docs` writes the reference, `picture` draws the picture of the README, `bench` compares with
//! the peers, `run` shows the page of a
//! server at work, `tools` installs what the tests need of the machine, `quick` and `test` check the repository.

#![expect(clippy::print_stderr, reason = "a chore talks to whoever runs it")]

use std::process::ExitCode;

fn main() -> ExitCode {
    let done = match std::env::args().nth(1).as_deref() {
        Some("docs") => xtask::docs::write(),
        Some("picture") => xtask::picture::write(),
        Some("bench") => xtask::bench::run(),
        // Processes that a benchmark starts.
        Some("bare-server") => xtask::bare_server::run(),
        Some("bench-apart") => xtask::bench::run_apart(),
        Some("run") => xtask::run::run(),
        Some("tools") => xtask::tools::install(),
        Some("quick") => xtask::check::quick(),
        Some("test") => xtask::check::all(),
        _ => Err("usage: cargo xtask docs|picture|bench|run|tools|quick|test".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}
