//! Hosts that do not prove who they are, or break TLS itself.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use rcgen::{CertificateParams, date_time_ymd};
use toolcrib_core::ErrorKind;
use toolcrib_core::net::FetchRequest;

use crate::fetch_host::{
    FetchHost, HERE, Identity, client, client_trusting, fetch, identity, reason, request,
};

/// An identity with a certificate for `name`, changed.
fn certified(name: &str, change: fn(&mut CertificateParams)) -> Identity {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    change(&mut params);
    identity(params)
}

#[test]
fn a_host_that_does_not_prove_who_it_is_is_asked_nothing() {
    let expired = |params: &mut CertificateParams| params.not_after = date_time_ymd(2001, 2, 3);
    let later = |params: &mut CertificateParams| params.not_before = date_time_ymd(2201, 2, 3);
    for (case, identity, is_trusted) in [
        ("untrusted", certified("host.test", |_| ()), false),
        ("another name", certified("other.test", |_| ()), true),
        ("a part of the name", certified("ost.test", |_| ()), true),
        ("expired", certified("host.test", expired), true),
        ("not yet valid", certified("host.test", later), true),
    ] {
        let certificate = identity.1.clone();
        let host = FetchHost::proving(identity);
        let net = if is_trusted {
            client_trusting(certificate, vec![host.port()])
        } else {
            host.client()
        };
        let err = fetch(&net, &request(&host.url("/"))).unwrap_err();
        assert_eq!(
            (err.kind, &err.context["reason"]),
            (ErrorKind::Refused, &"tls_error".into()),
            "{case}: {err}"
        );
        assert_eq!(host.asked().len(), 0, "{case}");
    }
    // The control.
    let identity = certified("host.test", |_| ());
    let certificate = identity.1.clone();
    let host = FetchHost::proving(identity);
    let net = client_trusting(certificate, vec![host.port()]);
    assert_eq!(fetch(&net, &request(&host.url("/"))).unwrap().body, b"who");
}

/// Answers the first bytes of every connection with these, and waits for the other side to close it.
fn saying_instead_of_tls(said: &'static [u8]) -> u16 {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(said);
            let _ = stream.read(&mut [0; 4096]);
        }
    });
    port
}

#[test]
fn what_is_no_tls_is_told() {
    for (said, expected) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..], "tls_error"),
        (b"\x16\x03\x03\xff\xff too long a record", "tls_error"),
        // The alert `handshake_failure`.
        (b"\x15\x03\x03\x00\x02\x02\x28", "tls_error"),
        // A record that never ends.
        (b"\x16\x03\x03\x40\x00\x02", "deadline"),
    ] {
        let port = saying_instead_of_tls(said);
        let url = format!("https://host.test:{port}/");
        let short = FetchRequest { time: Duration::from_millis(500), ..request(&url) };
        assert_eq!(reason(fetch(&client(vec![port]), &short)), expected, "{said:?}");
    }
}

/// The length of the record with which TLS 1.3 says that a connection ends: an alert of two bytes, encrypted.
const CLOSING_RECORD_BYTES: usize = 19;

/// Passes bytes on in both directions, but for the record with which the host says that it ends: `end` decides about that one.
fn ending_with(host: &FetchHost, end: fn(&mut TcpStream, &[u8])) -> u16 {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let (port, to) = (listener.local_addr().unwrap().port(), host.port());
    thread::spawn(move || {
        for mut near in listener.incoming().flatten() {
            let mut far = TcpStream::connect((HERE, to)).unwrap();
            let (mut from_near, mut to_far) = (near.try_clone().unwrap(), far.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from_near, &mut to_far));
            let mut record = vec![0; 5];
            while far.read_exact(&mut record[..5]).is_ok() {
                let length = usize::from(u16::from_be_bytes([record[3], record[4]]));
                record.resize(5 + length, 0);
                far.read_exact(&mut record[5..]).unwrap();
                match length {
                    CLOSING_RECORD_BYTES => end(&mut near, &record),
                    _ => near.write_all(&record).unwrap(),
                }
            }
            let _ = near.shutdown(Shutdown::Both);
        }
    });
    port
}

#[test]
fn a_reply_that_is_broken_on_its_way_is_not_a_reply() {
    // The body goes on until the connection closes, so only TLS tells its end from a break.
    let host = FetchHost::saying("HTTP/1.1 200 OK\r\n\r\nall of it");
    let fetched = |end: fn(&mut TcpStream, &[u8])| {
        let port = ending_with(&host, end);
        fetch(&client(vec![port]), &request(&format!("https://host.test:{port}/")))
    };
    let passed_on = fetched(|near, record| near.write_all(record).unwrap());
    assert_eq!(passed_on.unwrap().body, b"all of it");
    assert_eq!(reason(fetched(|_, _| ())), "bad_answer", "cut off");
    let forged = fetched(|near, record| {
        let (last, rest) = record.split_last().unwrap();
        near.write_all(&[rest, &[last ^ 1]].concat()).unwrap();
    });
    let err = forged.unwrap_err();
    assert_eq!(err.context["reason"], "bad_answer", "{err}");
}
