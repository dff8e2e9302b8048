//! Tests that need a right that only some users have. A test that cannot run says so: it is shown and
//! counted at the end, and never passes for one that ran.

use std::io::Write;
use std::process::Command;

/// What gives an ordinary user namespaces of its own, in which it may mount.
const OWN_NAMESPACES: [&str; 5] =
    ["unshare", "--user", "--map-current-user", "--keep-caps", "--mount"];

/// Set where a test runs again in namespaces of its own.
const MAY_MOUNT: &str = "TOOLCRIB_TEST_MAY_MOUNT";

/// Whether root runs the tests.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says that a test cannot run as this user. The harness keeps what a test prints to itself, but not
/// what is written to the descriptor, so the line is seen.
pub(crate) fn skip(test: &str, why: &str) {
    let line = format!("\nskipped: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Whether the test named `test` is to go on in this process, where it may mount. An ordinary user's
/// test runs again in namespaces of its own, and not here.
#[track_caller]
pub(crate) fn may_mount(test: &str) -> bool {
    if is_root() || std::env::var_os(MAY_MOUNT).is_some() {
        return true;
    }
    let own = |program: &std::path::Path| {
        let mut command = Command::new(OWN_NAMESPACES[0]);
        command.args(&OWN_NAMESPACES[1..]).arg(program).env(MAY_MOUNT, "1");
        command
    };
    if !own("true".as_ref()).output().is_ok_and(|output| output.status.success()) {
        skip(test, "it mounts something, and this user may not make namespaces");
        return false;
    }
    let output = own(&std::env::current_exe().unwrap()).args(["--exact", test]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{test}: {output:?}");
    false
}
