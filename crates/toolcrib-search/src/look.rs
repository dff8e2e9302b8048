//! Looking into one file: opened by handle below its directory, and searched as ripgrep searches a
//! file that it came upon.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};

use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags, fstat, openat, statx,
};
use rustix::io::Errno;
use toolcrib_core::Ground;
use toolcrib_core::search::{Owner, Want};

use crate::hits::{Hits, Stop};
use crate::paths::split;
use crate::pattern::Compiled;
use crate::walk::open_directory;

/// Files up to this size are read whole, larger ones in pieces.
pub(crate) const WHOLE: usize = 4 << 20;

/// Text up to this size is searched in one go; of more, a piece at a time, so that a search can end.
const AT_ONCE: usize = 512 << 10;

/// The longest line that is searched: a line must be held in memory, a file need not.
pub(crate) const MAX_LINE: usize = 64 << 20;

/// Why a file was not searched.
pub(crate) enum Missed {
    /// It is not there any more, or never was a file.
    Gone,
    /// It is there and may not or cannot be searched.
    Barred(String),
    /// Nobody wants to know any more.
    Stopped,
}

/// Opens and searches files, one after the other.
pub(crate) struct Looker<'a> {
    ground: &'a dyn Ground,
    compiled: &'a Compiled,
    stop: &'a Stop<'a>,
    /// For text without NUL bytes and byte-order marks, where nothing needs to be found out.
    plain: Searcher,
    /// For files that have to be read to know what they are. Each has a searcher of its own: the
    /// buffer of one that has met a long line stays large, and would tell a binary file sooner.
    careful: SearcherBuilder,
    opener: Opener,
    buffer: Vec<u8>,
}

/// Opens files, keeping the directory of the last one at hand.
#[derive(Default)]
pub(crate) struct Opener {
    directory: Option<(Vec<u8>, OwnedFd)>,
}

/// Whether a file is mounted onto its name: what happens to it is then told elsewhere.
pub(crate) fn is_mounted(file: &File) -> bool {
    let flags = AtFlags::EMPTY_PATH;
    let meta = statx(file, "", flags, StatxFlags::empty());
    meta.is_ok_and(|meta| meta.stx_attributes.contains(StatxAttributes::MOUNT_ROOT))
}

impl Opener {
    /// Opens the file at `path` below the root through no link, if it may be read.
    pub(crate) fn open(
        &mut self,
        ground: &dyn Ground,
        path: &[u8],
    ) -> Result<(File, Stat), Missed> {
        let (parent, name) = split(path);
        let handle = match &self.directory {
            Some((known, handle)) if known == parent => handle,
            _ => {
                let handle = open_directory(ground, parent).map_err(missed)?;
                &self.directory.insert((parent.to_vec(), handle)).1
            }
        };
        // Without NONBLOCK a pipe put there since would hold the search.
        let flags =
            OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = openat(handle, name, flags, Mode::empty()).map_err(missed)?;
        let meta = fstat(&file).map_err(missed)?;
        if FileType::from_raw_mode(meta.st_mode) != FileType::RegularFile {
            return Err(Missed::Gone);
        }
        #[expect(clippy::useless_conversion, reason = "the field's type differs between machines")]
        let links = u64::from(meta.st_nlink);
        let owner = Owner { device: meta.st_dev, mode: meta.st_mode, links };
        match ground.bars(file.as_fd(), owner) {
            Some(why) => Err(Missed::Barred(why.to_owned())),
            None => Ok((File::from(file), meta)),
        }
    }
}

fn missed(errno: Errno) -> Missed {
    match errno {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV => Missed::Gone,
        Errno::ACCESS | Errno::PERM => Missed::Barred("permission denied".to_owned()),
        other => Missed::Barred(io::Error::from(other).to_string()),
    }
}

/// What is known of a file's text before it is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No NUL byte and no byte-order mark in it: any way of searching gives the same.
    Plain,
    /// Taken for binary before any of it is searched: it has no lines.
    Binary,
    /// Neither: how it is read decides.
    Odd,
}

/// What ripgrep reads of a file before it looks at any of it, to be on the safe side.
const FIRST_READ: usize = 32 << 10;

/// Tells what a whole file is, and returns the text of it that is searched if it is plain.
pub(crate) fn kind_of(text: &[u8]) -> (Kind, &[u8]) {
    let nul = memchr::memchr(0, text);
    if is_wide(text) {
        return (Kind::Odd, text);
    }
    // The mark that says UTF-8 is not part of the text.
    let marked = text.strip_prefix(b"\xef\xbb\xbf");
    match nul {
        None => (Kind::Plain, marked.unwrap_or(text)),
        // The first three bytes are read on their own, in search of a mark: a line that ends there is
        // searched before the rest is looked at.
        Some(nul) if nul < FIRST_READ && !text[..3.min(text.len())].contains(&b'\n') => {
            (Kind::Binary, text)
        }
        Some(_) => (Kind::Odd, text),
    }
}

/// Whether a file says that it is UTF-16: its bytes are not those of the text.
pub(crate) fn is_wide(text: &[u8]) -> bool {
    text.starts_with(b"\xff\xfe") || text.starts_with(b"\xfe\xff")
}

