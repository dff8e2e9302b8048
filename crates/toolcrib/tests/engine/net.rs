//! What tools fetch: from hosts on the open internet alone, within bounds, and decided like every other call. A server of
//! the test stands for the internet.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use toolcrib::wiring::OpenOptions;
use toolcrib_core::net::{FetchMethod, FetchReply, FetchRequest, Net};
use toolcrib_core::{Cancel, ErrorKind, ToolError};
use toolcrib_host::NetClient;

use crate::opened::{Opened, Scratch};
use crate::test_host::{HERE, TestHost, client, no_tls, read_request};

fn request(url: &str) -> FetchRequest {
    FetchRequest { time: Duration::from_secs(20), most_bytes: 1000, ..FetchRequest::get(url) }
}

fn fetch(client: &NetClient, url: &str) -> Result<FetchReply, ToolError> {
    client.fetch(&request(url), &Cancel::default())
}

fn fetch_from(host: &TestHost, rest: &str) -> Result<FetchReply, ToolError> {
    fetch(&host.client(), &host.url(rest))
}

#[track_caller]
fn reason(result: Result<FetchReply, ToolError>) -> String {
    let err = result.unwrap_err();
    err.context.get("reason").and_then(Value::as_str).unwrap_or(err.kind.as_str()).to_owned()
}

#[test]
fn a_reply_comes_whole_or_says_that_it_was_cut() {
    let plain = TestHost::saying("HTTP/1.1 200 OK\r\nX-A: b\r\nContent-Length: 5\r\n\r\nhello");
    let reply = fetch_from(&plain, "/a?b=c").unwrap();
    assert_eq!((reply.status, &reply.body[..], reply.is_cut), (200, &b"hello"[..], false));
    assert!(reply.headers.contains(&("x-a".to_owned(), "b".to_owned())));
    let asked = &plain.asked()[0];
    assert!(asked.starts_with("GET /a?b=c HTTP/1.1\r\n"), "{asked}");
    assert!(asked.contains(&format!("Host: host.test:{}\r\n", plain.port())), "{asked}");
    let chunks =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";
    assert_eq!(fetch_from(&TestHost::saying(chunks), "/").unwrap().body, b"hello");
    let closed = TestHost::saying("HTTP/1.0 404 Not Found\r\n\r\nno");
    let reply = fetch_from(&closed, "/").unwrap();
    assert_eq!((reply.status, &reply.body[..]), (404, &b"no"[..]));
    let later = TestHost::saying("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n");
    assert_eq!(fetch_from(&later, "/").unwrap().status, 204);
    let endless = TestHost::start(|_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while stream.write_all(b"4\r\nabcd\r\n").is_ok() {}
    });
    let reply = fetch_from(&endless, "/").unwrap();
    assert_eq!((reply.body.len(), reply.is_cut), (1000, true));
}

#[test]
fn a_bad_reply_is_told() {
    let long: &str = Box::leak(format!("HTTP/1.1 200 OK\r\nX: {}", "a".repeat(200_000)).into());
    let many: &str =
        Box::leak(format!("HTTP/1.1 200 OK\r\n{}\r\n", "X: y\r\n".repeat(1000)).into());
    for reply in [
        "garbage\r\n\r\n",
        "",
        "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nzzz",
        long,
        many,
    ] {
        let host = TestHost::saying(reply);
        assert_eq!(
            reason(fetch_from(&host, "/")),
            "bad_answer",
            "{}",
            &reply[..reply.len().min(60)]
        );
    }
    assert_eq!(reason(fetch(&client(vec![1], no_tls), "http://host.test:1/")), "unreachable");
    assert_eq!(reason(fetch(&client(vec![80], no_tls), "http://nowhere.test/")), "unreachable");
}

