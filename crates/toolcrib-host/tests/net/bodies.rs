//! Bodies: compressed, framed in every way, broken, too long or too slow.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use toolcrib_core::ErrorKind;
use toolcrib_core::net::{FetchMethod, FetchRequest};

use crate::fetch_host::{FetchHost, answer, fetch, reason, request};

/// `hello brotli`, compressed.
const BROTLI: &[u8] = b"\x8b\x05\x80\x68\x65\x6c\x6c\x6f\x20\x62\x72\x6f\x74\x6c\x69\x03";

/// 8 MiB of zeros, compressed.
const BROTLI_BOMB: &[u8] = b"\x9b\xff\xff\x7f\xf8\x27\x00\xe2\xb1\x40\x20\xf7\xfe\x0f";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn encoded(coding: &str, body: &[u8]) -> FetchHost {
    FetchHost::saying(answer("200 OK", &format!("Content-Encoding: {coding}\r\n"), body))
}

#[test]
fn a_compressed_body_is_decompressed_and_its_headers_stay_true() {
    let text = "hello gzip ".repeat(50);
    for (coding, body, expected) in [
        ("gzip", gzip(text.as_bytes()), text.as_bytes()),
        ("X-GZip", gzip(text.as_bytes()), text.as_bytes()),
        ("gzip", [gzip(b"one "), gzip(b"two")].concat(), b"one two"),
        ("deflate", zlib(text.as_bytes()), text.as_bytes()),
        ("deflate", deflate(text.as_bytes()), text.as_bytes()),
        ("br", BROTLI.to_vec(), b"hello brotli"),
        ("gzip", Vec::new(), b""),
        ("gzip", gzip(b""), b""),
    ] {
        let reply = encoded(coding, &body).fetch("/").unwrap();
        assert_eq!(reply.body, expected, "{coding}");
        assert_eq!(reply.encoded_bytes, body.len() as u64, "{coding}");
        assert!(!reply.is_cut, "{coding}");
        for gone in ["content-encoding", "content-length"] {
            assert_eq!(reply.header(gone), None, "{coding}");
        }
    }
    let plain = encoded("identity", b"as it is").fetch("/").unwrap();
    assert_eq!((&plain.body[..], plain.encoded_bytes), (&b"as it is"[..], 8));
    assert_eq!(plain.header("content-length"), Some("8"));
}

#[test]
fn hosts_are_asked_for_codings_unless_the_caller_asks() {
    let host = FetchHost::saying(answer("200 OK", "", b"x"));
    let with = |name: &str, value: &str| FetchRequest {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..request(&host.url("/"))
    };
    host.fetch("/").unwrap();
    fetch(&host.client(), &with("accept-encoding", "identity;q=1")).unwrap();
    fetch(&host.client(), &with("Range", "bytes=0-9")).unwrap();
    let asked = host.asked();
    for (asked, expected) in asked.iter().zip([
        "\r\nAccept-Encoding: gzip, br\r\n",
        "\r\naccept-encoding: identity;q=1\r\n",
        "\r\nAccept-Encoding: identity\r\n",
    ]) {
        assert!(asked.contains(expected), "{asked}");
        assert_eq!(asked.to_ascii_lowercase().matches("accept-encoding:").count(), 1, "{asked}");
    }
}

#[test]
fn a_compression_bomb_is_told() {
    let zeros = vec![0; 8 << 20];
    let most_bytes = 64 << 20;
    for (coding, body) in [
        ("gzip", gzip(&zeros)),
        ("deflate", zlib(&zeros)),
        ("deflate", deflate(&zeros)),
        ("br", BROTLI_BOMB.to_vec()),
    ] {
        let bomb = encoded(coding, &body);
        let whole = FetchRequest { most_bytes, ..request(&bomb.url("/")) };
        let err = fetch(&bomb.client(), &whole).unwrap_err();
        assert_eq!(err.context["reason"], "compression_bomb", "{coding}: {err}");
        assert_eq!(err.kind, ErrorKind::Failed);
        // Whoever wants no more than a little gets it.
        let little = FetchRequest { most_bytes: 1000, ..request(&bomb.url("/")) };
        let reply = fetch(&bomb.client(), &little).unwrap();
        assert_eq!((reply.body.len(), reply.is_cut), (1000, true), "{coding}");
    }
    // A long text that compresses well is no bomb.
    let lines: String = (0..200_000).flat_map(|line| [line.to_string(), "\n".to_owned()]).collect();
    let host = encoded("gzip", &gzip(lines.as_bytes()));
    let whole = FetchRequest { most_bytes, ..request(&host.url("/")) };
    let reply = fetch(&host.client(), &whole).unwrap();
    assert!(reply.body == lines.as_bytes() && !reply.is_cut);
}

