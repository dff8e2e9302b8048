//! Replaces a string in a text. The match is exact, except that line ends may be the file's.

use toolcrib_core::{ErrorKind, Files, Plan, ToolError};

use super::text::{MAX_FILE_BYTES, Text, not_text};

/// Which occurrences to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Occurrences {
    /// The only occurrence. Several are an error.
    Only,
    /// The first occurrence.
    First,
    /// All occurrences.
    All,
}

/// A replacement to make.
pub(crate) struct Replacement<'a> {
    pub(crate) old: &'a str,
    pub(crate) new: &'a str,
    pub(crate) occurrences: Occurrences,
}

/// The result of a replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replaced {
    pub(crate) text: String,
    /// The number of occurrences of the old string.
    pub(crate) found: usize,
    pub(crate) count: usize,
    /// The line numbers of the replaced occurrences, in the old text.
    pub(crate) lines: Vec<usize>,
}

/// Why a replacement was not made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Miss {
    /// The old string does not occur.
    None,
    /// The old string occurs this many times, first on these lines.
    Several(usize, Vec<usize>),
}

impl Replacement<'_> {
    /// Makes the replacement in `text`.
    pub(crate) fn apply(&self, text: &str) -> Result<Replaced, Miss> {
        if text.contains(self.old) {
            // An exact match. If all lines of the file end in CR LF, so do the new ones.
            let new = if ends_with_crlf(text) { with_crlf(self.new) } else { self.new.to_owned() };
            return replace(text, self.old, &new, self.occurrences);
        }
        // Models write plain line feeds, whatever line ends the file has.
        if ends_with_crlf(text) && self.old.contains('\n') {
            return replace(text, &with_crlf(self.old), &with_crlf(self.new), self.occurrences);
        }
        Err(Miss::None)
    }
}

fn replace(text: &str, old: &str, new: &str, occurrences: Occurrences) -> Result<Replaced, Miss> {
    let offsets: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    let chosen = match (occurrences, offsets.as_slice()) {
        (_, []) => return Err(Miss::None),
        (Occurrences::Only, [_, _, ..]) => {
            return Err(Miss::Several(offsets.len(), spanned(text, &offsets, "")));
        }
        (Occurrences::Only | Occurrences::First, [first, ..]) => std::slice::from_ref(first),
        (Occurrences::All, all) => all,
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
        found: offsets.len(),
        count: chosen.len(),
        lines: spanned(text, chosen, old),
    })
}

/// Returns the numbers of the lines that `old` spans at these places, each once. Beyond a limit, the
/// rest is left out.
fn spanned(text: &str, offsets: &[usize], old: &str) -> Vec<usize> {
    const MOST_LINE_NUMBERS: usize = 1000;
    // A line break at the end of `old` belongs to its last line.
    let height = old.strip_suffix('\n').unwrap_or(old).matches('\n').count();
    let (mut line, mut from) = (1, 0);
    let mut spanned: Vec<usize> = Vec::new();
    for at in offsets {
        line += text[from..*at].matches('\n').count();
        from = *at;
        spanned.extend(line..=line + height);
        if spanned.len() >= MOST_LINE_NUMBERS {
            break;
        }
    }
    spanned.dedup();
    spanned.truncate(MOST_LINE_NUMBERS);
    spanned
}

/// Returns whether every line of the text ends in CR LF.
fn ends_with_crlf(text: &str) -> bool {
    let feeds = text.matches('\n').count();
    feeds > 0 && text.matches("\r\n").count() == feeds
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

/// Returns the change that the replacement would make, without writing.
pub(crate) fn preview(
    files: &dyn Files,
    path: &str,
    replacement: &Replacement<'_>,
    word: impl Fn(&str, &Miss) -> ToolError,
) -> Result<Plan, ToolError> {
    files.check_write(path)?;
    let content = files.read(path, MAX_FILE_BYTES)?;
    if content.is_cut() {
        return Err(too_large(path, content.size));
    }
    let text = Text::decode(content.bytes).ok_or_else(|| not_text(path))?;
    match replacement.apply(&text.text) {
        Ok(replaced) => Ok(Plan::edit(path, Some(text.text), Some(replaced.text))),
        Err(miss) => Err(word(&text.text, &miss)),
    }
}

/// Makes the replacement in the file. The file keeps its encoding, byte-order mark, line ends and
/// mode. Returns the result and the new size of the file.
pub(crate) fn run(
    files: &dyn Files,
    path: &str,
    replacement: &Replacement<'_>,
    word: impl Fn(&str, &Miss) -> ToolError,
) -> Result<(Replaced, u64), ToolError> {
    let mut done = None;
    files.update(path, MAX_FILE_BYTES, &mut |bytes| {
        let text = Text::decode(bytes.to_vec()).ok_or_else(|| not_text(path))?;
        let replaced = replacement.apply(&text.text).map_err(|miss| word(&text.text, &miss))?;
        let bytes = Text::encode(text.encoding, &replaced.text);
        done = Some((replaced, bytes.len() as u64));
        Ok(bytes)
    })?;
    done.ok_or_else(|| ToolError::new(ErrorKind::Bug, "the file was not edited"))
}

fn too_large(path: &str, size: u64) -> ToolError {
    let message = format!("`{path}` has {size} bytes, but the limit is {MAX_FILE_BYTES}");
    ToolError::new(ErrorKind::TooLarge, message).at(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        text: &str,
        old: &str,
        new: &str,
        occurrences: Occurrences,
        expect: Result<&str, Miss>,
    ) {
        let got = Replacement { old, new, occurrences }.apply(text);
        assert_eq!(got.as_ref().map(|it| it.text.as_str()), expect.as_ref().map(|it| *it));
    }

    #[test]
    fn occurrences_are_chosen_as_asked() {
        check("a b a", "a", "x", Occurrences::First, Ok("x b a"));
        check("a b a", "a", "x", Occurrences::All, Ok("x b x"));
        check("a\nb a", "a", "x", Occurrences::Only, Err(Miss::Several(2, vec![1, 2])));
        check("a b", "c", "x", Occurrences::Only, Err(Miss::None));
    }

    #[test]
    fn line_ends_of_the_file_stay() {
        check("a\r\nb\r\n", "a\nb", "c\nd", Occurrences::Only, Ok("c\r\nd\r\n"));
        check("a\r\nb\r\n", "a", "c\nd", Occurrences::Only, Ok("c\r\nd\r\nb\r\n"));
        check("a\r\nb\r\n", "a\r\nb", "c\r\nd", Occurrences::Only, Ok("c\r\nd\r\n"));
        check("a\nb\r\n", "a\nb", "c\nd", Occurrences::Only, Ok("c\nd\r\n"));
        check("a\nb\n", "a\r\nb", "c", Occurrences::Only, Err(Miss::None));
    }

    #[test]
    fn lines_are_those_of_the_old_text() {
        let got = Replacement { old: "x", new: "\n\n", occurrences: Occurrences::All }
            .apply("x\ny\nx")
            .unwrap();
        assert_eq!((got.lines, got.found, got.count), (vec![1, 3], 2, 2));
        let got = Replacement { old: "b\nc\n", new: "", occurrences: Occurrences::Only }
            .apply("a\nb\nc\nd");
        assert_eq!(got.unwrap().lines, [2, 3]);
    }
}
