//! Which requests are sent again.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use toolcrib_core::net::{FetchMethod, FetchRequest, Net};
use toolcrib_core::{Cancel, ErrorKind};

use crate::fetch_host::{FetchHost, HERE, answer, client, fetch, reason, request};

/// Answers the first requests with `status`, and then with 200.
fn recovering(failures: usize, status: &'static str, headers: &'static str) -> FetchHost {
    FetchHost::start(move |_, before, stream| {
        let reply = if before < failures {
            answer(status, headers, b"later")
        } else {
            answer("200 OK", "", b"now")
        };
        let _ = stream.write_all(&reply);
    })
}

#[test]
fn a_host_that_is_away_for_a_moment_is_asked_again() {
    for (status, headers) in [
        ("502 Bad Gateway", ""),
        ("503 Service Unavailable", "Retry-After: 0\r\n"),
        ("504 Gateway Timeout", ""),
        ("429 Too Many Requests", "Retry-After: 0\r\n"),
        ("429 Too Many Requests", "Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n"),
    ] {
        let host = recovering(1, status, headers);
        let reply = host.fetch("/").unwrap();
        assert_eq!((reply.status, reply.attempts, host.asked().len()), (200, 2, 2), "{status}");
    }
    let host = recovering(0, "", "");
    assert_eq!(host.fetch("/").unwrap().attempts, 1);
}

#[test]
fn a_request_is_sent_three_times_at_most() {
    let host = recovering(9, "503 Service Unavailable", "Retry-After: 0\r\n");
    let reply = host.fetch("/").unwrap();
    assert_eq!((reply.status, reply.attempts, &reply.body[..]), (503, 3, &b"later"[..]));
    assert_eq!(host.asked().len(), 3);
}

#[test]
fn what_is_not_safe_or_not_promising_is_sent_once() {
    for (method, status, headers) in [
        (FetchMethod::Post, "503 Service Unavailable", "Retry-After: 0\r\n"),
        (FetchMethod::Put, "502 Bad Gateway", ""),
        (FetchMethod::Patch, "502 Bad Gateway", ""),
        (FetchMethod::Delete, "504 Gateway Timeout", ""),
        (FetchMethod::Get, "429 Too Many Requests", ""),
        (FetchMethod::Get, "429 Too Many Requests", "Retry-After: soon\r\n"),
        (FetchMethod::Get, "500 Internal Server Error", "Retry-After: 0\r\n"),
        (FetchMethod::Get, "404 Not Found", "Retry-After: 0\r\n"),
        // It does not fit into the deadline.
        (FetchMethod::Get, "503 Service Unavailable", "Retry-After: 600\r\n"),
    ] {
        let host = recovering(1, status, headers);
        let reply =
            fetch(&host.client(), &FetchRequest { method, ..request(&host.url("/")) }).unwrap();
        assert!(status.starts_with(&reply.status.to_string()), "{status}");
        assert_eq!((reply.attempts, host.asked().len()), (1, 1), "{method:?} {status} {headers}");
    }
    let head = FetchRequest { method: FetchMethod::Head, ..request("") };
    let host = recovering(1, "503 Service Unavailable", "Retry-After: 0\r\n");
    assert_eq!(
        fetch(&host.client(), &FetchRequest { url: host.url("/"), ..head }).unwrap().attempts,
        2
    );
}

#[test]
fn a_named_date_is_waited_for_if_it_fits() {
    let at = |seconds: u64| {
        let then = Timestamp::try_from(SystemTime::now() + Duration::from_secs(seconds)).unwrap();
        let then = DateTimePrinter::new().timestamp_to_rfc9110_string(&then).unwrap();
        answer("503 Service Unavailable", &format!("Retry-After: {then}\r\n"), b"")
    };
    let (soon, late) = (at(1), at(3600));
    let serve = |first: Vec<u8>| {
        FetchHost::start(move |_, before, stream| {
            let reply = if before == 0 { first.clone() } else { answer("200 OK", "", b"") };
            let _ = stream.write_all(&reply);
        })
    };
    assert_eq!(serve(soon).fetch("/").unwrap().status, 200);
    assert_eq!(serve(late).fetch("/").unwrap().status, 503);
}

#[test]
fn a_connection_that_breaks_before_the_reply_is_made_again() {
    // A socket that closes with bytes unread sends a reset.
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            let mut stream = stream;
            if number == 0 {
                let _ = stream.read(&mut [0; 1]);
                continue;
            }
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(&answer("200 OK", "", b"again"));
        }
    });
    let net = client(vec![port]);
    let reply = fetch(&net, &request(&format!("http://host.test:{port}/"))).unwrap();
    assert_eq!((&reply.body[..], reply.attempts), (&b"again"[..], 2));
    // Nobody listens at a port that was just given back.
    let closed = TcpListener::bind((HERE, 0)).unwrap().local_addr().unwrap().port();
    let net = client(vec![closed]);
    let url = format!("http://host.test:{closed}/");
    let err = fetch(&net, &request(&url)).unwrap_err();
    assert_eq!(
        (&err.context["reason"], &err.context["attempts"]),
        (&"unreachable".into(), &3.into())
    );
    let posted = FetchRequest { method: FetchMethod::Post, ..request(&url) };
    assert!(!fetch(&net, &posted).unwrap_err().context.contains_key("attempts"));
}

#[test]
fn a_reply_that_breaks_off_is_not_asked_for_again() {
    let host = FetchHost::saying("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf");
    assert_eq!(reason(host.fetch("/")), "bad_answer");
    assert_eq!(host.asked().len(), 1);
}

#[test]
fn a_wait_ends_when_the_call_is_cancelled() {
    let host = recovering(1, "503 Service Unavailable", "Retry-After: 15\r\n");
    let (cancel, net, wanted) = (Cancel::default(), host.client(), request(&host.url("/")));
    let err = thread::scope(|scope| {
        let fetching = scope.spawn(|| net.fetch(&wanted, &cancel));
        while host.asked().is_empty() {
            thread::yield_now();
        }
        cancel.cancel();
        fetching.join().unwrap().unwrap_err()
    });
    assert_eq!((err.kind, host.asked().len()), (ErrorKind::Cancelled, 1));
}
