//! Landlock: the second lock on the files, laid on by the process inside before the command begins.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::system;

/// The oldest version that can forbid every way of changing a file's content.
pub(crate) const OLDEST: i32 = 3;

/// The newest version that was tried.
const NEWEST: i32 = 7;

/// Returns the version that is to be enforced here, whole: what the kernel has, up to the newest
/// that was tried. Less than [`OLDEST`] is nothing.
pub fn version() -> Result<i32, String> {
    match system::landlock_version() {
        Ok(version) if version >= OLDEST => Ok(version.min(NEWEST)),
        Ok(version) => Err(format!("the kernel has version {version}, and {OLDEST} is needed")),
        Err(err) => Err(format!("the kernel does not offer it: {err}")),
    }
}

/// Lets this process, and everything it starts, read what it sees and write below `writable` alone.
/// Anything less than all of it is a failure.
pub(crate) fn restrict(writable: &[String]) -> Result<(), String> {
    let abi = match version()? {
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    };
    restrict_to(abi, writable).map_err(|err| err.to_string()).and_then(|status| match status {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(format!("the kernel enforces it only in part ({other:?})")),
    })
}

fn restrict_to(abi: ABI, writable: &[String]) -> Result<RulesetStatus, Box<dyn std::error::Error>> {
    let all = AccessFs::from_all(abi);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
    // Ports are not restricted: there is no network to use them on, or only the way out.
    let scopes = Scope::from_all(abi);
    if !scopes.is_empty() {
        rules = rules.scope(scopes)?;
    }
    let devices = AccessFs::from_read(abi)
        | AccessFs::WriteFile
        | (all & (AccessFs::Truncate | AccessFs::IoctlDev));
    let mut rules = rules
        .create()?
        .add_rule(PathBeneath::new(PathFd::new("/")?, AccessFs::from_read(abi)))?
        .add_rule(PathBeneath::new(PathFd::new("/dev")?, devices))?;
    for path in writable {
        let handle = PathFd::new(path)?;
        let is_directory = Path::new(path).is_dir();
        let rights = if is_directory { all } else { all & AccessFs::from_file(abi) };
        rules = rules.add_rule(PathBeneath::new(handle, rights))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}
