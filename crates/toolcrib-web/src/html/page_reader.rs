//! Reads a page of HTML: what each tag begins and ends in Markdown.

use super::attribute::TagAttributes;
use super::code_text::CodeText;
use super::element::{self, ElementRole as R};
use super::entity;
use super::inline::InlineKind;
use super::line_prefix::{ContainerPush, LineContainer};
use super::link::{LinkGoal, PageAddress};
use super::main_content::{PageParts, PartRole};
use super::markdown::{InlinePush, MarkdownWriter};
use super::open_elements::{OpenElement, OpenElements};
use super::page_head::PageHead;
use super::table::{CellSpan, TableStack};
use super::tag_traits::TagTraits;
use super::tokenizer::{MarkupToken, StartTag};

type RoleTest = fn(R) -> bool;

/// The longest description of an image that is shown.
const LONGEST_ALT: usize = 500;

/// What is known of a page while its tokens are read.
#[derive(Debug)]
pub(crate) struct PageReader {
    pub(crate) writer: MarkdownWriter,
    pub(crate) head: PageHead,
    pub(crate) elements: OpenElements,
    pub(crate) parts: PageParts,
    address: PageAddress,
    tables: TableStack,
    /// The block of code that is open.
    code: Option<CodeText>,
    /// The language that an element around the next block of code names.
    code_language: Option<String>,
    /// The number of the next item of each open list, if the list has numbers.
    lists: Vec<Option<u32>>,
    /// How many of the open elements are hidden.
    hidden: usize,
    most_bytes: usize,
}

impl PageReader {
    pub(crate) fn new(address: PageAddress, most_bytes: usize) -> Self {
        Self {
            writer: MarkdownWriter::new(most_bytes),
            head: PageHead::default(),
            elements: OpenElements::default(),
            parts: PageParts::default(),
            address,
            tables: TableStack::default(),
            code: None,
            code_language: None,
            lists: Vec::new(),
            hidden: 0,
            most_bytes,
        }
    }

    pub(crate) fn read(&mut self, token: MarkupToken<'_>) {
        match token {
            MarkupToken::Text(text) if self.hidden == 0 => self.text(&entity::decode(text)),
            MarkupToken::Verbatim(text) if self.hidden == 0 => self.text(text),
            MarkupToken::Text(_) | MarkupToken::Verbatim(_) => {}
            MarkupToken::Start(tag) => self.start(&tag),
            MarkupToken::End(name) => self.end(name),
        }
    }

    /// Ends all elements.
    pub(crate) fn finish(&mut self) {
        self.end_from(0);
    }

    fn text(&mut self, text: &str) {
        if self.head.is_in_title() {
            self.head.title_text(text);
        } else if let Some(code) = &mut self.code {
            code.push(text, self.most_bytes);
        } else if self.tables.is_empty() {
            self.writer.text(text);
        } else if text.bytes().any(|byte| !byte.is_ascii_whitespace()) {
            self.tables.place_text(&mut self.writer);
            self.writer.text(text);
        } else {
            self.writer.space();
        }
    }

    fn start(&mut self, tag: &StartTag<'_>) {
        let (id, role) = element::find(tag.name);
        if role == R::Plain && self.hidden == 0 && tag.attributes.is_empty() {
            return;
        }
        self.end_implied(role);
        let is_closed = tag.is_empty && matches!(role, R::Hidden | R::Plain);
        let can_stay_open = !role.is_void() && role != R::Root && !is_closed;
        if self.hidden > 0 {
            if can_stay_open && self.elements.has_room() {
                self.elements.push(id, OpenElement { role, is_hidden: false, has_effect: false });
            }
            return;
        }
        let traits = match tag.attributes {
            "" => TagTraits::default(),
            attributes => TagTraits::read(attributes),
        };
        if !can_stay_open {
            if !traits.is_hidden {
                self.read_void(role, tag);
            }
            return;
        }
        let is_hidden = self.hides(role, tag, &traits);
        if role == R::Plain && !is_hidden {
            return;
        }
        if role == R::Title {
            self.head.begin_title();
            return;
        }
        if !self.elements.has_room() {
            return;
        }
        let role = match traits.role {
            Some(landmark) if matches!(role, R::Lines | R::Block) => landmark,
            _ => role,
        };
        let has_effect = !is_hidden && self.begin(role, tag, &traits);
        self.hidden += usize::from(is_hidden);
        self.elements.push(id, OpenElement { role, is_hidden, has_effect });
    }

