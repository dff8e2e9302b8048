//! Lines of a text by number.

/// Returns the lines of a text without their ends.
pub(crate) fn of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Cuts `text` to at most `most` bytes, at a character's end.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
