//! A file as the index knows it: whether it is what it was, and what it turned out to be.

use std::fs::File;
use std::io::Read;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::Stat;
use toolcrib_core::Ground;

use crate::look::{
    Kind, MAX_LINE, Missed, Opener, WHOLE, is_mounted, is_wide, kind_of, read_whole,
};
use crate::segment::Builder;

/// Larger files are looked at whatever is asked.
const MAX_INDEXED: u64 = 256 << 20;

/// A change so short before a file was read may be followed by one with the same time.
const RACY_NS: i64 = 2_000_000_000;

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) inode: u64,
    pub(crate) size: u64,
    pub(crate) modified: i64,
    pub(crate) changed: i64,
}

impl Stamp {
    pub(crate) fn of(meta: &Stat) -> Self {
        let nanos = |seconds: i64, nanos: u64| {
            seconds.wrapping_mul(1_000_000_000).wrapping_add(i64::try_from(nanos).unwrap_or(0))
        };
        Self {
            inode: meta.st_ino,
            size: u64::try_from(meta.st_size).unwrap_or(0),
            modified: nanos(meta.st_mtime, meta.st_mtime_nsec),
            changed: nanos(meta.st_ctime, meta.st_ctime_nsec),
        }
    }

    /// Whether a later change could have left the same stamp.
    pub(crate) fn is_racy(&self) -> bool {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0, |now| i64::try_from(now.as_nanos()).unwrap_or(i64::MAX));
        self.changed.max(self.modified) > now.saturating_sub(RACY_NS)
    }
}

/// What a file turned out to be when it was read.
pub(crate) enum Nature {
    /// Text, whose trigrams the builder has now.
    Plain(Option<Arc<[u8]>>),
    /// Taken for binary: no line of it ever matches.
    Binary,
    /// To be looked at whatever is asked.
    Odd,
}

/// A file that was read.
pub(crate) struct Learned {
    pub(crate) stamp: Stamp,
    pub(crate) is_racy: bool,
    pub(crate) what: Nature,
}

/// Reads the file at `path` and gives its trigrams to `builder`, which the caller ends. `keeps` says
/// whether to return its text too.
pub(crate) fn learn(
    ground: &dyn Ground,
    opener: &mut Opener,
    path: &[u8],
    builder: &mut Builder,
    buffer: &mut Vec<u8>,
    keeps: bool,
) -> Learned {
    let odd = |stamp: Stamp| Learned { stamp, is_racy: true, what: Nature::Odd };
    let (file, meta) = match opener.open(ground, path) {
        Ok(opened) => opened,
        // Gone or barred: who asks will find out how it is then.
        Err(Missed::Gone | Missed::Barred(_) | Missed::Stopped) => return odd(Stamp::default()),
    };
    let stamp = Stamp::of(&meta);
    let is_racy = stamp.is_racy();
    // A file with another name, or mounted onto this one, can change without an event here.
    if meta.st_nlink > 1 || stamp.size > MAX_INDEXED || is_mounted(&file) {
        return odd(stamp);
    }
    let size = usize::try_from(stamp.size).unwrap_or(usize::MAX);
    if size > WHOLE {
        let what = learn_large(&file, builder, buffer);
        return Learned { stamp, is_racy, what };
    }
    if read_whole(&file, size, buffer).is_err() {
        return odd(stamp);
    }
    let what = match kind_of(buffer) {
        (Kind::Plain, text) => {
            builder.add(text);
            Nature::Plain(keeps.then(|| Arc::from(text)))
        }
        (Kind::Binary, _) => Nature::Binary,
        (Kind::Odd, text) if is_wide(text) => Nature::Odd,
        // Where its lines end depends on how it is read, but they are some of these bytes.
        (Kind::Odd, text) => {
            builder.add(text);
            Nature::Plain(None)
        }
    };
    Learned { stamp, is_racy, what }
}

/// Reads the text of a file that is plain and not large.
pub(crate) fn read_text(
    ground: &dyn Ground,
    opener: &mut Opener,
    path: &[u8],
    buffer: &mut Vec<u8>,
) -> Option<Arc<[u8]>> {
    let (file, meta) = opener.open(ground, path).ok()?;
    let size = usize::try_from(meta.st_size).ok().filter(|size| *size <= WHOLE)?;
    read_whole(&file, size, buffer).ok()?;
    match kind_of(buffer) {
        (Kind::Plain, text) => Some(Arc::from(text)),
        (Kind::Binary | Kind::Odd, _) => None,
    }
}

fn learn_large(mut file: &File, builder: &mut Builder, buffer: &mut Vec<u8>) -> Nature {
    buffer.clear();
    buffer.resize(WHOLE, 0);
    let mut held = 0;
    let mut is_first = true;
    let mut line = 0;
    loop {
        let got = match file.read(&mut buffer[held..]) {
            Ok(0) => return Nature::Plain(None),
            Ok(got) => got,
            Err(err) if err.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return abandon(builder, Nature::Odd),
        };
        let piece = &buffer[..held + got];
        if is_first && is_wide(piece) {
            return Nature::Odd;
        }
        builder.add(piece);
        is_first = false;
        // A line that is too long to be searched is told of whatever is asked.
        let first = memchr::memchr(b'\n', piece).unwrap_or(piece.len());
        if line + first > MAX_LINE {
            return abandon(builder, Nature::Odd);
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

fn abandon(builder: &mut Builder, what: Nature) -> Nature {
    builder.abandon();
    what
}
