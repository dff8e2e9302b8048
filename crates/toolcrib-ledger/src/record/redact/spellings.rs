//! The spellings of a secret value: as it is, in JSON, in hexadecimal, in URLs and in base64.

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
    let url = in_url(value);
    all.extend([lower_escapes(&url), url.replace("%20", "+"), url]);
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

/// Returns the value with everything escaped that may not stand in a part of a URL.
fn in_url(value: &str) -> String {
    value.bytes().fold(String::new(), |mut text, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
        text
    })
}

/// Returns a text in a URL with its escapes in lower case.
fn lower_escapes(url: &str) -> String {
    let mut parts = url.split('%');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let (code, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        format!("{text}%{}{rest}", code.to_lowercase())
    })
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
    fn urls_and_hex_have_both_cases() {
        let all = spellings("pa ss/w\u{f6}rd");
        for spelling in ["pa%20ss%2Fw%C3%B6rd", "pa%20ss%2fw%c3%b6rd", "pa+ss%2Fw%C3%B6rd"] {
            assert!(all.iter().any(|it| it == spelling), "{spelling}: {all:?}");
        }
        assert!(all.iter().any(|it| it == "70612073732f77c3b67264"), "{all:?}");
        assert!(all.iter().any(|it| it == "70612073732F77C3B67264"), "{all:?}");
    }
}
