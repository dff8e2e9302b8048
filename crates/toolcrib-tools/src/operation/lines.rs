//! Splits text into lines, and cuts it to a size.

/// Returns the lines of a text without their line ends.
pub(crate) fn of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Returns what follows the first `count` lines of a text.
pub(crate) fn skip(text: &str, count: usize) -> &str {
    let skipped: usize = text.split_inclusive('\n').take(count).map(str::len).sum();
    &text[skipped..]
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
    fn numbers_have_their_digits() {
        for number in [0, 7, 9, 10, 99, 100, 1234, usize::MAX] {
            let mut out = String::from("x");
            push_number(&mut out, number);
            assert_eq!(out, format!("x{number}"));
        }
    }
}
