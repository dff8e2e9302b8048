//! Decodes the data of streams. How much comes out is bounded, because a few bytes can stand for gigabytes.

use flate2::{Decompress, FlushDecompress, Status};

use super::lexer::is_space;
use super::object::{PdfDictionary, PdfObject};
use crate::stop_check::StopCheck;

/// The most filters of one stream.
const MOST_FILTERS: usize = 6;

/// Decodes the data of a stream, at most to `most_bytes`. Images in their own formats have no decoded data.
pub(crate) fn decode(
    data: &[u8],
    dictionary: &PdfDictionary,
    most_bytes: usize,
    stop: &StopCheck<'_>,
) -> Option<Vec<u8>> {
    let filter = dictionary.get("Filter").or_else(|| dictionary.get("F"));
    let filters: Vec<&str> = match filter {
        Some(PdfObject::Name(name)) => vec![name],
        Some(PdfObject::List(list)) => list.iter().filter_map(PdfObject::as_name).collect(),
        _ => Vec::new(),
    };
    if filters.len() > MOST_FILTERS {
        return None;
    }
    let parameters = dictionary.get("DecodeParms").or_else(|| dictionary.get("DP"));
    let mut decoded = data[..data.len().min(most_bytes)].to_vec();
    for (index, filter) in filters.iter().enumerate() {
        if stop.big_step() {
            return None;
        }
        let parameters = match parameters {
            Some(PdfObject::List(list)) => list.get(index).and_then(PdfObject::as_dictionary),
            Some(object) if index == 0 => object.as_dictionary(),
            _ => None,
        };
        // The first filter reads the data as it stands.
        let source = if index == 0 { data } else { &decoded };
        decoded = match *filter {
            "FlateDecode" | "Fl" => predicted(inflate(source, most_bytes, stop), parameters),
            "LZWDecode" | "LZW" => predicted(unlzw(source, parameters, most_bytes), parameters),
            "ASCIIHexDecode" | "AHx" => from_hex(source),
            "ASCII85Decode" | "A85" => from_base_85(source),
            "RunLengthDecode" | "RL" => from_runs(source, most_bytes),
            "Crypt" => source.to_vec(),
            _ => return None,
        };
    }
    Some(decoded)
}

/// Inflates data. What comes before an error counts.
fn inflate(data: &[u8], most_bytes: usize, stop: &StopCheck<'_>) -> Vec<u8> {
    let inflated = inflate_as(data, &mut Decompress::new(true), most_bytes, stop);
    if inflated.is_empty() && data.len() > 2 {
        // The head may be broken.
        return inflate_as(&data[2..], &mut Decompress::new(false), most_bytes, stop);
    }
    inflated
}

fn inflate_as(
    data: &[u8],
    decompress: &mut Decompress,
    most_bytes: usize,
    stop: &StopCheck<'_>,
) -> Vec<u8> {
    let mut out =
        Vec::with_capacity((data.len() * 4).clamp(1_024, most_bytes.max(1_024)).min(1 << 20));
    loop {
        if out.len() >= most_bytes || stop.big_step() {
            out.truncate(most_bytes);
            return out;
        }
        if out.len() == out.capacity() {
            out.reserve(out.len().max(4_096));
        }
        let (read, written) = (decompress.total_in(), out.len());
        let rest = &data[(read as usize).min(data.len())..];
        let status = decompress.decompress_vec(rest, &mut out, FlushDecompress::None);
        let is_stuck = decompress.total_in() == read && out.len() == written;
        if !matches!(status, Ok(Status::Ok | Status::BufError)) || is_stuck {
            out.truncate(most_bytes);
            return out;
        }
    }
}

fn from_hex(data: &[u8]) -> Vec<u8> {
    let digits = data.iter().take_while(|byte| **byte != b'>');
    let digits: Vec<u32> = digits.filter_map(|byte| char::from(*byte).to_digit(16)).collect();
    digits
        .chunks(2)
        .map(|pair| (pair[0] << 4 | pair.get(1).copied().unwrap_or_default()) as u8)
        .collect()
}

