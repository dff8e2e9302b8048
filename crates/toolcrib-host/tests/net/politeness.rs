//! Manners towards hosts: robots.txt, the crawl delay, and the name that the net gives itself.

use std::time::{Duration, Instant};

use toolcrib_core::net::{FetchReply, FetchRequest, Net, Politeness};
use toolcrib_core::{Cancel, ErrorKind, ToolError};
use toolcrib_host::{NetClient, NetManners};

use crate::fetch_host::{FetchHost, answer, client, fetch, reason, request};

const ROBOTS: &str = "# ours\nUser-agent: *\nDisallow: /private\n";

/// Serves this robots.txt, and a page at every other path.
fn with_robots(robots: Vec<u8>) -> FetchHost {
    FetchHost::start(move |asked, _, stream| {
        let page = answer("200 OK", "", b"page");
        let is_robots = asked.starts_with("GET /robots.txt ");
        let _ = stream.write_all(if is_robots { &robots } else { &page });
    })
}

fn manners() -> NetManners {
    NetManners { crawl_delay: Duration::ZERO, ..NetManners::default() }
}

fn page(url: &str) -> FetchRequest {
    FetchRequest { politeness: Politeness::Page, ..request(url) }
}

fn read(net: &NetClient, host: &FetchHost, path: &str) -> Result<FetchReply, ToolError> {
    fetch(net, &page(&host.url(path)))
}

#[test]
fn a_page_that_robots_txt_denies_is_not_fetched() {
    let host = with_robots(answer("200 OK", "", ROBOTS.as_bytes()));
    let net = host.client().with_manners(manners());
    let err = read(&net, &host, "/private/a").unwrap_err();
    assert_eq!((err.kind, &err.context["reason"]), (ErrorKind::Refused, &"robots".into()));
    assert!(err.message.contains("line 3, `Disallow: /private`"), "{err}");
    assert!(err.hint.unwrap().contains("`web.robots`"));
    for path in ["/public", "/also?x"] {
        assert_eq!(read(&net, &host, path).unwrap().body, b"page");
    }
    assert_eq!(host.paths(), ["/robots.txt", "/public", "/also?x"], "robots.txt is fetched once");
    // Programs that call an API are not asked, nor does anyone ask with the setting off.
    assert_eq!(fetch(&net, &request(&host.url("/private"))).unwrap().body, b"page");
    let off = host.client().with_manners(NetManners { robots: false, ..manners() });
    assert_eq!(read(&off, &host, "/private").unwrap().body, b"page");
    assert_eq!(host.paths().iter().filter(|path| *path == "/robots.txt").count(), 1);
}

#[test]
fn rules_are_for_the_name_that_is_sent() {
    let robots = "User-agent: crib\nDisallow: /a\nUser-agent: toolcrib\nDisallow: /b\n";
    let host = with_robots(answer("200 OK", "", robots.as_bytes()));
    let named = manners().with_user_agent("Crib/2 (+https://crib.example)").unwrap();
    let crib = host.client().with_manners(named);
    assert_eq!(reason(read(&crib, &host, "/a")), "robots");
    assert_eq!(read(&crib, &host, "/b").unwrap().status, 200);
    assert!(
        host.asked()
            .iter()
            .all(|it| it.contains("\r\nUser-Agent: Crib/2 (+https://crib.example)\r\n"))
    );
    let own = host.client().with_manners(manners());
    assert_eq!(reason(read(&own, &host, "/b")), "robots");
    let header = ("user-agent".to_owned(), "crib".to_owned());
    let other = FetchRequest { headers: vec![header], ..page(&host.url("/b")) };
    assert_eq!(fetch(&own, &other).unwrap().status, 200);
}

