//! Character references of HTML: `&amp;`, `&#38;` and `&#x26;`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::entity_names::ENTITY_NAMES;

/// The longest reference that is read, without its `&`. A longer one stays as it is.
const LONGEST_REFERENCE: usize = 32;

/// The names and their characters, sorted by name.
static NAMED: LazyLock<Vec<(&str, char)>> = LazyLock::new(|| {
    let mut words = ENTITY_NAMES.split(' ');
    let mut named = Vec::new();
    while let (Some(name), Some(code)) = (words.next(), words.next()) {
        let code = u32::from_str_radix(code, 16).ok().and_then(char::from_u32);
        named.extend(code.map(|code| (name, code)));
    }
    named
});

/// What the numbers 128 to 159 stand for: pages mean the letters of windows-1252.
const LETTERS_FROM_128: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Returns a text with its references replaced. References that are unknown or not closed stay as they are.
pub(crate) fn decode(text: &str) -> Cow<'_, str> {
    let Some(first) = memchr::memchr(b'&', text.as_bytes()) else { return Cow::Borrowed(text) };
    let mut decoded = String::with_capacity(text.len());
    decoded.push_str(&text[..first]);
    let mut rest = &text[first..];
    loop {
        // `rest` begins with `&`.
        if let Some((letter, length)) = reference(&rest[1..]) {
            decoded.push(letter);
            rest = &rest[1 + length..];
        } else {
            decoded.push('&');
            rest = &rest[1..];
        }
        match memchr::memchr(b'&', rest.as_bytes()) {
            Some(next) => {
                decoded.push_str(&rest[..next]);
                rest = &rest[next..];
            }
            None => break,
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

/// Returns the character that a reference stands for, and how many bytes after the `&` it takes.
fn reference(text: &str) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let (digits_from, radix) = match bytes {
        [b'#', b'x' | b'X', ..] => (2, 16),
        [b'#', ..] => (1, 10),
        _ => return named_reference(text),
    };
    let digits = &bytes[digits_from..bytes.len().min(LONGEST_REFERENCE)];
    let count = digits.iter().take_while(|digit| char::from(**digit).is_digit(radix)).count();
    if count == 0 {
        return None;
    }
    let end = digits_from + count;
    let number = u32::from_str_radix(&text[digits_from..end], radix).unwrap_or(u32::MAX);
    let length = end + usize::from(bytes.get(end) == Some(&b';'));
    Some((numbered_letter(number), length))
}

fn numbered_letter(number: u32) -> char {
    match number {
        0 => char::REPLACEMENT_CHARACTER,
        128..=159 => LETTERS_FROM_128[number as usize - 128],
        _ => char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER),
    }
}

fn named_reference(text: &str) -> Option<(char, usize)> {
    let bytes = text.as_bytes();
    let window = &bytes[..bytes.len().min(LONGEST_REFERENCE)];
    let length = window.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count();
    let name = &text[..length];
    let end = bytes.get(length);
    // Old pages leave the semicolon out. In an address, `&copy=1` is a parameter.
    let is_old = matches!(name, "amp" | "lt" | "gt" | "quot" | "nbsp" | "copy" | "reg");
    if end != Some(&b';') && (!is_old || end == Some(&b'=')) {
        return None;
    }
    let letter = match name {
        "amp" => '&',
        "nbsp" => '\u{a0}',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        _ => NAMED.binary_search_by_key(&name, |it| it.0).ok().map(|at| NAMED[at].1)?,
    };
    Some((letter, length + usize::from(end == Some(&b';'))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_decoded() {
        for (text, expected) in [
            ("a &amp; b", "a & b"),
            ("&lt;p&gt;", "<p>"),
            ("&eacute;&Eacute;&hellip;", "éÉ…"),
            ("&#233;&#xE9;&#Xe9;", "ééé"),
            ("&#150;&#x80;", "–€"),
            ("&#0;&#xD800;&#99999999999;", "\u{fffd}\u{fffd}\u{fffd}"),
            ("&amp;amp;", "&amp;"),
            ("AT&T &unknown; &", "AT&T &unknown; &"),
            ("&copy 2020", "© 2020"),
            ("?a=1&copy=2&reg=3", "?a=1&copy=2&reg=3"),
            ("&#; &#x; &;", "&#; &#x; &;"),
            ("&rarr;&check;&apos;", "→✓'"),
            ("&é", "&é"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn names_are_sorted_and_all_are_read() {
        assert!(NAMED.is_sorted_by_key(|it| it.0));
        assert_eq!(NAMED.len() * 2, ENTITY_NAMES.split(' ').count());
        for (name, letter) in NAMED.iter() {
            assert_eq!(decode(&format!("&{name};")), letter.to_string(), "{name}");
        }
    }

    #[test]
    fn long_references_stay_as_they_are() {
        let long = format!("&{}", "a".repeat(1_000_000));
        assert_eq!(decode(&long), long.as_str());
        let many = "&".repeat(1_000_000);
        assert_eq!(decode(&many), many.as_str());
    }
}
