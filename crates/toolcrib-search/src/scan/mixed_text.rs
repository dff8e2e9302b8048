//! The part of a mixed text that is searched. A search stops before the NUL, but some lines before it are not searched
//! either: those that were read together with it.

use std::io;

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};

use crate::scan::text::MAX_LINE_BYTES;

/// Makes searchers detect the kind of a file while they read it.
pub(crate) fn detect_kind(builder: &mut SearcherBuilder) {
    builder
        .bom_sniffing(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE_BYTES));
}

/// Returns the lines of a mixed text that are searched, if no lines around matches are wanted: those are read together
/// with the matches, which changes what else is. Returns nothing if that is not known.
pub(crate) fn searched_lines(text: &[u8]) -> Option<&[u8]> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return None;
    }
    let every_line = RegexMatcherBuilder::new().line_terminator(Some(b'\n')).build("").ok()?;
    let mut end = LastLineEnd(0);
    let mut builder = SearcherBuilder::new();
    detect_kind(&mut builder);
    builder.build().search_reader(&every_line, text, &mut end).ok()?;
    text.get(..end.0)
}

/// Where the last line that was searched ends.
struct LastLineEnd(usize);

impl Sink for &mut LastLineEnd {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.0 = found.absolute_byte_offset() as usize + found.bytes().len();
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_read_with_a_nul_are_not_searched() {
        let line = b"a line of some length\n";
        let mut text = line.repeat(20_000);
        let nul = text.len();
        text.extend_from_slice(b"then a\0nul\n");
        text.extend(line.repeat(1000));
        let searched = searched_lines(&text).unwrap();
        assert!(searched.len() < nul && searched.len() > nul - (128 << 10), "{}", searched.len());
        assert!(searched.ends_with(b"\n"));
        assert_eq!(searched_lines(b"ab\0"), Some(&b""[..]));
        // A line that ends within the first three bytes is searched before the rest is read.
        assert_eq!(searched_lines(b"a\nb\0"), Some(&b"a\n"[..]));
    }
}
