//! What is answered from earlier replies.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use toolcrib_core::net::{
    AllowedAddresses, FetchMethod, FetchReply, FetchRequest, Politeness, ReplyOrigin, Reuse,
};
use toolcrib_core::{Clock, Usage};
use toolcrib_host::{CachedNet, NetManners};

use crate::fetch_host::{FetchHost, answer, fetch, reason, request};

/// A clock that moves when the test says so.
#[derive(Default)]
struct SteppedClock(AtomicU64);

impl SteppedClock {
    fn step(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for SteppedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::Relaxed).cast_signed()).unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn used(&self) -> Usage {
        Usage::default()
    }
}

/// A cache before a host.
struct CacheRig {
    host: FetchHost,
    net: CachedNet,
    clock: Arc<SteppedClock>,
}

impl CacheRig {
    /// Answers with these headers and the number of the request as the body, or with 304 if the request is conditional.
    fn new(headers: &'static str) -> Self {
        Self::of(FetchHost::start(move |asked, before, stream| {
            let asked = asked.to_ascii_lowercase();
            let is_conditional = asked.contains("\r\nif-none-match: \"a\"\r\n")
                || asked.contains("\r\nif-modified-since: ");
            let body = format!("reply {before}");
            let reply = if is_conditional {
                b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()
            } else {
                answer("200 OK", headers, body.as_bytes())
            };
            let _ = stream.write_all(&reply);
        }))
    }

    fn of(host: FetchHost) -> Self {
        let clock = Arc::<SteppedClock>::default();
        let client = host
            .client()
            .with_manners(NetManners { crawl_delay: Duration::ZERO, ..NetManners::default() });
        let net = CachedNet::new(Arc::new(client), 1 << 20, Arc::clone(&clock) as Arc<dyn Clock>);
        Self { host, net, clock }
    }

    fn cached(&self, path: &str, partition: &str) -> FetchRequest {
        let reuse = Reuse::Cached { partition: partition.to_owned() };
        FetchRequest { reuse, ..request(&self.host.url(path)) }
    }

    fn get(&self, path: &str) -> FetchReply {
        fetch(&self.net, &self.cached(path, "ann")).unwrap()
    }

    fn asked(&self) -> usize {
        self.host.asked().len()
    }
}

#[test]
fn a_fresh_reply_answers_until_it_is_old() {
    let rig = CacheRig::new("Cache-Control: max-age=60\r\n");
    let first = rig.get("/a#one");
    assert_eq!((first.origin, first.attempts), (ReplyOrigin::Host, 1));
    rig.clock.step(59);
    let again = rig.get("/a#one");
    assert_eq!((again.origin, again.attempts, again.encoded_bytes), (ReplyOrigin::Stored, 0, 0));
    assert_eq!((&again.body, again.status, &again.headers), (&first.body, 200, &first.headers));
    assert_eq!(rig.get("/b").origin, ReplyOrigin::Host);
    rig.clock.step(1);
    let later = rig.get("/a#one");
    assert_eq!((later.origin, &later.body[..]), (ReplyOrigin::Host, &b"reply 2"[..]));
    assert_eq!(rig.asked(), 3);
}

#[test]
fn an_old_reply_answers_if_the_host_says_that_it_holds() {
    for headers in [
        "ETag: \"a\"\r\n",
        "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n",
        "Cache-Control: no-cache, max-age=60\r\nETag: \"a\"\r\n",
    ] {
        let rig = CacheRig::new(headers);
        let first = rig.get("/");
        let again = rig.get("/");
        assert_eq!((again.origin, again.status), (ReplyOrigin::Revalidated, 200), "{headers}");
        assert_eq!((&again.body, rig.asked()), (&first.body, 2), "{headers}");
    }
}

#[test]
fn a_host_renews_what_it_says_about_a_reply_or_replaces_it() {
    let rig = CacheRig::of(FetchHost::start(|_, before, stream| {
        let reply = match before {
            0 => answer("200 OK", "ETag: \"a\"\r\nX-Kept: 1\r\n", b"old"),
            1 => b"HTTP/1.1 304 Not Modified\r\nCache-Control: max-age=60\r\nETag: \"b\"\r\n\r\n"
                .to_vec(),
            2 => answer("500 Internal Server Error", "", b"oops"),
            3 => answer("200 OK", "Cache-Control: no-store\r\n", b"new"),
            _ => answer("200 OK", "", b"newer"),
        };
        let _ = stream.write_all(&reply);
    }));
    rig.get("/");
    let renewed = rig.get("/");
    assert_eq!(
        (&renewed.body[..], renewed.header("etag"), renewed.header("x-kept")),
        (&b"old"[..], Some("\"b\""), Some("1"))
    );
    assert_eq!(rig.get("/").origin, ReplyOrigin::Stored);
    rig.clock.step(60);
    assert_eq!(rig.get("/").status, 500);
    assert_eq!(rig.get("/").body, b"new");
    assert!(rig.host.asked()[3].contains("\r\nIf-None-Match: \"b\"\r\n"));
    assert_eq!(rig.get("/").body, b"newer");
    assert!(
        !rig.host.asked()[4].contains("If-None-Match"),
        "what was not to be stored is forgotten"
    );
}

