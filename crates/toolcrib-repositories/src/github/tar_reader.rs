//! A reader of tar archives, as far as `git archive` writes them: POSIX headers, pax records, and GNU's long names.

use std::io::{self, Read};

/// The bytes of a header, to which contents are filled up.
const BLOCK_BYTES: usize = 512;

/// The most bytes of a name or of pax records.
const MOST_EXTENSION_BYTES: u64 = 1 << 20;

/// A reader of a tar archive.
pub(super) struct TarReader<R> {
    input: R,
    /// Bytes of the current entry that were not read, and those that fill them up.
    rest: u64,
    padding: u64,
}

/// An entry of a tar archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TarEntry {
    pub(super) path: Vec<u8>,
    pub(super) kind: TarEntryKind,
    pub(super) size: u64,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TarEntryKind {
    File,
    Directory,
    /// A link, or what no repository has.
    Other,
}

/// What records before an entry say about it.
#[derive(Default)]
struct TarExtension {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

impl<R: Read> TarReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, rest: 0, padding: 0 }
    }

    /// Returns the next entry; nothing at the end of the archive. What was not read of the entry before is skipped.
    pub(super) fn next_entry(&mut self) -> io::Result<Option<TarEntry>> {
        let mut extension = TarExtension::default();
        loop {
            self.skip()?;
            let mut header = [0; BLOCK_BYTES];
            self.input.read_exact(&mut header)?;
            if header.iter().all(|byte| *byte == 0) {
                return Ok(None);
            }
            check_sum(&header)?;
            let size = number(&header[124..136])?;
            self.begin(size);
            match header[156] {
                b'x' => self.read_records(size, &mut extension)?,
                // Records about all entries have no path.
                b'g' => {}
                b'L' => {
                    let mut name = self.extension(size)?;
                    name.truncate(name.iter().position(|byte| *byte == 0).unwrap_or(name.len()));
                    extension.path = Some(name);
                }
                kind => {
                    let size = extension.size.unwrap_or(size);
                    self.begin(size);
                    let path = extension.path.take().unwrap_or_else(|| path_of(&header));
                    let kind = match kind {
                        b'0' | 0 | b'7' => TarEntryKind::File,
                        b'5' => TarEntryKind::Directory,
                        _ => TarEntryKind::Other,
                    };
                    return Ok(Some(TarEntry { path, kind, size }));
                }
            }
        }
    }

    /// Reads the content of the current entry.
    pub(super) fn read_content(&mut self, content: &mut Vec<u8>) -> io::Result<()> {
        let size = self.rest;
        let read = self.input.by_ref().take(size).read_to_end(content)?;
        self.rest -= read as u64;
        if self.rest > 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn begin(&mut self, size: u64) {
        self.rest = size;
        self.padding = size.wrapping_neg() % BLOCK_BYTES as u64;
    }

    fn skip(&mut self) -> io::Result<()> {
        let all = self.rest.saturating_add(self.padding);
        let skipped = io::copy(&mut self.input.by_ref().take(all), &mut io::sink())?;
        if skipped < all {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        (self.rest, self.padding) = (0, 0);
        Ok(())
    }

    fn extension(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > MOST_EXTENSION_BYTES {
            return Err(bad("has a name that is too long"));
        }
        let mut bytes = Vec::new();
        self.read_content(&mut bytes)?;
        Ok(bytes)
    }

    /// Reads pax records: `<length> <key>=<value>` and a line end, each.
    fn read_records(&mut self, size: u64, extension: &mut TarExtension) -> io::Result<()> {
        let bytes = self.extension(size)?;
        let mut rest = bytes.as_slice();
        while !rest.is_empty() {
            let space = rest.iter().position(|byte| *byte == b' ');
            let length = space.and_then(|at| std::str::from_utf8(&rest[..at]).ok()?.parse().ok());
            let (Some(space), Some(length)) = (space, length) else {
                return Err(bad("has a malformed record"));
            };
            let record: &[u8] =
                rest.get(space + 1..length).ok_or_else(|| bad("has a cut record"))?;
            rest = &rest[length..];
            let record = record.strip_suffix(b"\n").unwrap_or(record);
            if let Some(path) = record.strip_prefix(b"path=") {
                extension.path = Some(path.to_vec());
            } else if let Some(size) = record.strip_prefix(b"size=") {
                let size = std::str::from_utf8(size).ok().and_then(|size| size.parse().ok());
                extension.size = Some(size.ok_or_else(|| bad("has a malformed size"))?);
            }
        }
        Ok(())
    }
}

fn path_of(header: &[u8; BLOCK_BYTES]) -> Vec<u8> {
    let text = |field: &[u8]| field.split(|byte| *byte == 0).next().unwrap_or_default().to_vec();
    let (name, prefix) = (text(&header[..100]), text(&header[345..500]));
    if prefix.is_empty() || !header[257..].starts_with(b"ustar\0") {
        return name;
    }
    [prefix, name].join(&b'/')
}

/// Parses a number: octal digits, or a binary number if its first bit is set.
fn number(field: &[u8]) -> io::Result<u64> {
    if field[0] & 0x80 != 0 {
        let bytes = field.last_chunk::<8>().copied().unwrap_or_default();
        return Ok(u64::from_be_bytes(bytes));
    }
    let digits = field.iter().filter(|byte| !matches!(byte, b' ' | 0));
    let mut number = 0_u64;
    for digit in digits {
        match digit {
            b'0'..=b'7' => number = number << 3 | u64::from(digit - b'0'),
            _ => return Err(bad("has a malformed number")),
        }
    }
    Ok(number)
}

/// Fails if a header is not what it says it is, as when bytes before it were lost.
fn check_sum(header: &[u8; BLOCK_BYTES]) -> io::Result<()> {
    let counted =
        |(at, byte): (usize, &u8)| u64::from(if (148..156).contains(&at) { b' ' } else { *byte });
    let sum: u64 = header.iter().enumerate().map(counted).sum();
    if number(&header[148..156])? == sum { Ok(()) } else { Err(bad("has a malformed header")) }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(name: &[u8], kind: u8, size: usize) -> Vec<u8> {
        let mut header = vec![0; BLOCK_BYTES];
        header[..name.len()].copy_from_slice(name);
        header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
        header[156] = kind;
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header
    }

    fn entry(name: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
        let mut entry = header(name, kind, content.len());
        entry.extend_from_slice(content);
        entry.resize(entry.len().next_multiple_of(BLOCK_BYTES), 0);
        entry
    }

    fn sample() -> Vec<u8> {
        [
            entry(b"pax_global_header", b'g', b"13 comment=x\n"),
            entry(b"top/", b'5', b""),
            entry(b"top/a.txt", b'0', b"hello"),
            entry(b"x", b'x', b"17 path=top/l/n.t\n".get(..17).unwrap()),
            entry(b"cut", b'0', b"long"),
            entry(b"@LongLink", b'L', b"top/gnu\0"),
            entry(b"cut", b'0', &[b'x'; 600]),
            entry(b"top/link", b'2', b""),
            vec![0; 2 * BLOCK_BYTES],
        ]
        .concat()
    }

    #[test]
    fn entries_have_their_paths_and_contents() {
        let archive = sample();
        let mut reader = TarReader::new(archive.as_slice());
        let mut found = Vec::new();
        while let Some(entry) = reader.next_entry().unwrap() {
            let mut content = Vec::new();
            if entry.kind == TarEntryKind::File && entry.size < 100 {
                reader.read_content(&mut content).unwrap();
            }
            let path = String::from_utf8(entry.path).unwrap();
            found.push((path, entry.kind, entry.size, String::from_utf8(content).unwrap()));
        }
        let (file, other) = (TarEntryKind::File, TarEntryKind::Other);
        let expect = [
            ("top/", TarEntryKind::Directory, 0, ""),
            ("top/a.txt", file, 5, "hello"),
            ("top/l/n.t", file, 4, "long"),
            ("top/gnu", file, 600, ""),
            ("top/link", other, 0, ""),
        ];
        let expect =
            expect.map(|(path, kind, size, text)| (path.to_owned(), kind, size, text.to_owned()));
        assert_eq!(found, expect);
    }

    #[test]
    fn an_archive_that_ends_early_or_is_none_is_an_error() {
        let whole = sample();
        let read = |bytes: &[u8]| {
            let mut reader = TarReader::new(bytes);
            while reader.next_entry()?.is_some() {}
            io::Result::Ok(())
        };
        assert!(read(&whole).is_ok());
        for end in (0..whole.len() - BLOCK_BYTES).step_by(97) {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
        assert!(read(&[b'x'; 2048]).is_err());
        let mut shifted = whole.clone();
        shifted.remove(3);
        assert!(read(&shifted).is_err());
    }
}
