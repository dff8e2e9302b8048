//! The head: a small signed file that tells where the record ends. Appenders lock it, learn from it which line
//! theirs follows, and it shows when lines were cut off.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::OFlags;

use crate::record::chain::{LineHash, SigningKey};
use crate::record::json::push_number;
use crate::record::segment::RecordSegment;
use crate::state::{StateFolder, open_regular, read_regular, require_regular};

/// The name of the head's file.
pub(crate) const HEAD: &str = "head";

/// The start of the file: its format and version. Another number belongs to another version of the program.
const FORMAT: &str = "toolcrib-head 1";

/// The size of the file, which never changes, so that it is written in place.
pub(crate) const HEAD_BYTES: usize = 256;

/// How long an appender waits for the lock.
const LONGEST_LOCK_WAIT: Duration = Duration::from_secs(10);

/// How often a head that is not signed is read again before it counts as not signed.
const HEAD_READS: usize = 5;

/// The end of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last line.
    pub(crate) seq: u64,
    /// The hash of the last line.
    pub(crate) hash: LineHash,
    /// The segment of the last line.
    pub(crate) segment: RecordSegment,
    /// The size of that segment.
    pub(crate) size: u64,
    /// The hash of the settings that were in force for the last line.
    pub(crate) settings: LineHash,
}

/// What the head's file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadState {
    /// Nothing yet.
    Empty,
    /// The end of the record, signed.
    Signed(Head),
    /// Something that we did not sign.
    Unsigned,
    /// The format of a later version.
    LaterVersion,
}

impl Head {
    /// Returns the end of a record without lines.
    pub(crate) fn first(segment: RecordSegment) -> Self {
        Self { seq: 0, hash: LineHash::FIRST, segment, size: 0, settings: LineHash::FIRST }
    }

    /// Parses what [`Self::bytes`] wrote.
    pub(crate) fn parse(bytes: &[u8], key: &SigningKey) -> HeadState {
        if bytes.is_empty() {
            return HeadState::Empty;
        }
        let Ok(text) = str::from_utf8(bytes) else { return HeadState::Unsigned };
        let text = text.trim_end();
        if text.starts_with("toolcrib-head ") && !text.starts_with(&format!("{FORMAT} ")) {
            return HeadState::LaterVersion;
        }
        Self::parse_signed(text, key).map_or(HeadState::Unsigned, HeadState::Signed)
    }

    fn parse_signed(text: &str, key: &SigningKey) -> Option<Self> {
        let (body, signature) = text.rsplit_once(' ')?;
        if LineHash::parse(signature)? != key.sign(body.as_bytes()) {
            return None;
        }
        let mut words = body.strip_prefix(FORMAT)?.trim_start().split(' ');
        Some(Self {
            seq: words.next()?.parse().ok()?,
            hash: LineHash::parse(words.next()?)?,
            segment: RecordSegment::parse(words.next()?)?,
            size: words.next()?.parse().ok()?,
            settings: LineHash::parse(words.next()?)?,
        })
    }

    /// Returns the bytes of the head's file.
    pub(crate) fn bytes(&self, key: &SigningKey) -> [u8; HEAD_BYTES] {
        self.bytes_with_name(&self.segment.to_string(), key)
    }

    /// Returns the bytes of the head's file. `name` is the name of the segment, for callers that have it at hand.
    pub(crate) fn bytes_with_name(&self, name: &str, key: &SigningKey) -> [u8; HEAD_BYTES] {
        let Self { seq, hash, segment: _, size, settings } = self;
        let mut text = Vec::with_capacity(HEAD_BYTES);
        text.extend_from_slice(FORMAT.as_bytes());
        text.push(b' ');
        push_number(&mut text, *seq);
        text.push(b' ');
        text.extend_from_slice(&hash.letters());
        text.push(b' ');
        text.extend_from_slice(name.as_bytes());
        text.push(b' ');
        push_number(&mut text, *size);
        text.push(b' ');
        text.extend_from_slice(&settings.letters());
        let signature = key.sign(&text);
        text.push(b' ');
        text.extend_from_slice(&signature.letters());
        let mut bytes = [b' '; HEAD_BYTES];
        // The text always fits, because numbers have at most twenty digits.
        bytes[..text.len()].copy_from_slice(&text);
        bytes[HEAD_BYTES - 1] = b'\n';
        bytes
    }
}

