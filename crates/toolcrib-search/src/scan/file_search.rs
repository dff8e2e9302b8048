//! The search of one file: opened by handle, and searched as ripgrep searches a file that it found in a directory.

use std::io::{self, Read, Seek};
use std::ops::Range;
use std::sync::Arc;

use grep_matcher::{LineTerminator, Matcher};
use grep_searcher::{Searcher, SearcherBuilder};
use toolcrib_core::SearchableTree;
use toolcrib_core::search::Want;

use crate::pattern::{Compiled, LineEnd};
use crate::plan::Query;
use crate::scan::hits::Hits;
use crate::scan::kept_text::KeptText;
use crate::scan::mixed_text::detect_kind;
use crate::scan::open::{FileOpener, Unsearched};
use crate::scan::stop::Stop;
use crate::scan::text::{
    MAX_LINE_BYTES, MAX_WHOLE_READ_BYTES, TextKind, is_wide, kind_of, read_whole,
};

/// Text up to this size is searched in one go, longer text in pieces, so that the search can stop in between.
const MAX_SLICE_BYTES: usize = 512 << 10;

/// The text of a file that is in memory.
pub(crate) struct TargetText<'a> {
    pub(crate) text: Arc<KeptText>,
    pub(crate) lines: LinesToSearch<'a>,
}

/// The lines of a text that may match, counted from 0.
#[derive(Clone, Copy)]
pub(crate) enum LinesToSearch<'a> {
    /// All lines.
    All,
    /// Only these.
    Only(&'a [u32]),
    /// Only these, and each of them matches.
    Matching(&'a [u32]),
}

/// Searches files, one after the other.
pub(crate) struct FileSearcher<'a> {
    /// The tree of the files, if they are on disk.
    tree: Option<&'a dyn SearchableTree>,
    compiled: &'a Compiled,
    stop: &'a Stop<'a>,
    /// Searches plain text, where nothing needs to be detected.
    plain: Searcher,
    /// Counts the matches in plain text.
    counting: Searcher,
    /// Whether answers have lines around those that match.
    has_context: bool,
    /// Makes searchers for files whose kind shows only while they are read. Each such file gets a searcher of its
    /// own: the buffer of a searcher that has met a long line stays large, and would detect a binary file sooner.
    detecting: SearcherBuilder,
    opener: FileOpener,
    buffer: Vec<u8>,
}

impl<'a> FileSearcher<'a> {
    pub(crate) fn new(
        tree: Option<&'a dyn SearchableTree>,
        compiled: &'a Compiled,
        want: Want,
        stop: &'a Stop<'a>,
    ) -> Self {
        let has_context = want.has_context();
        let mut builder = SearcherBuilder::new();
        if compiled.line_end == LineEnd::Either {
            builder.line_terminator(LineTerminator::crlf());
        }
        // Text in memory needs no buffer of its own.
        builder.bom_sniffing(false).heap_limit(Some(1 << 10));
        let counting = builder.line_number(false).build();
        if let Want::Lines { before, after } = want {
            builder.line_number(true).before_context(before).after_context(after);
        }
        let plain = builder.build();
        detect_kind(&mut builder);
        Self {
            tree,
            compiled,
            stop,
            plain,
            counting,
            has_context,
            detecting: builder,
            opener: FileOpener::default(),
            buffer: Vec::new(),
        }
    }

    /// Searches a text that is kept in memory.
    pub(crate) fn search_kept(
        &mut self,
        target: &TargetText<'_>,
        hits: &mut Hits<'_>,
    ) -> Result<TextKind, Unsearched> {
        let kept = &target.text;
        let (LinesToSearch::Only(lines) | LinesToSearch::Matching(lines)) = target.lines else {
            return self.search_all_lines(kept, hits);
        };
        if self.has_context {
            return self.search_all_lines(kept, hits);
        }
        let mut finder = kept.line_finder();
        for number in lines {
            if matches!(target.lines, LinesToSearch::Matching(_)) && hits.only_counts() {
                hits.count_up_to(lines.len() as u64);
                break;
            }
            let Some(line) = finder.find(*number) else { break };
            let line = &kept.text()[line];
            match (target.lines, self.compiled.line_end) {
                (LinesToSearch::Matching(_), _) => {
                    hits.add(u64::from(*number) + 1, line).map_err(failed)?;
                }
                (_, LineEnd::LineFeed) => {
                    let text = line.strip_suffix(b"\n").unwrap_or(line);
                    if self.compiled.matcher.is_match(text).unwrap_or(true) {
                        hits.add(u64::from(*number) + 1, line).map_err(failed)?;
                    }
                }
                (_, LineEnd::Either) => {
                    hits.lines_before = u64::from(*number);
                    self.search_plain(line, hits).map_err(failed)?;
                }
            }
            if hits.is_done {
                break;
            }
        }
        Ok(TextKind::Plain)
    }

