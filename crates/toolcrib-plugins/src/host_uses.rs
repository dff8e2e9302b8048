//! The uses of `ctx`: what a module reaches outside itself, and who answers.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Answers the uses of one call. Every use is decided and recorded as a call of its own.
pub trait HostUses: Send + Sync {
    /// Answers a use, given the arguments of the function as an array.
    fn answer(&self, kind: UseKind, args: &Value) -> Result<Value, UseError>;

    /// Whether another module made the call.
    fn is_inner(&self) -> bool {
        false
    }

    /// Returns the time that people have taken so far to answer questions about uses. It does not count as the call's.
    fn waited(&self) -> Duration;
}

/// Answers no use.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoUses;

impl HostUses for NoUses {
    fn answer(&self, kind: UseKind, _: &Value) -> Result<Value, UseError> {
        let message = format!("`ctx.{}` cannot be used here", kind.as_str());
        Err(UseError { code: "use_unavailable".to_owned(), message })
    }

    fn waited(&self) -> Duration {
        Duration::ZERO
    }
}

/// A function of `ctx`, by which a module reaches something outside itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UseKind {
    /// `ctx.read(path)`: the text of a file.
    Read,
    /// `ctx.write(path, text)`: writes a file.
    Write,
    /// `ctx.call(tool, args)`: calls another tool.
    Call,
    /// `ctx.fetch(url)`: fetches from a host.
    Fetch,
}

impl UseKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Call, Self::Fetch];

    /// Returns the name of the function.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Call => "call",
            Self::Fetch => "fetch",
        }
    }
}

/// Why a use failed. The module's promise rejects with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UseError {
    /// The code, for programs.
    pub code: String,
    /// The sentence, for readers.
    pub message: String,
}
