//! Words that settings about files, the sandbox and the health of tools have for values, and what they stand for.

use toml::Value;
use toolcrib_host::{Hardlinks, Profile};

use super::setting::word;

/// Whether a very broad directory may be a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BroadRoot {
    /// A broad root is refused.
    Refuse,
    /// A broad root is allowed.
    Allow,
}

/// How much worse a tool must get to be quarantined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuarantineAt {
    /// A regression of high severity is enough.
    High,
    /// No tool is quarantined.
    Off,
}

// A word that is not known cannot get here. If it did, the strictest value would apply.

pub(super) fn hardlinks(value: &Value) -> Hardlinks {
    if word(value) == "allow" { Hardlinks::Allow } else { Hardlinks::Refuse }
}

pub(super) fn broad_root(value: &Value) -> BroadRoot {
    if word(value) == "allow" { BroadRoot::Allow } else { BroadRoot::Refuse }
}

pub(super) fn quarantine(value: &Value) -> QuarantineAt {
    if word(value) == "off" { QuarantineAt::Off } else { QuarantineAt::High }
}

pub(super) fn profile(value: &Value) -> Profile {
    if word(value) == "root-degraded" { Profile::RootDegraded } else { Profile::Strict }
}
