//! Events of the server: told as they happen, to those who may hear them, and again to those who were away.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::running_server::{RunningServer, wait_until};
use crate::scratch::Scratch;

/// Someone who follows the events.
struct Follower {
    stream: BufReader<TcpStream>,
}

/// An event as it came.
#[derive(Debug)]
struct HeardEvent {
    id: Option<u64>,
    name: String,
    data: Value,
}

impl Follower {
    fn start(server: &RunningServer<'_>, token: &str, path: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        let request = server.request(token, "GET", path, headers, "");
        stream.write_all(request.as_bytes()).unwrap();
        let mut stream = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(stream.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.contains("200 OK") && head.contains("text/event-stream"), "{head}");
        let mut follower = Self { stream };
        assert!(follower.part().starts_with("retry: "));
        follower
    }

    /// Returns the next part of the stream: lines up to an empty one, without the sizes of chunks.
    fn part(&mut self) -> String {
        let mut part = String::new();
        loop {
            let mut line = String::new();
            assert!(self.stream.read_line(&mut line).unwrap() > 0, "the stream ended: {part}");
            let is_size = line.ends_with("\r\n");
            match line.trim_end() {
                _ if is_size => {}
                "" => return part,
                text => part = format!("{part}{text}\n"),
            }
        }
    }

    /// Returns the next event that is not about health.
    fn next(&mut self) -> HeardEvent {
        loop {
            let part = self.part();
            let field = |name: &str| {
                part.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned)
            };
            // An agent is told only that the connection lives.
            let Some(name) = field("event: ").filter(|name| name != "health") else { continue };
            let data = serde_json::from_str(&field("data: ").unwrap()).unwrap();
            return HeardEvent { id: field("id: ").map(|id| id.parse().unwrap()), name, data };
        }
    }

    /// Returns the events up to one of this name.
    fn until(&mut self, name: &str) -> Vec<HeardEvent> {
        let mut heard = vec![self.next()];
        while heard.last().is_some_and(|event| event.name != name) {
            heard.push(self.next());
        }
        heard
    }
}

fn names(heard: &[HeardEvent]) -> Vec<&str> {
    heard.iter().map(|event| event.name.as_str()).collect()
}

#[test]
fn what_happens_is_told_as_it_happens_and_again_to_who_was_away() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    let mut live = Follower::start(&server, &approver, "/api/events", "");
    server.execute(&agent, "echo", json!({"text": "hi"}));
    let first = live.until("call.ended");
    assert_eq!(names(&first), ["call.asked", "call.decided", "call.started", "call.ended"]);
    let last = first.last().unwrap();
    assert_eq!(
        (&last.data["tool"], &last.data["principal"], &last.data["status"]),
        (&"forgekeeper/echo".into(), &"agent".into(), &"ok".into()),
        "{last:?}"
    );
    let (_, waits) =
        server.execute(&agent, "write_file", json!({"path": "a.txt", "content": "hello"}));
    let id = waits["approval"]["id"].as_str().unwrap();
    assert_eq!(live.until("call.waiting").last().unwrap().data["call"], id);
    server.post(&approver, &format!("/api/approvals/{id}"), &json!({"decision": "approve"}));
    let heard = live.until("approval.approved");
    assert_eq!(heard.last().unwrap().data["detail"]["by"], "approver", "{heard:?}");
    drop(live);
    // Whoever was away hears everything after the last event that it heard, and nothing twice.
    let after = format!("Last-Event-ID: {}\r\n", last.id.unwrap());
    let mut again = Follower::start(&server, &approver, "/api/events", &after);
    let heard = again.until("approval.approved");
    assert_eq!(heard[0].name, "call.asked");
    let ids: Vec<u64> = heard.iter().map(|event| event.id.unwrap()).collect();
    assert!(ids.windows(2).all(|pair| pair[1] == pair[0] + 1), "{ids:?}");
    assert_eq!(ids[0], last.id.unwrap() + 1);
}

#[test]
fn an_agent_hears_of_its_own_calls_only_and_a_filter_leaves_the_rest_out() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let mut own = Follower::start(&server, &agent, "/api/events?after=0", "");
    let mut ended = Follower::start(&server, &admin, "/api/events?events=call.ended", "");
    server.execute(&admin, "echo", json!({"text": "of the admin"}));
    server.execute(&agent, "get_time", json!({}));
    let heard = own.until("call.ended");
    assert!(
        heard.iter().all(|event| event.data["principal"] == "agent"),
        "neither tokens nor calls of others: {heard:?}"
    );
    let tools = [ended.next(), ended.next()].map(|event| {
        assert_eq!(event.name, "call.ended");
        event.data["tool"].clone()
    });
    assert_eq!(tools, ["forgekeeper/echo", "forgekeeper/get_time"]);
    for (path, headers) in [
        ("/api/events?after=x", ""),
        ("/api/events?nothing=1", ""),
        ("/api/events", "Last-Event-ID: x\r\n"),
    ] {
        let (status, reply) = server.send(&admin, "GET", path, headers, "");
        assert_eq!(status, 400, "{path}: {reply}");
    }
}

#[test]
fn who_may_read_the_record_gets_its_lines_as_they_are() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, approver) = (server.token("agent"), server.token("approver"));
    server.execute(&agent, "echo", json!({"text": "before"}));
    let before = scratch.record().last().unwrap()["seq"].as_u64().unwrap();
    let path = format!("/api/events?form=line&after={}", before - 1);
    let mut live = Follower::start(&server, &approver, &path, "");
    let replayed = live.next();
    server.execute(&agent, "echo", json!({"text": "hi"}));
    let mut heard = vec![replayed];
    heard.extend(live.until("call.ended"));
    let lines = scratch.record();
    for event in heard {
        let number = event.id.unwrap();
        let line = lines.iter().find(|line| line["seq"] == number);
        assert_eq!(Some(&event.data), line, "{number}");
    }
    let (status, reply) = server.get(&agent, "/api/events?form=line");
    assert_eq!((status, &reply["error"]), (403, &"role_not_allowed".into()), "{reply}");
    let (status, reply) = server.get(&agent, "/api/audit/tail");
    assert_eq!((status, &reply["error"]), (403, &"role_not_allowed".into()), "{reply}");
    for path in ["/api/events?form=x", "/api/audit/tail?lines=0", "/api/audit/tail?lines=10001"] {
        let (status, reply) = server.get(&approver, path);
        assert_eq!(status, 400, "{path}: {reply}");
    }
}

#[test]
fn a_reader_that_reads_nothing_holds_nobody_up_and_a_stop_ends_all() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let slow = Follower::start(&server, &admin, "/api/events?after=0", "");
    // Far more than fits into its connection and into what is kept for a reader.
    let text = "x".repeat(200);
    for _ in 0..1500 {
        assert_eq!(server.execute(&agent, "echo", json!({"text": text})).0, 200);
    }
    // It has missed nothing when it reads at last.
    let mut slow = slow;
    let mut ended = 0;
    let mut last = 0;
    while ended < 1500 {
        let event = slow.next();
        assert_eq!(event.id.unwrap(), last + 1, "{event:?}");
        last += 1;
        ended += usize::from(event.name == "call.ended");
    }
    let process = server.child.id();
    let (code, _) = server.stop();
    assert_eq!(code, 0);
    wait_until(|| !std::path::Path::new(&format!("/proc/{process}")).exists());
    let mut rest = Vec::new();
    let _ = slow.stream.read_to_end(&mut rest);
}
