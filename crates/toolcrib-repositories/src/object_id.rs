//! The id of a git object.

use std::fmt;

/// The id of a git object: the hash of its content, by SHA-1 or SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ObjectId {
    bytes: [u8; 32],
    length: u8,
}

impl ObjectId {
    /// Makes an id of its bytes; nothing if there are not 20 or 32.
    pub(crate) fn from_bytes(id: &[u8]) -> Option<Self> {
        if id.len() != 20 && id.len() != 32 {
            return None;
        }
        let mut bytes = [0; 32];
        bytes[..id.len()].copy_from_slice(id);
        Some(Self { bytes, length: id.len() as u8 })
    }

    /// Parses an id in hexadecimal digits.
    pub(crate) fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
        let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(pair[1])?);
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        let bytes: Option<Vec<u8>> = digits.chunks_exact(2).map(pair).collect();
        Self::from_bytes(&bytes?)
    }

    /// The bytes of the id.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        for text in ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", &"0a".repeat(32)] {
            assert_eq!(ObjectId::from_hex(text).unwrap().to_string(), text);
        }
        for text in ["", "4b", "4b825dc642cb6eb9a060e54bf8d69288fbee490", &"zz".repeat(20)] {
            assert_eq!(ObjectId::from_hex(text), None, "{text}");
        }
    }
}