fn from_base_85(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(data.len());
    let mut group = [0_u32; 5];
    let mut count = 0;
    let flush = |group: &[u32; 5], length: usize, out: &mut Vec<u8>| {
        let value =
            group.iter().fold(0_u32, |value, digit| value.wrapping_mul(85).wrapping_add(*digit));
        out.extend_from_slice(&value.to_be_bytes()[..length]);
    };
    for &byte in data {
        match byte {
            b'~' => break,
            b'z' if count == 0 => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => {
                group[count] = u32::from(byte - b'!');
                count += 1;
                if count == 5 {
                    flush(&group, 4, &mut out);
                    count = 0;
                }
            }
            _ => {}
        }
    }
    if count > 1 {
        group[count..].fill(84);
        flush(&group, count - 1, &mut out);
    }
    out
}

fn from_runs(data: &[u8], most_bytes: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    while let Some(&length) = data.get(at) {
        if length == 128 || out.len() >= most_bytes {
            break;
        }
        if length < 128 {
            let end = (at + 2 + usize::from(length)).min(data.len());
            out.extend_from_slice(&data[(at + 1).min(end)..end]);
            at = end;
        } else {
            let byte = data.get(at + 1).copied().unwrap_or_default();
            out.extend(std::iter::repeat_n(byte, 257 - usize::from(length)));
            at += 2;
        }
    }
    out
}

/// Decodes LZW. Each code stands for an earlier piece of the output and one more byte.
fn unlzw(data: &[u8], parameters: Option<&PdfDictionary>, most_bytes: usize) -> Vec<u8> {
    let early = parameters.and_then(|it| it.number("EarlyChange")).is_none_or(|early| early != 0.0);
    let early = usize::from(early);
    let mut out: Vec<u8> = Vec::new();
    // Where in the output the piece of each code above 257 is, with its length.
    let mut pieces: Vec<(usize, usize)> = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    let (mut bits, mut bit_count, mut width) = (0_u32, 0, 9);
    for &byte in data {
        bits = bits << 8 | u32::from(byte);
        bit_count += 8;
        if bit_count < width {
            continue;
        }
        bit_count -= width;
        let code = (bits >> bit_count & ((1 << width) - 1)) as usize;
        if code == 257 || out.len() >= most_bytes {
            break;
        }
        if code == 256 {
            pieces.clear();
            (last, width) = (None, 9);
            continue;
        }
        let begin = out.len();
        if code < 256 {
            out.push(code as u8);
        } else {
            // A code that is not known yet is the last piece and its first byte.
            let piece =
                pieces.get(code - 258).copied().or(last.map(|(at, length)| (at, length + 1)));
            let Some((at, length)) = piece else { break };
            for index in at..at + length {
                let Some(&byte) = out.get(index) else { break };
                out.push(byte);
            }
        }
        if let Some((at, length)) = last
            && pieces.len() < 4_096 - 258
        {
            pieces.push((at, length + 1));
        }
        last = Some((begin, out.len() - begin));
        width = match pieces.len() + 258 + early {
            0..512 => 9,
            512..1_024 => 10,
            1_024..2_048 => 11,
            _ => 12,
        };
    }
    out.truncate(most_bytes);
    out
}

/// Undoes what was done to rows of data so that they compress well.
fn predicted(data: Vec<u8>, parameters: Option<&PdfDictionary>) -> Vec<u8> {
    let number = |name, default| {
        let found = parameters.and_then(|it| it.get(name)).and_then(PdfObject::as_count);
        found.unwrap_or(default).min(100_000)
    };
    let predictor = number("Predictor", 1);
    if predictor < 10 {
        return data;
    }
    let pixel_bits = number("Colors", 1) * number("BitsPerComponent", 8);
    let pixel = pixel_bits.div_ceil(8).max(1);
    let row_length = (pixel_bits * number("Columns", 1)).div_ceil(8);
    if row_length == 0 {
        return data;
    }
    let mut out: Vec<u8> = Vec::with_capacity(data.len());
    for row in data.chunks(row_length + 1) {
        let begin = out.len();
        for (index, &byte) in row[1..].iter().enumerate() {
            let at = |back: usize, is_there: bool| {
                if is_there {
                    out.get((begin + index).wrapping_sub(back)).copied().unwrap_or_default()
                } else {
                    0
                }
            };
            let left = at(pixel, index >= pixel);
            let up = at(row_length, begin >= row_length);
            let corner = at(row_length + pixel, index >= pixel && begin >= row_length);
            let guess = match row[0] {
                1 => left,
                2 => up,
                3 => left.midpoint(up),
                4 => nearest(left, up, corner),
                _ => 0,
            };
            out.push(byte.wrapping_add(guess));
        }
    }
    out
}

