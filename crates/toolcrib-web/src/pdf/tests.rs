//! Tests of the reader of PDF, with files that a small writer makes.

use std::io::Write;

use super::*;

/// Reads a PDF, and is never stopped.
fn read(body: &[u8], most_bytes: usize) -> PdfText {
    super::read(body, most_bytes, &StopCheck::never()).unwrap()
}

/// Makes a PDF from the sources of its objects, of which the first is the catalogue.
fn pdf(objects: &[Vec<u8>], trailer: &str) -> Vec<u8> {
    let mut out = b"%PDF-1.5\n".to_vec();
    let mut offsets = Vec::new();
    for (index, object) in objects.iter().enumerate() {
        offsets.push(out.len());
        writeln!(out, "{} 0 obj", index + 1).unwrap();
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let table = out.len();
    writeln!(out, "xref\n0 {}\n0000000000 65535 f ", objects.len() + 1).unwrap();
    for offset in offsets {
        writeln!(out, "{offset:010} 00000 n ").unwrap();
    }
    let size = objects.len() + 1;
    writeln!(out, "trailer\n<</Size {size}/Root 1 0 R{trailer}>>\nstartxref\n{table}\n%%EOF")
        .unwrap();
    out
}

fn stream(dictionary: &str, data: &[u8]) -> Vec<u8> {
    let mut out = format!("<<{dictionary}/Length {}>>\nstream\n", data.len()).into_bytes();
    out.extend_from_slice(data);
    out.extend_from_slice(b"\nendstream");
    out
}

fn deflated(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Makes the objects of a PDF with one page. `font` is the source of the font `F`, and `more` are objects from 6 on.
fn one_page(content: &[u8], font: &str, more: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut objects = vec![
        b"<</Type/Catalog/Pages 2 0 R>>".to_vec(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>"
            .to_vec(),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>".to_vec(),
        stream("", content),
        font.as_bytes().to_vec(),
    ];
    objects.extend_from_slice(more);
    objects
}

const HELVETICA: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";

#[track_caller]
fn check(content: &str, font: &str, more: &[Vec<u8>], expected: &str) {
    let file = pdf(&one_page(content.as_bytes(), font, more), "");
    let read = read(&file, 1 << 20);
    assert_eq!(read.text, format!("--- page 1 ---\n\n{expected}"), "{content}");
}

#[test]
fn operators_show_text() {
    for (content, expected) in [
        ("BT /F 12 Tf 72 700 Td (Hello) Tj ( world) Tj ET", "Hello world"),
        ("BT /F 12 Tf 14 TL (a) Tj T* (b) Tj (c) ' 0 0 (d) \" ET", "a\nb\nc\nd"),
        (
            "BT /F 10 Tf 0 700 Td (a) Tj 0 -12 TD (b) Tj T* (c) Tj 0 -40 Td (d) Tj ET",
            "a\nb\nc\n\nd",
        ),
        ("BT /F 10 Tf [(Hel) 20 (lo) -300 (wor) -50 (ld)] TJ ET", "Hello world"),
        (
            "BT /F 1 Tf 10 0 0 10 0 0 Tm (a) Tj 10 0 0 10 20 0 Tm (b) Tj 10 0 0 10 0 -12 Tm (c) Tj ET",
            "a b\nc",
        ),
        ("q 2 0 0 2 0 0 cm BT /F 10 Tf (a) Tj ET Q BT /F 10 Tf 0 -20 Td (b) Tj ET", "a\nb"),
        ("BT /F 10 Tf 0 1 -1 0 50 0 Tm (up) Tj 0 1 -1 0 62 0 Tm (side) Tj ET", "up\nside"),
        ("BT /F 10 Tf (a) Tj ET BI /W 1 /H 1 ID \x01(b) Tj EI BT 0 -12 Td (c) Tj ET", "a\nc"),
        ("BT /F 10 Tf (\\344\\200\\(x\\)) Tj <41 42> Tj ET", "ä€(x)AB"),
        ("BT /F 10 Tf 5 Tc (wide) Tj ET", "wide"),
        ("BT /G 10 Tf (no font) Tj ET BT /F 10 Tf (a) Tj", "a"),
    ] {
        check(content, HELVETICA, &[], expected);
    }
}

#[test]
fn fonts_say_what_codes_show() {
    let differences = "<</Type/Font/Subtype/Type1/Encoding<</BaseEncoding/MacRomanEncoding\
        /Differences[1/fi/eacute 65/uni20AC/Scaron]>>>>";
    check("BT /F 9 Tf (\\001\\002AB\\200) Tj ET", differences, &[], "fié€ŠÄ");
    check("BT /F 9 Tf (don't \\256) Tj ET", "<</Type/Font/Subtype/Type1>>", &[], "don’t fi");
    let map = b"1 begincodespacerange <0000> <FFFF> endcodespacerange 1 beginbfrange <0001> <0003> <0061> endbfrange \
        1 beginbfchar <0005> <00660066> endbfchar";
    let font = "<</Type/Font/Subtype/Type0/Encoding/Identity-H/ToUnicode 6 0 R\
        /DescendantFonts[<</DW 500/W[1[500 500] 3 5 600]>>]>>";
    let map = stream("/Filter/FlateDecode", &deflated(map));
    check("BT /F 9 Tf <0001000200030005> Tj ET", font, &[map], "abcff");
    let font = "<</Type/Font/Subtype/Type0/Encoding/UniGB-UCS2-H/DescendantFonts[<<>>]>>";
    check("BT /F 9 Tf <4F60597D> Tj ET", font, &[], "你好");
}

#[test]
fn letters_without_meaning_are_counted() {
    let font = "<</Type/Font/Subtype/Type0/Encoding/Identity-H/DescendantFonts[<<>>]>>";
    let file = pdf(&one_page(b"BT /F 9 Tf <00010002> Tj ET", font, &[]), "");
    assert!(read(&file, 1 << 20).notice.unwrap().starts_with("2 of 2 letters are missing"));
}

#[test]
fn forms_are_shown_where_they_are_used() {
    let form = stream("/Subtype/Form/Matrix[1 0 0 1 0 -50]", b"BT /F 10 Tf (in form) Tj ET /X Do");
    check("BT /F 10 Tf (before) Tj ET /X Do", HELVETICA, &[form], &{
        let mut expected = "before".to_owned();
        expected.push_str(&"\n\nin form".repeat(8));
        expected
    });
}

#[test]
fn pages_come_in_their_order_with_the_title() {
    let mut objects = one_page(b"BT /F 9 Tf (one) Tj ET", HELVETICA, &[]);
    objects[1] = b"<</Type/Pages/Kids[7 0 R 3 0 R 2 0 R]/Resources<</Font<</F 5 0 R>>>>>>".to_vec();
    objects.push(stream("/Filter/FlateDecode", &deflated(b"BT /F 9 Tf (zero) Tj ET")));
    objects.push(b"<</Type/Pages/Kids[8 0 R]>>".to_vec());
    objects.push(b"<</Type/Page/Contents[6 0 R 99 0 R]>>".to_vec());
    objects.push(b"<</Title<FEFF00C400620063>>>".to_vec());
    let read = read(&pdf(&objects, "/Info 9 0 R"), 1 << 20);
    assert_eq!(read.text, "--- page 1 ---\n\nzero\n\n--- page 2 ---\n\none");
    assert_eq!(read.title.as_deref(), Some("Äbc"));
    assert_eq!(read.notice, None);
}

/// Makes a PDF whose objects are in a stream, with a stream in place of the table.
fn packed() -> Vec<u8> {
    let objects = one_page(b"BT /F 9 Tf (packed) Tj ET", HELVETICA, &[]);
    let mut out = b"%PDF-1.5\n".to_vec();
    let content_at = out.len();
    writeln!(out, "4 0 obj").unwrap();
    out.extend_from_slice(&objects[3]);
    out.extend_from_slice(b"\nendobj\n");
    let (mut head, mut body) = (String::new(), Vec::new());
    for number in [1, 2, 3, 5] {
        head.extend([number.to_string(), " ".to_owned(), body.len().to_string(), " ".to_owned()]);
        body.extend_from_slice(&objects[number - 1]);
        body.push(b' ');
    }
    let first = head.len();
    let data = deflated(&[head.as_bytes(), &body].concat());
    let stream_at = out.len();
    writeln!(out, "7 0 obj").unwrap();
    out.extend(stream(&format!("/Type/ObjStm/N 4/First {first}/Filter/FlateDecode"), &data));
    out.extend_from_slice(b"\nendobj\n");
    let table_at = out.len();
    let mut rows: Vec<u8> = Vec::new();
    let mut row = |kind: u8, middle: usize, last: u8| {
        rows.extend([kind, (middle >> 8) as u8, middle as u8, last]);
    };
    row(0, 0, 0);
    row(2, 7, 0);
    row(2, 7, 1);
    row(2, 7, 2);
    row(1, content_at, 0);
    row(2, 7, 3);
    row(0, 0, 0);
    row(1, stream_at, 0);
    writeln!(out, "8 0 obj").unwrap();
    out.extend(stream(
        "/Type/XRef/W[1 2 1]/Size 8/Root 1 0 R/Filter/FlateDecode",
        &deflated(&rows),
    ));
    write!(out, "\nendobj\nstartxref\n{table_at}\n%%EOF").unwrap();
    out
}

#[test]
fn packed_objects_are_read() {
    assert_eq!(read(&packed(), 1 << 20).text, "--- page 1 ---\n\npacked");
}

#[test]
fn objects_are_found_without_a_table() {
    let file = pdf(&one_page(b"BT /F 9 Tf (found) Tj ET", HELVETICA, &[]), "");
    let expected = "--- page 1 ---\n\nfound";
    let text = String::from_utf8(file.clone()).unwrap();
    for broken in [
        text.replace("startxref", "start"),
        text.replace("xref\n0", "xxxx\n0"),
        text.replace("%PDF-1.5", "%PDF-1.5 and more"),
        text[..text.find("xref\n").unwrap()].to_owned(),
        text.replace("/Length", "/Lengxx"),
    ] {
        assert_eq!(read(broken.as_bytes(), 1 << 20).text, expected, "{broken}");
    }
    let packed = packed();
    let end = memchr::memmem::rfind(&packed, b"startxref").unwrap();
    assert_eq!(read(&packed[..end], 1 << 20).text, "--- page 1 ---\n\npacked");
}

#[test]
fn files_without_text_say_why() {
    let objects =
        one_page(b"q 1 0 0 1 0 0 cm /X Do Q", HELVETICA, &[stream("/Subtype/Image", b"x")]);
    let scanned = read(&pdf(&objects, ""), 1 << 20);
    assert!(scanned.text.contains("scanned") && scanned.notice.is_some());
    let objects = one_page(b"BT /F 9 Tf (secret) Tj ET", HELVETICA, &[]);
    let encrypted = pdf(&objects, "/Encrypt 9 0 R");
    assert_eq!(super::read(&encrypted, 1 << 20, &StopCheck::never()), None);
    assert!(read(b"%PDF-1.4\nhello", 1 << 20).text.contains("broken"));
    assert!(read(&pdf(&objects, ""), 1 << 20).text.contains("secret"));
}

#[test]
fn files_that_refer_to_themselves_are_read_to_their_end() {
    let mut objects = one_page(b"BT /F 9 Tf (x) Tj ET", "5 0 R", &[]);
    objects[1] = b"<</Kids[2 0 R 2 0 R 3 0 R]/Resources 2 0 R>>".to_vec();
    read(&pdf(&objects, "/Prev 9"), 1 << 20);
    // Each use of a font or a page copies what it refers to, so the copies are counted.
    let large = format!("<</Fonts[{}]>>", "1 ".repeat(200_000));
    let uses: String =
        (0..5_000).map(|number| ["/G", &number.to_string(), " 9 Tf "].concat()).collect();
    let mut objects = one_page(uses.as_bytes(), HELVETICA, &[]);
    let kids = "3 0 R <</Contents 4 0 R>> ".repeat(300);
    objects[1] = format!("<</Kids[{kids}]/Resources<</Font {large}>>>>").into_bytes();
    read(&pdf(&objects, ""), 1 << 20);
    let tables = pdf(&objects, "/Prev 9/XRefStm 9");
    read(&tables, 1 << 20);
    let bomb = deflated(&b"BT /F 9 Tf (bomb) Tj 0 -20 Td ET ".repeat(100_000));
    let kids = "3 0 R ".repeat(5_000) + &"<</Contents 4 0 R>>".repeat(2_000);
    let mut objects = one_page(b"", HELVETICA, &[]);
    objects[1] = format!("<</Kids[{kids}]/Resources<</Font<</F 5 0 R>>>>>>").into_bytes();
    objects[3] = stream("/Filter/FlateDecode", &bomb);
    let read = read(&pdf(&objects, ""), 100_000);
    assert!(read.is_cut && read.text.len() <= 100_000);
}

#[test]
fn changed_files_are_read() {
    let samples = [
        pdf(&one_page(b"BT /F 9 Tf [(a) 3 (b)] TJ ET /X Do", HELVETICA, &[stream("", b"x")]), ""),
        packed(),
    ];
    let mut seed = 7_u64;
    let mut below = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end.max(1)
    };
    for sample in &samples {
        for _ in 0..3_000 {
            let mut file = sample.clone();
            for _ in 0..=below(8) {
                let at = below(file.len());
                match below(3) {
                    0 => file[at] = below(256) as u8,
                    1 => file[at] = b"0123456789<>[]()/ R"[below(19)],
                    _ => drop(file.drain(at..(at + below(20)).min(sample.len() / 2).max(at))),
                }
            }
            assert!(read(&file, 10_000).text.len() <= 10_000);
        }
    }
}
