//! Secrets that the server makes and knows only as hashes.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};

/// How many random bytes a secret has.
const SECRET_BYTES: usize = 32;

/// How long a presented secret may be. Longer ones are not hashed.
const LONGEST_SECRET: usize = 128;

/// The hash of a secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SecretHash([u8; 32]);

impl SecretHash {
    /// Returns the hash of a secret. Returns `None` for a text that is too long to be one.
    pub(crate) fn of(secret: &str) -> Option<Self> {
        if secret.len() > LONGEST_SECRET {
            return None;
        }
        digest(&SHA256, secret.as_bytes()).as_ref().try_into().ok().map(Self)
    }

    /// Whether this is the hash of a secret. How long that takes says nothing about the hash.
    pub(crate) fn matches(&self, secret: &str) -> bool {
        let Some(Self(other)) = Self::of(secret) else { return false };
        self.0.iter().zip(other).fold(0, |difference, (own, other)| difference | (own ^ other)) == 0
    }
}

/// Returns a new secret, which can stand in an address and in a cookie, and its hash.
pub(crate) fn new_secret() -> io::Result<(String, SecretHash)> {
    let mut random = [0; SECRET_BYTES];
    let failed = || io::Error::other("the system gave no random bytes for a secret");
    SystemRandom::new().fill(&mut random).map_err(|_| failed())?;
    let secret = URL_SAFE_NO_PAD.encode(random);
    let hash = SecretHash::of(&secret).ok_or_else(failed)?;
    Ok((secret, hash))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_matches_its_secret_and_no_other() {
        let ((one, hash), (other, _)) = (new_secret().unwrap(), new_secret().unwrap());
        assert!(hash.matches(&one) && one.len() == 43);
        assert!(!hash.matches(&other) && !hash.matches("") && !hash.matches(&one[1..]));
        assert!(SecretHash::of(&"a".repeat(LONGEST_SECRET)).is_some());
        assert!(!hash.matches(&"a".repeat(LONGEST_SECRET + 1)));
    }
}
