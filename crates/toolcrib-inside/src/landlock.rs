//! Landlock: the second lock on the files, applied by the first process inside before the command begins.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::system;

/// The oldest version that can forbid every way to change the content of a file.
pub(crate) const OLDEST_VERSION: i32 = 3;

/// The newest version that was tested.
const NEWEST_VERSION: i32 = 7;

/// Why Landlock cannot be enforced.
#[derive(Debug)]
pub enum LandlockError {
    /// The kernel's version is too old.
    TooOld(i32),
    /// The kernel does not offer it.
    NotOffered(io::Error),
    /// The rules could not be made.
    Rules(Box<dyn Error>),
    /// The kernel enforces the rules only in part.
    Partial(RulesetStatus),
}

impl fmt::Display for LandlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooOld(version) => {
                write!(f, "the kernel has version {version}, and {OLDEST_VERSION} is needed")
            }
            Self::NotOffered(err) => write!(f, "the kernel does not offer it: {err}"),
            Self::Rules(err) => write!(f, "{err}"),
            Self::Partial(status) => write!(f, "the kernel enforces it only in part ({status:?})"),
        }
    }
}

impl Error for LandlockError {}

/// Returns the version to enforce on this machine: what the kernel has, up to the newest version that was tested.
pub fn version() -> Result<i32, LandlockError> {
    match system::landlock_version() {
        Ok(version) if version >= OLDEST_VERSION => Ok(version.min(NEWEST_VERSION)),
        Ok(version) => Err(LandlockError::TooOld(version)),
        Err(err) => Err(LandlockError::NotOffered(err)),
    }
}

/// Lets this process, and everything it starts, read what it sees and write below `writable` alone. Fails if the
/// kernel does not enforce all of it.
pub(crate) fn restrict(writable: &[String]) -> Result<(), LandlockError> {
    let abi = match version()? {
        3 => ABI::V3,
        4 => ABI::V4,
        5 => ABI::V5,
        6 => ABI::V6,
        _ => ABI::V7,
    };
    match restrict_to(abi, writable).map_err(LandlockError::Rules)? {
        RulesetStatus::FullyEnforced => Ok(()),
        other => Err(LandlockError::Partial(other)),
    }
}

fn restrict_to(abi: ABI, writable: &[String]) -> Result<RulesetStatus, Box<dyn Error>> {
    let all = AccessFs::from_all(abi);
    let mut rules =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(all)?;
    // Ports are not restricted, because there is no network to use them on, or only the proxy.
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
    // A socket with a path is a door for programs outside.
    let no_sockets = all & !AccessFs::MakeSock;
    for path in writable {
        let handle = PathFd::new(path)?;
        let is_directory = Path::new(path).is_dir();
        let rights = if is_directory { no_sockets } else { all & AccessFs::from_file(abi) };
        rules = rules.add_rule(PathBeneath::new(handle, rights))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}