#[test]
fn what_must_not_be_stored_is_fetched_anew() {
    for headers in [
        "",
        "Cache-Control: no-store, max-age=60\r\n",
        "Cache-Control: private, max-age=60\r\nETag: \"a\"\r\n",
        "Cache-Control: max-age=60\r\nSet-Cookie: a=b\r\n",
        "Cache-Control: max-age=60\r\nVary: *\r\n",
    ] {
        let rig = CacheRig::new(headers);
        rig.get("/");
        assert_eq!((rig.get("/").origin, rig.asked()), (ReplyOrigin::Host, 2), "{headers}");
    }
    let missing = CacheRig::of(FetchHost::saying(answer(
        "404 Not Found",
        "Cache-Control: max-age=60\r\n",
        b"",
    )));
    missing.get("/");
    assert_eq!(missing.get("/").origin, ReplyOrigin::Host);
}

#[test]
fn only_the_same_request_of_the_same_partition_is_answered() {
    let rig = CacheRig::new("Cache-Control: max-age=60\r\n");
    rig.get("/");
    let same = || rig.cached("/", "ann");
    let with =
        |name: &str| FetchRequest { headers: vec![(name.to_owned(), "x".to_owned())], ..same() };
    let other_ways = [
        rig.cached("/", "bob"),
        rig.cached("/?", "ann"),
        FetchRequest { reuse: Reuse::Never, ..same() },
        FetchRequest { method: FetchMethod::Head, ..same() },
        FetchRequest { method: FetchMethod::Post, ..same() },
        FetchRequest { addresses: AllowedAddresses::Operator, ..same() },
        with("Authorization"),
        with("Cookie"),
        with("X-Api-Key"),
        with("Cache-Control"),
        with("Accept-Language"),
    ];
    for other in &other_ways {
        let before = rig.asked();
        assert_eq!(fetch(&rig.net, other).unwrap().origin, ReplyOrigin::Host, "{other:?}");
        assert_eq!(rig.asked(), before + 1, "{other:?}");
    }
    // With credentials, it is never stored either.
    assert_eq!(fetch(&rig.net, &with("Authorization")).unwrap().origin, ReplyOrigin::Host);
    assert_eq!(fetch(&rig.net, &with("accept-language")).unwrap().origin, ReplyOrigin::Stored);
    assert_eq!(rig.get("/").origin, ReplyOrigin::Stored);
}

#[test]
fn what_an_operator_may_reach_does_not_answer_for_an_agent() {
    let rig = CacheRig::new("Cache-Control: max-age=60\r\n");
    let url = rig.host.url("/").replace("host.test", "inner.test");
    let agent = FetchRequest { url, ..rig.cached("/", "ann") };
    assert_eq!(reason(fetch(&rig.net, &agent)), "private_address");
    rig.get("/y");
    let odd =
        FetchRequest { url: rig.host.url("/y").replace("//", "\\\\"), ..rig.cached("/", "ann") };
    assert_eq!(reason(fetch(&rig.net, &odd)), "invalid_url");
    let page = FetchRequest { politeness: Politeness::Page, ..rig.cached("/x", "ann") };
    rig.get("/x");
    assert_eq!(
        fetch(&rig.net, &page).unwrap().origin,
        ReplyOrigin::Host,
        "robots.txt is asked for"
    );
}

#[test]
fn a_bound_holds_for_stored_replies_and_half_ones_are_not_stored() {
    let rig = CacheRig::new("Cache-Control: max-age=60\r\n");
    let short = FetchRequest { most_bytes: 3, ..rig.cached("/", "ann") };
    assert!(fetch(&rig.net, &short).unwrap().is_cut);
    assert_eq!(rig.get("/").origin, ReplyOrigin::Host);
    let cut = fetch(&rig.net, &short).unwrap();
    assert_eq!((cut.origin, &cut.body[..], cut.is_cut), (ReplyOrigin::Stored, &b"rep"[..], true));
    assert!(!rig.get("/").is_cut);
}

#[test]
fn a_reply_after_a_redirect_is_not_stored() {
    let rig = CacheRig::of(FetchHost::start(|asked, _, stream| {
        let reply = if asked.starts_with("GET /from ") {
            answer("302 Found", "Location: /to\r\n", b"")
        } else {
            answer("200 OK", "Cache-Control: max-age=60\r\n", b"there")
        };
        let _ = stream.write_all(&reply);
    }));
    for _ in 0..2 {
        assert_eq!(rig.get("/from").origin, ReplyOrigin::Host);
    }
    assert_eq!(rig.get("/to").origin, ReplyOrigin::Host);
    assert_eq!(rig.get("/to").origin, ReplyOrigin::Stored);
}
