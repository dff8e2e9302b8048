//! The words of the settings about the log.

use toml::Value;

use super::setting::word;

/// How important a line must be to be in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Something is broken.
    Error,
    /// Something is wrong, and the server goes on.
    Warn,
    /// Something happened.
    Info,
    /// Everything.
    Debug,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs, one object on each line.
    Json,
}

pub(super) fn log_level(value: &Value) -> LogLevel {
    match word(value) {
        "error" => LogLevel::Error,
        "warn" => LogLevel::Warn,
        "debug" => LogLevel::Debug,
        _ => LogLevel::Info,
    }
}

pub(super) fn log_format(value: &Value) -> LogFormat {
    if word(value) == "json" { LogFormat::Json } else { LogFormat::Text }
}
