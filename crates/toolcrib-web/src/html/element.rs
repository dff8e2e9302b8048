//! The elements of HTML, and what each means for a reader.

/// What an element means for a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ElementRole {
    /// It changes nothing, like `span` and all unknown elements.
    Plain,
    /// It stands on lines of its own, like `div`.
    Lines,
    /// It stands apart, with a blank line around it, like `section`.
    Block,
    Paragraph,
    Heading(u8),
    Strong,
    Emphasis,
    Strike,
    Code,
    Superscript,
    Quotation,
    Anchor,
    Preformatted,
    BlockQuote,
    List,
    OrderedList,
    ListItem,
    Term,
    DefinitionList,
    Definition,
    Table,
    RowGroup,
    Row,
    Cell,
    HeadCell,
    Caption,
    Summary,
    Main,
    Article,
    Nav,
    Aside,
    Header,
    Footer,
    Button,
    Math,
    Dialog,
    Title,
    /// It is not for readers, with all that is in it.
    Hidden,
    /// `html`, `head` and `body`, whose ends mean nothing.
    Root,
    LineBreak,
    HorizontalRule,
    Image,
    Input,
    BaseAddress,
    Meta,
    /// It has no content and shows nothing, like `link`.
    Void,
}

use ElementRole as R;

/// The elements by name. All others are `Plain`.
const ELEMENTS: [(&str, ElementRole); 115] = [
    ("a", R::Anchor),
    ("address", R::Lines),
    ("annotation", R::Hidden),
    ("annotation-xml", R::Hidden),
    ("area", R::Void),
    ("article", R::Article),
    ("aside", R::Aside),
    ("audio", R::Hidden),
    ("b", R::Strong),
    ("base", R::BaseAddress),
    ("basefont", R::Void),
    ("blockquote", R::BlockQuote),
    ("body", R::Root),
    ("br", R::LineBreak),
    ("button", R::Button),
    ("canvas", R::Hidden),
    ("caption", R::Caption),
    ("center", R::Lines),
    ("cite", R::Emphasis),
    ("code", R::Code),
    ("col", R::Void),
    ("datalist", R::Hidden),
    ("dd", R::Definition),
    ("del", R::Strike),
    ("details", R::Block),
    ("dfn", R::Emphasis),
    ("dialog", R::Dialog),
    ("dir", R::List),
    ("div", R::Lines),
    ("dl", R::DefinitionList),
    ("dt", R::Term),
    ("em", R::Emphasis),
    ("embed", R::Void),
    ("fieldset", R::Lines),
    ("figcaption", R::Lines),
    ("figure", R::Block),
    ("footer", R::Footer),
    ("form", R::Lines),
    ("frame", R::Void),
    ("h1", R::Heading(1)),
    ("h2", R::Heading(2)),
    ("h3", R::Heading(3)),
    ("h4", R::Heading(4)),
    ("h5", R::Heading(5)),
    ("h6", R::Heading(6)),
    ("head", R::Root),
    ("header", R::Header),
    ("hgroup", R::Block),
    ("hr", R::HorizontalRule),
    ("html", R::Root),
    ("i", R::Emphasis),
    ("iframe", R::Hidden),
    ("img", R::Image),
    ("input", R::Input),
    ("kbd", R::Code),
    ("keygen", R::Void),
    ("legend", R::Lines),
    ("li", R::ListItem),
    ("link", R::Void),
    ("listing", R::Preformatted),
    ("main", R::Main),
    ("math", R::Math),
    ("menu", R::List),
    ("meta", R::Meta),
    ("nav", R::Nav),
    ("noembed", R::Hidden),
    ("noframes", R::Hidden),
    ("noscript", R::Hidden),
    ("ol", R::OrderedList),
    ("optgroup", R::Hidden),
    ("option", R::Hidden),
    ("p", R::Paragraph),
    ("param", R::Void),
    ("pre", R::Preformatted),
    ("q", R::Quotation),
    ("s", R::Strike),
    ("samp", R::Code),
    ("script", R::Hidden),
    ("search", R::Lines),
    ("section", R::Block),
    ("select", R::Hidden),
    ("source", R::Void),
    ("strike", R::Strike),
    ("strong", R::Strong),
    ("style", R::Hidden),
    ("summary", R::Summary),
    ("sup", R::Superscript),
    ("svg", R::Hidden),
    ("table", R::Table),
    ("tbody", R::RowGroup),
    ("td", R::Cell),
    ("template", R::Hidden),
    ("textarea", R::Hidden),
    ("tfoot", R::RowGroup),
    ("th", R::HeadCell),
    ("thead", R::RowGroup),
    ("title", R::Title),
    ("tr", R::Row),
    ("track", R::Void),
    ("tt", R::Code),
    ("ul", R::List),
    ("var", R::Emphasis),
    ("video", R::Hidden),
    ("wbr", R::Void),
    ("xmp", R::Preformatted),
    ("spacer", R::Void),
    ("bgsound", R::Void),
    ("image", R::Image),
    ("rp", R::Plain),
    ("rt", R::Plain),
    ("font", R::Plain),
    ("label", R::Plain),
    ("span", R::Plain),
    ("small", R::Plain),
    ("u", R::Plain),
];

