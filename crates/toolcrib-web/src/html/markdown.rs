//! The writer of Markdown: it collapses white space, and writes line breaks and marks only before text that follows.

use super::inline::{Inline, InlineKind, InlineState, longest_backtick_run};
use super::line_prefix::{ContainerPush, LineContainer, LinePrefix};

/// The deepest nesting of marks within a line that is shown.
const MOST_INLINES: usize = 32;

/// A heading that is longer ends: its end tag is missing.
const LONGEST_HEADING: usize = 1_000;

/// What separates the text that is written next from the text before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LineGap {
    None,
    Space,
    Line,
    BlankLine,
}

/// Whether a mark was taken in, or would not be shown here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InlinePush {
    Shown,
    Ignored,
}

/// A heading that is being written.
#[derive(Debug, Clone, Copy)]
struct OpenHeading {
    level: usize,
    /// Where its text begins, once there is some.
    begin: Option<usize>,
}

/// What the writer goes back to after the cells of a table.
#[derive(Debug)]
pub(crate) struct OuterLine {
    begin: usize,
    floor: usize,
    gap: LineGap,
    containers: usize,
    heading: Option<OpenHeading>,
}

#[derive(Debug)]
pub(crate) struct MarkdownWriter {
    out: String,
    /// Where the document begins, or the cell of a table that is being written.
    floor: usize,
    gap: LineGap,
    prefix: LinePrefix,
    inlines: Vec<Inline>,
    /// How many of `inlines` are pending, and how many are open.
    pending_inlines: usize,
    open_inlines: usize,
    heading: Option<OpenHeading>,
    most_bytes: usize,
}

impl MarkdownWriter {
    pub(crate) fn new(most_bytes: usize) -> Self {
        Self {
            out: String::new(),
            floor: 0,
            gap: LineGap::None,
            prefix: LinePrefix::default(),
            inlines: Vec::new(),
            pending_inlines: 0,
            open_inlines: 0,
            heading: None,
            most_bytes,
        }
    }

    /// Returns where the next text is written.
    pub(crate) fn length(&self) -> usize {
        self.out.len()
    }

    /// Whether there is as much text as there may be. The rest is to be left out.
    pub(crate) fn is_full(&self) -> bool {
        self.out.len() >= self.most_bytes
    }

    pub(crate) fn into_text(mut self) -> String {
        self.suspend_inlines();
        self.out
    }

    pub(crate) fn is_in_heading(&self) -> bool {
        self.heading.is_some()
    }

    pub(crate) fn is_in(&self, is_kind: fn(&InlineKind) -> bool) -> bool {
        self.inlines.iter().any(|inline| is_kind(&inline.kind))
    }

    fn is_at_begin(&self) -> bool {
        self.out.len() == self.floor
    }

    /// Writes text, with its white space collapsed.
    pub(crate) fn text(&mut self, text: &str) {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() && !self.is_full() {
            let begin = at;
            let mut is_ascii = true;
            while at < bytes.len() && bytes[at] > b' ' && bytes[at] != 0x7f {
                is_ascii &= bytes[at] < 128;
                at += 1;
            }
            if begin < at {
                // Control characters are ASCII, so a word ends between letters.
                if is_ascii {
                    self.word(&text[begin..at]);
                } else {
                    self.unicode_text(&text[begin..at]);
                }
            }
            while at < bytes.len() && (bytes[at] <= b' ' || bytes[at] == 0x7f) {
                if bytes[at].is_ascii_whitespace() {
                    self.space();
                }
                at += 1;
            }
        }
    }

    /// Writes text without ASCII white space that may have other spaces and invisible letters.
    fn unicode_text(&mut self, text: &str) {
        let is_special = |letter: char| letter.is_whitespace() || is_invisible(letter);
        for part in text.split_inclusive(is_special) {
            let last = part.chars().next_back().filter(|letter| is_special(*letter));
            self.word(&part[..part.len() - last.map_or(0, char::len_utf8)]);
            if last.is_some_and(char::is_whitespace) {
                self.space();
            }
        }
    }

    fn word(&mut self, word: &str) {
        if word.is_empty() {
            return;
        }
        self.begin_text();
        let room = self.most_bytes.saturating_sub(self.out.len());
        self.out.push_str(&word[..word.floor_char_boundary(room)]);
    }

