//! The hash of a version: whoever approves a version approves this hash, so it covers all that is loaded.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use toolcrib_core::canonical;

use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::plugin_source::PluginSource;

/// What every hash begins with. Another form of hash gets another text.
const HASH_FORM: &str = "toolcrib-plugin-1";

/// How many hexadecimal digits a hash has.
const HASH_DIGITS: usize = 64;

/// How many digits people are shown.
const SHORT_DIGITS: usize = 12;

/// The SHA-256 hash of a version's source and of what it declares, in lower-case hexadecimal. It is also the name of
/// the version's folder, so it never has another form.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VersionHash(String);

impl VersionHash {
    /// Returns the hash of a version. `about` is the text of what it declares: that is what the module said once, and
    /// nobody can give the same code wider permissions afterwards.
    pub(crate) fn of(about: &[u8], source: &PluginSource) -> Self {
        let mut hasher = Sha256::new();
        // Every part has its length before it, so that no two versions are spelt alike.
        let mut part = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        part(HASH_FORM.as_bytes());
        part(source.kind().as_str().as_bytes());
        part(about);
        for file in source.files() {
            part(file.path.as_bytes());
            part(&file.mode.to_be_bytes());
            part(file.bytes);
        }
        let mut digits = String::with_capacity(HASH_DIGITS);
        let _ = canonical::hex(&hasher.finalize(), &mut digits);
        Self(digits)
    }

    /// Reads a whole hash.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_hash = text.len() == HASH_DIGITS && text.bytes().all(is_digit);
        is_hash.then(|| Self(text.to_owned()))
    }

    /// Returns all digits.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the digits that people are shown.
    pub fn short(&self) -> &str {
        &self.0[..SHORT_DIGITS]
    }

    /// Whether `text` is the hash or its beginning, of at least the digits that people are shown.
    pub fn is_meant_by(&self, text: &str) -> bool {
        text.len() >= SHORT_DIGITS && self.0.starts_with(text)
    }
}

impl TryFrom<String> for VersionHash {
    type Error = PluginError;

    fn try_from(text: String) -> Result<Self, PluginError> {
        Self::parse(&text).ok_or_else(|| {
            let message = "a version's hash has 64 hexadecimal digits in lower case";
            PluginError::new(PluginErrorKind::NotFound, message)
        })
    }
}

impl From<VersionHash> for String {
    fn from(hash: VersionHash) -> Self {
        hash.0
    }
}

impl fmt::Display for VersionHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn code_and_declaration_are_both_covered() {
        let hash = |about: &str, code: &str| {
            VersionHash::of(about.as_bytes(), &PluginSource::of_module(code).unwrap())
        };
        let first = hash("a", "1");
        assert_eq!(first, hash("a", "1"));
        assert_ne!(first, hash("a", "2"));
        assert_ne!(first, hash("b", "1"));
        assert_ne!(hash("ab", "c"), hash("a", "bc"), "lengths are covered, too");
        assert_eq!(first.short().len(), SHORT_DIGITS);
        assert!(first.is_meant_by(first.short()) && first.is_meant_by(first.as_str()));
        assert!(!first.is_meant_by(&first.as_str()[..4]) && !first.is_meant_by(""));
    }

    #[test]
    fn only_a_hash_becomes_a_hash() {
        let good = "0123456789abcdef".repeat(4);
        assert_eq!(VersionHash::parse(&good).unwrap().as_str(), good);
        for bad in ["", "../../etc", &good[1..], &good.to_uppercase(), &format!("{good}0")] {
            assert!(VersionHash::parse(bad).is_none(), "{bad}");
            assert!(serde_json::from_value::<VersionHash>(json!(bad)).is_err(), "{bad}");
        }
    }
}
