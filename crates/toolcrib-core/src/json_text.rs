//! Writes JSON values as text. Replies are long strings, so the search for what needs an escape takes eight bytes at a
//! time; the result is what `serde_json` writes, byte for byte.

use serde_json::Value;

/// The byte 1 in each byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

/// The highest bit of each byte of a word.
const HIGH_BITS: u64 = ONES << 7;

/// Returns a value as compact JSON.
pub fn json_text(value: &Value) -> String {
    let mut out = String::new();
    push_value(&mut out, value);
    out
}

/// Appends a value as compact JSON.
pub fn push_value(out: &mut String, value: &Value) {
    match value {
        Value::String(text) => push_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_value(out, item);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (index, (name, member)) in members.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                push_string(out, name);
                out.push(':');
                push_value(out, member);
            }
            out.push('}');
        }
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
    }
}

/// Appends a text as a JSON string.
pub fn push_string(out: &mut String, text: &str) {
    // Room for some escapes, so that a long text is not moved while it grows.
    out.reserve(text.len() + text.len() / 16 + 2);
    out.push('"');
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        out.push_str(&rest[..at]);
        match rest.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0c => out.push_str("\\f"),
            byte => {
                let digit = |four: u8| char::from(b"0123456789abcdef"[usize::from(four)]);
                out.push_str("\\u00");
                out.extend([digit(byte >> 4), digit(byte & 15)]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.push_str(rest);
    out.push('"');
}

/// Returns where the first byte is that a JSON string must escape: a control character, a quote or a backslash.
pub fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let found = escaped_in(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(index * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let from = bytes.len() - rest.len();
    let is_escaped = |byte: &u8| *byte < 0x20 || matches!(*byte, b'"' | b'\\');
    rest.iter().position(is_escaped).map(|at| from + at)
}

/// Returns a word whose lowest set bit is in the first byte of `word` that must be escaped; zero if there is none.
/// Subtracting borrows only from the bytes after such a byte, so those before it are right.
fn escaped_in(word: u64) -> u64 {
    let is_zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    let is_quote = is_zero(word ^ (ONES * u64::from(b'"')));
    let is_backslash = is_zero(word ^ (ONES * u64::from(b'\\')));
    (is_control | is_quote | is_backslash) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_character_is_written_as_serde_json_writes_it_at_every_place() {
        let odd = ['\u{7f}', '\u{80}', 'é', '\u{2028}', '文', '\u{1f600}', '!', '#', '[', ']'];
        for c in (0..0x80).map(char::from).chain(odd) {
            for place in 0..20 {
                let text = format!("{}{c}{}{c}{c}", "x".repeat(place), "ÿ".repeat(place % 7));
                let mut out = String::new();
                push_string(&mut out, &text);
                assert_eq!(out, serde_json::to_string(&text).unwrap());
            }
        }
    }

    #[test]
    fn values_are_written_as_serde_json_writes_them() {
        for value in [
            json!(null),
            json!([true, false, 0, -1, 1.5, 1e300, u64::MAX, i64::MIN]),
            json!({"b": {"z": [], "a": {}}, "": "", "a\"\n": ["\\", "two\r\nlines", "tab\t"]}),
        ] {
            assert_eq!(json_text(&value), value.to_string());
        }
    }
}
