//! Lines of a text by number.

/// Returns the lines of a text without their ends.
pub(crate) fn of(text: &str) -> Vec<&str> {
    text.lines().collect()
}

/// Returns the number of the line, counted from 1, that the byte at `offset` is in.
pub(crate) fn number_at(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// Cuts `text` to at most `most` bytes, at a character's end.
pub(crate) fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
