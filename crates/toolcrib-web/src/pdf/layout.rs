//! Lines and words from where pieces of text stand on a page.

/// A gap between pieces that is wider than this share of the size of the font separates words.
const WORD_GAP: f64 = 0.16;

/// A piece that is higher or lower by more than this share begins a line.
const LINE_STEP: f64 = 0.5;

/// A step that is larger begins a paragraph.
const PARAGRAPH_STEP: f64 = 1.9;

/// So many dots in a row, with or without spaces, lead from a heading to its page.
const LEAST_LEADER_DOTS: usize = 5;

/// Where a piece of text stands: along its line, and across lines.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TextPlace {
    pub(crate) along: f64,
    pub(crate) end: f64,
    pub(crate) across: f64,
    pub(crate) size: f64,
}

/// Puts pieces of text together, in the order in which the page draws them.
#[derive(Debug)]
pub(crate) struct PageLayout {
    text: String,
    last: Option<TextPlace>,
    most_bytes: usize,
}

impl PageLayout {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self { text: String::new(), last: None, most_bytes }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.text.len() >= self.most_bytes
    }

    pub(crate) fn push(&mut self, text: &str, place: TextPlace) {
        if text.is_empty() || self.is_full() {
            return;
        }
        self.separate(place);
        for letter in text.chars() {
            match letter {
                ' ' | '\u{a0}' | '\t' | '\n' | '\r' => self.push_space(),
                '\u{ad}' => self.text.push('-'),
                _ if letter.is_control() || letter == '\u{feff}' => {}
                _ => self.text.push(letter),
            }
        }
        self.last = Some(place);
    }

    fn push_space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }

    /// Begins a word, a line or a paragraph if the piece stands apart from the last one.
    fn separate(&mut self, place: TextPlace) {
        let Some(last) = self.last else { return };
        let size = place.size.max(last.size).max(1e-6);
        let step = (place.across - last.across).abs() / size;
        let gap = place.along - last.end;
        if step > LINE_STEP || gap < -size * 3.0 {
            self.end_line();
            if step > PARAGRAPH_STEP && !self.text.ends_with("\n\n") {
                self.text.push('\n');
            }
        } else if gap > place.size.min(last.size).max(size * 0.5) * WORD_GAP {
            self.push_space();
        }
    }

    fn end_line(&mut self) {
        self.text.truncate(self.text.trim_end_matches(' ').len());
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    pub(crate) fn into_text(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        let lines: Vec<String> = self.text.lines().map(without_leader).collect();
        lines.join("\n")
    }
}

/// Shortens the row of dots that leads to the number of a page in a table of contents.
fn without_leader(line: &str) -> String {
    let mut short = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(['.', ':', '·', '…']) {
        let dot = rest[at..].chars().next().unwrap_or('.');
        let row = &rest[at..];
        let length = row.len() - row.trim_start_matches([dot, ' ']).len();
        let (row, behind) = row.split_at(length);
        short.push_str(&rest[..at]);
        if row.matches(dot).count() < LEAST_LEADER_DOTS {
            short.push_str(row);
        } else {
            short.truncate(short.trim_end().len());
            short.push_str(" … ");
        }
        rest = behind;
    }
    short.push_str(rest);
    short.truncate(short.trim_end().len());
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_become_words_lines_and_paragraphs() {
        let mut layout = PageLayout::new(1_000);
        let mut push = |text: &str, along: f64, across: f64| {
            let end = along + 5.0 * text.len() as f64;
            layout.push(text, TextPlace { along, end, across, size: 10.0 });
        };
        push("Hel", 0.0, 100.0);
        push("lo", 15.5, 100.0);
        push("big", 28.0, 100.0);
        push("2", 43.0, 104.0);
        push("world ", 0.0, 88.0);
        push(" again", 31.0, 88.0);
        push("far", 0.0, 50.0);
        push("\u{a0}\u{1}x", 15.0, 50.0);
        assert_eq!(layout.into_text(), "Hello big2\nworld again\n\nfar x");
    }

    #[test]
    fn leaders_are_shortened() {
        for (line, expected) in [
            ("1 One . . . . . . . 5", "1 One … 5"),
            ("1.1 One....... 5", "1.1 One … 5"),
            ("a : : : : : : : :", "a …"),
            ("wait... what: no. 5.", "wait... what: no. 5."),
            ("ü…ü", "ü…ü"),
        ] {
            assert_eq!(without_leader(line), expected);
        }
    }

    #[test]
    fn nonsense_numbers_are_taken() {
        let mut layout = PageLayout::new(20);
        for number in [f64::NAN, f64::INFINITY, -1e300, 0.0] {
            layout
                .push("ab", TextPlace { along: number, end: number, across: number, size: number });
        }
        let text = layout.into_text();
        assert!(text.contains("ab") && text.len() < 40);
    }
}
