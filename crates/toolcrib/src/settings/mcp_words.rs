//! The words of the settings about MCP.

use toml::Value;

use super::setting::word;

/// Which answers count that a client brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAnswers {
    /// None.
    Off,
    /// Yes to one call, and no.
    Once,
    /// Also "always".
    Always,
}

// A word that is not known cannot get here. If it did, the strictest value would apply.
pub(super) fn client_answers(value: &Value) -> ClientAnswers {
    match word(value) {
        "once" => ClientAnswers::Once,
        "always" => ClientAnswers::Always,
        _ => ClientAnswers::Off,
    }
}
