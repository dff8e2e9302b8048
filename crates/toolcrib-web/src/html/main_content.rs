//! Which parts of a page are its content, and which only lead through the site.

use std::ops::Range;

/// The most parts that are told apart.
const MOST_PARTS: usize = 10_000;

/// How much text the main part must have, so that what is around it is left out.
const LEAST_MAIN_BYTES: usize = 200;

/// The main part must have at least one of so many bytes of the page.
const LEAST_MAIN_SHARE: usize = 10;

/// If the main part has at least so many quarters of what is left, nothing else is shown.
const MAIN_QUARTERS: usize = 3;

/// What a part of a page is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PartRole {
    Main,
    Article,
    Nav,
    Header,
    /// `footer` or `aside`.
    Side,
}

#[derive(Debug)]
struct PagePart {
    role: PartRole,
    text: Range<usize>,
    is_in_main: bool,
    has_nav: bool,
}

/// The parts of a page, in the order of their beginnings.
#[derive(Debug, Default)]
pub(crate) struct PageParts {
    parts: Vec<PagePart>,
    /// The numbers of the parts that have not ended.
    open: Vec<usize>,
}

impl PageParts {
    /// Notes that a part begins. Returns whether its end is to be noted.
    pub(crate) fn begin(&mut self, role: PartRole, position: usize) -> bool {
        if self.parts.len() >= MOST_PARTS {
            return false;
        }
        let mut is_in_main = false;
        for &index in &self.open {
            let part = &mut self.parts[index];
            is_in_main |= part.role.is_content();
            part.has_nav |= role == PartRole::Nav;
        }
        self.open.push(self.parts.len());
        self.parts.push(PagePart { role, text: position..position, is_in_main, has_nav: false });
        true
    }

    /// Notes that the innermost part ends.
    pub(crate) fn end(&mut self, position: usize) {
        if let Some(index) = self.open.pop() {
            let begin = self.parts[index].text.start;
            // A table is written anew at its end, so positions may go back.
            self.parts[index].text.end = position.max(begin);
        }
    }

    /// Returns the text without the parts that only lead through the site, if the page says what its main part is.
    pub(crate) fn select(self, text: String) -> String {
        let nav = self.parts.iter().filter(|part| part.role == PartRole::Nav);
        let main = self.parts.iter().filter(|part| part.role.is_content() && !part.is_in_main);
        let main_length: usize = main.map(|part| part.text.len()).sum();
        let nav_length: usize =
            nav.filter(|part| part.is_in_main).map(|part| part.text.len()).sum();
        let content_length = main_length.saturating_sub(nav_length);
        if content_length < LEAST_MAIN_BYTES || content_length * LEAST_MAIN_SHARE < text.len() {
            return text;
        }
        let kept = self.kept(&text, 0..text.len());
        let is_main = |part: &&PagePart| part.role == PartRole::Main && !part.is_in_main;
        let main = self.parts.iter().filter(is_main);
        let main: String = main.map(|part| self.kept(&text, part.text.clone())).collect();
        if main.len() * 4 >= kept.len() * MAIN_QUARTERS { main } else { kept }
    }

    /// Returns what is kept of a part of the text.
    fn kept(&self, text: &str, range: Range<usize>) -> String {
        let mut kept = String::with_capacity(range.len());
        let mut position = range.start;
        for part in self.parts.iter().filter(|part| part.is_left_out()) {
            if let Some(before) = text.get(position..part.text.start.min(range.end)) {
                kept.push_str(before);
            }
            position = position.max(part.text.end);
        }
        kept.push_str(text.get(position..range.end).unwrap_or_default());
        kept
    }
}

impl PartRole {
    fn is_content(self) -> bool {
        matches!(self, Self::Main | Self::Article)
    }
}

impl PagePart {
    fn is_left_out(&self) -> bool {
        match self.role {
            PartRole::Main | PartRole::Article => false,
            PartRole::Nav => true,
            PartRole::Side => !self.is_in_main,
            PartRole::Header => !self.is_in_main && self.has_nav,
        }
    }
}
