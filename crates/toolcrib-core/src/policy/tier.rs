//! Tiers and modes: how much harm a tool could do, and how strict a session is.

use serde::{Deserialize, Serialize};

/// How much harm a tool could do, from none to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// No side effects and nothing read.
    Safe = 0,
    /// Reads what the session may see.
    Standard = 1,
    /// Writes inside the workspace.
    Elevated = 2,
    /// Changes or runs things; a person looks first.
    Restricted = 3,
    /// Blocked unless the operator opens it.
    Dangerous = 4,
}

impl Tier {
    /// The number of this tier in contracts and settings.
    pub fn number(self) -> u8 {
        self as u8
    }

    /// The risk level that people are shown.
    pub fn risk(self) -> Risk {
        match self {
            Self::Safe | Self::Standard => Risk::ReadOnly,
            Self::Elevated => Risk::SafeWrite,
            Self::Restricted | Self::Dangerous => Risk::Dangerous,
        }
    }
}

/// A tier in words for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Risk {
    /// Tiers 0 and 1.
    ReadOnly,
    /// Tier 2.
    SafeWrite,
    /// Tiers 3 and 4.
    Dangerous,
}

impl Risk {
    /// The spelling in contracts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::SafeWrite => "safe_write",
            Self::Dangerous => "dangerous",
        }
    }
}

/// How strict a session is. The order is looseness: a project may only move to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Asks for everything but tier 0, refuses tiers 3 and 4.
    Strict,
    /// Reads freely, asks before it writes, refuses tier 4.
    Standard,
    /// Writes freely, asks from tier 3.
    Permissive,
}

impl Mode {
    /// Every mode, strictest first.
    pub const ALL: [Self; 3] = [Self::Strict, Self::Standard, Self::Permissive];

    /// The spelling in settings and contracts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Strict => "strict",
            Self::Standard => "standard",
            Self::Permissive => "permissive",
        }
    }

    /// Reads the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}
