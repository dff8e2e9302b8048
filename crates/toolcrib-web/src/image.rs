//! The format and the size of an image, from its first bytes.

/// What the head of an image says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ImageSize {
    pub(crate) format: &'static str,
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// The most segments of a JPEG before its size.
const MOST_SEGMENTS: usize = 1_000;

fn number_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn short_be(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

fn short_le(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?)))
}

/// Returns what the head of an image says, or nothing if the format is unknown or the head is not whole.
pub(crate) fn size_of(body: &[u8]) -> Option<ImageSize> {
    if body.starts_with(b"\x89PNG\r\n\x1a\n") {
        let (width, height) = (number_be(body, 16)?, number_be(body, 20)?);
        return Some(ImageSize { format: "PNG", width, height });
    }
    if body.starts_with(b"GIF87a") || body.starts_with(b"GIF89a") {
        let (width, height) = (short_le(body, 6)?, short_le(body, 8)?);
        return Some(ImageSize { format: "GIF", width, height });
    }
    if body.starts_with(b"\xff\xd8\xff") {
        let (width, height) = jpeg_size(body)?;
        return Some(ImageSize { format: "JPEG", width, height });
    }
    if body.starts_with(b"RIFF") && body.get(8..12) == Some(b"WEBP") {
        let (width, height) = webp_size(body)?;
        return Some(ImageSize { format: "WebP", width, height });
    }
    if body.starts_with(b"BM") && body.get(6..10) == Some(&[0; 4]) {
        let (width, height) = (short_le(body, 18)?, short_le(body, 22)?);
        return Some(ImageSize { format: "BMP", width, height });
    }
    None
}

/// Finds the frame head of a JPEG behind its other segments.
fn jpeg_size(body: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    for _ in 0..MOST_SEGMENTS {
        if *body.get(at)? != 0xff {
            return None;
        }
        match *body.get(at + 1)? {
            0xff => at += 1,
            0xd0..=0xd9 | 0x01 => at += 2,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((short_be(body, at + 7)?, short_be(body, at + 5)?));
            }
            _ => at += 2 + short_be(body, at + 2)? as usize,
        }
    }
    None
}

fn webp_size(body: &[u8]) -> Option<(u32, u32)> {
    match body.get(12..16)? {
        b"VP8 " => Some((short_le(body, 26)? & 0x3fff, short_le(body, 28)? & 0x3fff)),
        b"VP8L" => {
            let bits = short_le(body, 21)? | short_le(body, 23)? << 16;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let three = |at| Some(short_le(body, at)? | u32::from(*body.get(at + 2)?) << 16);
            Some((three(24)? + 1, three(27)? + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_the_head() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\x68";
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x11\x08\x01\x68\x02\x80\x03";
        let webp_lossy = b"RIFF....WEBPVP8 ....\0\0\0\x9d\x01\x2a\x80\x02\x68\x01";
        let webp_lossless = b"RIFF....WEBPVP8L....\x2f\x7f\xc2\x59\0";
        let webp_extended = b"RIFF....WEBPVP8X....\0\0\0\0\x7f\x02\0\x67\x01\0";
        let bodies: [(&[u8], &str); 6] = [
            (png, "PNG"),
            (b"GIF89a\x80\x02\x68\x01", "GIF"),
            (jpeg, "JPEG"),
            (webp_lossy, "WebP"),
            (webp_lossless, "WebP"),
            (webp_extended, "WebP"),
        ];
        for (body, format) in bodies {
            assert_eq!(
                size_of(body),
                Some(ImageSize { format, width: 640, height: 360 }),
                "{body:?}"
            );
            for end in 0..body.len().min(20) {
                assert_eq!(
                    size_of(&body[..end.min(body.len() - 3)]).filter(|it| it.width != 640),
                    None
                );
            }
        }
        assert_eq!(size_of(b"hello"), None);
        assert_eq!(size_of(&[b"\xff\xd8".as_slice(), &vec![0xff; 100_000]].concat()), None);
    }
}
