//! Connections that are slow, idle or many, while good calls stay answered.

use std::fs;
use std::os::fd::AsRawFd;
use std::time::Duration;

use crate::rig::{AGENT, APPROVER, Rig, bearer};
use crate::routes::LARGE_BYTES;

/// Lets this process have enough descriptors for both ends of thousands of connections.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let wanted = limit.maximum.map_or(8192, |maximum| maximum.min(8192));
    assert!(wanted >= 4096, "the test needs 4,096 descriptors, and {wanted} are allowed");
    if limit.current.is_some_and(|current| current < wanted) {
        setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), ..limit }).unwrap();
    }
}

#[test]
fn requests_share_a_connection_also_when_they_come_at_once() {
    let rig = Rig::new();
    let mut client = rig.connect();
    for number in 0..3 {
        let body = format!(r#"{{"number":{number}}}"#);
        let reply = client.send(rig.agents("POST /echo", "", &body)).reply();
        assert_eq!(reply.is_ok()["body"]["number"], number);
    }
    let many: String = (0..200)
        .map(|number| rig.agents("POST /echo", "", &format!(r#"{{"number":{number}}}"#)))
        .collect();
    client.send(many);
    for number in 0..200 {
        assert_eq!(client.reply().is_ok()["body"]["number"], number);
    }
    // Byte by byte, with empty lines before.
    for byte in format!("\r\n\r\n{}", rig.agents("POST /echo", "", r#"{"a":1}"#)).bytes() {
        client.send([byte]);
    }
    client.reply().is_ok();
    // A bad head behind a good request does not take the good one's reply away.
    client.send(rig.agents("GET /echo", "", "")).send("NO HTTP\r\n\r\n");
    client.reply().is_ok();
    client.reply().is_error(400, "bad_request");
    assert!(client.end().is_empty());
}

#[test]
fn a_bad_head_behind_a_running_request_does_not_cancel_it() {
    let rig = Rig::new();
    let mut client = rig.begin_wait(AGENT);
    client.send("NO HTTP\r\n\r\n");
    rig.good_call();
    rig.release();
    client.reply().is_ok();
    client.reply().is_error(400, "bad_request");
    assert!(client.end().is_empty());
}

#[test]
fn a_request_is_cancelled_when_its_client_leaves() {
    let rig = Rig::with(|config| {
        config.requests.in_flight_each = 1;
        config.requests.rate_each = None;
    });
    drop(rig.begin_wait(AGENT));
    // The place of the request gets free without a release, because its handler was dropped.
    while rig.ask(rig.agents("GET /echo", "", "")).status != 200 {}
    assert_eq!(rig.runs(), 1);
}

#[test]
fn h_022_slow_heads_are_closed() {
    let rig = Rig::with(|config| config.connections.head_time = Duration::from_millis(100));
    let mut client = rig.connect();
    client.send(format!("GET /echo HTTP/1.1\r\nHost: {}\r\n", rig.tcp()));
    // More headers, as long as the server listens.
    while client.try_send("X: y\r\n").is_open() {
        std::thread::yield_now();
    }
    let mut client = rig.connect();
    client.send("G").reply().is_error(408, "head_timeout");
    assert!(client.end().is_empty());
    // After a request, too.
    let mut client = rig.connect();
    client.send(rig.agents("GET /echo", "", "")).reply().is_ok();
    client.send("GET /ec").reply().is_error(408, "head_timeout");
    // A connection that has sent nothing waits longer, and a running request is not slow.
    let mut silent = rig.connect();
    let mut waiting = rig.begin_wait(AGENT);
    waiting.send("GET /ec");
    rig.connect().send("G").reply().is_error(408, "head_timeout");
    silent.send(rig.agents("GET /echo", "", "")).reply().is_ok();
    rig.release();
    waiting.reply().is_ok();
}

#[test]
fn idle_connections_are_closed_after_a_while() {
    let rig = Rig::with(|config| config.connections.idle_time = Duration::from_millis(100));
    assert!(rig.connect().end().is_empty());
    let mut client = rig.connect();
    client.send(rig.agents("GET /echo", "Connection: keep-alive\r\n", "")).reply().is_ok();
    assert!(client.end().is_empty());
    // A request that runs for longer than that is not idle.
    let mut waiting = rig.begin_wait(AGENT);
    assert!(rig.connect().end().is_empty());
    rig.release();
    waiting.reply().is_ok();
}

#[test]
fn a_client_that_does_not_read_its_reply_is_cut() {
    let rig = Rig::with(|config| {
        config.connections.stalled_time = Duration::from_millis(100);
        config.requests.in_flight_each = 1;
        config.requests.rate_each = None;
    });
    let mut client = rig.begin("GET /large", AGENT);
    // The place of the request gets free although nothing was read.
    while rig.ask(rig.agents("GET /echo", "", "")).status != 200 {}
    assert!(client.end().len() < LARGE_BYTES);
    let patient = Rig::new();
    let reply = patient.begin("GET /large", AGENT).reply();
    assert_eq!((reply.status, reply.body.len()), (200, LARGE_BYTES));
}

#[test]
fn two_thousand_idle_connections_keep_nobody_out() {
    raise_descriptor_limit();
    let rig = Rig::new();
    let mut running = rig.begin_wait(APPROVER);
    let mut idle = Vec::new();
    for number in 0..2000 {
        let mut client = rig.connect();
        match number % 4 {
            0 => client.try_send("GET /echo HT"),
            1 => client.try_send(rig.request("GET /healthz", "", "")),
            _ => &mut client,
        };
        idle.push(client);
        if number % 100 == 0 {
            rig.good_call();
        }
    }
    for _ in 0..100 {
        rig.good_call();
    }
    // The oldest made room. The one with a request did not.
    assert!(idle[2].end().is_empty());
    rig.release();
    running.reply().is_ok();
    // The youngest is still served.
    let youngest = idle.last_mut().unwrap();
    youngest.send(rig.agents("GET /echo", "", "")).reply().is_ok();
}

#[test]
fn half_sent_bodies_of_one_principal_keep_no_other_out() {
    let rig = Rig::new();
    let more = format!("Content-Length: 10\r\nContent-Type: application/json\r\n{}", bearer(AGENT));
    let mut clients: Vec<_> = (0..200).map(|_| rig.connect()).collect();
    for client in &mut clients {
        client.try_send(rig.request("POST /echo", &more, "")).try_send("{\"a\"");
    }
    for _ in 0..50 {
        rig.ask(rig.request("GET /echo", &bearer(APPROVER), "")).is_ok();
    }
    // As many as the principal may run wait for the rest of their bodies. The others were refused.
    let statuses = clients.iter_mut().map(|client| client.try_send(":1234}").reply().status);
    let (answered, refused): (Vec<u16>, Vec<u16>) = statuses.partition(|status| *status == 200);
    assert_eq!((answered.len(), refused), (64, vec![429; 136]));
}

#[test]
fn a_full_server_takes_the_next_connection_when_one_gets_free() {
    let rig = Rig::with(|config| config.connections.most_open = 2);
    let mut first = rig.begin_wait(AGENT);
    let mut second = rig.begin_wait(AGENT);
    // Nobody can be closed, so the third waits.
    let mut third = rig.connect();
    third.send(rig.agents("GET /echo", "", ""));
    rig.release();
    first.reply().is_ok();
    // The first is idle now, and makes room.
    third.reply().is_ok();
    assert!(first.end().is_empty());
    rig.release();
    second.reply().is_ok();
    rig.good_call();
}

/// Set in the process that has few descriptors.
const FEW_DESCRIPTORS: &str = "TOOLCRIB_TEST_FEW_DESCRIPTORS";

#[test]
fn a_server_without_descriptors_closes_idle_connections_and_goes_on() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    if std::env::var_os(FEW_DESCRIPTORS).is_none() {
        // The limit holds for a process, so the other tests need another one.
        let name = "connections::a_server_without_descriptors_closes_idle_connections_and_goes_on";
        let output = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name])
            .env(FEW_DESCRIPTORS, "1")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
        return;
    }
    let rig = Rig::new();
    let open = || {
        let mut client = rig.connect();
        client.send(rig.agents("GET /echo", "", "")).reply().is_ok();
        client
    };
    let mut idle: Vec<_> = (0..30).map(|_| open()).collect();
    // Descriptors are given out from below, so all below this one are taken.
    let next = fs::File::open("/dev/null").unwrap();
    let limit = u64::try_from(next.as_raw_fd()).unwrap() + 1;
    drop(next);
    setrlimit(Resource::Nofile, Rlimit { current: Some(limit), ..getrlimit(Resource::Nofile) })
        .unwrap();
    // One descriptor is left, for the client's end. The server gets its own by closing an idle connection.
    idle.push(open());
    for _ in 0..5 {
        assert!(idle.remove(0).end().is_empty(), "the oldest made room");
        idle.push(open());
    }
}