    /// Whether an element is hidden, with all that is in it.
    fn hides(&mut self, role: R, tag: &StartTag<'_>, traits: &TagTraits<'_>) -> bool {
        if traits.is_hidden {
            return true;
        }
        match role {
            R::Hidden => {
                self.head.note_hidden(tag.name);
                true
            }
            R::Dialog => TagAttributes::new(tag.attributes).value("open").is_none(),
            // Headings that open and close what is below them are buttons.
            R::Button => {
                let is_strong = |kind: &InlineKind| *kind == InlineKind::Strong;
                !self.writer.is_in_heading() && !self.writer.is_in(is_strong)
            }
            R::Math => {
                let formula = TagAttributes::new(tag.attributes).value("alttext");
                if let Some(formula) = &formula {
                    self.before_content();
                    self.writer.verbatim("$");
                    self.writer.text(formula.trim());
                    self.writer.verbatim("$");
                }
                formula.is_some()
            }
            _ => false,
        }
    }

    /// Makes sure that what is written within a table is in a cell.
    fn before_content(&mut self) {
        if !self.tables.is_empty() {
            self.tables.place_text(&mut self.writer);
        }
    }

    /// Reads an element without content.
    fn read_void(&mut self, role: R, tag: &StartTag<'_>) {
        match role {
            R::BaseAddress => {
                let href = TagAttributes::new(tag.attributes).value("href");
                if let Some(href) = href.filter(|_| self.head.takes_base())
                    && let Some(address) = self.address.with_base(&href)
                {
                    self.address = address;
                }
            }
            R::Meta => self.head.read_meta(tag.attributes),
            R::LineBreak => match &mut self.code {
                Some(code) => code.push("\n", self.most_bytes),
                None => self.writer.line_break(),
            },
            _ if self.code.is_some() => {}
            R::HorizontalRule => {
                self.writer.blank_line();
                self.before_content();
                self.writer.verbatim("---");
                self.writer.blank_line();
            }
            R::Image => self.read_image(tag.attributes),
            R::Input => {
                let attributes = TagAttributes::new(tag.attributes);
                let kind = attributes.clone().value("type");
                if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("checkbox"))
                    && !self.lists.is_empty()
                {
                    let mark = if attributes.value("checked").is_some() { "[x]" } else { "[ ]" };
                    self.writer.verbatim(mark);
                    self.writer.space();
                }
            }
            _ => {}
        }
    }

    fn read_image(&mut self, attributes: &str) {
        let attributes = TagAttributes::new(attributes);
        let value = |name| attributes.clone().value(name);
        let is_dot =
            |size: Option<std::borrow::Cow<'_, str>>| matches!(size.as_deref(), Some("0" | "1"));
        let alt = value("alt");
        // An empty description says that the image is decoration.
        if alt.as_deref() == Some("") || is_dot(value("width")) || is_dot(value("height")) {
            return;
        }
        let alt = alt.unwrap_or_default();
        let alt = &alt[..alt.floor_char_boundary(LONGEST_ALT)];
        let source = value("src").filter(|source| !source.starts_with("data:"));
        let source = source.or_else(|| value("data-src"));
        let goal = source.map_or(LinkGoal::Nowhere, |source| self.address.resolve(&source));
        self.before_content();
        match goal {
            LinkGoal::Elsewhere(address) => {
                self.writer.verbatim("![");
                self.writer.text(alt.trim());
                self.writer.verbatim(&format!("]({address})"));
            }
            LinkGoal::SamePage | LinkGoal::Nowhere => self.writer.text(alt),
        }
    }

    /// Begins an element. Returns whether its end has something to do.
    fn begin(&mut self, role: R, tag: &StartTag<'_>, traits: &TagTraits<'_>) -> bool {
        if let Some(code) = &mut self.code {
            return code.begin(role, traits);
        }
        match role {
            R::Lines => {
                if let Some(language) = traits.code_language() {
                    self.code_language = Some(language.to_owned());
                }
                self.writer.new_line();
                true
            }
            R::Block | R::Paragraph | R::DefinitionList | R::Dialog | R::Term => {
                self.writer.blank_line();
                true
            }
            R::Main => self.begin_part(PartRole::Main),
            R::Article => self.begin_part(PartRole::Article),
            R::Nav => self.begin_part(PartRole::Nav),
            R::Header => self.begin_part(PartRole::Header),
            R::Aside | R::Footer => self.begin_part(PartRole::Side),
            R::Heading(level) => {
                self.tables.arranges_page();
                self.writer.begin_heading(level);
                true
            }
            R::Summary => {
                self.writer.blank_line();
                self.writer.push_inline(InlineKind::Strong);
                true
            }
            R::Preformatted => {
                self.tables.arranges_page();
                let around = self.code_language.take();
                self.code = Some(CodeText::new(traits.code_language().or(around.as_deref())));
                true
            }
            R::BlockQuote => self.begin_container(LineContainer::Quote),
            R::Definition => self.begin_container(LineContainer::Definition),
            R::List | R::OrderedList => {
                let start = TagAttributes::new(tag.attributes).value("start");
                let start = start.and_then(|start| start.trim().parse().ok()).unwrap_or(1);
                self.lists.push((role == R::OrderedList).then_some(start));
                self.writer.begin_list();
                true
            }
            R::ListItem => self.begin_item(tag),
            R::Table | R::RowGroup | R::Row | R::Cell | R::HeadCell | R::Caption => {
                self.begin_table_part(role, tag, traits)
            }
            _ => InlineKind::of(role, traits.href, &self.address)
                .is_some_and(|inline| self.writer.push_inline(inline) == InlinePush::Shown),
        }
    }

    fn begin_part(&mut self, role: PartRole) -> bool {
        self.writer.blank_line();
        self.tables.is_empty() && self.parts.begin(role, self.writer.length())
    }

    fn begin_container(&mut self, container: LineContainer) -> bool {
        self.before_content();
        self.writer.begin_container(container) == ContainerPush::Shown
    }

    fn begin_item(&mut self, tag: &StartTag<'_>) -> bool {
        let container = match self.lists.last_mut() {
            Some(Some(number)) => {
                let value = TagAttributes::new(tag.attributes).value("value");
                *number = value.and_then(|value| value.trim().parse().ok()).unwrap_or(*number);
                let container = LineContainer::Number(*number);
                *number = number.saturating_add(1);
                container
            }
            _ => LineContainer::Bullet,
        };
        self.begin_container(container)
    }

    fn begin_table_part(&mut self, role: R, tag: &StartTag<'_>, traits: &TagTraits<'_>) -> bool {
        match role {
            R::Table => {
                self.before_content();
                let is_apart = self.tables.begin(&mut self.writer);
                if traits.is_presentation {
                    self.tables.arranges_page();
                }
                is_apart
            }
            R::RowGroup if self.tables.is_empty() => false,
            R::RowGroup => {
                self.tables.begin_row_group(&mut self.writer);
                false
            }
            _ if self.tables.is_empty() => {
                self.writer.new_line();
                false
            }
            R::Row => {
                self.tables.begin_row(&mut self.writer);
                false
            }
            R::Caption => {
                self.tables.begin_caption(&mut self.writer);
                true
            }
            _ => {
                let value = |name| TagAttributes::new(tag.attributes).value(name);
                let (columns, rows) = (value("colspan"), value("rowspan"));
                let span = CellSpan::read(columns.as_deref(), rows.as_deref());
                self.tables.begin_cell(&mut self.writer, span);
                true
            }
        }
    }

    fn end(&mut self, name: &str) {
        let (id, role) = element::find(name);
        match role {
            R::Plain if self.hidden == 0 => return,
            R::Title if self.hidden == 0 => return self.head.end_title(),
            R::LineBreak if self.hidden == 0 => return self.writer.line_break(),
            R::Root => return,
            _ if role.is_void() || self.elements.ends_beyond() => return,
            _ => {}
        }
        if let Some(at) = self.elements.reachable(id, role) {
            self.end_at(at, role);
        }
    }

    /// Ends an element, and those within it unless they outlive it.
    fn end_at(&mut self, at: usize, role: R) {
        if role.is_inline() && self.hidden == 0 && !self.elements.is_all_inline_above(at) {
            let element = self.elements.remove(at);
            self.end_element(element);
        } else {
            self.end_from(at);
        }
    }

    fn end_from(&mut self, depth: usize) {
        while let Some(element) = self.elements.pop_above(depth) {
            self.end_element(element);
        }
    }

    /// Ends the elements that the begin of another one ends.
    fn end_implied(&mut self, role: R) {
        let never: RoleTest = |_| false;
        let is_table: RoleTest = |it| it == R::Table;
        let (ended, around): (RoleTest, RoleTest) = match role {
            R::ListItem => (|it| it == R::ListItem, |it| matches!(it, R::List | R::OrderedList)),
            R::Term | R::Definition => {
                (|it| matches!(it, R::Term | R::Definition), |it| it == R::DefinitionList)
            }
            R::Cell | R::HeadCell => {
                (|it| matches!(it, R::Cell | R::HeadCell | R::Caption), is_table)
            }
            R::Row => (|it| matches!(it, R::Row | R::Caption), is_table),
            R::RowGroup => (|it| matches!(it, R::RowGroup | R::Row | R::Caption), is_table),
            R::Heading(_) => (|it| matches!(it, R::Heading(_)), never),
            R::Anchor => (|it| it == R::Anchor, never),
            _ => (never, |_| true),
        };
        if role.ends_paragraph()
            && let Some(at) = self.elements.implied_end(|it| it == R::Paragraph, never)
        {
            self.end_from(at);
        }
        if let Some(at) = self.elements.implied_end(ended, around) {
            self.end_at(at, role);
        }
    }

    fn end_element(&mut self, element: OpenElement) {
        self.hidden -= usize::from(element.is_hidden);
        if !element.has_effect {
            return;
        }
        if let Some(code) = &mut self.code
            && element.role != R::Preformatted
        {
            code.end(element.role);
            return;
        }
        match element.role {
            R::Lines => self.writer.new_line(),
            R::Main | R::Article | R::Nav | R::Header | R::Aside | R::Footer => {
                self.writer.blank_line();
                self.parts.end(self.writer.length());
            }
            R::Heading(_) => self.writer.end_heading(),
            R::Summary => {
                self.writer.pop_inline(|kind| *kind == InlineKind::Strong);
                self.writer.blank_line();
            }
            R::Term => self.writer.end_term(),
            R::Preformatted => {
                if let Some(code) = self.code.take() {
                    self.before_content();
                    self.writer.code_block(code.language(), code.text());
                }
            }
            R::BlockQuote | R::Definition | R::ListItem => self.writer.end_container(),
            R::List | R::OrderedList => {
                self.lists.pop();
                self.writer.end_list();
            }
            R::Table => self.tables.end(&mut self.writer),
            R::Cell | R::HeadCell | R::Caption => self.tables.end_cell(&mut self.writer),
            R::Strong => self.writer.pop_inline(|kind| *kind == InlineKind::Strong),
            R::Emphasis => self.writer.pop_inline(|kind| *kind == InlineKind::Emphasis),
            R::Strike => self.writer.pop_inline(|kind| *kind == InlineKind::Strike),
            R::Code => self.writer.pop_inline(|kind| *kind == InlineKind::Code),
            R::Superscript => self.writer.pop_inline(|kind| *kind == InlineKind::Superscript),
            R::Quotation => self.writer.pop_inline(|kind| *kind == InlineKind::Quotation),
            R::Anchor => self
                .writer
                .pop_inline(|kind| matches!(kind, InlineKind::Link(_) | InlineKind::PlaceLink)),
            _ => self.writer.blank_line(),
        }
    }
}
