//! Text of others on a page: no line of it begins a row of ours, and no gap pushes a part of it out of sight.

use std::fmt::Write as _;

use toolcrib_core::escape;

/// The columns that the name of a fact takes.
const LABEL_COLUMNS: usize = 10;

/// The longest run of blanks that is shown as it is.
const MOST_BLANKS: usize = 40;

/// Returns a text in which long runs of blanks are replaced by their count.
pub(super) fn without_gaps(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(' ') {
        out.push_str(&rest[..at]);
        let blanks = rest[at..].len() - rest[at..].trim_start_matches(' ').len();
        if blanks > MOST_BLANKS {
            let _ = write!(out, " [… {blanks} blanks …] ");
        } else {
            out.push_str(&rest[at..at + blanks]);
        }
        rest = &rest[at + blanks..];
    }
    out + rest
}

/// Returns a fact behind its name.
pub(super) fn labelled(name: &str, text: &str) -> String {
    let gap = if name.chars().count() < LABEL_COLUMNS { "" } else { " " };
    format!("  {name:<LABEL_COLUMNS$}{gap}{text}")
}

/// Returns the lines of a file, each on a row of its own.
pub(super) fn block_lines(text: &str) -> String {
    text.lines().fold(String::new(), |rows, line| format!("{rows}\n    | {}", escape::line(line)))
}

/// Returns a text with each of its lines on a row of its own, marked at the left, so that a line break in the text
/// cannot begin a row of ours.
pub(super) fn block(text: &str) -> String {
    if !text.contains('\n') {
        return escape::line(text).into_owned();
    }
    let lines = text.split('\n').map(|line| format!("\n    | {}", escape::line(line)));
    lines.collect()
}