/// Opens the head's file in `folder`, and makes it if necessary.
pub(crate) fn open_head(folder: &Path) -> io::Result<File> {
    let path = folder.join(HEAD);
    let open = |flags: OFlags| {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        options.custom_flags(flags.bits().cast_signed()).open(&path)
    };
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    // Every call reads the head, and that needs no new access time. Not every user may ask for `NOATIME`.
    let file = open(flags | OFlags::NOATIME).or_else(|_| open(flags));
    let named = |err: io::Error| io::Error::new(err.kind(), format!("`{}`: {err}", path.display()));
    require_regular(file.map_err(named)?, &path)
}

/// Locks the head for one appender. Waits for others, but not for ever.
pub(crate) fn lock_head(head: &File) -> io::Result<()> {
    // Usually nobody else holds the lock, and there is nothing to measure.
    if head.try_lock().is_ok() {
        return Ok(());
    }
    let start = Instant::now();
    let mut pause = Duration::from_micros(20);
    loop {
        match head.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if start.elapsed() < LONGEST_LOCK_WAIT => {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let waited = LONGEST_LOCK_WAIT.as_secs();
                let message = format!("another process has held the record's lock for {waited} s");
                return Err(io::Error::new(io::ErrorKind::TimedOut, message));
            }
            Err(TryLockError::Error(err)) => return Err(err),
        }
    }
}

/// Reads the head's file into `bytes` and returns how many bytes it has.
pub(crate) fn read_bytes(file: &File, bytes: &mut [u8; HEAD_BYTES]) -> io::Result<usize> {
    let mut got = 0;
    while got < HEAD_BYTES {
        match file.read_at(&mut bytes[got..], got as u64)? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// Reads the head of the record in `folder`.
pub(crate) fn read_head(folder: &Path, key: &SigningKey) -> io::Result<HeadState> {
    let file = match open_regular(&folder.join(HEAD)) {
        Ok(file) => file,
        Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(HeadState::Empty),
        Err(err) => {
            let message = format!("the record's file `{HEAD}`: {err}");
            return Err(io::Error::new(err.kind(), message));
        }
    };
    let mut bytes = [0; HEAD_BYTES];
    // A head that is read while it is written may be half old and half new.
    for _ in 1..HEAD_READS {
        let got = read_bytes(&file, &mut bytes)?;
        match Head::parse(&bytes[..got], key) {
            HeadState::Unsigned => std::thread::sleep(Duration::from_millis(2)),
            state => return Ok(state),
        }
    }
    let got = read_bytes(&file, &mut bytes)?;
    Ok(Head::parse(&bytes[..got], key))
}

/// Returns how many lines the record in `state` has, those included that retention removed.
pub fn record_length(state: &StateFolder) -> io::Result<u64> {
    let Some(key) = SigningKey::read(&state.record_key())? else { return Ok(0) };
    match read_head(&state.record_folder(), &key)? {
        HeadState::Empty => Ok(0),
        HeadState::Signed(head) => Ok(head.seq),
        HeadState::Unsigned | HeadState::LaterVersion => {
            let message = "the end of the record is not signed by this version of Toolcrib";
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
    }
}

/// Returns whether the head in `state`, signed or not, says that there were lines.
pub(crate) fn names_lines(state: &StateFolder) -> io::Result<bool> {
    match read_regular(&state.record_folder().join(HEAD)) {
        Ok(bytes) => Ok(bytes_name_lines(&bytes)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(err) => Err(err),
    }
}

/// Returns whether the bytes of a head, signed or not, say that there were lines.
pub(crate) fn bytes_name_lines(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let number = text.strip_prefix(FORMAT).and_then(|rest| rest.trim_start().split(' ').next());
    number.and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_head_signed_with_this_key_counts() {
        let (one, other) = (SigningKey::generate().unwrap().0, SigningKey::generate().unwrap().0);
        let head = Head {
            seq: 7,
            hash: LineHash::of(b"x"),
            segment: RecordSegment::parse("ctx-20251104-12-3.jsonl").unwrap(),
            size: 1234,
            settings: LineHash::FIRST,
        };
        let bytes = head.bytes(&one);
        assert_eq!(Head::parse(&bytes, &one), HeadState::Signed(head));
        assert_eq!(Head::parse(&bytes, &other), HeadState::Unsigned);
        let altered = String::from_utf8_lossy(&bytes).replace(" 1234 ", " 1233 ");
        assert_eq!(Head::parse(altered.as_bytes(), &one), HeadState::Unsigned);
        assert_eq!(Head::parse(b"", &one), HeadState::Empty);
        assert_eq!(Head::parse(b"toolcrib-head 2 something", &one), HeadState::LaterVersion);
        assert_eq!(Head::parse(&[0xff; HEAD_BYTES], &one), HeadState::Unsigned);
    }
}
