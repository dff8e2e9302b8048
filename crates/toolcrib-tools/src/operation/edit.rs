//! Replaces a string in a text: exactly, or with the line ends of the file, and never by guess.

use toolcrib_core::{ErrorKind, Files, Plan, ToolError};

use super::text::{MAX_FILE, Text, not_text};

/// Which occurrences to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// The only one; several are an error.
    Only,
    /// The first.
    First,
    /// Every one.
    All,
}

/// A replacement to make.
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) which: Which,
}

/// What a replacement did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) text: String,
    /// How often the old string was there.
    pub(crate) found: usize,
    pub(crate) count: usize,
    /// The lines that the replaced occurrences stood on, in the old text.
    pub(crate) lines: Vec<usize>,
}

/// Why a replacement was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The old string is not there.
    None,
    /// It is there this often, the first times on these lines.
    Several(usize, Vec<usize>),
}

impl Replacement<'_> {
    /// Makes the replacement in `text`.
    pub(crate) fn apply(&self, text: &str) -> Result<Replaced, Miss> {
        if text.contains(self.old) {
            // Exactly there. New lines still end as the file's do, if it ends them all alike.
            let new = if ends_with_crlf(text) { with_crlf(self.new) } else { self.new.to_owned() };
            return replace(text, self.old, &new, self.which);
        }
        // Models write plain line feeds whatever the file has.
        if ends_with_crlf(text) && self.old.contains('\n') {
            return replace(text, &with_crlf(self.old), &with_crlf(self.new), self.which);
        }
        Err(Miss::None)
    }
}

fn replace(text: &str, old: &str, new: &str, which: Which) -> Result<Replaced, Miss> {
    let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    let chosen = match (which, places.as_slice()) {
        (_, []) => return Err(Miss::None),
        (Which::Only, [_, _, ..]) => {
            return Err(Miss::Several(places.len(), spanned(text, &places, "")));
        }
        (Which::Only | Which::First, [first, ..]) => std::slice::from_ref(first),
        (Which::All, all) => all,
    };
    let mut out = String::with_capacity(text.len() + new.len());
    let mut from = 0;
    for at in chosen {
        out.push_str(&text[from..*at]);
        out.push_str(new);
        from = at + old.len();
    }
    out.push_str(&text[from..]);
    Ok(Replaced {
        text: out,
        found: places.len(),
        count: chosen.len(),
        lines: spanned(text, chosen, old),
    })
}

/// Returns the lines that `old` stands on at these places, each once; of very many, the first.
fn spanned(text: &str, places: &[usize], old: &str) -> Vec<usize> {
    const MOST: usize = 1000;
    // A line break at the end of it is still the end of its last line.
    let height = old.strip_suffix('\n').unwrap_or(old).matches('\n').count();
    let (mut line, mut from) = (1, 0);
    let mut spanned: Vec<usize> = Vec::new();
    for at in places {
        line += text[from..*at].matches('\n').count();
        from = *at;
        spanned.extend(line..=line + height);
        if spanned.len() >= MOST {
            break;
        }
    }
    spanned.dedup();
    spanned.truncate(MOST);
    spanned
}

/// Whether every line of the text ends in CR LF.
fn ends_with_crlf(text: &str) -> bool {
    let feeds = text.matches('\n').count();
    feeds > 0 && text.matches("\r\n").count() == feeds
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns what the replacement would make of the file, without writing.
pub(crate) fn preview(
    files: &dyn Files,
    path: &str,
    replacement: &Replacement<'_>,
    word: impl Fn(&str, &Miss) -> ToolError,
) -> Result<Plan, ToolError> {
    files.check_write(path)?;
    let content = files.read(path, MAX_FILE)?;
    if content.is_cut() {
        return Err(too_large(path, content.size));
    }
    let text = Text::decode(&content.bytes).ok_or_else(|| not_text(path))?;
    match replacement.apply(&text.text) {
        Ok(replaced) => Ok(Plan::edit(path, Some(text.text), Some(replaced.text))),
        Err(miss) => Err(word(&text.text, &miss)),
    }
}

/// Makes the replacement in the file. Encoding, byte-order mark, line ends and mode stay. Returns
/// what was done and the size of the file after.
pub(crate) fn run(
    files: &dyn Files,
    path: &str,
    replacement: &Replacement<'_>,
    word: impl Fn(&str, &Miss) -> ToolError,
) -> Result<(Replaced, u64), ToolError> {
    let mut done = None;
    files.update(path, MAX_FILE, &mut |bytes| {
        let text = Text::decode(bytes).ok_or_else(|| not_text(path))?;
        let replaced = replacement.apply(&text.text).map_err(|miss| word(&text.text, &miss))?;
        let bytes = Text::encode(text.encoding, &replaced.text);
        done = Some((replaced, bytes.len() as u64));
        Ok(bytes)
    })?;
    done.ok_or_else(|| ToolError::new(ErrorKind::Bug, "the file was not edited"))
}

fn too_large(path: &str, size: u64) -> ToolError {
    let message = format!("`{path}` has {size} bytes, and the limit is {MAX_FILE}");
    ToolError::new(ErrorKind::TooLarge, message).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, old: &str, new: &str, which: Which, expect: Result<&str, Miss>) {
        let got = Replacement { old, new, which }.apply(text);
        assert_eq!(got.as_ref().map(|it| it.text.as_str()), expect.as_ref().map(|it| *it));
    }

    #[test]
    fn occurrences_are_chosen_as_asked() {
        check("a b a", "a", "x", Which::First, Ok("x b a"));
        check("a b a", "a", "x", Which::All, Ok("x b x"));
        check("a\nb a", "a", "x", Which::Only, Err(Miss::Several(2, vec![1, 2])));
        check("a b", "c", "x", Which::Only, Err(Miss::None));
    }

    #[test]
    fn line_ends_of_the_file_stay() {
        check("a\r\nb\r\n", "a\nb", "c\nd", Which::Only, Ok("c\r\nd\r\n"));
        check("a\r\nb\r\n", "a", "c\nd", Which::Only, Ok("c\r\nd\r\nb\r\n"));
        check("a\r\nb\r\n", "a\r\nb", "c\r\nd", Which::Only, Ok("c\r\nd\r\n"));
        check("a\nb\r\n", "a\nb", "c\nd", Which::Only, Ok("c\nd\r\n"));
        check("a\nb\n", "a\r\nb", "c", Which::Only, Err(Miss::None));
    }

    #[test]
    fn lines_are_those_of_the_old_text() {
        let got =
            Replacement { old: "x", new: "\n\n", which: Which::All }.apply("x\ny\nx").unwrap();
        assert_eq!((got.lines, got.found, got.count), (vec![1, 3], 2, 2));
        let got = Replacement { old: "b\nc\n", new: "", which: Which::Only }.apply("a\nb\nc\nd");
        assert_eq!(got.unwrap().lines, [2, 3]);
    }
}
