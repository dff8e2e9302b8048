//! The hash that ties each line of the record to the one before it, and the key that signs each line and where
//! the record ends.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::state::read_plain;

/// How many bytes of a line's SHA-256 are kept: nobody finds a second text for them.
const SIZE: usize = 24;

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// The hash of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link([u8; SIZE]);

impl Link {
    /// What the first line of all names as the one before it.
    pub(crate) const FIRST: Self = Self([0; SIZE]);

    /// Returns the plain hash of a text.
    pub(crate) fn of(text: &[u8]) -> Self {
        Self::cut(&Sha256::digest(text))
    }

    fn cut(hash: &[u8]) -> Self {
        let mut bytes = [0; SIZE];
        bytes.copy_from_slice(&hash[..SIZE]);
        Self(bytes)
    }

    /// Reads what [`fmt::Display`] wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() != SIZE / 3 * 4 {
            return None;
        }
        let mut bytes = [0; SIZE];
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
}

impl Link {
    /// Its letters.
    pub(crate) fn letters(&self) -> [u8; SIZE / 3 * 4] {
        let mut text = [0; SIZE / 3 * 4];
        for (four, three) in text.chunks_mut(4).zip(self.0.chunks(3)) {
            let bits = u32::from_be_bytes([0, three[0], three[1], three[2]]);
            for (place, letter) in four.iter_mut().enumerate() {
                *letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63];
            }
        }
        text
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(str::from_utf8(&self.letters()).unwrap_or_default())
    }
}

/// Signs, so that only who can read the state folder can write a line, or say where the record ends.
#[derive(Clone)]
pub(crate) struct Key {
    inner: Sha256,
    outer: Sha256,
}

impl Key {
    /// Reads the key at `path`; nothing if there is none.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        let wrong = |what: &str| {
            let message = format!("the key `{}` {what}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        };
        let secret = match read_plain(path) {
            Ok(secret) => secret,
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(err) => return Err(wrong(&format!("cannot be read: {err}"))),
        };
        if secret.len() != 32 {
            return Err(wrong("has not its 32 bytes"));
        }
        if fs::metadata(path)?.mode() & 0o077 != 0 {
            return Err(wrong("is open to others; run `chmod 600` on it"));
        }
        Ok(Some(Self::new(&secret)))
    }

    /// What is to be said where there are lines and no key.
    pub(crate) fn missing() -> io::Error {
        let message = "`record.key` is missing from the state folder, so that nothing of the record can be read or \
                       added to; put it back, or move the folder `context_log` and `stats.db` away to begin anew";
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    /// Makes a key, which is not kept yet.
    pub(crate) fn make() -> io::Result<(Self, [u8; 32])> {
        let mut secret = [0; 32];
        rustix::rand::getrandom(&mut secret[..], rustix::rand::GetRandomFlags::empty())?;
        Ok((Self::new(&secret), secret))
    }

    /// Keeps a key at `path`, whole or not at all.
    pub(crate) fn keep(path: &Path, secret: &[u8; 32]) -> io::Result<()> {
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

    /// Signs a line of a file: in another one it is another line.
    pub(crate) fn sign_line(&self, line: &[u8], file: &str) -> Link {
        self.finish(self.inner.clone().chain_update(line).chain_update(b"\n").chain_update(file))
    }

    /// Signs a text, as HMAC-SHA-256 does.
    pub(crate) fn sign(&self, text: &[u8]) -> Link {
        self.finish(self.inner.clone().chain_update(text))
    }

    fn finish(&self, inner: Sha256) -> Link {
        Link::cut(&self.outer.clone().chain_update(inner.finalize()).finalize())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn links_are_read_as_they_are_written() {
        let link = Link::of(b"a line");
        assert_eq!(Link::parse(&link.to_string()), Some(link));
        assert_ne!(Link::of(b"a  line"), link);
        assert_eq!(Link::parse("short"), None);
        assert_eq!(Link::parse(&"ä".repeat(16)), None);
    }

    #[test]
    fn signing_is_hmac() {
        // RFC 4231, the second case, cut.
        let signed = Key::new(b"Jefe").sign(b"what do ya want for nothing?");
        assert_eq!(signed.0[..4], [0x5b, 0xdc, 0xc1, 0x46]);
    }

    #[test]
    fn a_key_is_kept_whole_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("record.key");
        assert!(Key::read(&path).unwrap().is_none());
        let (key, secret) = Key::make().unwrap();
        Key::keep(&path, &secret).unwrap();
        assert_eq!(Key::read(&path).unwrap().unwrap().sign(b"x"), key.sign(b"x"));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(Key::read(&path).is_err());
        fs::write(&path, "short").unwrap();
        assert!(Key::read(&path).is_err());
    }
}
