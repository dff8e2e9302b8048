//! Parts that need a host of the open internet: they run in a network of their own, where this machine is that host.

use std::error::Error;
use std::net::Ipv4Addr;
use std::process::Command;

use crate::tools::install_packages;

/// The address of this machine in that network. Nothing beyond it can be reached there.
pub(super) const ADDRESS: Ipv4Addr = Ipv4Addr::new(93, 184, 216, 34);

/// What starts a part after the network is up.
const SETUP: &str = r#"ip link set lo up && ip addr add "$1/32" dev lo && shift && exec "$@""#;

/// Runs a part of this program, in a network of its own.
pub(super) fn run(part: &str) -> Result<(), Box<dyn Error>> {
    let has_ip = Command::new("ip").arg("-V").output().is_ok();
    if !has_ip && !install_packages(&["iproute2"]) {
        println!("{part}: left out, because `ip` (iproute2) is not installed\n");
        return Ok(());
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net"]);
        command
    };
    if !unshare().arg("true").status().is_ok_and(|status| status.success()) {
        println!("{part}: left out, because this machine gives no network namespace\n");
        return Ok(());
    }
    let mut command = unshare();
    command.args(["sh", "-c", SETUP, "sh"]).arg(ADDRESS.to_string());
    command.arg(std::env::current_exe()?).args(["bench-apart", part]);
    let status = command.status()?;
    if status.success() { Ok(()) } else { Err(format!("{part}: {status}").into()) }
}
