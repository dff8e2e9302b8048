//! The text of a block of code, as it stands.

use super::element::ElementRole as R;
use super::tag_traits::TagTraits;

/// A block of code that is open.
#[derive(Debug)]
pub(crate) struct CodeText {
    language: String,
    text: String,
}

impl CodeText {
    pub(crate) fn new(language: Option<&str>) -> Self {
        Self { language: language.unwrap_or_default().to_owned(), text: String::new() }
    }

    pub(crate) fn language(&self) -> &str {
        &self.language
    }

    /// Returns the code without the line break that follows the tag.
    pub(crate) fn text(&self) -> &str {
        self.text.trim_start_matches('\n')
    }

    pub(crate) fn push(&mut self, text: &str, most_bytes: usize) {
        let room = most_bytes.saturating_sub(self.text.len());
        let text = &text[..text.floor_char_boundary(room)];
        let is_control = |letter: char| letter.is_control() && !matches!(letter, '\n' | '\t');
        if !text.contains(|letter| is_control(letter) || letter == '\u{a0}') {
            self.text.push_str(text);
            return;
        }
        let letters = text.chars().filter(|letter| !is_control(*letter));
        self.text.extend(letters.map(|letter| if letter == '\u{a0}' { ' ' } else { letter }));
    }

    /// Begins an element within the code. Returns whether its end has something to do.
    pub(crate) fn begin(&mut self, role: R, traits: &TagTraits<'_>) -> bool {
        if role == R::Code && self.language.is_empty() {
            traits.code_language().unwrap_or_default().clone_into(&mut self.language);
        }
        let is_line = matches!(
            role,
            R::Lines | R::Block | R::Paragraph | R::ListItem | R::Row | R::List | R::OrderedList
        );
        if is_line {
            self.end(role);
        }
        is_line
    }

    /// Ends an element within the code that stands on a line of its own.
    pub(crate) fn end(&mut self, _role: R) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }
}
