//! The binary: settings, wiring, one file per subcommand, the terminal. Whatever another door could need is
//! in the crates below.

mod cli;
mod command;
mod error;
mod exit;
pub mod reference;
pub mod settings;
mod terminal;
pub mod wiring;

pub use cli::command;
pub use error::{CliError, CliErrorKind};

use std::process::ExitCode;

use toolcrib_core::Catalogue;

/// Runs the command line and returns its exit code.
pub fn main() -> ExitCode {
    main_with(&[])
}

/// Runs the command line of a program with catalogues of its own, beside those that Toolcrib comes with.
pub fn main_with(more: &[&'static Catalogue]) -> ExitCode {
    // The sandbox starts its helpers as this same program; if this process is one of them, it does not return.
    toolcrib_inside::enter();
    toolcrib_plugins::module_worker::enter();
    toolcrib_tools::add_catalogues(more);
    quiet_panics();
    raise_descriptors();
    let cli = match cli::quick::read() {
        Ok(cli) => cli,
        Err(err) => {
            let err = cli::with_tip(err, std::env::args_os().skip(1));
            let _ = err.print();
            return exit::usage(&err);
        }
    };
    command::run(cli)
}

/// Raises the limit of open files as far as allowed, because each running command holds some. Commands have a
/// limit of their own.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let maximum = getrlimit(Resource::Nofile).maximum;
    let current = Some(maximum.unwrap_or(u64::MAX).min(65_536));
    let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
}

/// Makes a panic print its place and not its message, because the message could hold anything that a tool was
/// given.
fn quiet_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_some() {
        return;
    }
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        terminal::complain(&format!("error: Toolcrib has a bug{place}; please report it"));
    }));
}