#[test]
fn a_host_without_robots_txt_allows_and_one_that_fails_does_not() {
    let html = b"<html>User-agent: *</html>";
    let loops = answer("302 Found", "Location: /robots.txt\r\n", b"");
    let away = answer("302 Found", "Location: https://other.test/robots.txt\r\n", b"");
    for (robots, expected) in [
        (answer("404 Not Found", "", html), "ok"),
        (answer("403 Forbidden", "", b""), "ok"),
        (answer("204 No Content", "", b""), "ok"),
        (loops, "ok"),
        (away, "ok"),
        (answer("500 Internal Server Error", "", b""), "robots_unavailable"),
        (answer("429 Too Many Requests", "", b""), "robots_unavailable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n".to_vec(), "robots_unavailable"),
    ] {
        let told = String::from_utf8_lossy(&robots).into_owned();
        let host = with_robots(robots);
        let net = host.client().with_manners(manners());
        for _ in 0..2 {
            let got = read(&net, &host, "/a");
            let got = if got.is_ok() { "ok".to_owned() } else { reason(got) };
            assert_eq!(got, expected, "{told}");
        }
        let pages = host.paths().iter().filter(|path| *path == "/a").count();
        assert_eq!(pages, if expected == "ok" { 2 } else { 0 }, "{told}");
    }
}

/// Serves a redirect of its robots.txt to another host, and a page at every other path.
fn leading_to(url: &str) -> FetchHost {
    with_robots(answer("302 Found", &format!("Location: {url}\r\n"), b""))
}

#[test]
fn a_robots_txt_at_another_host_counts() {
    let other = FetchHost::start(|asked, _, stream| {
        let reply = match asked.split(' ').nth(1) {
            Some("/rules") => answer("200 OK", "", ROBOTS.as_bytes()),
            _ => answer("302 Found", "Location: /rules\r\n", b""),
        };
        let _ = stream.write_all(&reply);
    });
    let away = |path: &str| other.url(path).replace("host.test", "other.test");
    let host = leading_to(&away("/moved"));
    let net = client(vec![host.port(), other.port()]).with_manners(manners());
    assert_eq!(read(&net, &host, "/public").unwrap().body, b"page");
    let err = read(&net, &host, "/private").unwrap_err();
    assert!(err.message.starts_with("the robots.txt of `host.test`"), "{err}");
    assert_eq!(host.paths(), ["/robots.txt", "/public"]);
    assert_eq!(other.paths(), ["/moved", "/rules"], "it is fetched once");
    // The rules are those of the host that led there, not of the one where they are.
    assert_eq!(reason(fetch(&net, &page(&away("/private")))), "robots");
    assert!(other.paths().contains(&"/robots.txt".to_owned()));
}

#[test]
fn a_robots_txt_leads_only_where_a_page_may_lead() {
    let other = FetchHost::saying(answer("200 OK", "", b"User-agent: *\nDisallow:"));
    for (name, expected) in [
        ("other.test", "ok"),
        ("inner.test", "leads to another host"),
        ("nowhere.test", "leads to another host"),
    ] {
        let host = leading_to(&format!("https://{name}:{}/robots.txt", other.port()));
        let net = client(vec![host.port(), other.port()]).with_manners(manners());
        for _ in 0..2 {
            match read(&net, &host, "/a") {
                Ok(_) => assert_eq!(expected, "ok", "{name}"),
                Err(err) => assert!(err.message.contains(expected), "{name}: {err}"),
            }
        }
    }
    assert_eq!(other.asked().len(), 1);
}

#[test]
fn a_robots_txt_that_leads_on_and_on_is_none() {
    let number = |text: &str, after: &str| -> usize {
        let rest = text.split(after).nth(1).unwrap_or_default();
        rest.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
    };
    for (hops, expected) in [(5, "robots"), (6, "ok")] {
        let host = FetchHost::start(move |asked, _, stream| {
            let (port, at) = (number(asked, ".test:"), number(asked, "GET /hop"));
            let is_robots = asked.starts_with("GET /robots.txt ") || asked.starts_with("GET /hop");
            let reply = if !is_robots {
                answer("200 OK", "", b"page")
            } else if at == hops {
                answer("200 OK", "", b"User-agent: *\nDisallow: /")
            } else {
                let next = at + 1;
                let to = format!("Location: https://hop{next}.test:{port}/hop{next}\r\n");
                answer("302 Found", &to, b"")
            };
            let _ = stream.write_all(&reply);
        });
        let net = host.client().with_manners(manners());
        let got = read(&net, &host, "/a");
        let got = if got.is_ok() { "ok".to_owned() } else { reason(got) };
        assert_eq!(got, expected, "{hops}");
    }
}