    /// Writes what separates the text that follows from the text before, and the marks that begin.
    fn begin_text(&mut self) {
        let is_at_begin = self.is_at_begin();
        match self.gap {
            LineGap::None if !is_at_begin => {}
            LineGap::Space if !is_at_begin => {
                if !self.out.ends_with(' ') {
                    self.out.push(' ');
                }
            }
            _ => self.begin_line(),
        }
        self.gap = LineGap::None;
        if self.pending_inlines > 0 {
            self.begin_inlines();
        }
    }

    fn begin_line(&mut self) {
        if !self.is_at_begin() {
            let length = self.out.trim_end_matches(' ').len();
            self.out.truncate(length.max(self.floor));
            self.out.push('\n');
            if self.gap == LineGap::BlankLine {
                self.prefix.write_blank(&mut self.out);
                self.out.push('\n');
            }
        }
        self.prefix.write(&mut self.out);
        if let Some(heading) = &mut self.heading
            && heading.begin.is_none()
        {
            self.out.extend(std::iter::repeat_n('#', heading.level));
            self.out.push(' ');
            heading.begin = Some(self.out.len());
        }
    }

    fn begin_inlines(&mut self) {
        for inline in &mut self.inlines {
            // All of a heading is strong.
            let is_redundant = self.heading.is_some() && inline.kind == InlineKind::Strong;
            if inline.state == InlineState::Pending && !is_redundant {
                inline.write_begin(&mut self.out);
                self.open_inlines += 1;
                self.pending_inlines -= 1;
            }
        }
    }

    /// Notes white space before the text that follows.
    pub(crate) fn space(&mut self) {
        if self.gap == LineGap::None && !self.is_at_begin() {
            self.gap = LineGap::Space;
        }
    }

    /// Ends all open marks. Those that span lines begin again on the next line.
    fn suspend_inlines(&mut self) {
        if self.open_inlines == 0 {
            return;
        }
        for inline in self.inlines.iter_mut().rev() {
            inline.write_end(&mut self.out);
        }
        let is_pending = |inline: &&Inline| inline.state == InlineState::Pending;
        self.pending_inlines = self.inlines.iter().filter(is_pending).count();
        self.open_inlines = 0;
    }

    pub(crate) fn push_inline(&mut self, kind: InlineKind) -> InlinePush {
        let is_link =
            |kind: &InlineKind| matches!(kind, InlineKind::Link(_) | InlineKind::PlaceLink);
        let is_redundant = self.inlines.len() >= MOST_INLINES
            || kind == InlineKind::Strong && self.heading.is_some()
            || self.inlines.iter().any(|it| {
                it.kind == InlineKind::Code
                    || it.kind == kind
                    || is_link(&it.kind) && is_link(&kind)
            });
        if is_redundant {
            return InlinePush::Ignored;
        }
        self.inlines.push(Inline::new(kind));
        self.pending_inlines += 1;
        InlinePush::Shown
    }

    /// Ends the innermost mark of a kind.
    pub(crate) fn pop_inline(&mut self, is_kind: fn(&InlineKind) -> bool) {
        let Some(at) = self.inlines.iter().rposition(|inline| is_kind(&inline.kind)) else {
            return;
        };
        // Marks that began within this one end with it, and begin again behind it.
        if self.inlines[at].state != InlineState::Pending {
            for inline in self.inlines[at..].iter_mut().rev() {
                if matches!(inline.state, InlineState::Open(_)) {
                    inline.write_end(&mut self.out);
                }
            }
        }
        self.inlines.remove(at);
        let is_pending = |inline: &&Inline| inline.state == InlineState::Pending;
        self.pending_inlines = self.inlines.iter().filter(is_pending).count();
        let is_open = |inline: &&Inline| matches!(inline.state, InlineState::Open(_));
        self.open_inlines = self.inlines.iter().filter(is_open).count();
    }

    /// Writes text as it is, as a word of the line.
    pub(crate) fn verbatim(&mut self, text: &str) {
        if !self.is_full() {
            self.begin_text();
            self.out.push_str(text);
        }
    }

    fn widen_gap(&mut self, gap: LineGap) {
        if let Some(heading) = self.heading {
            let length = heading.begin.map_or(0, |begin| self.out.len().saturating_sub(begin));
            if length < LONGEST_HEADING {
                self.space();
                return;
            }
            self.heading = None;
        }
        self.suspend_inlines();
        if self.is_at_begin() || self.prefix.is_pending() {
            return;
        }
        self.gap = self.gap.max(gap);
    }

    /// Puts the text that follows on a new line.
    pub(crate) fn new_line(&mut self) {
        self.widen_gap(LineGap::Line);
    }

    /// Separates the text that follows by a blank line.
    pub(crate) fn blank_line(&mut self) {
        self.widen_gap(LineGap::BlankLine);
    }