    /// Searches a text that is kept in memory, as far as its Bloom filters do not rule out parts of it.
    fn search_all_lines(
        &mut self,
        kept: &KeptText,
        hits: &mut Hits<'_>,
    ) -> Result<TextKind, Unsearched> {
        let query = &self.compiled.query;
        if *query != Query::All
            && let Some(pieces) = kept.pieces(query, MAX_SLICE_BYTES)
            && (pieces.is_empty() || !self.has_context)
        {
            let done = self.search_pieces(kept.text(), pieces.into_iter(), hits);
            return done.map(|()| TextKind::Plain).map_err(failed);
        }
        self.search_text(kept.text(), TextKind::Plain, hits)
    }

    /// Searches the text of a file.
    fn search_text(
        &mut self,
        text: &[u8],
        kind: TextKind,
        hits: &mut Hits<'_>,
    ) -> Result<TextKind, Unsearched> {
        let matcher = &self.compiled.matcher;
        if self.compiled.is_every_line && kind == TextKind::Plain && hits.counts() {
            let mut counter = Counter::default();
            counter.add(text);
            hits.stop_when_full();
            let done = self.plain.search_slice(matcher, text, &mut *hits).map_err(failed);
            hits.count = counter.lines();
            return done.map(|()| kind);
        }
        let done = match kind {
            TextKind::Binary => Ok(()),
            TextKind::Plain if text.len() <= MAX_SLICE_BYTES => self.search_plain(text, hits),
            TextKind::Plain if !self.has_context => {
                self.search_pieces(text, whole_lines(text), hits)
            }
            TextKind::Plain | TextKind::Mixed => {
                let reader = Interruptible { from: text, stop: self.stop };
                self.detecting.build().search_reader(matcher, reader, &mut *hits)
            }
        };
        done.map(|()| kind).map_err(failed)
    }

    /// Searches plain text in one go.
    fn search_plain(&mut self, text: &[u8], hits: &mut Hits<'_>) -> io::Result<()> {
        let searcher = if hits.only_counts() { &mut self.counting } else { &mut self.plain };
        searcher.search_slice(&self.compiled.matcher, text, hits)
    }

    /// Searches pieces of plain text, each of whole lines, so that the search can stop in between. Lines are counted
    /// only up to the last piece that has a match.
    fn search_pieces(
        &mut self,
        text: &[u8],
        pieces: impl Iterator<Item = Range<usize>>,
        hits: &mut Hits<'_>,
    ) -> io::Result<()> {
        let matcher = &self.compiled.matcher;
        let mut counted = 0;
        for range in pieces {
            self.stop.check()?;
            let piece = &text[range.clone()];
            // A matcher without a line terminator must see each line alone.
            let may_match = matcher.line_terminator().is_none()
                || matcher.find_candidate_line(piece).map_or(true, |line| line.is_some());
            if may_match {
                if !hits.only_counts() {
                    hits.lines_before += count_line_ends(&text[counted..range.start]);
                    counted = range.start;
                }
                self.search_plain(piece, hits)?;
            }
            if hits.is_done {
                break;
            }
        }
        Ok(())
    }

    /// Searches a text that is too large to be searched whole.
    fn search_large(&mut self, from: impl Read, hits: &mut Hits<'_>) -> Result<(), Unsearched> {
        let reader = Interruptible { from, stop: self.stop };
        let matcher = &self.compiled.matcher;
        self.detecting.build().search_reader(matcher, reader, hits).map_err(failed)
    }

    /// Searches the content of a file that is not on disk.
    pub(crate) fn search_content(
        &mut self,
        content: &[u8],
        hits: &mut Hits<'_>,
    ) -> Result<TextKind, Unsearched> {
        if content.len() > MAX_WHOLE_READ_BYTES {
            return self.search_from(io::Cursor::new(content), hits);
        }
        let (kind, text) = kind_of(content);
        self.search_text(text, kind, hits)
    }

