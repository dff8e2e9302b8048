//! A file as the index knows it: whether it is what it was, and what it turned out to be.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use toolcrib_core::{FileStamp, SearchableTree};

use crate::index::postings::PostingsBuilder;
use crate::scan::open::{FileOpener, Unsearched, is_mounted};
use crate::scan::stamp::{is_racy, stamp_of};
use crate::scan::text::{
    MAX_LINE_BYTES, MAX_WHOLE_READ_BYTES, TextKind, is_wide, kind_of, read_whole,
};

/// Larger files are looked at whatever is asked.
const MAX_INDEXED_BYTES: u64 = 256 << 20;

/// What a file turned out to be when it was read.
pub(crate) enum IndexedContent {
    /// Text, whose trigrams the builder has now.
    Text(Option<Arc<[u8]>>),
    /// Taken for binary: no line of it ever matches.
    Binary,
    /// To be looked at whatever is asked.
    AlwaysScan,
}

/// A file that was read.
pub(crate) struct IndexedFile {
    pub(crate) stamp: FileStamp,
    pub(crate) is_racy: bool,
    pub(crate) what: IndexedContent,
}

/// Reads the file at `path` and gives its trigrams to `builder`, which the caller ends. `keeps` says
/// whether to return its text too.
pub(crate) fn learn(
    tree: &dyn SearchableTree,
    opener: &mut FileOpener,
    path: &[u8],
    builder: &mut PostingsBuilder,
    buffer: &mut Vec<u8>,
    keeps: bool,
) -> IndexedFile {
    let odd =
        |stamp: FileStamp| IndexedFile { stamp, is_racy: true, what: IndexedContent::AlwaysScan };
    let (file, meta) = match opener.open(tree, path) {
        Ok(opened) => opened,
        // Gone or unreadable: who asks will find out how it is then.
        Err(Unsearched::Gone | Unsearched::Refused(_) | Unsearched::Stopped) => {
            return odd(FileStamp::default());
        }
    };
    let stamp = stamp_of(&meta).without_device();
    let is_racy = is_racy(&stamp);
    // A file with another name, or mounted onto this one, can change without an event here.
    if meta.st_nlink > 1 || stamp.size > MAX_INDEXED_BYTES || is_mounted(&file) {
        return odd(stamp);
    }
    let size = usize::try_from(stamp.size).unwrap_or(usize::MAX);
    if size > MAX_WHOLE_READ_BYTES {
        let what = learn_large(&file, builder, buffer);
        return IndexedFile { stamp, is_racy, what };
    }
    if read_whole(&file, size, buffer).is_err() {
        return odd(stamp);
    }
    let what = match kind_of(buffer) {
        (TextKind::Plain, text) => {
            builder.add(text);
            IndexedContent::Text(keeps.then(|| Arc::from(text)))
        }
        (TextKind::Binary, _) => IndexedContent::Binary,
        (TextKind::Mixed, text) if is_wide(text) => IndexedContent::AlwaysScan,
        // Where its lines end depends on how it is read, but they are some of these bytes.
        (TextKind::Mixed, text) => {
            builder.add(text);
            IndexedContent::Text(None)
        }
    };
    IndexedFile { stamp, is_racy, what }
}

/// Reads the text of a file that is plain and not large.
pub(crate) fn read_text(
    tree: &dyn SearchableTree,
    opener: &mut FileOpener,
    path: &[u8],
    buffer: &mut Vec<u8>,
) -> Option<Arc<[u8]>> {
    let (file, meta) = opener.open(tree, path).ok()?;
    let size = usize::try_from(meta.st_size).ok().filter(|size| *size <= MAX_WHOLE_READ_BYTES)?;
    read_whole(&file, size, buffer).ok()?;
    match kind_of(buffer) {
        (TextKind::Plain, text) => Some(Arc::from(text)),
        (TextKind::Binary | TextKind::Mixed, _) => None,
    }
}

fn learn_large(
    mut file: &File,
    builder: &mut PostingsBuilder,
    buffer: &mut Vec<u8>,
) -> IndexedContent {
    buffer.clear();
    buffer.resize(MAX_WHOLE_READ_BYTES, 0);
    let mut held = 0;
    let mut is_first = true;
    let mut line = 0;
    loop {
        let got = match file.read(&mut buffer[held..]) {
            Ok(0) => return IndexedContent::Text(None),
            Ok(got) => got,
            Err(err) if err.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return abandon(builder, IndexedContent::AlwaysScan),
        };
        let piece = &buffer[..held + got];
        if is_first && is_wide(piece) {
            return IndexedContent::AlwaysScan;
        }
        builder.add(piece);
        is_first = false;
        // A line that is too long to be searched is told of whatever is asked.
        let first = memchr::memchr(b'\n', piece).unwrap_or(piece.len());
        if line + first > MAX_LINE_BYTES {
            return abandon(builder, IndexedContent::AlwaysScan);
        }
        line = match memchr::memrchr(b'\n', piece) {
            Some(end) => piece.len() - end,
            None => line + got,
        };
        // The last two bytes begin trigrams that end in the next piece.
        let keep = piece.len().min(2);
        let from = piece.len() - keep;
        buffer.copy_within(from..from + keep, 0);
        held = keep;
    }
}

fn abandon(builder: &mut PostingsBuilder, what: IndexedContent) -> IndexedContent {
    builder.abandon();
    what
}
