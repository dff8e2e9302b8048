//! Splits text into lines, and cuts it to a size.

/// Returns the lines of a text without their line ends.
pub(crate) fn of(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in memchr::memchr_iter(b'\n', text.as_bytes()) {
        let line = &text[start..end];
        lines.push(line.strip_suffix('\r').unwrap_or(line));
        start = end + 1;
    }
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Returns the byte offset after each line of a text and its line end.
pub(crate) fn ends(text: &str) -> impl Iterator<Item = usize> {
    let last = (!text.is_empty() && !text.ends_with('\n')).then_some(text.len());
    memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1).chain(last)
}

/// Returns how many lines a text has.
pub(crate) fn count(text: &str) -> usize {
    let last = usize::from(!text.is_empty() && !text.ends_with('\n'));
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + last
}

/// Returns what follows the first `count` lines of a text.
pub(crate) fn skip(text: &str, count: usize) -> &str {
    &text[ends(text).take(count).last().unwrap_or(0)..]
}

/// Appends the decimal digits of a number, without the machinery of formatting: a file has thousands of lines.
pub(crate) fn push_number(out: &mut String, number: usize) {
    if number >= 10 {
        push_number(out, number / 10);
    }
    out.push(char::from(b'0' + (number % 10) as u8));
}

/// Returns at most `most` bytes of `text`, without splitting a character.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_standard_library() {
        let ends = ["", "\n", "\r\n", "\r", "\n\n", "\r\r\n", "é\n", "\n\r"];
        for text in ends.iter().flat_map(|a| ends.iter().map(move |b| format!("{a}x{b}"))) {
            assert_eq!(of(&text), text.lines().collect::<Vec<_>>(), "{text:?}");
            assert_eq!(count(&text), text.lines().count(), "{text:?}");
            let whole: Vec<&str> = text.split_inclusive('\n').collect();
            for skipped in 0..4 {
                let rest = whole.get(skipped..).unwrap_or_default().concat();
                assert_eq!(skip(&text, skipped), rest, "{text:?}");
            }
        }
        assert_eq!(of(""), Vec::<&str>::new());
        assert_eq!(of("\n"), [""]);
    }

    #[test]
    fn numbers_have_their_digits() {
        for number in [0, 7, 9, 10, 99, 100, 1234, usize::MAX] {
            let mut out = String::from("x");
            push_number(&mut out, number);
            assert_eq!(out, format!("x{number}"));
        }
    }
}
