//! Where the record ends: a small signed file. It is the lock of those who append, it tells the next of
//! them what to tie its line to, and it shows when lines were cut off.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::line::push_number;
use crate::link::{Key, Link};
use crate::log::HEAD;
use crate::segment::Segment;
use crate::state::{State, read_plain};

/// What the file begins with: its form. Another number is another program's.
const FORM: &str = "toolcrib-head 1";

/// The file has always this size, so that it is written in place.
pub(crate) const SIZE: usize = 256;

/// The end of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    /// The number of the last line.
    pub(crate) seq: u64,
    /// Its hash.
    pub(crate) link: Link,
    /// The file it is in.
    pub(crate) segment: Segment,
    /// That file's size.
    pub(crate) size: u64,
    /// The settings that held when it was written, by their hash.
    pub(crate) settings: Link,
}

/// What the file of the head says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// Nothing yet.
    Nothing,
    /// Where the record ends.
    Head(Head),
    /// Something that we did not sign.
    Wrong,
    /// Something of a form that a later version has.
    Later,
}

impl Head {
    /// The end of a record without lines.
    pub(crate) fn first(segment: Segment) -> Self {
        Self { seq: 0, link: Link::FIRST, segment, size: 0, settings: Link::FIRST }
    }

    /// Reads what [`Self::bytes`] wrote.
    pub(crate) fn parse(bytes: &[u8], key: &Key) -> Told {
        if bytes.is_empty() {
            return Told::Nothing;
        }
        let Ok(text) = str::from_utf8(bytes) else { return Told::Wrong };
        let text = text.trim_end();
        if text.starts_with("toolcrib-head ") && !text.starts_with(&format!("{FORM} ")) {
            return Told::Later;
        }
        Self::read(text, key).map_or(Told::Wrong, Told::Head)
    }

    fn read(text: &str, key: &Key) -> Option<Self> {
        let (said, signed) = text.rsplit_once(' ')?;
        if Link::parse(signed)? != key.sign(said.as_bytes()) {
            return None;
        }
        let mut words = said.strip_prefix(FORM)?.trim_start().split(' ');
        Some(Self {
            seq: words.next()?.parse().ok()?,
            link: Link::parse(words.next()?)?,
            segment: Segment::parse(words.next()?)?,
            size: words.next()?.parse().ok()?,
            settings: Link::parse(words.next()?)?,
        })
    }

    /// Returns the bytes of the file.
    pub(crate) fn bytes(&self, key: &Key) -> [u8; SIZE] {
        self.bytes_in(&self.segment.to_string(), key)
    }

    /// The same, when the name of its file is at hand.
    pub(crate) fn bytes_in(&self, file: &str, key: &Key) -> [u8; SIZE] {
        let Self { seq, link, segment: _, size, settings } = self;
        let mut text = Vec::with_capacity(SIZE);
        text.extend_from_slice(FORM.as_bytes());
        text.push(b' ');
        push_number(&mut text, *seq);
        text.push(b' ');
        text.extend_from_slice(&link.letters());
        text.push(b' ');
        text.extend_from_slice(file.as_bytes());
        text.push(b' ');
        push_number(&mut text, *size);
        text.push(b' ');
        text.extend_from_slice(&settings.letters());
        let signed = key.sign(&text);
        text.push(b' ');
        text.extend_from_slice(&signed.letters());
        let mut bytes = [b' '; SIZE];
        // It always fits: numbers have twenty digits at most.
        bytes[..text.len()].copy_from_slice(&text);
        bytes[SIZE - 1] = b'\n';
        bytes
    }
}

/// Whether the end in `state`, signed or not, says that there were lines.
pub(crate) fn names_lines(state: &State) -> io::Result<bool> {
    match read_plain(&state.folder().join("context_log").join(HEAD)) {
        Ok(bytes) => Ok(has_lines(&bytes)),
        Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(err) => Err(err),
    }
}

/// The same of its bytes.
pub(crate) fn has_lines(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let number = text.strip_prefix(FORM).and_then(|rest| rest.trim_start().split(' ').next());
    number.and_then(|number| number.parse::<u64>().ok()).is_some_and(|number| number > 0)
}

/// Reads the file as it is.
pub(crate) fn read(file: &File, bytes: &mut [u8; SIZE]) -> io::Result<usize> {
    let mut got = 0;
    while got < SIZE {
        match file.read_at(&mut bytes[got..], got as u64)? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_with_this_key_counts() {
        let (one, other) = (Key::make().unwrap().0, Key::make().unwrap().0);
        let head = Head {
            seq: 7,
            link: Link::of(b"x"),
            segment: Segment::parse("ctx-20251104-12-3.jsonl").unwrap(),
            size: 1234,
            settings: Link::FIRST,
        };
        let bytes = head.bytes(&one);
        assert_eq!(Head::parse(&bytes, &one), Told::Head(head));
        assert_eq!(Head::parse(&bytes, &other), Told::Wrong);
        let altered = String::from_utf8_lossy(&bytes).replace(" 1234 ", " 1233 ");
        assert_eq!(Head::parse(altered.as_bytes(), &one), Told::Wrong);
        assert_eq!(Head::parse(b"", &one), Told::Nothing);
        assert_eq!(Head::parse(b"toolcrib-head 2 something", &one), Told::Later);
        assert_eq!(Head::parse(&[0xff; SIZE], &one), Told::Wrong);
    }
}
