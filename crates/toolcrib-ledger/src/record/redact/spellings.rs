//! The spellings of a secret value: as it is, in JSON, in hexadecimal, in base64 and in URLs.

use std::fmt::Write;

/// The two alphabets of base64: the usual one, and the one for URLs and file names.
const BASE64: [&[u8; 64]; 2] = [
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
];

/// Returns every spelling of a value that is searched for.
pub(super) fn spellings(value: &str) -> Vec<String> {
    let once = in_json(value);
    let mut all = vec![once.replace('/', "\\/"), in_json(&once), once, value.to_owned()];
    let hex = value.bytes().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    });
    all.extend([hex.to_uppercase(), hex]);
    // In a URL. Its escapes are decoded before the search.
    all.push(value.replace(' ', "+"));
    for alphabet in BASE64 {
        for skipped in 0..3 {
            let coded = in_base64(value.as_bytes(), skipped, alphabet);
            all.extend([coded.replace('/', "\\/"), coded]);
        }
    }
    all.sort_unstable();
    all.dedup();
    all
}

fn in_json(text: &str) -> String {
    let text = serde_json::to_string(text).unwrap_or_default();
    text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned()
}

/// A text with its URL escapes (`%2F`) decoded. Any character can be escaped, so a value has more spellings in URLs
/// than can be listed.
pub(super) struct DecodedUrl {
    pub(super) bytes: Vec<u8>,
    /// Where each byte begins in the text, and where the text ends.
    places: Vec<usize>,
}

impl DecodedUrl {
    /// Decodes a text; `None` if it has no escapes.
    pub(super) fn of(text: &str) -> Option<Self> {
        let escaped = |at: usize| {
            let code = text.get(at..at + 3)?.strip_prefix('%')?;
            let is_hex = code.bytes().all(|it| it.is_ascii_hexdigit());
            is_hex.then(|| u8::from_str_radix(code, 16).ok())?
        };
        let mut decoded = Self { bytes: Vec::new(), places: Vec::new() };
        let mut at =
            text.bytes().enumerate().find(|(at, it)| *it == b'%' && escaped(*at).is_some())?.0;
        decoded.bytes.extend(&text.as_bytes()[..at]);
        decoded.places.extend(0..at);
        while let Some(byte) = text.as_bytes().get(at) {
            let code = escaped(at);
            decoded.bytes.push(code.unwrap_or(*byte));
            decoded.places.push(at);
            at += if code.is_some() { 3 } else { 1 };
        }
        decoded.places.push(at);
        Some(decoded)
    }

    /// Returns where a span of the decoded bytes is in the text.
    pub(super) fn span(&self, start: usize, end: usize) -> Option<(usize, usize)> {
        Some((*self.places.get(start)?, *self.places.get(end)?))
    }
}

/// Returns the value in base64 as it stands after `skipped` other bytes, such as a user's name and a colon, without
/// the characters that its neighbours have a part in.
fn in_base64(value: &[u8], skipped: usize, alphabet: &[u8; 64]) -> String {
    let bits = |at: usize| {
        let byte = |at: usize| at.checked_sub(skipped).and_then(|at| value.get(at)).copied();
        let (byte_at, shift) = (at * 6 / 8, at * 6 % 8);
        let wide = u16::from_be_bytes([byte(byte_at)?, byte(byte_at + 1).unwrap_or(0)]);
        // A character that also has bits of the byte after the value depends on that byte.
        let is_own = shift <= 2 || byte(byte_at + 1).is_some();
        is_own.then_some(usize::from((wide >> (10 - shift)) & 63))
    };
    let first = (skipped * 8).div_ceil(6);
    (first..).map_while(|at| bits(at).map(|number| char::from(alphabet[number]))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_found_wherever_the_value_stands() {
        // What `printf 'aaa:hunter2 pass?word' | base64` prints, with zero to two more letters in front.
        let value = b"hunter2 pass?word";
        for (skipped, whole) in [
            (4, "YWFhOmh1bnRlcjIgcGFzcz93b3Jk"),
            (5, "YWFhYTpodW50ZXIyIHBhc3M/d29yZA=="),
            (6, "YWFhYWE6aHVudGVyMiBwYXNzP3dvcmQ="),
        ] {
            let coded = in_base64(value, skipped % 3, BASE64[0]);
            assert!(coded.len() >= 20 && whole.contains(&coded), "{coded} in {whole}");
        }
        assert!(in_base64(b"???", 0, BASE64[1]).contains('_'));
    }

    #[test]
    fn hex_has_both_cases() {
        let all = spellings("pa ss/w\u{f6}rd");
        assert!(all.iter().any(|it| it == "70612073732f77c3b67264"), "{all:?}");
        assert!(all.iter().any(|it| it == "70612073732F77C3B67264"), "{all:?}");
    }

    #[test]
    fn escapes_of_urls_are_decoded_with_their_places() {
        let text = "\u{f6}%41b%zz%c3%b6%2";
        let decoded = DecodedUrl::of(text).unwrap();
        assert_eq!(decoded.bytes, "\u{f6}Ab%zz\u{f6}%2".as_bytes());
        let (start, end) = decoded.span(2, 3).unwrap();
        assert_eq!(&text[start..end], "%41");
        assert_eq!(decoded.span(0, decoded.bytes.len()), Some((0, text.len())));
        assert!(DecodedUrl::of("100 % of %zz, %").is_none());
    }
}
