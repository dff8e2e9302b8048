//! The hash chain of the record: each line carries the hash of the line before it and is signed with a key. The
//! same key signs where the record ends.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::state::read_regular;

/// How many bytes of a SHA-256 a line hash keeps. Nobody finds a second text for that many.
const HASH_BYTES: usize = 24;

/// How many letters a line hash has on disk.
const HASH_LETTERS: usize = HASH_BYTES / 3 * 4;

/// The alphabet of base64url, in which line hashes are written.
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The signed hash of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineHash([u8; HASH_BYTES]);

impl LineHash {
    /// The hash that the first line names as the one before it.
    pub(crate) const FIRST: Self = Self([0; HASH_BYTES]);

    /// Returns the plain, unsigned hash of a text.
    pub(crate) fn of(text: &[u8]) -> Self {
        Self::truncate(&Sha256::digest(text))
    }

    fn truncate(hash: &[u8]) -> Self {
        let mut bytes = [0; HASH_BYTES];
        bytes.copy_from_slice(&hash[..HASH_BYTES]);
        Self(bytes)
    }

    /// Parses what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() != HASH_LETTERS {
            return None;
        }
        let mut bytes = [0; HASH_BYTES];
        for (three, four) in bytes.chunks_mut(3).zip(text.as_bytes().chunks(4)) {
            let mut bits = 0_u32;
            for letter in four {
                let value = LETTERS.iter().position(|known| known == letter)?;
                bits = bits << 6 | value as u32;
            }
            three.copy_from_slice(&bits.to_be_bytes()[1..]);
        }
        Some(Self(bytes))
    }

    /// Returns the hash in base64url.
    pub(crate) fn letters(&self) -> [u8; HASH_LETTERS] {
        let mut text = [0; HASH_LETTERS];
        // In chunks of a fixed size, because every line has two hashes.
        let (fours, threes) = (text.as_chunks_mut::<4>().0, self.0.as_chunks::<3>().0);
        for (four, [one, two, three]) in fours.iter_mut().zip(threes) {
            let bits = u32::from_be_bytes([0, *one, *two, *three]);
            *four = [18, 12, 6, 0].map(|shift| LETTERS[(bits >> shift) as usize & 63]);
        }
        text
    }
}

impl fmt::Display for LineHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.letters()).unwrap_or_default())
    }
}

/// The key of the record. Only a process that can read the state folder can sign a line, or sign where the record
/// ends.
#[derive(Clone)]
pub(crate) struct SigningKey {
    /// The state of the inner hash of HMAC after its padded key.
    inner: Sha256,
    /// The state of the outer hash of HMAC after its padded key.
    outer: Sha256,
}

