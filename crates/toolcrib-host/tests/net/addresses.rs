//! Every way to write an address that is not of the open internet, and every way for a name to lead to one.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolcrib_host::NetClient;

use crate::fetch_host::{FetchHost, HERE, answer, fetch, reason, request};

/// Hosts as a URL can have them, and why they are refused.
const REFUSED_HOSTS: [(&str, &str); 56] = [
    ("127.0.0.1", "private_address"),
    ("127.0.0.1.", "private_address"),
    ("127.1", "private_address"),
    ("127.0.1", "private_address"),
    ("2130706433", "private_address"),
    ("017700000001", "private_address"),
    ("0177.0.0.1", "private_address"),
    ("0177.1", "private_address"),
    ("00000177.0.0.01", "private_address"),
    ("0x7f000001", "private_address"),
    ("0X7F.0x0.0x0.0x1", "private_address"),
    ("0x7f.1", "private_address"),
    ("0", "private_address"),
    ("0x", "private_address"),
    ("0.0.0.0", "private_address"),
    ("255.255.255.255", "private_address"),
    ("3232235777", "private_address"),
    ("169.254.169.254", "private_address"),
    ("2852039166", "private_address"),
    ("100.100.100.200", "private_address"),
    ("\u{2460}\u{2461}\u{2466}.\u{24ea}.\u{24ea}.\u{2460}", "private_address"),
    ("127\u{3002}0\u{3002}0\u{3002}1", "private_address"),
    ("\u{ff11}27.0.0.1", "private_address"),
    ("%31%32%37.0.0.1", "private_address"),
    ("[::]", "private_address"),
    ("[::1]", "private_address"),
    ("[0:0:0:0:0:0:0:1]", "private_address"),
    ("[::127.0.0.1]", "private_address"),
    ("[::ffff:127.0.0.1]", "private_address"),
    ("[::ffff:7f00:1]", "private_address"),
    ("[::ffff:8.8.8.8]", "private_address"),
    ("[::ffff:0:127.0.0.1]", "private_address"),
    ("[64:ff9b::127.0.0.1]", "private_address"),
    ("[64:ff9b::a9fe:a9fe]", "private_address"),
    ("[64:ff9b:1::10.0.0.1]", "private_address"),
    ("[2002:7f00:1::]", "private_address"),
    ("[2002:a9fe:a9fe::1]", "private_address"),
    ("[2001:0:7f00:1::]", "private_address"),
    ("[2001:db8::1]", "private_address"),
    ("[fc00::1]", "private_address"),
    ("[fd00:ec2::254]", "private_address"),
    ("[fe80::1]", "private_address"),
    ("[fec0::1]", "private_address"),
    ("[ff02::1]", "private_address"),
    ("localhost", "private_address"),
    ("LOCALHOST.", "private_address"),
    ("127.0.0.1.localhost", "private_address"),
    ("user@127.0.0.1", "userinfo_not_allowed"),
    ("good.example:pw@127.0.0.1", "userinfo_not_allowed"),
    ("127.0.0.256", "invalid_url"),
    ("4294967296", "invalid_url"),
    ("[fe80::1%25lo]", "invalid_url"),
    // An address of the open internet, not written as it is reached.
    ("0x08080808", "invalid_url"),
    ("8.8.8.8.", "invalid_url"),
    ("8.8\u{3002}8.8", "invalid_url"),
    ("b\u{fc}cher.example", "invalid_url"),
];

/// The real client but for its resolver, for which every name leads to this machine.
fn real_client(ports: Vec<u16>) -> NetClient {
    let resolve = |_: &str, port: u16| Ok(vec![SocketAddr::new(HERE, port)]);
    NetClient::new(ports, Box::new(|| Err(std::io::Error::other("no TLS"))))
        .with_resolver(Box::new(resolve), Vec::new())
}

#[test]
fn no_spelling_of_an_address_leads_inside() {
    let canary = FetchHost::saying_plainly(answer("200 OK", "", b"SECRET"));
    let port = canary.port();
    let net = real_client(vec![port]);
    for (host, expected) in REFUSED_HOSTS {
        let url = format!("http://{host}:{port}/");
        assert_eq!(reason(fetch(&net, &request(&url))), expected, "{host}");
    }
    assert_eq!(canary.asked().len(), 0);
    // The control: where the address counts as open, it and its names are reached.
    for host in ["127.0.0.1", "localhost", "xn--bcher-kva.example", "LOCALHOST."] {
        let url = format!("http://{host}:{port}/");
        assert_eq!(fetch(&canary.client(), &request(&url)).unwrap().body, b"SECRET", "{host}");
    }
}

#[test]
fn every_address_of_a_name_is_checked_and_the_checked_one_is_dialled() {
    let host = FetchHost::saying_plainly(answer("200 OK", "", b"here"));
    let asked = Arc::new(AtomicUsize::new(0));
    let inner: IpAddr = [127, 9, 9, 9].into();
    let counter = Arc::clone(&asked);
    // The second look-up would lead elsewhere, as with DNS rebinding.
    let resolve = move |_: &str, port: u16| {
        let addresses = match counter.fetch_add(1, Ordering::Relaxed) {
            0 => vec![inner, HERE],
            _ => vec![inner],
        };
        Ok(addresses.into_iter().map(|address| SocketAddr::new(address, port)).collect())
    };
    let net = NetClient::new(vec![host.port()], Box::new(|| Err(std::io::Error::other("no TLS"))))
        .with_resolver(Box::new(resolve), vec![HERE]);
    let request = request(&host.url("/"));
    assert_eq!(fetch(&net, &request).unwrap().body, b"here");
    assert_eq!(asked.load(Ordering::Relaxed), 1, "a name is looked up once for each connection");
    assert!(host.asked()[0].contains(&format!("\r\nHost: host.test:{}\r\n", host.port())));
    assert_eq!(reason(fetch(&net, &request)), "private_address");
    assert_eq!(host.asked().len(), 1);
}
