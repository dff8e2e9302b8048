//! The words of the settings about the web.

use toml::Value;
use toolcrib_host::EngineKind;

use super::setting::word;

pub(super) fn engine(value: &Value) -> EngineKind {
    match word(value) {
        "searxng" => EngineKind::SearXng,
        "brave" => EngineKind::Brave,
        _ => EngineKind::DuckDuckGo,
    }
}
