//! A policy as its authors wrote it, so that another machine can decide as this one does.

use serde::{Deserialize, Serialize};

use crate::canonical::Digest;

use super::rule::Layer;
use super::tier::Mode;

/// The rules of a policy, as text, and the mode below them. The rules of a project are not in it: they are about the files
/// of one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PolicyText {
    /// The mode where no rule decides.
    pub mode: Mode,
    /// The files of rules.
    pub files: Vec<RulesText>,
    /// The ids of the rules that the operator switched off.
    pub without: Vec<String>,
}

/// A file of rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesText {
    /// The name that people are shown.
    pub file: String,
    /// Who wrote the rules.
    pub layer: Layer,
    /// The rules.
    pub text: String,
}

impl PolicyText {
    /// Returns what tells this policy from others.
    pub fn digest(&self) -> String {
        let text = serde_json::to_vec(self).unwrap_or_default();
        Digest::of_bytes(&text).to_string()
    }
}
