//! Where the body of a reply ends: after a length, after its last part, or with the connection.

use std::io::{self, Read};

use super::bad_reply::{bad, cut_short};
use super::reply_reader::ReplyReader;

/// How the end of a body is told, and how much is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Framing {
    /// This many bytes are left.
    Length(u64),
    /// The length of the next part comes first.
    NextChunk,
    /// This many bytes of a part are left.
    InChunk(u64),
    /// The last part is over.
    Ended,
    /// The connection ends with the body.
    UntilClose,
}

impl Framing {
    /// Reads from headers how the end of a body is told.
    pub(super) fn of(headers: &[(String, String)]) -> io::Result<Self> {
        let values = |name: &'static str| {
            headers.iter().filter(move |(it, _)| it == name).map(|(_, value)| value.trim())
        };
        let mut encodings = values("transfer-encoding");
        if let Some(encoding) = encodings.next() {
            if !encoding.eq_ignore_ascii_case("chunked") || encodings.next().is_some() {
                return Err(bad("its transfer encoding is not known"));
            }
            return Ok(Self::NextChunk);
        }
        let mut length = None;
        for text in values("content-length").flat_map(|it| it.split(',')).map(str::trim) {
            let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            let number = text.parse::<u64>().ok().filter(|_| is_number);
            let number = number.ok_or_else(|| bad("its length is no number"))?;
            if length.is_some_and(|it| it != number) {
                return Err(bad("it has several lengths"));
            }
            length = Some(number);
        }
        Ok(length.map_or(Self::UntilClose, Self::Length))
    }
}

/// Reads the body of a reply, as it is encoded.
pub(super) struct BodyReader<'r, 's, S> {
    input: &'r mut ReplyReader<'s, S>,
    framing: Framing,
}

impl<'r, 's, S: Read> BodyReader<'r, 's, S> {
    pub(super) fn new(input: &'r mut ReplyReader<'s, S>, framing: Framing) -> Self {
        Self { input, framing }
    }

    /// Whether bytes are left, as far as that is known without reading on.
    pub(super) fn has_more(&self) -> Option<bool> {
        match self.framing {
            Framing::Length(left) => Some(left > 0),
            Framing::InChunk(_) => Some(true),
            Framing::Ended => Some(false),
            Framing::NextChunk | Framing::UntilClose => None,
        }
    }

    /// Takes up to `left` bytes, of which at least one must be there.
    fn take(&mut self, place: &mut [u8], left: u64) -> io::Result<usize> {
        let room = place.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        match self.input.take(&mut place[..room])? {
            0 => Err(cut_short()),
            count => Ok(count),
        }
    }

    fn read_chunk_length(&mut self) -> io::Result<u64> {
        let line = self.input.read_line()?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let is_hex = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
        let length = u64::from_str_radix(digits, 16).ok().filter(|_| is_hex);
        length.ok_or_else(|| bad("a part of it has no length"))
    }

    fn read_framed(&mut self, place: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.framing {
                Framing::Ended | Framing::Length(0) => return Ok(0),
                Framing::UntilClose => return self.input.take(place),
                Framing::Length(left) => {
                    let count = self.take(place, left)?;
                    self.framing = Framing::Length(left - count as u64);
                    return Ok(count);
                }
                Framing::NextChunk => {
                    self.framing = match self.read_chunk_length()? {
                        0 => Framing::Ended,
                        length => Framing::InChunk(length),
                    };
                }
                Framing::InChunk(left) => {
                    let count = self.take(place, left)?;
                    self.framing = Framing::InChunk(left - count as u64);
                    if count as u64 == left {
                        if !self.input.read_line()?.is_empty() {
                            return Err(bad("a part of it is longer than it says"));
                        }
                        self.framing = Framing::NextChunk;
                    }
                    return Ok(count);
                }
            }
        }
    }
}

impl<S: Read> Read for BodyReader<'_, '_, S> {
    fn read(&mut self, place: &mut [u8]) -> io::Result<usize> {
        if place.is_empty() {
            return Ok(0);
        }
        self.read_framed(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framing(headers: &[(&str, &str)]) -> Option<Framing> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Framing::of(&headers.iter().map(owned).collect::<Vec<_>>()).ok()
    }

    #[test]
    fn the_end_of_a_body_is_told_in_one_way() {
        for (headers, expected) in [
            (&[][..], Some(Framing::UntilClose)),
            (&[("content-length", "5")], Some(Framing::Length(5))),
            (&[("content-length", "5, 5")], Some(Framing::Length(5))),
            (&[("content-length", "5"), ("content-length", "5")], Some(Framing::Length(5))),
            (&[("transfer-encoding", "Chunked")], Some(Framing::NextChunk)),
            (
                &[("content-length", "5"), ("transfer-encoding", "chunked")],
                Some(Framing::NextChunk),
            ),
            (&[("content-length", "5"), ("content-length", "6")], None),
            (&[("content-length", "+5")], None),
            (&[("content-length", "-5")], None),
            (&[("content-length", "")], None),
            (&[("content-length", "99999999999999999999")], None),
            (&[("transfer-encoding", "gzip, chunked")], None),
            (&[("transfer-encoding", "chunked"), ("transfer-encoding", "chunked")], None),
        ] {
            assert_eq!(framing(headers), expected, "{headers:?}");
        }
    }
}
