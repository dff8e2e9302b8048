//! The marks within a line: strong text, code, links and the like.

use super::element::ElementRole as R;
use super::entity;
use super::link::{LinkGoal, PageAddress};

/// A mark within a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum InlineKind {
    Strong,
    Emphasis,
    Strike,
    Code,
    Superscript,
    Quotation,
    /// A link, with the address it leads to.
    Link(String),
    /// A link to a place of the same page, of which only the text is shown.
    PlaceLink,
}

impl InlineKind {
    /// Returns the mark that an element stands for. `href` is where its link leads, from `address`.
    pub(crate) fn of(role: R, href: Option<&str>, address: &PageAddress) -> Option<Self> {
        match role {
            R::Strong => Some(Self::Strong),
            R::Emphasis => Some(Self::Emphasis),
            R::Strike => Some(Self::Strike),
            R::Code => Some(Self::Code),
            R::Superscript => Some(Self::Superscript),
            R::Quotation => Some(Self::Quotation),
            R::Anchor => match address.resolve(&entity::decode(href?)) {
                LinkGoal::Elsewhere(address) => Some(Self::Link(address)),
                LinkGoal::SamePage => Some(Self::PlaceLink),
                LinkGoal::Nowhere => None,
            },
            _ => None,
        }
    }
}

/// How far a mark is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InlineState {
    /// Its begin is written before the next text.
    Pending,
    /// Its begin is written, and its text begins at this offset.
    Open(usize),
    /// It is not written any more. A link marks only the first of several blocks.
    Done,
}

/// A mark within a line that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Inline {
    pub(crate) kind: InlineKind,
    pub(crate) state: InlineState,
}

/// Texts of links to the heading that they stand in.
const PLACE_SIGNS: [&str; 5] = ["#", "¶", "§", "🔗", "link"];

impl Inline {
    pub(crate) fn new(kind: InlineKind) -> Self {
        Self { kind, state: InlineState::Pending }
    }

    /// Writes the begin of the mark.
    pub(crate) fn write_begin(&mut self, out: &mut String) {
        match self.kind {
            InlineKind::Strong => out.push_str("**"),
            InlineKind::Emphasis => out.push('*'),
            InlineKind::Strike => out.push_str("~~"),
            InlineKind::Quotation => out.push('"'),
            InlineKind::Link(_) => out.push('['),
            InlineKind::Superscript => {
                // `10^6` is a power, but a footnote `[1]` is none.
                if out.ends_with(|letter: char| letter.is_alphanumeric() || letter == ')') {
                    out.push('^');
                }
            }
            // How many backticks code needs is known at its end.
            InlineKind::Code | InlineKind::PlaceLink => {}
        }
        self.state = InlineState::Open(out.len());
    }

    /// Writes the end of the mark, if its begin was written.
    pub(crate) fn write_end(&mut self, out: &mut String) {
        let InlineState::Open(begin) = self.state else { return };
        match &self.kind {
            InlineKind::Strong => out.push_str("**"),
            InlineKind::Emphasis => out.push('*'),
            InlineKind::Strike => out.push_str("~~"),
            InlineKind::Quotation => out.push('"'),
            InlineKind::Link(address) => {
                out.push_str("](");
                out.push_str(address);
                out.push(')');
            }
            InlineKind::Superscript => {
                if out[begin..].starts_with('[') && out[..begin].ends_with('^') {
                    out.remove(begin - 1);
                }
            }
            InlineKind::Code => enclose_code(out, begin),
            InlineKind::PlaceLink => {
                if PLACE_SIGNS.contains(&&out[begin..]) {
                    out.truncate(begin);
                }
            }
        }
        self.state = match self.kind {
            InlineKind::Link(_) => InlineState::Done,
            _ => InlineState::Pending,
        };
    }
}

/// Returns the length of the longest run of backticks.
pub(crate) fn longest_backtick_run(text: &str) -> usize {
    text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default()
}

/// Puts backticks around the end of a text, more than it has in a row.
fn enclose_code(out: &mut String, begin: usize) {
    let code = &out[begin..];
    if !code.contains('`') {
        out.insert(begin, '`');
        out.push('`');
        return;
    }
    let fence = "`".repeat(longest_backtick_run(code) + 1);
    out.insert_str(begin, &format!("{fence} "));
    out.push(' ');
    out.push_str(&fence);
}
