//! Reading a file for the index: its stamp, its trigrams, and whether the index can answer for it.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;

use toolcrib_core::{FileStamp, SearchableTree};

use crate::index::shard_postings::PostingsBuilder;
use crate::scan::kept_text::KeptText;
use crate::scan::open::{FileOpener, is_mounted};
use crate::scan::stamp::{is_racy, stamp_of};
use crate::scan::text::{
    MAX_LINE_BYTES, MAX_WHOLE_READ_BYTES, TextKind, is_wide, kind_of, read_whole,
};

/// The text of a larger file is not kept in memory.
const MAX_KEPT_TEXT_BYTES: usize = 32 << 20;

/// Larger files are opened for every question.
const MAX_INDEXED_BYTES: u64 = 256 << 20;

/// What the index knows of a file's content.
pub(crate) enum IndexedContent {
    /// Text, whose trigrams the builder has now; with the text itself if it is to be kept in memory.
    Text(Option<Arc<KeptText>>),
    /// Binary: no line of it ever matches.
    Binary,
    /// Content that the index cannot answer for: the file is opened for every question.
    AlwaysScan,
}

/// A file that was read for the index.
pub(crate) struct IndexedFile {
    pub(crate) stamp: FileStamp,
    /// Whether a later change could leave the same stamp.
    pub(crate) is_racy: bool,
    pub(crate) content: IndexedContent,
}

impl IndexedFile {
    fn always_scan(stamp: FileStamp) -> Self {
        Self { stamp, is_racy: true, content: IndexedContent::AlwaysScan }
    }
}

/// How many bytes of text there is room for in memory.
#[derive(Clone, Copy)]
pub(crate) struct TextRoom(pub(crate) usize);

impl TextRoom {
    /// Whether the text of a file of `size` bytes is kept. A large one is in memory twice while it is copied.
    fn keeps(self, size: usize) -> bool {
        let needed = if size > MAX_WHOLE_READ_BYTES { size.saturating_mul(2) } else { size };
        size <= MAX_KEPT_TEXT_BYTES && needed <= self.0
    }
}

/// Reads files for the index, one after the other.
pub(crate) struct IndexReader<'a> {
    tree: &'a dyn SearchableTree,
    opener: FileOpener,
    buffer: Vec<u8>,
}

impl<'a> IndexReader<'a> {
    pub(crate) fn new(tree: &'a dyn SearchableTree) -> Self {
        Self { tree, opener: FileOpener::default(), buffer: Vec::new() }
    }

    /// Reads the file at `path` and gives its trigrams to `builder`. The caller ends the file there.
    pub(crate) fn read(
        &mut self,
        path: &[u8],
        builder: &mut PostingsBuilder,
        room: TextRoom,
    ) -> IndexedFile {
        // A file that is gone or refused stays one to open: the next question finds out how it is then.
        let Ok((file, meta)) = self.opener.open(self.tree, path) else {
            return IndexedFile::always_scan(FileStamp::default());
        };
        let stamp = stamp_of(&meta).without_device();
        let is_racy = is_racy(&stamp);
        // A file with another name, or mounted onto this one, can change without an event here.
        if meta.st_nlink > 1 || stamp.size > MAX_INDEXED_BYTES || is_mounted(&file) {
            return IndexedFile::always_scan(stamp);
        }
        let size = usize::try_from(stamp.size).unwrap_or(usize::MAX);
        if size > MAX_WHOLE_READ_BYTES && !room.keeps(size) {
            let content = read_large(&file, builder, &mut self.buffer);
            return IndexedFile { stamp, is_racy, content };
        }
        if read_whole(&file, size, &mut self.buffer).is_err() {
            return IndexedFile::always_scan(stamp);
        }
        let content = index_content(&self.buffer, builder, room);
        self.release_buffer();
        IndexedFile { stamp, is_racy, content }
    }

    /// Reads the text of the file at `path`, if it is plain and there is room for it.
    pub(crate) fn read_text(&mut self, path: &[u8], room: TextRoom) -> Option<Arc<KeptText>> {
        let (file, meta) = self.opener.open(self.tree, path).ok()?;
        let size = usize::try_from(meta.st_size).ok().filter(|size| room.keeps(*size))?;
        read_whole(&file, size, &mut self.buffer).ok()?;
        let text = match kind_of(&self.buffer) {
            (TextKind::Plain, text) => Some(Arc::new(KeptText::new(text))),
            (TextKind::Binary, _) => None,
            (TextKind::Mixed, text) => mixed_text(text, room),
        };
        self.release_buffer();
        text
    }

    /// Lets go of a buffer that a large file has made large.
    fn release_buffer(&mut self) {
        if self.buffer.capacity() > 2 * MAX_WHOLE_READ_BYTES {
            self.buffer = Vec::new();
        }
    }
}

/// Gives the trigrams of a whole file to `builder`, and returns what is known of its content.
pub(crate) fn index_content(
    content: &[u8],
    builder: &mut PostingsBuilder,
    room: TextRoom,
) -> IndexedContent {
    match kind_of(content) {
        (TextKind::Plain, text) => {
            builder.add(text);
            IndexedContent::Text(room.keeps(text.len()).then(|| Arc::new(KeptText::new(text))))
        }
        (TextKind::Binary, _) => IndexedContent::Binary,
        (TextKind::Mixed, text) if is_wide(text) => IndexedContent::AlwaysScan,
        // The lines that are searched are some of these bytes.
        (TextKind::Mixed, text) => {
            builder.add(text);
            IndexedContent::Text(mixed_text(text, room))
        }
    }
}

/// Returns the lines of a mixed text that are searched, if there is room for them. How a larger file is read decides
/// which lines these are.
fn mixed_text(text: &[u8], room: TextRoom) -> Option<Arc<KeptText>> {
    let is_kept = text.len() <= MAX_WHOLE_READ_BYTES && room.keeps(text.len()) && !is_wide(text);
    is_kept.then(|| KeptText::of_mixed(text).map(Arc::new)).flatten()
}

/// Reads a file that is too large to be read whole, piece by piece.
fn read_large(
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
            Err(_) => return abandon(builder),
        };
        let piece = &buffer[..held + got];
        if is_first && is_wide(piece) {
            return IndexedContent::AlwaysScan;
        }
        builder.add(piece);
        is_first = false;
        // A line that is too long to be searched is reported with every answer.
        let first = memchr::memchr(b'\n', piece).unwrap_or(piece.len());
        if line + first > MAX_LINE_BYTES {
            return abandon(builder);
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

fn abandon(builder: &mut PostingsBuilder) -> IndexedContent {
    builder.abandon();
    IndexedContent::AlwaysScan
}