    /// Searches a large text from its beginning.
    fn search_from(
        &mut self,
        mut from: impl Read + Seek,
        hits: &mut Hits<'_>,
    ) -> Result<TextKind, Unsearched> {
        if self.compiled.is_every_line
            && hits.counts_all()
            && let Some(lines) = count_lines(&mut from, self.stop)?
        {
            hits.stop_when_full();
            self.search_large(from, hits)?;
            hits.count = lines;
            return Ok(TextKind::Plain);
        }
        self.search_large(from, hits).map(|()| TextKind::Mixed)
    }

    /// Searches the file at `path`.
    pub(crate) fn search(
        &mut self,
        path: &[u8],
        hits: &mut Hits<'_>,
    ) -> Result<TextKind, Unsearched> {
        let tree = self.tree.ok_or(Unsearched::Gone)?;
        let (file, meta) = self.opener.open(tree, path)?;
        let size = usize::try_from(meta.st_size).unwrap_or(usize::MAX);
        if size > MAX_WHOLE_READ_BYTES {
            return self.search_from(&file, hits);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let read = read_whole(&file, size, &mut buffer);
        let done = match read {
            Ok(()) => {
                let (kind, text) = kind_of(&buffer);
                self.search_text(text, kind, hits)
            }
            Err(err) => Err(failed(err)),
        };
        self.buffer = buffer;
        done
    }
}

/// Divides a text into pieces of whole lines.
fn whole_lines(text: &[u8]) -> impl Iterator<Item = Range<usize>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from;
        from = piece_end(text, start);
        (start < text.len()).then_some(start..from)
    })
}

/// Returns where a piece of text that begins at `from` ends: after a line, and after `MAX_SLICE_BYTES` if no line is
/// that long.
fn piece_end(text: &[u8], from: usize) -> usize {
    let most = text.len().min(from + MAX_SLICE_BYTES);
    if most == text.len() {
        return most;
    }
    memchr::memrchr(b'\n', &text[from..most]).map_or_else(
        || memchr::memchr(b'\n', &text[most..]).map_or(text.len(), |end| most + end + 1),
        |end| from + end + 1,
    )
}

fn count_line_ends(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

/// Counts lines.
#[derive(Default)]
struct Counter {
    ends: u64,
    last: Option<u8>,
}

impl Counter {
    fn add(&mut self, text: &[u8]) {
        self.ends += count_line_ends(text);
        self.last = text.last().copied().or(self.last);
    }

    /// How many lines there are; the last one need not end in a line break.
    fn lines(&self) -> u64 {
        self.ends + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }
}

/// Counts the lines of a large text, and seeks back to its beginning. Returns nothing if it is not plain.
fn count_lines(file: &mut (impl Read + Seek), stop: &Stop<'_>) -> Result<Option<u64>, Unsearched> {
    let mut buffer = vec![0; 1 << 20];
    let mut counter = Counter::default();
    let mut is_first = true;
    let lines = loop {
        stop.check().map_err(failed)?;
        let got = match file.read(&mut buffer) {
            Ok(got) => got,
            Err(err) if err.kind() == io::ErrorKind::Interrupted => continue,
            Err(err) => return Err(failed(err)),
        };
        let piece = &buffer[..got];
        if memchr::memchr(0, piece).is_some() || (is_first && is_wide(piece)) {
            break None;
        }
        if got == 0 {
            break Some(counter.lines());
        }
        is_first = false;
        counter.add(piece);
    };
    file.seek(io::SeekFrom::Start(0)).map_err(failed)?;
    Ok(lines)
}

fn failed(err: io::Error) -> Unsearched {
    if Stop::is_stop_signal(&err) {
        return Unsearched::Stopped;
    }
    // The searcher has no error kind of its own for a line that does not fit into memory.
    if err.to_string().contains("allocation limit") {
        return Unsearched::Refused(format!(
            "one line is longer than {} MB; the file was searched up to that line",
            MAX_LINE_BYTES >> 20
        ));
    }
    Unsearched::Refused(err.to_string())
}

/// A reader that fails when the search is stopped.
struct Interruptible<'a, R> {
    from: R,
    stop: &'a Stop<'a>,
}

impl<R: Read> Read for Interruptible<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stop.check()?;
        self.from.read(buffer)
    }
}
