//! Bytes as text: which charset they are in, and what could not be read.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};

use crate::html::{meta_charset, xml_charset};

/// How far into a page its charset is searched for.
const SEARCHED_BYTES: usize = 4_096;

/// A body as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecodedText<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) notice: Option<String>,
}

/// Where a body may say what its charset is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CharsetPlace {
    /// In a `<meta>` of HTML.
    Meta,
    /// In the declaration of XML.
    Declaration,
    /// Nowhere.
    None,
}

/// Decodes a body. What a byte order mark says comes before the media type, and that before what the body says.
pub(crate) fn decode<'a>(
    body: &'a [u8],
    content_type: Option<&str>,
    place: CharsetPlace,
) -> DecodedText<'a> {
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return decode_as(&body[length..], encoding);
    }
    let declared = content_type.and_then(type_charset).or_else(|| body_charset(body, place));
    if let Some(encoding) = declared {
        return decode_as(body, encoding);
    }
    match std::str::from_utf8(body) {
        Ok(text) => DecodedText { text: Cow::Borrowed(text), notice: None },
        Err(err) => {
            // A body that was cut may end within a letter. One that began in UTF-8 goes on in it.
            let is_cut = err.error_len().is_none();
            let was_utf_8 = !body[..err.valid_up_to()].is_ascii();
            if is_cut || was_utf_8 {
                let whole = if is_cut { &body[..err.valid_up_to()] } else { body };
                return decode_as(whole, UTF_8);
            }
            let mut decoded = decode_as(body, WINDOWS_1252);
            decoded.notice =
                Some("no charset is declared; the text was read as windows-1252".to_owned());
            decoded
        }
    }
}

fn decode_as<'a>(body: &'a [u8], encoding: &'static Encoding) -> DecodedText<'a> {
    let (text, has_errors) = encoding.decode_without_bom_handling(body);
    let notice = has_errors.then(|| {
        let count = memchr::memmem::find_iter(text.as_bytes(), "\u{fffd}").count();
        format!("{count} letters are not valid in {} and are shown as \u{fffd}", encoding.name())
    });
    DecodedText { text, notice }
}

/// Returns the charset that a media type names.
fn type_charset(content_type: &str) -> Option<&'static Encoding> {
    let parameters = content_type.split(';').skip(1).take(20);
    let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
    let (_, label) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Encoding::for_label(label.trim().trim_matches(['"', '\'']).as_bytes())
}

fn body_charset(body: &[u8], place: CharsetPlace) -> Option<&'static Encoding> {
    let begin = &body[..body.len().min(SEARCHED_BYTES)];
    // What declares a charset is in ASCII.
    let begin: String =
        begin.iter().map(|byte| if byte.is_ascii() { char::from(*byte) } else { '?' }).collect();
    let label = match place {
        CharsetPlace::Meta => meta_charset(&begin).or_else(|| xml_charset(&begin)),
        CharsetPlace::Declaration => xml_charset(&begin),
        CharsetPlace::None => None,
    };
    let encoding = Encoding::for_label(label?.as_bytes())?;
    // The declaration could be read, so it is not in UTF-16.
    if encoding == UTF_16LE || encoding == UTF_16BE {
        return Some(UTF_8);
    }
    Some(if encoding == X_USER_DEFINED { WINDOWS_1252 } else { encoding })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(
        body: &[u8],
        content_type: Option<&str>,
        place: CharsetPlace,
        expected: &str,
    ) -> Option<String> {
        let decoded = decode(body, content_type, place);
        assert_eq!(decoded.text, expected, "{content_type:?}");
        decoded.notice
    }

    #[test]
    fn charset_is_found_in_its_order() {
        let none = CharsetPlace::None;
        let meta = CharsetPlace::Meta;
        let latin = Some("text/html; charset=ISO-8859-1");
        assert_eq!(check("ü".as_bytes(), None, none, "ü"), None);
        assert_eq!(check(b"\xfc", latin, none, "ü"), None);
        assert_eq!(check(b"\xfc", Some("text/html;x=y; Charset=\"latin1\""), none, "ü"), None);
        assert_eq!(check("\u{feff}ü".as_bytes(), latin, none, "ü"), None);
        assert_eq!(check(b"\xff\xfea\0\xfc\0", None, none, "aü"), None);
        assert_eq!(check(b"\xfe\xff\0a", None, none, "a"), None);
        let page = b"<meta charset=koi8-r>\xc1";
        assert_eq!(check(page, None, meta, "<meta charset=koi8-r>а"), None);
        check(page, latin, meta, "<meta charset=koi8-r>Á");
        let page = b"<META http-equiv=x content='text/html; charset=Shift_JIS'>\x82\xa0";
        check(page, None, meta, "<META http-equiv=x content='text/html; charset=Shift_JIS'>あ");
        let xml = b"<?xml version='1.0' encoding='latin1'?>\xfc";
        check(xml, None, CharsetPlace::Declaration, "<?xml version='1.0' encoding='latin1'?>ü");
        check("<meta charset=utf-16>ü".as_bytes(), None, meta, "<meta charset=utf-16>ü");
    }

    #[test]
    fn what_could_not_be_read_is_told() {
        let none = CharsetPlace::None;
        let notice = check(b"a\xfcb", None, none, "aüb").unwrap();
        assert!(notice.contains("windows-1252"), "{notice}");
        let notice =
            check(b"a\xffb\xff", Some("text/plain; charset=utf-8"), none, "a\u{fffd}b\u{fffd}");
        assert!(notice.unwrap().starts_with("2 letters are not valid in UTF-8"));
        assert!(check(b"\xc3\xbc\xff", None, none, "ü\u{fffd}").is_some());
        assert_eq!(check(b"ab\xc3", None, none, "ab"), None);
    }
}