#[test]
fn a_bound_holds_for_what_was_decompressed() {
    let host = encoded("gzip", &gzip(b"0123456789"));
    for (most_bytes, expected, is_cut) in
        [(10, &b"0123456789"[..], false), (9, b"012345678", true), (0, b"", true)]
    {
        let bounded = FetchRequest { most_bytes, ..request(&host.url("/")) };
        let reply = fetch(&host.client(), &bounded).unwrap();
        assert_eq!((&reply.body[..], reply.is_cut), (expected, is_cut));
    }
}

#[test]
fn a_compressed_body_is_framed_in_every_way() {
    let body = gzip(b"in parts");
    let mut chunks =
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for part in body.chunks(3) {
        chunks.extend_from_slice(format!("{:x}\r\n", part.len()).as_bytes());
        chunks.extend_from_slice(part);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    assert_eq!(FetchHost::saying(chunks).fetch("/").unwrap().body, b"in parts");
    let until_close = [&b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"[..], &body].concat();
    assert_eq!(FetchHost::saying(until_close).fetch("/").unwrap().body, b"in parts");
    let plain = answer("200 OK", "Content-Encoding: gzip\r\n", &gzip(b"plain"));
    assert_eq!(FetchHost::saying_plainly(plain).fetch("/").unwrap().body, b"plain");
}

#[test]
fn the_headers_of_a_head_request_are_those_of_the_host() {
    let host = FetchHost::saying(
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 99\r\n\r\n",
    );
    let head = FetchRequest { method: FetchMethod::Head, ..request(&host.url("/")) };
    let reply = fetch(&host.client(), &head).unwrap();
    assert_eq!(
        (reply.header("content-encoding"), reply.header("content-length")),
        (Some("gzip"), Some("99"))
    );
    assert!(reply.body.is_empty() && !reply.is_cut);
}

#[test]
fn a_body_that_is_not_what_it_says_is_told() {
    let whole = gzip("text that is long enough to be cut".repeat(9).as_bytes());
    let half = &whole[..whole.len() / 2];
    let mut wrong_sum = whole.clone();
    let last = wrong_sum.len() - 6;
    wrong_sum[last] ^= 1;
    for (coding, body) in [
        ("gzip", half),
        ("gzip", b"no gzip at all"),
        ("gzip", &wrong_sum),
        ("br", &BROTLI[..10]),
        ("br", b"\xff\xff\xff\xff"),
        ("deflate", b"no deflate"),
        ("zstd", b"x"),
        ("gzip, gzip", &whole),
        ("\u{1b}[2J", b"x"),
    ] {
        assert_eq!(reason(encoded(coding, body).fetch("/")), "bad_answer", "{coding}");
    }
    assert_eq!(encoded("gzip", &whole).fetch("/").unwrap().status, 200);
}

#[test]
fn a_reply_that_is_not_http_is_told() {
    for reply in [
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nhello".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel".to_owned(),
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n0\r\n\r\n".to_owned(),
        "HTTP/1.1 101 Switching Protocols\r\n\r\n".to_owned(),
        "HTTP/1.1 100 Continue\r\n\r\n".repeat(50),
        format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(200_000)),
        format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(10_000)),
    ] {
        let host = FetchHost::saying(reply.as_str());
        let beginning = &reply[..reply.len().min(70)];
        assert_eq!(reason(host.fetch("/")), "bad_answer", "{beginning}");
    }
}

#[test]
fn a_reply_that_trickles_ends_with_the_deadline() {
    for (head, part) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x"),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n"),
        ("HTTP/1.1 200 OK\r\nX: ", "y"),
        ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f", ""),
        ("", ""),
    ] {
        let host = FetchHost::start(move |_, _, stream| {
            let _ = stream.write_all(head.as_bytes());
            // Longer than anyone waits, but not for ever.
            for _ in 0..500 {
                std::thread::sleep(Duration::from_millis(20));
                if stream.write_all(part.as_bytes()).and_then(|()| stream.flush()).is_err() {
                    break;
                }
            }
        });
        let short = FetchRequest { time: Duration::from_millis(300), ..request(&host.url("/")) };
        let err = fetch(&host.client(), &short).unwrap_err();
        assert_eq!(
            (err.kind, &err.context["reason"]),
            (ErrorKind::Timeout, &"deadline".into()),
            "{head}"
        );
    }
}
