//! Lines that fit the terminal: lists are cut at the end of a word, and sentences go on in the next line.

use std::fmt::Write;

/// How far running text is indented at most.
const MOST_INDENT: usize = 4;

/// What marks a line that was cut.
const CUT: &str = "…";

/// Returns a line of at most `width` columns. A longer one is cut at the end of a word. Colours take no room.
pub(super) fn fit(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| columns(line) > *width) else { return line.to_owned() };
    let room = width.saturating_sub(2);
    let (mut cut, mut last_end, mut shown) = (0, 0, 0);
    for (place, piece) in pieces(line) {
        if let Piece::Char(c) = piece {
            if shown == room {
                break;
            }
            if c == ' ' {
                last_end = place;
            }
            shown += 1;
        }
        cut = place + piece.len();
    }
    // A word that begins at the left edge has no end to be cut at.
    let is_at_end = line[cut..].starts_with(' ');
    let end = if is_at_end || last_end == 0 { cut } else { last_end };
    let end_of_colour = if line.contains('\x1b') { "\x1b[0m" } else { "" };
    format!("{}{end_of_colour} {CUT}", line[..end].trim_end())
}

/// Returns lines that fit the terminal.
pub(super) fn fit_all(lines: &[String], width: Option<usize>) -> Vec<String> {
    lines.iter().map(|line| fit(line, width)).collect()
}

/// A piece of a line.
enum Piece {
    Char(char),
    /// A colour, of so many bytes.
    Colour(usize),
}

impl Piece {
    fn len(&self) -> usize {
        match self {
            Self::Char(c) => c.len_utf8(),
            Self::Colour(bytes) => *bytes,
        }
    }
}

/// Returns the pieces of a line with their places.
fn pieces(line: &str) -> impl Iterator<Item = (usize, Piece)> {
    let mut place = 0;
    std::iter::from_fn(move || {
        let rest = &line[place..];
        let piece = match rest.strip_prefix("\x1b[") {
            Some(colour) => Piece::Colour(2 + colour.find('m').map_or(colour.len(), |end| end + 1)),
            None => Piece::Char(rest.chars().next()?),
        };
        let here = place;
        place += piece.len();
        Some((here, piece))
    })
}

/// Returns how many columns a line takes.
fn columns(line: &str) -> usize {
    pieces(line).filter(|(_, piece)| matches!(piece, Piece::Char(_))).count()
}

/// Returns a text in lines of at most `width` columns, broken between words. Every line but the first begins with
/// `indent`.
pub(super) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let start = text.len() - text.trim_start().len();
    let mut line = text[..start].to_owned();
    let mut is_first = true;
    let mut lines = String::new();
    for word in text[start..].split(' ') {
        if !is_first && columns(&line) + 1 + columns(word) > width {
            let _ = writeln!(lines, "{}", line.trim_end());
            indent.clone_into(&mut line);
        } else if !is_first {
            line.push(' ');
        }
        line.push_str(word);
        is_first = false;
    }
    let _ = writeln!(lines, "{line}");
    lines
}

/// Returns a row of a table as running text, for a terminal on which its columns have no room: the first gap becomes a
/// colon.
pub(super) fn as_text(row: &str) -> String {
    let text = row.trim_start();
    let indent = " ".repeat((row.len() - text.len()).min(MOST_INDENT));
    match text.split_once("  ") {
        Some((name, rest)) => format!("{indent}{name}: {}", rest.trim_start()),
        None => format!("{indent}{text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_becomes_a_sentence_where_its_columns_have_no_room() {
        for (row, expect) in [
            ("  ✓ landlock        version 7", "  ✓ landlock: version 7"),
            ("                    fix: add it", "    fix: add it"),
            ("Sandbox", "Sandbox"),
            ("", ""),
        ] {
            assert_eq!(as_text(row), expect);
        }
    }

    #[test]
    fn a_line_is_cut_at_the_end_of_a_word() {
        for (line, width, expect) in [
            ("one two three", 13, "one two three"),
            ("one two three", 12, "one two …"),
            ("one two three", 9, "one two …"),
            ("one two three", 8, "one …"),
            ("\x1b[1mone\x1b[0m two", 7, "\x1b[1mone\x1b[0m two"),
            ("\x1b[1mone\x1b[0m two", 6, "\x1b[1mone\x1b[0m\x1b[0m …"),
            ("abcdefghij", 6, "abcd …"),
            ("größe 12345", 8, "größe …"),
            ("", 3, ""),
        ] {
            assert_eq!(fit(line, Some(width)), expect, "{line} in {width}");
        }
        assert_eq!(fit("one two three", None), "one two three", "no terminal, no end");
    }

    #[test]
    fn a_sentence_goes_on_in_the_next_line() {
        assert_eq!(wrapped("one two three", "  ", 8), "one two\n  three\n");
        assert_eq!(wrapped("  one   two", "    ", 20), "  one   two\n");
        assert_eq!(wrapped("averyveryverylongword x", " ", 8), "averyveryverylongword\n x\n");
    }
}
