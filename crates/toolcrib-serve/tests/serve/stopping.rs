//! How a server stops.

use std::net::TcpStream;
use std::time::Duration;

use toolcrib_serve::ServerEnd;

use crate::rig::{AGENT, Rig};

#[test]
fn a_server_that_stops_lets_requests_end_and_closes_idle_connections_at_once() {
    let mut rig = Rig::new();
    rig.readiness.set_ready();
    let address = rig.tcp();
    let mut silent = rig.connect();
    let mut idle = rig.connect();
    idle.send(rig.agents("GET /echo", "", "")).reply().is_ok();
    let mut half = rig.connect();
    half.send("GET /echo HT");
    let mut running = rig.begin_wait(AGENT);
    rig.tell_to_stop();
    for client in [&mut silent, &mut idle, &mut half] {
        assert!(client.end().is_empty());
    }
    assert!(TcpStream::connect(address).is_err(), "nobody listens any more");
    rig.release();
    let reply = running.reply();
    reply.is_ok();
    assert_eq!(reply.header("connection"), Some("close"));
    assert!(running.end().is_empty());
    assert_eq!(rig.end(), ServerEnd { finished: 1, cut: 0 });
}

#[test]
fn a_server_that_stops_cuts_what_does_not_end_in_time_and_says_so() {
    let mut rig = Rig::with(|config| config.stop_within = Duration::from_millis(50));
    let mut first = rig.begin_wait(AGENT);
    let mut second = rig.begin_wait(AGENT);
    rig.tell_to_stop();
    assert!(first.end().is_empty() && second.end().is_empty());
    assert_eq!(rig.end(), ServerEnd { finished: 0, cut: 2 });
}

#[test]
fn a_server_without_requests_stops_at_once() {
    let rig = Rig::new();
    rig.good_call();
    let mut idle = rig.connect();
    idle.send(rig.agents("GET /echo", "", "")).reply().is_ok();
    assert_eq!(rig.end(), ServerEnd { finished: 0, cut: 0 });
    assert!(idle.end().is_empty());
}