#[test]
fn a_host_that_is_slow_or_not_wanted_any_more_is_left() {
    let silent = TestHost::start(|_, stream| {
        let _ = stream.read(&mut [0; 1]);
    });
    let slow = FetchRequest { time: Duration::from_millis(300), ..request(&silent.url("/")) };
    let err = silent.client().fetch(&slow, &Cancel::default()).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Timeout);
    let slow_name = format!("http://slow.test:{}/", silent.port());
    let unknown = FetchRequest { url: slow_name, ..slow };
    let err = silent.client().fetch(&unknown, &Cancel::default()).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Timeout, "the resolver does not keep a call");
    let cancel = Cancel::default();
    thread::scope(|scope| {
        let client = silent.client();
        let url = request(&silent.url("/"));
        let fetching = scope.spawn({
            let cancel = cancel.clone();
            move || client.fetch(&url, &cancel)
        });
        while silent.asked().len() < 2 {
            thread::yield_now();
        }
        cancel.cancel();
        assert_eq!(fetching.join().unwrap().unwrap_err().kind, ErrorKind::Cancelled);
    });
}

#[test]
fn what_is_not_on_the_open_internet_is_not_connected_to() {
    let canary = TestHost::saying("HTTP/1.1 200 OK\r\n\r\nSECRET");
    let port = canary.port();
    // As the real client is, for which no local address counts as open.
    let real = NetClient::new(vec![80, port], Box::new(no_tls));
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "127.1",
        "0",
        "0.0.0.0",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "[64:ff9b:1::7f00:1]",
        "[2002:7f00:1::]",
        "[2001:0:7f00:1::]",
        "[fec0::1]",
        "[fd00:ec2::254]",
        "[fe80::1]",
        "[::ffff:0:127.0.0.1]",
        "169.254.169.254",
        "100.100.100.200",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}",
        "127\u{3002}0\u{3002}0\u{3002}1",
        "localhost",
    ] {
        let got = reason(fetch(&real, &format!("http://{host}:{port}/")));
        assert_eq!(got, "private_address", "{host}");
    }
    assert_eq!(
        reason(fetch(&canary.client(), &format!("http://inner.test:{port}/"))),
        "private_address"
    );
    assert_eq!(canary.asked(), Vec::<String>::new());
    // The control: the same server, where its address counts as open.
    assert_eq!(fetch_from(&canary, "/").unwrap().body, b"SECRET");
}

#[test]
fn a_redirect_is_followed_on_the_same_host_alone() {
    let host = TestHost::start(|path, stream| {
        let to = match path {
            "/one" => "two",
            "/two" | "/post" => "/three",
            "/loop" => "/loop",
            "/other" => "http://other.test:80/x",
            "/bare" => "//127.0.0.1/",
            "/file" => "file:///etc/passwd",
            _ => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nend");
                return;
            }
        };
        let reply = format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n");
        let _ = stream.write_all(reply.as_bytes());
    });
    let ports = vec![80, host.port()];
    let client = client(ports, no_tls);
    let reply = fetch(&client, &host.url("/one")).unwrap();
    assert_eq!((&reply.body[..], reply.url), (&b"end"[..], host.url("/three")));
    assert_eq!(reason(fetch(&client, &host.url("/loop"))), "too_many_redirects");
    for (path, leads) in [("/other", "http://other.test/x"), ("/bare", "http://127.0.0.1/")] {
        let reply = fetch(&client, &host.url(path)).unwrap();
        assert_eq!((reply.status, reply.redirect.as_deref()), (302, Some(leads)));
    }
    assert_eq!(reason(fetch(&client, &host.url("/file"))), "scheme_not_allowed");
    let posted = FetchRequest {
        method: FetchMethod::Post,
        body: Some("data".to_owned()),
        headers: vec![("Authorization".to_owned(), "t".to_owned())],
        ..request(&host.url("/post"))
    };
    client.fetch(&posted, &Cancel::default()).unwrap();
    let asked = host.asked();
    let [sent, after] = &asked[asked.len() - 2..] else { unreachable!() };
    assert!(sent.starts_with("POST /post ") && sent.ends_with("\r\n\r\ndata"), "{sent}");
    assert!(after.starts_with("GET /three ") && after.ends_with("\r\n\r\n"), "{after}");
    assert!(after.contains("Authorization: t"), "the same origin gets it: {after}");
}

