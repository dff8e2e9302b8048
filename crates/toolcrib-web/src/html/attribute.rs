//! The attributes of a start tag.

use std::borrow::Cow;

use super::entity;

/// An iterator over the attributes of a start tag: each name, and its value without quotes.
#[derive(Debug, Clone)]
pub(crate) struct TagAttributes<'a> {
    rest: &'a str,
}

impl<'a> TagAttributes<'a> {
    /// Reads what is between the name of a start tag and its `>`.
    pub(crate) fn new(rest: &'a str) -> Self {
        Self { rest }
    }

    /// Returns the value of the first attribute of that name, with its character references decoded.
    pub(crate) fn value(mut self, name: &str) -> Option<Cow<'a, str>> {
        self.find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| entity::decode(value))
    }
}

fn is_space(byte: u8) -> bool {
    byte.is_ascii_whitespace()
}

impl<'a> Iterator for TagAttributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<(&'a str, &'a str)> {
        let bytes = self.rest.as_bytes();
        let begin = bytes.iter().position(|&byte| !is_space(byte) && byte != b'/')?;
        let is_name_end = |byte: &u8| is_space(*byte) || matches!(byte, b'=' | b'/');
        // A name may begin with `=`.
        let name_end = bytes[begin + 1..]
            .iter()
            .position(is_name_end)
            .map_or(bytes.len(), |at| begin + 1 + at);
        // A letter of several bytes is never cut, because the ends are all in ASCII.
        let name = &self.rest[begin..name_end];
        let mut at = name_end;
        while bytes.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        if bytes.get(at) != Some(&b'=') {
            self.rest = &self.rest[at..];
            return Some((name, ""));
        }
        at += 1;
        while bytes.get(at).is_some_and(|byte| is_space(*byte)) {
            at += 1;
        }
        let quote = bytes.get(at).filter(|byte| matches!(byte, b'"' | b'\''));
        let (value_begin, value_end, rest_begin) = if let Some(quote) = quote {
            let length = memchr::memchr(*quote, &bytes[at + 1..]);
            let end = length.map_or(bytes.len(), |length| at + 1 + length);
            (at + 1, end, (end + 1).min(bytes.len()))
        } else {
            let length = bytes[at..].iter().position(|&byte| is_space(byte));
            let end = length.map_or(bytes.len(), |length| at + length);
            (at, end, end)
        };
        let value = &self.rest[value_begin..value_end];
        self.rest = &self.rest[rest_begin..];
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_read_in_every_form() {
        for (text, expected) in [
            ("", ""),
            (" a=1 b='2 3' c=\"4'5\" d", "a[1]b[2 3]c[4'5]d[]"),
            (" a = 1 b= 'x' / c", "a[1]b[x]c[]"),
            (" href=/a/b", "href[/a/b]"),
            (" =x y", "=x[]y[]"),
            (" é=ü a='open", "é[ü]a[open]"),
            (" a=", "a[]"),
        ] {
            let pairs = TagAttributes::new(text).map(|(name, value)| format!("{name}[{value}]"));
            let shown = pairs.collect::<Vec<_>>().concat();
            assert_eq!(shown, expected, "{text}");
        }
        let attributes = TagAttributes::new(" HREF='a&amp;b' href=c");
        assert_eq!(attributes.value("href").as_deref(), Some("a&b"));
    }
}
