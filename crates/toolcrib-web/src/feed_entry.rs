//! What is known of a feed or of one of its entries, in whatever format it came, as Markdown.

/// The longest title and the longest date.
pub(crate) const LONGEST_LINE: usize = 500;

/// The most text of one entry that is shown. Its link leads to the rest.
pub(crate) const LONGEST_SUMMARY: usize = 3_000;

/// What a reader of shortened entries should know.
pub(crate) const SHORTENED: &str = "long entries are shortened; their links lead to the rest";

/// A feed as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FeedText {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    pub(crate) is_cut: bool,
    pub(crate) notice: Option<&'static str>,
}

/// What is known of a feed or of an entry.
#[derive(Debug, Default)]
pub(crate) struct FeedEntry {
    pub(crate) title: String,
    pub(crate) link: String,
    pub(crate) date: String,
    pub(crate) summary: String,
    pub(crate) content: String,
}

impl FeedEntry {
    /// Writes what a feed says about itself.
    pub(crate) fn write_head(&self, out: &mut String) {
        let Self { title, link, summary, .. } = self;
        for (mark, line) in [("# ", title), ("", link), ("", summary)] {
            if !line.is_empty() {
                out.extend([mark, line, "\n\n"]);
            }
        }
    }

    /// Writes an entry.
    pub(crate) fn write(&self, out: &mut String) {
        let title = if self.title.is_empty() { "Untitled" } else { &self.title };
        out.push_str("## ");
        if self.link.is_empty() {
            out.push_str(title);
        } else {
            out.extend(["[", title, "](", &self.link, ")"]);
        }
        let body = if self.summary.is_empty() { &self.content } else { &self.summary };
        for part in [&self.date, body] {
            if !part.is_empty() {
                out.push_str("\n\n");
                out.push_str(part);
            }
        }
        out.push_str("\n\n");
    }
}