/// Returns the neighbour that is nearest to what the three of them suggest.
fn nearest(left: u8, up: u8, corner: u8) -> u8 {
    let suggested = i32::from(left) + i32::from(up) - i32::from(corner);
    let distance = |neighbour: u8| (suggested - i32::from(neighbour)).abs();
    let (to_left, to_up, to_corner) = (distance(left), distance(up), distance(corner));
    if to_left <= to_up && to_left <= to_corner {
        left
    } else if to_up <= to_corner {
        up
    } else {
        corner
    }
}

/// Whether the bytes after `EI` show that an image within a content stream has ended.
pub(crate) fn ends_inline_image(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| is_space(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dictionary(source: &str) -> PdfDictionary {
        let object = super::super::lexer::PdfLexer::new(source.as_bytes(), 0).object().unwrap();
        object.as_dictionary().unwrap().clone()
    }

    fn deflated(data: &[u8]) -> Vec<u8> {
        use std::io::Write;
        let mut encoder =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(data).unwrap();
        encoder.finish().unwrap()
    }

    #[track_caller]
    fn check(data: &[u8], source: &str, expected: &[u8]) {
        assert_eq!(
            decode(data, &dictionary(source), 1_000, &StopCheck::never()).as_deref(),
            Some(expected),
            "{source}"
        );
    }

    #[test]
    fn filters_are_undone() {
        check(b"abc", "<<>>", b"abc");
        check(&deflated(b"abc"), "<</Filter/FlateDecode>>", b"abc");
        check(b"61 6 2 63>", "<</Filter[/ASCIIHexDecode]>>", b"abc");
        check(b"87cURD]i,\"Ebo80~>", "<</Filter/ASCII85Decode>>", b"Hello World!");
        check(b"\x02abc\xfed\x80", "<</Filter/RunLengthDecode>>", b"abcddd");
        let lzw = [0x80, 0x0b, 0x60, 0x50, 0x22, 0x0c, 0x0c, 0x85, 0x01];
        check(&lzw, "<</Filter/LZWDecode>>", b"-----A---B");
        let rows = [2, 1, 2, 3, 2, 1, 1, 1, 1, 5, 1, 1];
        check(
            &deflated(&rows),
            "<</Filter/FlateDecode/DecodeParms<</Predictor 12/Columns 3>>>>",
            &[1, 2, 3, 2, 3, 4, 5, 6, 7],
        );
        assert_eq!(
            decode(b"x", &dictionary("<</Filter/DCTDecode>>"), 10, &StopCheck::never()),
            None
        );
    }

    #[test]
    fn bombs_are_bounded() {
        let bomb = deflated(&vec![0; 10_000_000]);
        assert!(bomb.len() < 20_000);
        check(&bomb, "<</Filter/FlateDecode>>", &[0; 1_000]);
        let twice = deflated(&bomb);
        let decoded = decode(
            &twice,
            &dictionary("<</Filter[/FlateDecode/FlateDecode]>>"),
            100_000,
            &StopCheck::never(),
        );
        assert_eq!(decoded.unwrap().len(), 100_000);
        let runs = b"\x81a".repeat(1_000);
        assert!(
            decode(&runs, &dictionary("<</Filter/RL>>"), 1_000, &StopCheck::never()).unwrap().len()
                < 1_200
        );
        for byte in 0..=255 {
            let data = vec![byte; 5_000];
            for name in ["LZWDecode", "FlateDecode", "A85", "AHx", "RL"] {
                decode(
                    &data,
                    &dictionary(&format!("<</Filter/{name}>>")),
                    10_000,
                    &StopCheck::never(),
                );
            }
        }
    }
}
