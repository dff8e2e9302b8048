//! Escaping: control characters and other deceptive characters are shown as escapes, and any file name is spelt so
//! that it can be shown, told from others, and passed back.

use std::borrow::Cow;
use std::fmt::Write;

use unicode_normalization::UnicodeNormalization;

/// Whether a character could mislead a terminal or a reader: control, bidirectional, zero-width and tag characters,
/// odd spaces.
pub fn is_deceptive(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00ad}' | '\u{034f}' | '\u{061c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{1680}' | '\u{2000}'..='\u{200f}'
            | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}' | '\u{2800}' | '\u{3000}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns `text` for one line of a terminal, with every deceptive character as `\u{…}`.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, |c| is_deceptive(c) || c == '\u{a0}')
}

/// Returns `text` for several lines of a terminal, with every deceptive character but line breaks and tabs as
/// `\u{…}`.
pub fn lines(text: &str) -> Cow<'_, str> {
    escape(text, |c| (is_deceptive(c) || c == '\u{a0}') && c != '\n' && c != '\t')
}

fn escape(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(|c| hidden(c) || is_mark(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut marks = 0;
    for c in text.chars() {
        marks = if is_mark(c) { marks + 1 } else { 0 };
        if hidden(c) || marks > MOST_MARKS {
            match c {
                '\n' | '\r' | '\t' => out.extend(c.escape_default()),
                _ => out.extend(c.escape_unicode()),
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// The most combining marks on one letter: more of them cover the lines around it.
const MOST_MARKS: usize = 2;

/// Whether a character is a combining mark, drawn over the character before it.
fn is_mark(c: char) -> bool {
    c > '\u{2ff}' && unicode_normalization::char::is_combining_mark(c)
}

/// Returns JSON text with every deceptive character as a `\uXXXX` escape: the same value, safe to show.
pub fn json(text: &str) -> Cow<'_, str> {
    // Replies are long and mostly plain. A fold without a branch lets the compiler compare many bytes at once.
    let is_plain = text.bytes().fold(true, |all, byte| all & (32..127).contains(&byte));
    if is_plain || !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        // Line breaks and tabs only stand between tokens; inside strings they are escaped already.
        if is_deceptive(c) && c != '\n' && c != '\t' {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Spells a file name as text. A plain name stays as it is; any other name becomes `$'…'` with escapes, as bash
/// writes it. [`unname`] is the inverse.
pub fn name(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes)
        && !text.contains(is_deceptive)
        && !text.starts_with("$'")
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::from("$'");
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' | '\'' => out.extend(['\\', c]),
                '\n' => out.push_str("\\n"),
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                c if c.is_ascii() && is_deceptive(c) => {
                    let _ = write!(out, "\\x{:02x}", c as u32);
                }
                c if is_deceptive(c) && (c as u32) < 0x1_0000 => {
                    let _ = write!(out, "\\u{:04x}", c as u32);
                }
                c if is_deceptive(c) => {
                    let _ = write!(out, "\\U{:08x}", c as u32);
                }
                c => out.push(c),
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out.push('\'');
    Cow::Owned(out)
}

/// Spells a path, `prefix` and then the names of `bytes`, each as [`name`] spells it.
pub fn path(prefix: &str, bytes: &[u8]) -> String {
    let needs_care = |byte: u8| !(33..127).contains(&byte) || byte == b'$';
    let mut spelt = String::with_capacity(prefix.len() + bytes.len());
    spelt.push_str(prefix);
    if !bytes.iter().fold(false, |any, byte| any | needs_care(*byte)) {
        spelt.push_str(std::str::from_utf8(bytes).unwrap_or_default());
        return spelt;
    }
    for (index, part) in bytes.split(|byte| *byte == b'/').enumerate() {
        if index > 0 {
            spelt.push('/');
        }
        spelt.push_str(&name(part));
    }
    spelt
}

/// Returns how many bytes `text` takes as a JSON string, without its quotes.
pub fn json_length(text: &str) -> usize {
    // A fold without a branch lets the compiler compare many bytes at once.
    let is_special = |byte: u8| byte < 32 || byte == b'"' || byte == b'\\';
    if !text.bytes().fold(false, |any, byte| any | is_special(byte)) {
        return text.len();
    }
    let extra = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..=31 => 5,
        _ => 0,
    });
    text.len() + extra.sum::<usize>()
}

/// Returns the path with `suffix` added to its last name, which may be spelt with escapes.
pub fn beside(path: &str, suffix: &str) -> String {
    let (folder, last) = path.rsplit_once('/').map_or(("", path), |(folder, last)| (folder, last));
    let bytes = [unname(last).as_ref(), suffix.as_bytes()].concat();
    let slash = if path.contains('/') { "/" } else { "" };
    format!("{folder}{slash}{}", name(&bytes))
}

/// Returns the bytes of a file name that [`name`] spelt; any other text stands for its own bytes.
pub fn unname(text: &str) -> Cow<'_, [u8]> {
    let quoted = text.strip_prefix("$'").and_then(|rest| rest.strip_suffix('\''));
    match quoted.and_then(unquote) {
        Some(bytes) => Cow::Owned(bytes),
        None => Cow::Borrowed(text.as_bytes()),
    }
}

fn unquote(quoted: &str) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(quoted.len());
    let mut rest = quoted;
    while let Some(at) = rest.find('\\') {
        let (plain, escaped) = rest.split_at(at);
        // `name` escapes every quote, so a text with a bare quote was not spelt by it.
        if plain.contains('\'') {
            return None;
        }
        out.extend_from_slice(plain.as_bytes());
        let letter = escaped[1..].chars().next()?;
        rest = &escaped[1 + letter.len_utf8()..];
        let digits = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let code = if digits > 0 { hex_code(rest.get(..digits)?) } else { None };
        rest = &rest[digits..];
        match (letter, code) {
            ('\\' | '\'', None) => out.push(letter as u8),
            ('n', None) => out.push(b'\n'),
            ('t', None) => out.push(b'\t'),
            ('r', None) => out.push(b'\r'),
            ('x', Some(code)) => out.push(u8::try_from(code).ok()?),
            ('u' | 'U', Some(code)) => {
                out.extend_from_slice(char::from_u32(code)?.encode_utf8(&mut [0; 4]).as_bytes());
            }
            _ => return None,
        }
    }
    if rest.contains('\'') {
        return None;
    }
    out.extend_from_slice(rest.as_bytes());
    Some(out)
}

/// Parses hexadecimal digits only; the parser of the standard library would also accept a sign.
fn hex_code(digits: &str) -> Option<u32> {
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_hex { u32::from_str_radix(digits, 16).ok() } else { None }
}

/// Folds a name for comparison with a protected name: compatibility forms, letter case and invisible characters
/// make no difference.
pub fn fold(name: &str) -> String {
    name.nfkc().filter(|c| !is_deceptive(*c)).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_can_be_shown_and_passed_back() {
        let names: [&[u8]; 9] = [
            b"plain.txt",
            "ünïcode 文".as_bytes(),
            b"\xff\xfe",
            b"\x1b[2J\x1b[Hx",
            "photo\u{202e}gpj.exe".as_bytes(),
            b"$'quoted'",
            b"it's a \\ name\n",
            b"$'",
            "tag\u{e0072}".as_bytes(),
        ];
        for bytes in names {
            let shown = name(bytes);
            assert!(!shown.contains(is_deceptive), "{shown}");
            assert_eq!(unname(&shown).as_ref(), bytes, "{shown}");
        }
        assert_eq!(name(b"plain.txt"), "plain.txt");
        assert_eq!(name(b"\xff\xfe"), r"$'\xff\xfe'");
        assert_eq!(name("photo\u{202e}gpj.exe".as_bytes()), r"$'photo\u202egpj.exe'");
    }

    #[test]
    fn paths_are_spelt_name_by_name() {
        assert_eq!(path("", b"src/main.rs"), "src/main.rs");
        assert_eq!(path("/root/", b"a b/c"), "/root/a b/c");
        assert_eq!(path("", b"src/\xff/$'x"), r"src/$'\xff'/$'$\'x'");
    }

    #[test]
    fn json_length_is_that_of_the_string_without_quotes() {
        for text in ["plain", "a\"b\\c", "\u{1}\n\r\t", "日本", ""] {
            assert_eq!(json_length(text), serde_json::to_string(text).unwrap().len() - 2, "{text}");
        }
    }

    #[test]
    fn a_suffix_goes_to_the_name_and_not_to_its_spelling() {
        assert_eq!(beside("a/b.txt", ".bak"), "a/b.txt.bak");
        assert_eq!(beside(r"$'\xff'", ".bak"), r"$'\xff.bak'");
        assert_eq!(beside("/a", ".bak"), "/a.bak");
    }

    #[test]
    fn text_that_only_looks_quoted_is_itself() {
        for text in ["$'broken\\q'", "$'\\x+a'", "$'a'b'", "$'\\xzz'", "$'\\x'", "$'\\ud800'"] {
            assert_eq!(unname(text).as_ref(), text.as_bytes(), "{text}");
        }
    }

    #[test]
    fn control_characters_are_shown_not_obeyed() {
        assert_eq!(line("ls \u{1b}[8mrm\n"), r"ls \u{1b}[8mrm\n");
        assert_eq!(lines("a\n\tb\u{200b}\u{9b}2J"), "a\n\tb\\u{200b}\\u{9b}2J");
    }

    #[test]
    fn escaped_json_has_the_same_value() {
        let value = serde_json::Value::from("a\u{202e}b\u{e0072}\u{1b}");
        let shown = value.to_string();
        let shown = json(&shown);
        assert_eq!(shown, r#""a\u202eb\udb40\udc72\u001b""#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&shown).unwrap(), value);
    }

    #[test]
    fn names_that_look_alike_fold_together() {
        for other in [".GIT", "\u{ff0e}git", ".g\u{200b}it", ".\u{ff47}it"] {
            assert_eq!(fold(other), ".git", "{other}");
        }
        assert_ne!(fold(".gitignore"), ".git");
    }
}