impl SigningKey {
    /// Reads the key at `path`; `None` if there is no such file.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let wrong = |what: &str| {
            let message = format!("the key `{}` {what}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let secret = match read_regular(path) {
            Ok(secret) => secret,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(wrong(&format!("cannot be read: {err}"))),
        };
        if secret.len() != 32 {
            return Err(wrong("does not have 32 bytes"));
        }
        if fs::metadata(path)?.mode() & 0o077 != 0 {
            return Err(wrong("can be read by other users; run `chmod 600` on it"));
        }
        Ok(Some(Self::new(&secret)))
    }

    /// Returns the error for a record that has lines but no key.
    pub(crate) fn missing() -> io::Error {
        let message = "`record.key` is missing from the state folder, so the record can neither be read nor added \
                       to; put the key back, or move the folder `context_log` and `stats.db` away to start a new \
                       record";
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    /// Generates a key and its secret. The key is not saved yet.
    pub(crate) fn generate() -> io::Result<(Self, [u8; 32])> {
        let mut secret = [0; 32];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty())?;
        Ok((Self::new(&secret), secret))
    }

    /// Saves the secret of a key at `path`, whole or not at all.
    pub(crate) fn save(path: &Path, secret: &[u8; 32]) -> io::Result<()> {
        let fresh = path.with_extension(format!("{}", ulid::Ulid::generate()));
        let mut file =
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&fresh)?;
        file.write_all(secret)?;
        file.sync_data()?;
        fs::rename(&fresh, path)
    }

    fn new(secret: &[u8]) -> Self {
        let padded = |pad: u8| {
            let mut block = [pad; 64];
            for (byte, secret) in block.iter_mut().zip(secret) {
                *byte ^= secret;
            }
            Sha256::new_with_prefix(block)
        };
        Self { inner: padded(0x36), outer: padded(0x5c) }
    }

    /// Signs a line together with the name of its segment: in another segment the same line is invalid.
    pub(crate) fn sign_line(&self, line: &[u8], segment: &str) -> LineHash {
        self.finish(self.inner.clone().chain_update(line).chain_update(b"\n").chain_update(segment))
    }

    /// Signs a text with HMAC-SHA-256.
    pub(crate) fn sign(&self, text: &[u8]) -> LineHash {
        self.finish(self.inner.clone().chain_update(text))
    }

    fn finish(&self, inner: Sha256) -> LineHash {
        LineHash::truncate(&self.outer.clone().chain_update(inner.finalize()).finalize())
    }
}

/// The fields that tie a line to the line before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChainLink {
    /// The number of the line.
    pub(crate) seq: u64,
    /// The hash of the line before.
    pub(crate) prev: LineHash,
    /// The hash of this line.
    pub(crate) own: LineHash,
}

impl ChainLink {
    /// Parses the link of a line, given with its line feed. Returns `None` if the line is torn or we did not sign
    /// it for the segment of this name.
    pub(crate) fn parse(line: &[u8], key: &SigningKey, segment: &str) -> Option<Self> {
        let line = line.strip_suffix(b"\n")?;
        // The last three fields are found by position, because no text of a caller comes after them.
        let (line, own) = split_last_hash(line.strip_suffix(b"\"}")?, b"\",\"sign\":\"")?;
        if key.sign_line(line, segment) != own {
            return None;
        }
        let (rest, prev) = split_last_hash(line, b",\"prev\":\"")?;
        let from = memchr::memrchr(b':', rest)? + 1;
        let seq = str::from_utf8(&rest[from..]).ok()?.parse().ok()?;
        rest[..from].ends_with(b",\"seq\":").then_some(Self { seq, prev, own })
    }
}

/// Splits a hash and its key off the end of a text.
fn split_last_hash<'a>(text: &'a [u8], name: &[u8]) -> Option<(&'a [u8], LineHash)> {
    let (rest, hash) = text.split_at_checked(text.len().checked_sub(HASH_LETTERS)?)?;
    Some((rest.strip_suffix(name)?, LineHash::parse(str::from_utf8(hash).ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn hashes_are_parsed_as_they_are_written() {
        let hash = LineHash::of(b"a line");
        assert_eq!(LineHash::parse(&hash.to_string()), Some(hash));
        assert_ne!(LineHash::of(b"a  line"), hash);
        assert_eq!(LineHash::parse("short"), None);
        assert_eq!(LineHash::parse(&"ä".repeat(16)), None);
    }

    #[test]
    fn signing_is_hmac() {
        // RFC 4231, the second case, cut.
        let signed = SigningKey::new(b"Jefe").sign(b"what do ya want for nothing?");
        assert_eq!(signed.0[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn a_key_is_kept_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.key");
        assert!(SigningKey::read(&path).unwrap().is_none());
        let (key, secret) = SigningKey::generate().unwrap();
        SigningKey::save(&path, &secret).unwrap();
        assert_eq!(SigningKey::read(&path).unwrap().unwrap().sign(b"x"), key.sign(b"x"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(SigningKey::read(&path).is_err());
        fs::write(&path, "short").unwrap();
        assert!(SigningKey::read(&path).is_err());
    }
}
