//! Which hosts a request reaches, and what goes along when a host redirects.

use toolcrib_core::ErrorKind;
use toolcrib_core::net::{AllowedAddresses, FetchMethod, FetchRequest};
use toolcrib_host::NetClient;

use crate::fetch_host::{FetchHost, answer, client, fetch, reason, request};

/// Redirects `/to` to where the second word says, and answers everything else.
fn redirecting(to: String) -> FetchHost {
    FetchHost::start(move |asked, _, stream| {
        let reply = if asked.contains(" /to ") {
            answer("307 Temporary Redirect", &format!("Location: {to}\r\n"), b"")
        } else {
            answer("200 OK", "", b"end")
        };
        let _ = stream.write_all(&reply);
    })
}

#[test]
fn an_address_of_this_machine_needs_an_operator() {
    let host = FetchHost::saying_plainly(answer("200 OK", "", b"local"));
    let real = NetClient::new(vec![443], Box::new(|| Err(std::io::Error::other("no TLS"))));
    let url = format!("http://127.0.0.1:{}/", host.port());
    let named = FetchRequest { addresses: AllowedAddresses::Operator, ..request(&url) };
    assert_eq!(fetch(&real, &named).unwrap().body, b"local");
    assert_eq!(reason(fetch(&real, &request(&url))), "port_not_allowed");
    let real = NetClient::new(vec![host.port()], Box::new(|| Err(std::io::Error::other("no TLS"))));
    assert_eq!(reason(fetch(&real, &request(&url))), "private_address");
    assert_eq!(host.asked().len(), 1);
    // What is no URL of a host stays refused.
    for (url, expected) in [
        ("file:///etc/passwd", "scheme_not_allowed"),
        ("http://user:pw@127.0.0.1/", "userinfo_not_allowed"),
        ("http://127.0.0.1:0/", "port_not_allowed"),
    ] {
        let named = FetchRequest { addresses: AllowedAddresses::Operator, ..request(url) };
        assert_eq!(reason(fetch(&real, &named)), expected, "{url}");
    }
}

#[test]
fn what_an_operator_named_is_not_left_by_a_redirect() {
    let secret = FetchHost::saying(answer("200 OK", "", b"SECRET"));
    for to in [
        format!("https://127.0.0.1:{}/", secret.port()),
        format!("https://host.test:{}/", secret.port()),
        "https://169.254.169.254/latest".to_owned(),
    ] {
        let host = redirecting(to.clone());
        let named =
            FetchRequest { addresses: AllowedAddresses::Operator, ..request(&host.url("/to")) };
        let reply = fetch(&host.client(), &named).unwrap();
        assert_eq!((reply.status, reply.redirect), (307, Some(to)));
    }
    assert_eq!(secret.asked().len(), 0);
    let host = redirecting("/there".to_owned());
    let named = FetchRequest { addresses: AllowedAddresses::Operator, ..request(&host.url("/to")) };
    assert_eq!(fetch(&host.client(), &named).unwrap().body, b"end");
}

#[test]
fn credentials_do_not_cross_origins() {
    let other = FetchHost::saying(answer("200 OK", "", b"other"));
    let host = redirecting(format!("https://host.test:{}/", other.port()));
    let net = client(vec![host.port(), other.port()]);
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let with_headers = FetchRequest {
        headers: vec![
            header("Authorization", "Bearer t"),
            header("Cookie", "c=1"),
            header("X-Api-Key", "k"),
            header("Accept-Language", "de"),
        ],
        ..request(&host.url("/to"))
    };
    assert_eq!(fetch(&net, &with_headers).unwrap().body, b"other");
    let (first, second) = (&host.asked()[0], &other.asked()[0]);
    for name in ["Authorization", "Cookie", "X-Api-Key"] {
        assert!(first.contains(name) && !second.contains(name), "{second}");
    }
    assert!(second.contains("\r\nAccept-Language: de\r\n"), "{second}");
    let posted = FetchRequest {
        method: FetchMethod::Post,
        body: Some("client_secret=s".to_owned()),
        ..request(&host.url("/to"))
    };
    let reply = fetch(&net, &posted).unwrap();
    assert_eq!((reply.status, reply.redirect), (307, Some(other.url("/"))));
    assert_eq!(other.asked().len(), 1, "a body goes to no other origin");
}

#[test]
fn https_is_not_left_for_http() {
    let plain = FetchHost::saying_plainly(answer("200 OK", "", b"plain"));
    let to = plain.url("/");
    let host = FetchHost::start(move |_, _, stream| {
        let reply = answer("302 Found", &format!("Location: {to}\r\n"), b"");
        let _ = stream.write_all(&reply);
    });
    let net = host.client();
    let err = fetch(&net, &request(&host.url("/"))).unwrap_err();
    assert_eq!(err.context["reason"], "port_not_allowed");
    let named = FetchRequest { addresses: AllowedAddresses::Operator, ..request(&host.url("/")) };
    let err = fetch(&net, &named).unwrap_err();
    assert_eq!((err.kind, &err.context["reason"]), (ErrorKind::Refused, &"downgrade".into()));
    assert_eq!(plain.asked().len(), 0);
}
