//! Changes the entries of a list in the text of a settings file, and keeps the comments between them.

use toml::{Table, Value};

/// The text of a value after the change.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EditedValue {
    pub(super) text: String,
    /// The comments of the old value that the new one does not have.
    pub(super) lost: Vec<String>,
}

/// Returns the list with these entries. Returns nothing if the old list has no comments, or is no plain list. A list
/// without comments is written anew on one line.
pub(super) fn edit_list(old: &str, new: &[Value]) -> Option<EditedValue> {
    let mut old = OldList::parse(old)?;
    if !old.has_comments() {
        return None;
    }
    let behind = |comment: &Option<String>| {
        comment.as_ref().map_or_else(String::new, |comment| format!(" {comment}"))
    };
    let mut lines = vec![format!("[{}", behind(&old.first))];
    for value in new {
        let at = old.entries.iter().position(|entry| !entry.is_taken && entry.value == *value);
        let written = match at {
            Some(at) => {
                // What stands on its own line can be about more than one entry, so it stays where it was.
                let before = old.entries[..=at].iter_mut();
                lines.extend(before.flat_map(|entry| std::mem::take(&mut entry.above)));
                let entry = &mut old.entries[at];
                entry.is_taken = true;
                format!("{},{}", entry.written, behind(&entry.beside))
            }
            None => format!("{value},"),
        };
        lines.push(written);
    }
    let lost = old.entries.iter().filter(|entry| !entry.is_taken);
    let lost = lost.filter_map(|entry| entry.beside.clone()).collect();
    lines.extend(old.entries.iter_mut().flat_map(|entry| std::mem::take(&mut entry.above)));
    lines.extend(old.last);
    Some(EditedValue { text: format!("{}\n]", lines.join("\n  ")), lost })
}

/// A list as it stands in the text.
#[derive(Default)]
struct OldList {
    /// The comment beside the bracket that opens the list.
    first: Option<String>,
    entries: Vec<OldEntry>,
    /// The comments on lines of their own behind the last entry.
    last: Vec<String>,
}

struct OldEntry {
    /// The comments on lines of their own before it.
    above: Vec<String>,
    written: String,
    value: Value,
    /// The comment on its line.
    beside: Option<String>,
    /// Whether the new list has it.
    is_taken: bool,
}

/// Where a comment stands.
#[derive(Clone, Copy)]
enum CommentPlace {
    /// On the line of the last entry, or of the bracket.
    Beside,
    /// On a line of its own.
    OwnLine,
}

impl OldList {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.strip_prefix('[')?.strip_suffix(']')?;
        let (mut list, mut place) = (Self::default(), CommentPlace::Beside);
        while let Some(first) = rest.chars().next() {
            let length = match first {
                '#' => {
                    let end = rest.find('\n').unwrap_or(rest.len());
                    list.add_comment(rest[..end].trim_end(), place);
                    end
                }
                ',' => 1,
                _ if first.is_whitespace() => {
                    if first == '\n' {
                        place = CommentPlace::OwnLine;
                    }
                    first.len_utf8()
                }
                _ => {
                    let end = entry_end(rest)?;
                    list.add_entry(rest[..end].trim_end())?;
                    place = CommentPlace::Beside;
                    end
                }
            };
            rest = &rest[length..];
        }
        Some(list)
    }

    fn add_comment(&mut self, comment: &str, place: CommentPlace) {
        let comment = comment.to_owned();
        match (place, self.entries.last_mut()) {
            (CommentPlace::OwnLine, _) => self.last.push(comment),
            (CommentPlace::Beside, Some(entry)) => entry.beside = Some(comment),
            (CommentPlace::Beside, None) => self.first = Some(comment),
        }
    }

    fn add_entry(&mut self, written: &str) -> Option<()> {
        let value = format!("it = {written}\n").parse::<Table>().ok()?.remove("it")?;
        let above = std::mem::take(&mut self.last);
        let written = written.to_owned();
        self.entries.push(OldEntry { above, written, value, beside: None, is_taken: false });
        Some(())
    }

    fn has_comments(&self) -> bool {
        let has_comment = |it: &OldEntry| !it.above.is_empty() || it.beside.is_some();
        self.first.is_some() || !self.last.is_empty() || self.entries.iter().any(has_comment)
    }
}

/// Returns where the entry that a text begins with ends. Returns nothing for what settings do not have in lists:
/// tables, lists, and texts over several lines.
fn entry_end(text: &str) -> Option<usize> {
    let quote = text.chars().next().filter(|it| matches!(it, '"' | '\''));
    let Some(quote) = quote else {
        let end = text.find([',', '\n', '#']).unwrap_or(text.len());
        return (!text[..end].contains(['[', '{', '"', '\''])).then_some(end);
    };
    if text.chars().take_while(|it| *it == quote).count() >= 3 {
        return None;
    }
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        if is_escaped {
            is_escaped = false;
        } else if character == quote {
            return Some(at + 1);
        } else {
            is_escaped = character == '\\' && quote == '"';
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expect: Option<(&str, &[&str])>) {
        let mut table: Table = format!("it = {new}").parse().unwrap();
        let new = table.remove("it").unwrap();
        let got = edit_list(old, new.as_array().unwrap());
        let owned = |it: &&str| (*it).to_owned();
        let expect = expect.map(|(text, lost)| EditedValue {
            text: text.to_owned(),
            lost: lost.iter().map(owned).collect(),
        });
        assert_eq!(got, expect, "{old}");
    }

    #[test]
    fn comments_stay_with_the_entries_that_stay() {
        let old = "[ # roots\n  # work\n  '/a', # one\n  \"/b, # no\", # two\n\n  # later\n]";
        let kept = "[ # roots\n  # work\n  '/a', # one\n  \"/b, # no\", # two\n  # later\n]";
        check(old, "['/a', '/b, # no']", Some((kept, &[])));
        let more =
            "[ # roots\n  # work\n  '/a', # one\n  \"/b, # no\", # two\n  \"/c\",\n  # later\n]";
        check(old, "['/a', '/b, # no', '/c']", Some((more, &[])));
        let fewer = "[ # roots\n  # work\n  \"/b, # no\", # two\n  # later\n]";
        check(old, "['/b, # no']", Some((fewer, &["# one"])));
        let none = "[ # roots\n  # work\n  # later\n]";
        check(old, "[]", Some((none, &["# one", "# two"])));
        check("[1, # a\n 2]", "[2, 3]", Some(("[\n  2,\n  3,\n]", &["# a"])));
    }

    #[test]
    fn lists_without_comments_and_lists_of_other_things_are_left_to_others() {
        check("['/a', '#']", "['/b']", None);
        check("[]", "['/b']", None);
        check("[['a'], # x\n]", "['/b']", None);
        check("[{a = 1}, # x\n]", "['/b']", None);
        check("[\"\"\"a\"\"\", # x\n]", "['/b']", None);
    }
}
