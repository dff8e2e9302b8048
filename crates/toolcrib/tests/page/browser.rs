//! Node.js with the browser driver, and the scripts that it runs.

use std::path::PathBuf;
use std::process::Command;

use crate::node_clients::{in_environment_of, installed, tools_folder};
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// What every script begins with.
const PRELUDE: &str = include_str!("prelude.js");

/// Returns the folder that the packages of the page are installed into.
pub(crate) fn packages() -> PathBuf {
    tools_folder().join("npm_page")
}

/// Returns Node.js, ready to run where it finds the packages of the page.
pub(crate) fn node(scratch: &Scratch) -> Command {
    let mut command = in_environment_of(scratch, &installed("node_modules/.bin/node"));
    command.current_dir(packages());
    command
}

/// Runs a script in front of a server. It fails with what is wrong.
#[track_caller]
pub(crate) fn play(
    server: &RunningServer<'_>,
    scratch: &Scratch,
    environment: &[(&str, &str)],
    script: &str,
) {
    let mut command = node(scratch);
    command.args(["-e", &format!("{PRELUDE}\n{script}")]);
    command.env("PAGE_URL", format!("http://{}", server.address));
    command.envs(environment.iter().copied());
    command.env("WORKSPACE", scratch.work());
    command.env("TOOLCRIB", env!("CARGO_BIN_EXE_toolcrib"));
    command.env("SHOTS", std::env::var_os("TOOLCRIB_PAGE_SHOTS").unwrap_or_default());
    for role in ["agent", "approver", "admin"] {
        command.env(format!("{}_TOKEN", role.to_uppercase()), server.token(role));
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{stderr}");
    assert!(said.ends_with("all done\n"), "{said}\n{stderr}");
}
