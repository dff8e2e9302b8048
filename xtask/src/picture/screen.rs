//! A screen as a terminal shows it: as much of a terminal as our own output needs.

use std::error::Error;

/// How a character looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TextStyle {
    #[default]
    Plain,
    Strong,
    Dim,
    Red,
    Green,
    Yellow,
}

/// A part of a row that looks the same throughout.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct DrawnText {
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) style: TextStyle,
}

/// A screen that grows downwards.
pub(super) struct DrawnScreen {
    columns: usize,
    rows: Vec<Vec<(char, TextStyle)>>,
    column: usize,
    style: TextStyle,
}

impl DrawnScreen {
    pub(super) fn new(columns: usize) -> Self {
        Self { columns, rows: vec![Vec::new()], column: 0, style: TextStyle::Plain }
    }

    /// Shows what a program printed. Fails at an escape sequence that this screen does not know, because what follows
    /// would be wrong.
    pub(super) fn show(&mut self, text: &str) -> Result<(), Box<dyn Error>> {
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\u{1b}' => {
                    let known = rest.strip_prefix('[').and_then(|rest| rest.split_once('m'));
                    let Some((code, after)) = known else {
                        let start: String = rest.chars().take(8).collect();
                        return Err(format!("the screen does not know `ESC {start}`").into());
                    };
                    self.style = style_of(code)?;
                    rest = after;
                }
                '\r' => self.column = 0,
                '\n' => self.end_row(),
                c => self.put(c),
            }
        }
        Ok(())
    }

    fn end_row(&mut self) {
        self.rows.push(Vec::new());
        self.column = 0;
    }

    fn put(&mut self, c: char) {
        if self.column == self.columns {
            self.end_row();
        }
        let (column, style) = (self.column, self.style);
        if let Some(row) = self.rows.last_mut() {
            row.resize(row.len().max(column + 1), (' ', TextStyle::Plain));
            row[column] = (c, style);
        }
        self.column += 1;
    }

    /// Returns the rows in parts of one style, without the blanks at their ends.
    pub(super) fn rows(&self) -> Vec<Vec<DrawnText>> {
        self.rows.iter().map(|row| parts(row)).collect()
    }
}

fn parts(row: &[(char, TextStyle)]) -> Vec<DrawnText> {
    let mut parts: Vec<DrawnText> = Vec::new();
    for (column, (c, style)) in row.iter().enumerate() {
        match parts.last_mut() {
            Some(last) if last.style == *style => last.text.push(*c),
            _ => parts.push(DrawnText { column, text: c.to_string(), style: *style }),
        }
    }
    if let Some(last) = parts.last_mut() {
        last.text.truncate(last.text.trim_end().len());
    }
    parts.retain(|part| !part.text.is_empty());
    parts
}

fn style_of(code: &str) -> Result<TextStyle, Box<dyn Error>> {
    Ok(match code {
        "" | "0" => TextStyle::Plain,
        "1" => TextStyle::Strong,
        "2" => TextStyle::Dim,
        "31" => TextStyle::Red,
        "32" => TextStyle::Green,
        "33" => TextStyle::Yellow,
        other => return Err(format!("the screen does not know the colour `{other}`").into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_shows_what_a_terminal_shows() {
        let mut screen = DrawnScreen::new(6);
        screen.show("a\u{1b}[32mbc\u{1b}[0m d \r\nold\rn\nseven77").unwrap();
        let drawn = |column, text: &str, style| DrawnText { column, text: text.to_owned(), style };
        assert_eq!(
            screen.rows(),
            [
                vec![
                    drawn(0, "a", TextStyle::Plain),
                    drawn(1, "bc", TextStyle::Green),
                    drawn(3, " d", TextStyle::Plain)
                ],
                vec![drawn(0, "nld", TextStyle::Plain)],
                vec![drawn(0, "seven7", TextStyle::Plain)],
                vec![drawn(0, "7", TextStyle::Plain)],
            ]
        );
        assert!(screen.show("\u{1b}[2J").is_err());
        assert!(screen.show("\u{1b}[38;5;1m").is_err());
    }
}