#[test]
fn a_header_cannot_make_another_request() {
    let host = TestHost::saying("HTTP/1.1 200 OK\r\n\r\n");
    for (name, value) in [
        ("X", "a\r\nY: b"),
        ("X\r\nY", "a"),
        ("Host", "evil.test"),
        ("content-length", "3"),
        ("Transfer-Encoding", "chunked"),
        ("", "a"),
        ("X", "\u{e9}"),
    ] {
        let headers = vec![(name.to_owned(), value.to_owned())];
        let bad = FetchRequest { headers, ..request(&host.url("/")) };
        assert_eq!(
            reason(host.client().fetch(&bad, &Cancel::default())),
            "invalid_header",
            "{name}"
        );
    }
    assert_eq!(host.asked().len(), 0);
    let headers = vec![("X-Mine".to_owned(), "a".to_owned())];
    let good = FetchRequest { headers, ..request(&host.url("/")) };
    host.client().fetch(&good, &Cancel::default()).unwrap();
    assert!(host.asked()[0].contains("\r\nX-Mine: a\r\n"));
}

#[test]
fn a_host_proves_who_it_is_by_a_certificate_for_its_name() {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["host.test".to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = || Arc::new(rustls::crypto::ring::default_provider());
    let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let server = ServerConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], private)
        .unwrap();
    let server = Arc::new(server);
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let connection = ServerConnection::new(Arc::clone(&server)).unwrap();
            let mut stream = StreamOwned::new(connection, stream);
            read_request(&mut stream);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nsafe");
            let _ = stream.flush();
        }
    });
    let trusting = |roots: RootCertStore| {
        let config = ClientConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let config = Arc::new(config);
        client(vec![port], move || Ok(Arc::clone(&config)))
    };
    let mut roots = RootCertStore::empty();
    roots.add(certificate.der().clone()).unwrap();
    let trusts = trusting(roots);
    let reply = fetch(&trusts, &format!("https://host.test:{port}/")).unwrap();
    assert_eq!(reply.body, b"safe");
    assert_eq!(reason(fetch(&trusts, &format!("https://other.test:{port}/"))), "tls_error");
    let strict = trusting(RootCertStore::empty());
    assert_eq!(reason(fetch(&strict, &format!("https://host.test:{port}/"))), "tls_error");
}

/// Opens with a net for which every name leads to the test's host.
fn open_with_net(scratch: &Scratch, host: &TestHost, settings: &[&str]) -> Opened {
    let net: Arc<dyn Net> = Arc::new(host.client());
    let options = OpenOptions { net: Some(net), ..scratch.options(settings) };
    Opened::of(&options).unwrap()
}

#[test]
fn http_fetch_is_gated_asked_about_and_on_the_record() {
    let host = TestHost::saying("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    let scratch = Scratch::new();
    let args = json!({"url": host.url("/a")});
    let gated = open_with_net(&scratch, &host, &[]);
    assert_eq!(gated.approve("forgekeeper/http_fetch", args.clone()).kind(), "not_offered");
    drop(gated);
    let crib = open_with_net(&scratch, &host, &["forgekeeper.http_fetch=on"]);
    assert_eq!(crib.call("forgekeeper/http_fetch", args.clone()).kind(), "approval_required");
    assert_eq!(host.asked().len(), 0);
    let fetched = crib.approve("forgekeeper/http_fetch", args.clone());
    assert_eq!(fetched.json()["result"]["body"], "hello", "{}", fetched.text());
    assert_eq!(fetched.json()["result"]["status"], 200);
    assert_eq!(host.asked().len(), 1);
    drop(crib);
    scratch.put_rules("[[rule]]\neffect = \"deny\"\nhosts = [\"host.test\"]\n");
    let crib = open_with_net(&scratch, &host, &["forgekeeper.http_fetch=on"]);
    assert_eq!(crib.approve("forgekeeper/http_fetch", args).kind(), "refused");
    assert_eq!(host.asked().len(), 1, "a rule about the host holds");
}
