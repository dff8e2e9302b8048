//! How a body is compressed, and decompressing it while it arrives, within bounds.

use std::cell::Cell;
use std::io::{self, Cursor, Read};

use brotli_decompressor::Decompressor;
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use toolcrib_core::escape;

use super::bad_reply::{BadReply, CompressionBomb, bad, cut_short};
use super::framing::BodyReader;

/// The codings that hosts are asked for.
pub(super) const ACCEPTED_CODINGS: &str = "gzip, br";

/// A body that grows more than so many times is a bomb, once it has this many bytes.
const MOST_GROWTH: u64 = 100;
const BOMB_BYTES: u64 = 1 << 20;

/// The bytes that are read of a compressed body at once.
const PART_BYTES: usize = 16 << 10;

/// How a body is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentCoding {
    /// Not at all.
    Plain,
    Gzip,
    Brotli,
    Deflate,
}

impl ContentCoding {
    /// Reads from headers how a body is compressed. Several codings one over the other are not known: nobody needs
    /// them but bombs.
    pub(super) fn of(headers: &[(String, String)]) -> io::Result<Self> {
        let values = headers.iter().filter(|(name, _)| name == "content-encoding");
        let names = values.flat_map(|(_, value)| value.split(',')).map(str::trim);
        let names: Vec<String> = names
            .map(str::to_ascii_lowercase)
            .filter(|it| !it.is_empty() && it != "identity")
            .collect();
        match names.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
            [] => Ok(Self::Plain),
            ["gzip" | "x-gzip"] => Ok(Self::Gzip),
            ["br"] => Ok(Self::Brotli),
            ["deflate"] => Ok(Self::Deflate),
            _ => {
                let names = names.join(", ");
                let names = escape::line(&names);
                Err(bad(&format!("it is encoded as `{names}`, which Toolcrib cannot decode")))
            }
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "identity",
            Self::Gzip => "gzip",
            Self::Brotli => "br",
            Self::Deflate => "deflate",
        }
    }
}

/// A body, as far as it was read.
#[derive(Debug, Default)]
pub(super) struct ReadBody {
    pub(super) bytes: Vec<u8>,
    pub(super) encoded: u64,
    pub(super) is_cut: bool,
}

/// How a brotli body begins that wants a window larger than the standard has.
const LARGE_WINDOW: u8 = 0x11;

/// Reads a body up to `most` bytes after it was decompressed.
pub(super) fn read_body<S: Read>(
    body: &mut BodyReader<'_, '_, S>,
    coding: ContentCoding,
    most: usize,
) -> io::Result<ReadBody> {
    if coding == ContentCoding::Plain {
        return read_plain(body, most);
    }
    let mut start = [0; 2];
    let length = read_start(body, &mut start)?;
    // Some hosts name a coding for no body at all.
    if length == 0 {
        return Ok(ReadBody::default());
    }
    // A window of up to 1 GiB, which no standard has, would be taken before anything came out.
    if coding == ContentCoding::Brotli && start[0] & 0x7f == LARGE_WINDOW {
        return Err(told(io::ErrorKind::InvalidData.into(), coding));
    }
    let is_zlib = start[0] & 0x0f == 8 && u16::from_be_bytes(start).is_multiple_of(31);
    let encoded = Cell::new(length as u64);
    let rest = CountedReader { inner: body, count: &encoded };
    let input = Cursor::new(&start[..length]).chain(rest);
    let mut decoder: Box<dyn Read + '_> = match coding {
        ContentCoding::Plain => Box::new(input),
        ContentCoding::Gzip => Box::new(MultiGzDecoder::new(input)),
        ContentCoding::Brotli => Box::new(Decompressor::new(input, PART_BYTES)),
        // Some hosts send what the standard says, and some leave the envelope out.
        ContentCoding::Deflate if is_zlib => Box::new(ZlibDecoder::new(input)),
        ContentCoding::Deflate => Box::new(DeflateDecoder::new(input)),
    };
    let read = read_decoded(&mut decoder, &encoded, most).map_err(|err| told(err, coding));
    drop(decoder);
    let (bytes, is_cut) = read?;
    Ok(ReadBody { bytes, encoded: encoded.get(), is_cut })
}

fn read_plain<S: Read>(body: &mut BodyReader<'_, '_, S>, most: usize) -> io::Result<ReadBody> {
    let mut bytes = Vec::new();
    body.by_ref().take(most as u64).read_to_end(&mut bytes)?;
    let mut is_cut = false;
    if bytes.len() >= most {
        is_cut = match body.has_more() {
            Some(has_more) => has_more,
            None => body.read(&mut [0])? > 0,
        };
    }
    Ok(ReadBody { encoded: bytes.len() as u64, bytes, is_cut })
}

/// Reads the first bytes of a body, and returns how many there are.
fn read_start(body: &mut impl Read, start: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while length < start.len() {
        match body.read(&mut start[length..])? {
            0 => break,
            count => length += count,
        }
    }
    Ok(length)
}

/// Returns the body up to `most` bytes, and whether there is more.
fn read_decoded(
    decoder: &mut dyn Read,
    encoded: &Cell<u64>,
    most: usize,
) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    let mut part = [0; PART_BYTES];
    loop {
        let count = decoder.read(&mut part)?;
        let room = most - bytes.len();
        bytes.extend_from_slice(&part[..count.min(room)]);
        if count == 0 || count > room {
            return Ok((bytes, count > room));
        }
        let (encoded, decoded) = (encoded.get(), bytes.len() as u64);
        if decoded > BOMB_BYTES && decoded / MOST_GROWTH > encoded {
            return Err(io::Error::other(CompressionBomb { encoded, decoded }));
        }
    }
}

/// Returns the error of a body that cannot be decompressed. Errors of the connection stay as they are.
fn told(err: io::Error, coding: ContentCoding) -> io::Error {
    let is_own = err.get_ref().is_some_and(|it| it.is::<BadReply>() || it.is::<rustls::Error>());
    match err.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if !is_own => {
            bad(&format!("its body is not `{}`, as it says it is", coding.as_str()))
        }
        io::ErrorKind::UnexpectedEof => cut_short(),
        _ => err,
    }
}

/// Counts the bytes that pass.
struct CountedReader<'c, R> {
    inner: R,
    count: &'c Cell<u64>,
}

impl<R: Read> Read for CountedReader<'_, R> {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(place)?;
        self.count.set(self.count.get() + count as u64);
        Ok(count)
    }
}