/// How many places the table of names has: a power of two, four times as many as there are elements.
const PLACES: usize = 512;

/// The places that names hash to. A place holds the number of an element plus one, or zero.
static TABLE: [u8; PLACES] = filled_table();

/// The names of the elements as numbers.
static KEYS: [u128; ELEMENTS.len()] = keys();

/// The name of an element as one byte. Unknown names share the numbers from 128.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ElementId(pub(crate) u8);

/// Packs a name in lower case into a number. Letters beyond the sixteenth are ignored.
const fn key(name: &[u8]) -> u128 {
    let mut key = 0;
    let mut at = 0;
    while at < name.len() && at < 16 {
        key = key << 8 | name[at].to_ascii_lowercase() as u128;
        at += 1;
    }
    key
}

const fn place(key: u128) -> usize {
    let folded = (key as u64) ^ ((key >> 64) as u64).wrapping_mul(0x2545_f491_4f6c_dd1d);
    (folded.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

const fn keys() -> [u128; ELEMENTS.len()] {
    let mut keys = [0; ELEMENTS.len()];
    let mut at = 0;
    while at < keys.len() {
        keys[at] = key(ELEMENTS[at].0.as_bytes());
        at += 1;
    }
    keys
}

const fn filled_table() -> [u8; PLACES] {
    let mut table = [0; PLACES];
    let mut at = 0;
    while at < ELEMENTS.len() {
        let mut place = place(key(ELEMENTS[at].0.as_bytes()));
        while table[place] != 0 {
            place = (place + 1) % PLACES;
        }
        table[place] = at as u8 + 1;
        at += 1;
    }
    table
}

/// Returns the number of an element and what it means.
pub(crate) fn find(name: &str) -> (ElementId, ElementRole) {
    let key = key(name.as_bytes());
    let mut place = place(key);
    loop {
        match TABLE[place] {
            0 => return (ElementId(128 | place as u8), ElementRole::Plain),
            number => {
                let index = usize::from(number - 1);
                if KEYS[index] == key {
                    return (ElementId(number - 1), ELEMENTS[index].1);
                }
            }
        }
        place = (place + 1) % PLACES;
    }
}

/// Whether the begin and the end of an element separate words.
pub(crate) fn separates_words(name: &str) -> bool {
    !find(name).1.is_inline()
}

/// Whether an element has neither content nor an end tag.
pub(crate) fn is_void(name: &str) -> bool {
    find(name).1.is_void()
}

impl ElementRole {
    /// Whether the element has neither content nor an end tag.
    pub(crate) fn is_void(self) -> bool {
        matches!(
            self,
            R::LineBreak
                | R::HorizontalRule
                | R::Image
                | R::Input
                | R::BaseAddress
                | R::Meta
                | R::Void
        )
    }

    /// Whether the element is part of a line, so that its end tag does not end blocks.
    pub(crate) fn is_inline(self) -> bool {
        matches!(
            self,
            R::Plain
                | R::Strong
                | R::Emphasis
                | R::Strike
                | R::Code
                | R::Superscript
                | R::Quotation
                | R::Anchor
        )
    }

    /// Whether the element begins a block, so that it ends an open paragraph.
    pub(crate) fn ends_paragraph(self) -> bool {
        !self.is_inline()
            && !matches!(
                self,
                R::LineBreak
                    | R::Image
                    | R::Input
                    | R::BaseAddress
                    | R::Meta
                    | R::Void
                    | R::Hidden
                    | R::Title
                    | R::Button
                    | R::Math
                    | R::Root
            )
    }

    /// Whether end tags within the element leave what is outside of it open.
    pub(crate) fn is_scope(self) -> bool {
        matches!(self, R::Table | R::Cell | R::HeadCell | R::Caption | R::Button)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_element_is_found_in_both_cases() {
        for (index, (name, role)) in ELEMENTS.iter().enumerate() {
            let expected = (ElementId(index as u8), *role);
            assert_eq!(find(name), expected, "{name}");
            assert_eq!(find(&name.to_uppercase()), expected, "{name}");
        }
        for name in ["", "x", "my-element", "aa", "h7", "blockquotes-and-more-of-it"] {
            let (id, role) = find(name);
            assert!(id.0 >= 128 && role == ElementRole::Plain, "{name}");
        }
    }
}
