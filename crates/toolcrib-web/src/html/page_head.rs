//! What a page says about itself: its title and description.

use super::attribute::TagAttributes;

/// The longest title, and the longest description.
const LONGEST_TITLE: usize = 500;
const LONGEST_DESCRIPTION: usize = 2_000;

/// What a page says about itself.
#[derive(Debug, Default)]
pub(crate) struct PageHead {
    title: Option<String>,
    title_state: TitleState,
    description: Option<String>,
    has_base: bool,
    needs_script: bool,
}

/// Whether text belongs to the title.
#[derive(Debug, Default, PartialEq, Eq)]
enum TitleState {
    #[default]
    Outside,
    Inside,
    /// In a second title, which is ignored.
    Ignored,
}

/// Returns a text in one line, without control characters, and not longer than `most_bytes`.
pub(crate) fn one_line(text: &str, most_bytes: usize) -> String {
    let mut line = String::new();
    // Collapsing only makes it shorter, but a hostile text may be white space for megabytes.
    for word in text.split(|letter: char| letter.is_whitespace() || letter.is_control()) {
        if word.is_empty() {
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        let room = most_bytes.saturating_sub(line.len());
        line.push_str(&word[..word.floor_char_boundary(room)]);
        if line.len() + 1 >= most_bytes {
            break;
        }
    }
    line.truncate(line.trim_end().len());
    line
}

impl PageHead {
    pub(crate) fn is_in_title(&self) -> bool {
        self.title_state != TitleState::Outside
    }

    pub(crate) fn begin_title(&mut self) {
        self.title_state = match self.title {
            None => TitleState::Inside,
            Some(_) => TitleState::Ignored,
        };
    }

    pub(crate) fn title_text(&mut self, text: &str) {
        if self.title_state == TitleState::Inside {
            self.title = Some(one_line(text, LONGEST_TITLE)).filter(|title| !title.is_empty());
        }
    }

    pub(crate) fn end_title(&mut self) {
        self.title_state = TitleState::Outside;
    }

    /// Whether a `<base>` counts: only the first does.
    pub(crate) fn takes_base(&mut self) -> bool {
        !std::mem::replace(&mut self.has_base, true)
    }

    pub(crate) fn read_meta(&mut self, attributes: &str) {
        let attributes = TagAttributes::new(attributes);
        let value = |name| attributes.clone().value(name);
        let name = value("name").or_else(|| value("property"));
        if matches!(name.as_deref(), Some("description" | "og:description"))
            && self.description.is_none()
            && let Some(content) = value("content")
        {
            self.description = Some(one_line(&content, LONGEST_DESCRIPTION));
        }
    }

    /// Notes an element that is not shown.
    pub(crate) fn note_hidden(&mut self, name: &str) {
        self.needs_script |= name.eq_ignore_ascii_case("script");
    }

    /// Whether the page runs scripts, which may be what makes its text.
    pub(crate) fn needs_script(&self) -> bool {
        self.needs_script
    }

    pub(crate) fn into_title_and_description(self) -> (Option<String>, Option<String>) {
        (self.title, self.description)
    }
}
