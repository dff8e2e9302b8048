//! Text in files: decoded strictly, and written back in the encoding that the file had.

use toolcrib_core::{ErrorKind, ToolError, Tree};

use super::lines;

/// The most bytes of a file that a tool reads or edits as text.
pub(crate) const MAX_FILE_BYTES: u64 = 10 << 20;

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    Utf8,
    Utf8WithMark,
    Utf16Le,
    Utf16Be,
}

/// The decoded content of a text file.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: String,
    pub(crate) encoding: Encoding,
}

/// A text file as it was read: whole, or cut at a limit.
pub(crate) struct TextFile {
    pub(crate) text: String,
    /// The size of the whole file in bytes.
    pub(crate) size: u64,
    pub(crate) is_cut: bool,
    encoding: Encoding,
}

impl TextFile {
    /// Returns how many lines the whole file has. For UTF-16 text that was cut, returns how many were read.
    pub(crate) fn total_lines(&self, tree: &dyn Tree, path: &str) -> Result<usize, ToolError> {
        let read = lines::count(&self.text);
        if !self.is_cut || matches!(self.encoding, Encoding::Utf16Le | Encoding::Utf16Be) {
            return Ok(read);
        }
        let counted = usize::try_from(tree.count_lines(path)?).unwrap_or(usize::MAX);
        Ok(counted.max(read))
    }
}

impl Text {
    /// Decodes a whole file. Returns nothing for bytes that are not valid text: nothing is guessed or
    /// repaired.
    pub(crate) fn decode(bytes: Vec<u8>) -> Option<Self> {
        decode(bytes, Tail::Whole)
    }

    /// Encodes `text`, with the byte-order mark that the encoding has.
    pub(crate) fn encode(encoding: Encoding, text: &str) -> Vec<u8> {
        match encoding {
            Encoding::Utf8 => text.as_bytes().to_vec(),
            Encoding::Utf8WithMark => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
            Encoding::Utf16Le => {
                let units = std::iter::once(0xfeff).chain(text.encode_utf16());
                units.flat_map(u16::to_le_bytes).collect()
            }
            Encoding::Utf16Be => {
                let units = std::iter::once(0xfeff).chain(text.encode_utf16());
                units.flat_map(u16::to_be_bytes).collect()
            }
        }
    }
}

/// Whether the bytes end with the file, or were cut, perhaps within a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    Whole,
    Cut,
}

fn decode(bytes: Vec<u8>, tail: Tail) -> Option<Text> {
    if let Some(rest) = bytes.strip_prefix(b"\xef\xbb\xbf") {
        return Some(Text { text: utf8(rest.to_vec(), tail)?, encoding: Encoding::Utf8WithMark });
    }
    if let Some(rest) = bytes.strip_prefix(b"\xff\xfe") {
        let text = utf16(rest, tail, u16::from_le_bytes)?;
        return Some(Text { text, encoding: Encoding::Utf16Le });
    }
    if let Some(rest) = bytes.strip_prefix(b"\xfe\xff") {
        let text = utf16(rest, tail, u16::from_be_bytes)?;
        return Some(Text { text, encoding: Encoding::Utf16Be });
    }
    Some(Text { text: utf8(bytes, tail)?, encoding: Encoding::Utf8 })
}

/// Decodes UTF-8. The bytes become the text as they are, because most files are UTF-8 and nothing needs a copy.
fn utf8(bytes: Vec<u8>, tail: Tail) -> Option<String> {
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(err) if tail == Tail::Cut && err.utf8_error().error_len().is_none() => {
            let valid = err.utf8_error().valid_up_to();
            let mut bytes = err.into_bytes();
            bytes.truncate(valid);
            String::from_utf8(bytes).ok()?
        }
        Err(_) => return None,
    };
    // NUL is valid UTF-8 but never part of a text file.
    memchr::memchr(0, text.as_bytes()).is_none().then_some(text)
}

fn utf16(bytes: &[u8], tail: Tail, unit: fn([u8; 2]) -> u16) -> Option<String> {
    let pairs = bytes.chunks_exact(2);
    if tail == Tail::Whole && !pairs.remainder().is_empty() {
        return None;
    }
    let mut units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
    if tail == Tail::Cut && units.last().is_some_and(|last| (0xd800..0xdc00).contains(last)) {
        units.pop();
    }
    let text = String::from_utf16(&units).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Reads at most `most` bytes of a file as text.
pub(crate) fn read(tree: &dyn Tree, path: &str, most: u64) -> Result<TextFile, ToolError> {
    let content = tree.read(path, most)?;
    let (is_cut, size) = (content.is_cut(), content.size);
    let tail = if is_cut { Tail::Cut } else { Tail::Whole };
    match decode(content.bytes, tail) {
        Some(Text { text, encoding }) => Ok(TextFile { text, size, is_cut, encoding }),
        None => Err(not_text(path)),
    }
}

/// Returns the error for a file that is not text.
pub(crate) fn not_text(path: &str) -> ToolError {
    let message = format!("`{path}` is not UTF-8 or UTF-16 text");
    ToolError::new(ErrorKind::NotText, message).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_survive_a_round_trip() {
        for (bytes, encoding) in [
            (&b"hi\r\n"[..], Encoding::Utf8),
            (b"\xef\xbb\xbfhi", Encoding::Utf8WithMark),
            (b"\xff\xfeh\0i\0", Encoding::Utf16Le),
            (b"\xfe\xff\0h\0i", Encoding::Utf16Be),
            (b"", Encoding::Utf8),
        ] {
            let text = Text::decode(bytes.to_vec()).unwrap();
            assert_eq!(text.encoding, encoding);
            assert_eq!(Text::encode(text.encoding, &text.text), bytes);
        }
    }

    #[test]
    fn what_is_not_text_is_refused() {
        for bytes in [&b"caf\xe9"[..], b"a\0b", b"\xff\xfea", b"\xff\xfe\x00\xd8", b"\x80"] {
            assert!(Text::decode(bytes.to_vec()).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn a_cut_in_a_character_is_not_an_error() {
        assert_eq!(decode("aé".as_bytes()[..2].to_vec(), Tail::Cut).unwrap().text, "a");
        assert!(decode(b"a\xffb".to_vec(), Tail::Cut).is_none());
    }
}
