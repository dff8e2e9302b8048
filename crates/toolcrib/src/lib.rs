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
    // The helpers of the sandbox are this same program.
    toolcrib_inside::enter();
    quiet_panics();
    raise_descriptors();
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(err) => {
            let _ = err.print();
            return exit::usage(&err);
        }
    };
    command::run(cli)
}

/// Takes as many descriptors as we may have: each command holds some. Commands have a limit of their own.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(maximum.unwrap_or(u64::MAX).min(65_536));
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// A panic is told by its place alone: what it says could hold anything a tool was handed.
fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        terminal::complain(&format!(
            "error: this is a defect of toolcrib{place}; please report it"
        ));
    }));
}
