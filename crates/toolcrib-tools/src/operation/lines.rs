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

/// Returns at most `most` bytes of `text`, without splitting a character.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
