//! The clients that `make test` installs with npm.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::Scratch;

/// Returns a path in the folder that they are installed into.
pub(crate) fn installed(path: &str) -> PathBuf {
    tools_folder().join("npm").join(path)
}

/// Returns the folder that `make test` installs programs of others into.
pub(crate) fn tools_folder() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_toolcrib"));
    let target = program.parent().and_then(Path::parent).unwrap();
    target.join("tools")
}

/// Returns Node.js, with the environment of a scratch, ready to run where it finds the clients.
pub(crate) fn node(scratch: &Scratch) -> Command {
    let mut command = in_environment_of(scratch, &installed("node_modules/.bin/node"));
    command.current_dir(installed(""));
    command
}

/// Returns a program, with the environment of a scratch and in its workspace.
pub(crate) fn in_environment_of(scratch: &Scratch, program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(scratch.work());
    for (name, value) in scratch.command().get_envs() {
        if let Some(value) = value {
            command.env(name, value);
        }
    }
    command
}
