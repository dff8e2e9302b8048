//! The words of the settings about policy and the questions that follow from it.

use toml::Value;
use toolcrib_core::Mode;
use toolcrib_runtime::{ConfirmationWeight, TaintPolicy};

use super::setting::word;

/// The form in which a person is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AskStyle {
    /// Calls of the catalogue `wink` in the form of its contract, all others in Toolcrib's own.
    Auto,
    /// All calls in Toolcrib's own form.
    Toolcrib,
    /// All calls in the form of the contract of `wink`.
    Wink,
}

// A word that is not known cannot get here. If it did, the strictest value would apply.

pub(super) fn mode(value: &Value) -> Mode {
    Mode::parse(word(value)).unwrap_or(Mode::Strict)
}

pub(super) fn confirm(value: &Value) -> ConfirmationWeight {
    if word(value) == "model" { ConfirmationWeight::Model } else { ConfirmationWeight::Person }
}

pub(super) fn ask_style(value: &Value) -> AskStyle {
    match word(value) {
        "toolcrib" => AskStyle::Toolcrib,
        "wink" => AskStyle::Wink,
        _ => AskStyle::Auto,
    }
}

pub(super) fn tainted(value: &Value) -> TaintPolicy {
    if word(value) == "allow" { TaintPolicy::Ignore } else { TaintPolicy::Ask }
}
