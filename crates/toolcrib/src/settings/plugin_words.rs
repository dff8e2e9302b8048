//! Words that settings about tools from other authors have for values.

use toml::Value;

use super::setting::word;

/// Whether a protection holds. Only the word `off` lifts it.
pub(super) fn is_not_off(value: &Value) -> bool {
    word(value) != "off"
}