#[test]
fn a_host_that_cannot_be_reached_is_told_as_such() {
    let host = with_robots(answer("200 OK", "", ROBOTS.as_bytes()));
    let net = host.client().with_manners(manners());
    let port = host.port();
    for (name, expected) in [("inner.test", "private_address"), ("nowhere.test", "unreachable")] {
        assert_eq!(reason(fetch(&net, &page(&format!("https://{name}:{port}/")))), expected);
    }
}

#[test]
fn each_redirect_is_asked_about_anew() {
    let denying = with_robots(answer("200 OK", "", b"User-agent: *\nDisallow: /"));
    let to = denying.url("/there");
    let host = FetchHost::start(move |asked, _, stream| {
        let reply = match asked.split(' ').nth(1) {
            Some("/robots.txt") => answer("200 OK", "", ROBOTS.as_bytes()),
            Some("/in") => answer("302 Found", "Location: /private\r\n", b""),
            Some("/out") => answer("302 Found", &format!("Location: {to}\r\n"), b""),
            _ => answer("200 OK", "", b"page"),
        };
        let _ = stream.write_all(&reply);
    });
    let net = client(vec![host.port(), denying.port()]).with_manners(manners());
    assert_eq!(reason(read(&net, &host, "/in")), "robots");
    assert_eq!(reason(read(&net, &host, "/out")), "robots");
    assert_eq!(host.paths(), ["/robots.txt", "/in", "/out"]);
    assert_eq!(denying.paths(), ["/robots.txt"]);
}

#[test]
fn a_long_robots_txt_counts_as_far_as_it_is_read() {
    let filler = "#".repeat((500 << 10) - 43);
    let early = format!("User-agent: *\nDisallow: /early\n{filler}\nDisallow: /late\n");
    assert!(early[..500 << 10].ends_with("\nDisallow: /"), "half of the last rule is read");
    let host = with_robots(answer("200 OK", "", early.as_bytes()));
    let net = host.client().with_manners(manners());
    assert_eq!(reason(read(&net, &host, "/early")), "robots");
    assert_eq!(read(&net, &host, "/late").unwrap().status, 200);
}

#[test]
fn requests_for_pages_of_one_host_keep_their_distance() {
    let host = with_robots(answer("404 Not Found", "", b""));
    let distance = Duration::from_millis(150);
    let net = host.client().with_manners(NetManners { crawl_delay: distance, ..manners() });
    let started = Instant::now();
    read(&net, &host, "/a").unwrap();
    read(&net, &host, "/b").unwrap();
    assert!(started.elapsed() >= distance * 2, "robots.txt and two pages have two distances");
    let hurried = FetchRequest { time: Duration::from_secs(5), ..page(&host.url("/c")) };
    let slow = host.client().with_manners(NetManners {
        crawl_delay: Duration::from_mins(1),
        robots: false,
        ..manners()
    });
    fetch(&slow, &hurried).unwrap();
    let err = fetch(&slow, &hurried).unwrap_err();
    assert_eq!((err.kind, &err.context["reason"]), (ErrorKind::Timeout, &"crawl_delay".into()));
    // Another host, and a program that calls an API, need not wait.
    let other = page(&host.url("/d").replace("host.test", "other.test"));
    fetch(&slow, &other).unwrap();
    fetch(&slow, &request(&host.url("/e"))).unwrap();
    let cancel = Cancel::default();
    cancel.cancel();
    let err = slow.fetch(&FetchRequest { time: Duration::from_mins(10), ..hurried }, &cancel);
    assert_eq!(err.unwrap_err().kind, ErrorKind::Cancelled);
    assert_eq!(host.paths(), ["/robots.txt", "/a", "/b", "/c", "/d", "/e"]);
}
