//! The binary: settings, wiring, one file per subcommand, the terminal. Everything that another door
//! could need lives in the crates below.

mod cli;
mod command;
mod exit;
pub mod reference;
pub mod settings;
mod terminal;
pub mod wiring;

pub use cli::command;

use std::process::ExitCode;

use clap::Parser;

/// Runs the command line and returns its exit code.
pub fn main() -> ExitCode {
    quiet_panics();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => {
            let _ = err.print();
            return exit::usage(&err);
        }
    };
    command::run(cli)
}

/// A panic inside a tool is the caller's news only as an error; its details are for `RUST_BACKTRACE`.
fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
}
