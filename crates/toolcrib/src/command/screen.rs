//! The screen that a question is shown on: how wide it is, how high, and which rows a text takes on it.

use std::os::fd::AsFd;

use rustix::termios::tcgetwinsize;

/// The size of a screen that does not tell its own.
const DEFAULT_COLUMNS: usize = 80;
const DEFAULT_ROWS: usize = 24;

/// The fewest columns that a text is wrapped to.
const FEWEST_COLUMNS: usize = 20;

/// The fewest columns on which the count of rows that do not fit has room.
const FEWEST_COLUMNS_FOR_WORDS: usize = 32;

/// What a row begins with that goes on with the row above. Without it, a text that is padded to the width could begin
/// a row of its own, which looks like one of ours.
const CONTINUED: &str = "    ↪ ";
const CONTINUED_COLUMNS: usize = 6;

/// The size of a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Screen {
    columns: usize,
    rows: usize,
}

impl Screen {
    /// Returns the screen of a terminal.
    pub(super) fn of(terminal: impl AsFd) -> Self {
        let size = tcgetwinsize(terminal).ok();
        let or = |given: Option<u16>, default| match given {
            Some(0) | None => default,
            Some(given) => usize::from(given),
        };
        Self::new(
            or(size.map(|it| it.ws_col), DEFAULT_COLUMNS),
            or(size.map(|it| it.ws_row), DEFAULT_ROWS),
        )
    }

    /// Returns a screen of this size.
    pub(super) fn new(columns: usize, rows: usize) -> Self {
        Self { columns: columns.max(FEWEST_COLUMNS), rows }
    }

    /// Returns the screen with its last row taken for something else.
    pub(super) fn without_last_row(self) -> Self {
        Self { rows: self.rows.saturating_sub(1), ..self }
    }

    pub(super) fn columns(self) -> usize {
        self.columns
    }

    pub(super) fn rows(self) -> usize {
        self.rows
    }

    /// Returns the rows of a text, none of them wider than the screen.
    pub(super) fn rows_of(self, text: &str) -> Vec<String> {
        text.split('\n').flat_map(|line| self.wrapped(line)).collect()
    }

    /// Returns a text with its lines broken where the screen ends.
    pub(super) fn wrap(self, text: &str) -> String {
        self.rows_of(text).join("\n")
    }

    /// Returns a text cut to one row.
    pub(super) fn one_row(self, text: &str) -> String {
        // Room for the mark.
        let narrow = Self { columns: self.columns - 2, ..self };
        match &narrow.wrapped(text)[..] {
            [row] => row.clone(),
            [first, ..] => format!("{first} …"),
            [] => String::new(),
        }
    }

    /// Returns as many of these rows as fit above others, with a count in the place of those in the middle that do not;
    /// nothing if all fit. The end is kept, because it is what stands nearest to the question.
    pub(super) fn folded(self, rows: &[String], others: usize) -> Option<Vec<String>> {
        let room = self.rows.saturating_sub(others);
        if rows.len() <= room {
            return None;
        }
        let kept = room.saturating_sub(1);
        let head = kept - kept / 3;
        let mut tail = rows.len() - (kept - head);
        // A row that goes on from one that is not shown says nothing.
        while rows.get(tail).is_some_and(|row| row.trim_start().starts_with('↪')) {
            tail += 1;
        }
        let mut all = rows[..head].to_vec();
        let count = tail - head;
        let is_narrow = self.columns < FEWEST_COLUMNS_FOR_WORDS;
        all.push(if is_narrow {
            format!("  [{count} rows hidden]")
        } else {
            format!("  [… {count} rows not shown …]")
        });
        all.extend_from_slice(&rows[tail..]);
        Some(all)
    }

    fn wrapped(self, line: &str) -> Vec<String> {
        let mut rows = Vec::new();
        let (mut row, mut used) = (String::new(), 0);
        let mut rest = line.chars();
        while let Some(c) = rest.next() {
            // Colours take no room. They are ours: those of others are escaped.
            if c == '\u{1b}' {
                row.push(c);
                row.extend(rest.by_ref().take_while(|c| *c != 'm'));
                row.push('m');
                continue;
            }
            let width = columns_of(c);
            if used + width > self.columns {
                let rest = row.split_off(break_in(&row, self.columns));
                rows.push(std::mem::replace(&mut row, format!("{CONTINUED}{rest}")));
                used = CONTINUED_COLUMNS + rest.chars().map(columns_of).sum::<usize>();
            }
            row.push(c);
            used += width;
        }
        rows.push(row);
        rows
    }
}

/// Returns where a full row is broken: behind its last blank, unless that would leave much of the row empty.
fn break_in(row: &str, columns: usize) -> usize {
    let at = row.rfind(' ').map_or(0, |at| at + 1);
    let left: usize = row[at..].chars().map(columns_of).sum();
    let is_plain = !row[at..].contains('\u{1b}');
    if is_plain && left <= columns / 3 { at } else { row.len() }
}

/// Returns how many columns a text takes at most.
pub(super) fn width_of(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Returns how many columns a character takes at most.
fn columns_of(c: char) -> usize {
    match c {
        '\t' => 8,
        c if c.is_ascii() => 1,
        // Marks and dashes that we write ourselves.
        '…' | '↪' | '⋮' | '│' | '·' | '✓' | '✗' => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_goes_on_behind_a_mark() {
        let screen = Screen::new(20, 5);
        let padded = format!("  command: x{}Approve? (y/n):", " ".repeat(8));
        let rows = screen.rows_of(&padded);
        assert_eq!(rows, ["  command: x        ", "    ↪ Approve? ", "    ↪ (y/n):"]);
        for text in [
            "a".repeat(500),
            "\u{6f22}".repeat(100),
            "\t".repeat(30),
            format!("\u{1b}[1m{}\u{1b}[0m", "b".repeat(99)),
        ] {
            let rows = screen.rows_of(&text);
            let columns = |row: &String| {
                let plain = row.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
                plain.chars().map(columns_of).sum::<usize>()
            };
            assert!(rows.iter().all(|row| columns(row) <= 20), "{rows:?}");
            assert!(rows[1..].iter().all(|row| row.starts_with(CONTINUED)), "{rows:?}");
            // Nothing is lost.
            let whole: String =
                rows.iter().map(|row| row.strip_prefix(CONTINUED).unwrap_or(row)).collect();
            assert_eq!(whole, text);
        }
        assert_eq!(screen.wrap("short\n\nlines"), "short\n\nlines");
        assert_eq!(screen.one_row(&"a".repeat(30)), format!("{} …", "a".repeat(18)));
        assert_eq!(screen.one_row("short"), "short");
    }

    #[test]
    fn rows_that_do_not_fit_are_counted() {
        let rows: Vec<String> = (0..30).map(|number| format!("row {number}")).collect();
        let screen = Screen::new(80, 24);
        assert_eq!(screen.folded(&rows[..20], 4), None);
        let folded = screen.folded(&rows, 4).unwrap();
        assert_eq!(folded.len(), 20);
        assert_eq!(folded[0], "row 0");
        assert_eq!(folded[13], "  [… 11 rows not shown …]");
        assert_eq!(folded[19], "row 29");
        // A screen with room for nothing else still has the count.
        assert_eq!(Screen::new(80, 3).folded(&rows, 4).unwrap(), ["  [… 30 rows not shown …]"]);
    }
}