impl<'a> Looker<'a> {
    pub(crate) fn new(
        ground: &'a dyn Ground,
        compiled: &'a Compiled,
        want: Want,
        stop: &'a Stop<'a>,
    ) -> Self {
        let mut builder = SearcherBuilder::new();
        if let Want::Lines { before, after } = want {
            builder.line_number(true).before_context(before).after_context(after);
        } else {
            builder.line_number(false);
        }
        // What is in memory needs no buffer beside it.
        let plain = builder.bom_sniffing(false).heap_limit(Some(1 << 10)).build();
        builder
            .bom_sniffing(true)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(MAX_LINE));
        Self {
            ground,
            compiled,
            stop,
            plain,
            careful: builder,
            opener: Opener::default(),
            buffer: Vec::new(),
        }
    }

    /// Searches text that is in memory.
    pub(crate) fn search_text(
        &mut self,
        text: &[u8],
        kind: Kind,
        hits: &mut Hits<'_>,
    ) -> Result<Kind, Missed> {
        let matcher = &self.compiled.matcher;
        if self.compiled.is_every_line && kind == Kind::Plain && hits.can_count() {
            let mut counter = Counter::default();
            counter.add(text);
            hits.stop_when_full();
            let done = self.plain.search_slice(matcher, text, &mut *hits).map_err(failed);
            hits.count = counter.lines();
            return done.map(|()| kind);
        }
        let done = match kind {
            Kind::Binary => Ok(()),
            Kind::Plain if text.len() <= AT_ONCE => {
                self.plain.search_slice(matcher, text, &mut *hits)
            }
            Kind::Plain | Kind::Odd => {
                let reader = Interruptible { from: text, stop: self.stop };
                self.careful.build().search_reader(matcher, reader, &mut *hits)
            }
        };
        done.map(|()| kind).map_err(failed)
    }

    /// Searches a file that is too large to be read whole.
    fn search_large(&mut self, file: File, hits: &mut Hits<'_>) -> Result<(), Missed> {
        let reader = Interruptible { from: file, stop: self.stop };
        let matcher = &self.compiled.matcher;
        self.careful.build().search_reader(matcher, reader, hits).map_err(failed)
    }

    /// Searches the file at `path`.
    pub(crate) fn search(&mut self, path: &[u8], hits: &mut Hits<'_>) -> Result<Kind, Missed> {
        let (file, meta) = self.opener.open(self.ground, path)?;
        let size = usize::try_from(meta.st_size).unwrap_or(usize::MAX);
        if size > WHOLE {
            if self.compiled.is_every_line
                && hits.can_count()
                && let Some(lines) = count_lines(&file, self.stop)?
            {
                hits.stop_when_full();
                self.search_large(file, hits)?;
                hits.count = lines;
                return Ok(Kind::Plain);
            }
            return self.search_large(file, hits).map(|()| Kind::Odd);
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

/// Counts lines.
#[derive(Default)]
struct Counter {
    ends: u64,
    last: Option<u8>,
}

impl Counter {
    fn add(&mut self, text: &[u8]) {
        self.ends += memchr::memchr_iter(b'\n', text).count() as u64;
        self.last = text.last().copied().or(self.last);
    }

    /// How many lines there are; the last one need not have an end.
    fn lines(&self) -> u64 {
        self.ends + u64::from(self.last.is_some_and(|last| last != b'\n'))
    }
}

/// Counts the lines of a large file from its beginning to its end, and goes back to the beginning.
/// Nothing if it is not plain text.
fn count_lines(mut file: &File, stop: &Stop<'_>) -> Result<Option<u64>, Missed> {
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

/// Reads a file that said it has `size` bytes, with one read where that is so.
pub(crate) fn read_whole(mut file: &File, size: usize, buffer: &mut Vec<u8>) -> io::Result<()> {
    // One byte of room more than there should be tells the end without another read.
    let room = size + 1;
    if buffer.len() < room {
        buffer.resize(room, 0);
    }
    let mut length = 0;
    loop {
        if length == buffer.len() {
            // It grows while it is read.
            buffer.resize(length * 2, 0);
        }
        match file.read(&mut buffer[length..]) {
            Ok(0) => break,
            Ok(got) => {
                length += got;
                if length < buffer.len() && length <= size {
                    // Short of the room: at the end, unless the file is longer than it said.
                    if length == size {
                        break;
                    }
                }
            }
            Err(err) if err.kind() == io::ErrorKind::Interrupted => {}
            Err(err) => return Err(err),
        }
    }
    buffer.truncate(length);
    Ok(())
}

fn failed(err: io::Error) -> Missed {
    if Stop::is_told(&err) {
        return Missed::Stopped;
    }
    // The searcher has no kind of its own for a line that does not fit.
    if err.to_string().contains("allocation limit") {
        return Missed::Barred(format!(
            "a line of it is over {} MB; up to there it was",
            MAX_LINE >> 20
        ));
    }
    Missed::Barred(err.to_string())
}

/// Something whose reading ends when nobody wants it any more.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_told_by_its_bytes() {
        assert_eq!(kind_of(b"").0, Kind::Plain);
        assert_eq!(kind_of(b"text\n").0, Kind::Plain);
        assert_eq!(kind_of(b"abc\0def\n").0, Kind::Binary);
        assert_eq!(kind_of(b"a\nb\0").0, Kind::Odd);
        assert_eq!(kind_of(b"\xff\xfea\0").0, Kind::Odd);
        assert_eq!(kind_of(b"\xef\xbb\xbfa"), (Kind::Plain, &b"a"[..]));
        let mut late = vec![b'a'; FIRST_READ];
        late.push(0);
        assert_eq!(kind_of(&late).0, Kind::Odd);
    }
}