    /// Breaks the line, as `<br>` does. A second break makes a blank line.
    pub(crate) fn line_break(&mut self) {
        if self.is_in(|kind| matches!(kind, InlineKind::Link(_))) {
            self.space();
        } else if self.gap >= LineGap::Line {
            self.blank_line();
        } else {
            self.new_line();
        }
    }

    pub(crate) fn begin_heading(&mut self, level: u8) {
        self.heading = None;
        self.blank_line();
        self.heading = Some(OpenHeading { level: usize::from(level), begin: None });
    }

    pub(crate) fn end_heading(&mut self) {
        self.heading = None;
        self.blank_line();
    }

    /// Begins a list. One within an item does not stand apart.
    pub(crate) fn begin_list(&mut self) {
        self.heading = None;
        if self.prefix.is_in_item() {
            self.new_line();
        } else {
            self.blank_line();
        }
    }

    pub(crate) fn end_list(&mut self) {
        self.begin_list();
    }

    pub(crate) fn begin_container(&mut self, container: LineContainer) -> ContainerPush {
        match container {
            LineContainer::Quote => self.blank_line(),
            LineContainer::Bullet | LineContainer::Number(_) | LineContainer::Definition => {
                self.new_line();
            }
        }
        self.prefix.push(container)
    }

    pub(crate) fn end_container(&mut self) {
        self.suspend_inlines();
        let is_item = self.prefix.is_in_item();
        self.prefix.pop();
        if !is_item {
            self.blank_line();
        } else if !self.is_at_begin() && !self.prefix.is_pending() {
            // Items follow each other without blank lines.
            self.gap = LineGap::Line;
        }
    }

    /// Ends a term, whose definition follows on the next line.
    pub(crate) fn end_term(&mut self) {
        self.new_line();
        self.gap = self.gap.min(LineGap::Line);
    }

    /// Writes a block of code between fences.
    pub(crate) fn code_block(&mut self, language: &str, code: &str) {
        let code = code.trim_end();
        if code.is_empty() {
            return;
        }
        self.heading = None;
        self.blank_line();
        let fence = "`".repeat((longest_backtick_run(code) + 1).max(3));
        self.whole_line(&format!("{fence}{language}"));
        for line in code.lines() {
            self.whole_line(line);
        }
        self.whole_line(&fence);
        self.blank_line();
    }

    /// Writes lines that are already in Markdown.
    pub(crate) fn lines(&mut self, lines: &str) {
        for line in lines.lines() {
            self.whole_line(line);
        }
    }

    fn whole_line(&mut self, line: &str) {
        if self.is_full() {
            return;
        }
        if line.is_empty() {
            if !self.is_at_begin() {
                self.gap = self.gap.max(LineGap::Line);
                self.out.push('\n');
                self.prefix.write_blank(&mut self.out);
            }
            return;
        }
        self.gap = self.gap.max(LineGap::Line);
        self.begin_line();
        self.out.push_str(line);
        self.gap = LineGap::Line;
    }

    /// Begins a table: what is written until `leave_table` is its cells.
    pub(crate) fn enter_table(&mut self) -> OuterLine {
        self.blank_line();
        let outer = OuterLine {
            begin: self.out.len(),
            floor: self.floor,
            gap: self.gap,
            containers: self.prefix.enter_cell(),
            heading: self.heading.take(),
        };
        self.begin_cell();
        outer
    }

    /// Begins the next cell. Returns where its text begins.
    pub(crate) fn begin_cell(&mut self) -> usize {
        self.end_cell();
        self.floor = self.out.len();
        self.gap = LineGap::None;
        self.floor
    }

    /// Ends a cell. Returns where its text ends.
    pub(crate) fn end_cell(&mut self) -> usize {
        self.suspend_inlines();
        self.heading = None;
        self.out.len()
    }

    /// Ends a table. Returns the text of its cells, which is taken out of what is written.
    pub(crate) fn leave_table(&mut self, outer: OuterLine) -> String {
        self.end_cell();
        let cells = self.out.split_off(outer.begin);
        self.prefix.leave_cell(outer.containers);
        self.floor = outer.floor;
        self.gap = outer.gap;
        self.heading = outer.heading;
        cells
    }
}

/// Whether a letter shows nothing: soft hyphens, marks of width zero, overrides of the direction, and tags.
fn is_invisible(letter: char) -> bool {
    matches!(
        letter,
        '\u{80}'..='\u{9f}'
            | '\u{ad}'
            | '\u{200b}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
    )
}
