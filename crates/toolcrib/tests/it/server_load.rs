//! Many clients, bad clients and a crash: nothing is torn, lost, run twice or left growing.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::running_server::RunningServer;
use crate::scratch::Scratch;

/// A client that keeps its connection.
struct Client<'a> {
    stream: BufReader<TcpStream>,
    address: &'a str,
    token: &'a str,
}

impl<'a> Client<'a> {
    fn connect(address: &'a str, token: &'a str) -> Self {
        Self { stream: BufReader::new(TcpStream::connect(address).unwrap()), address, token }
    }

    /// Makes a call. Returns nothing if the server went away before it answered.
    fn execute(&mut self, tool: &str, headers: &str, args: &Value) -> Option<(u16, Value)> {
        let body = json!({ "args": args }).to_string();
        let Self { address, token, .. } = self;
        let request = format!(
            "POST /api/tools/execute/{tool} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             {headers}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes()).ok()?;
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest[..3].parse().ok()?;
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().ok()?;
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).ok()?;
        Some((status, serde_json::from_slice(&body).ok()?))
    }
}

fn let_agents_write(scratch: &Scratch) {
    let rule =
        "[[rule]]\ntool = \"forgekeeper/write_file\"\nrole = \"agent\"\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rule);
}

/// What a client has sent: the name of the file, and the status of the reply if one came.
type Sent = BTreeMap<String, Option<u16>>;

/// Writes one file after the other until the server is gone.
fn write_until_gone(server: &RunningServer<'_>, agent: &str, client: usize) -> Sent {
    let mut sent = Sent::new();
    let mut connection = Client::connect(&server.address, agent);
    for number in 0.. {
        let name = format!("{client}-{number}.txt");
        let args = json!({"path": name, "content": content(&name), "overwrite": false});
        let reply = connection.execute("write_file", &key(&name), &args);
        sent.insert(name, reply.as_ref().map(|(status, _)| *status));
        match reply {
            // With 429 it was not taken: as many requests of a token as may run do run.
            Some((200 | 429, _)) => {}
            Some(other) => panic!("{other:?}"),
            None => break,
        }
    }
    sent
}

fn key(name: &str) -> String {
    format!("Idempotency-Key: {name}\r\n")
}

fn content(name: &str) -> String {
    format!("{name} ").repeat(20)
}

#[test]
fn a_crash_among_64_writers_tears_nothing_and_no_retry_writes_twice() {
    let scratch = Scratch::new();
    let_agents_write(&scratch);
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let written = || std::fs::read_dir(scratch.work()).unwrap().count();
    let sent: Sent = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..64)
            .map(|client| {
                let (server, agent) = (&server, &agent);
                scope.spawn(move || write_until_gone(server, agent, client))
            })
            .collect();
        while written() < 400 {
            std::thread::yield_now();
        }
        server.kill();
        clients.into_iter().flat_map(|client| client.join().unwrap()).collect()
    });
    drop(server);
    let server = RunningServer::start(&scratch);
    let record = scratch.record();
    let ended_well = |line: &&Value| line["event"] == "ended" && line["status"] == "ok";
    let recorded: Vec<&str> =
        record.iter().filter(ended_well).filter_map(|line| line["args_preview"].as_str()).collect();
    let mut connection = Client::connect(&server.address, &agent);
    let (mut answered, mut unknown) = (0, 0);
    for (name, status) in &sent {
        let path = scratch.work().join(name);
        if path.exists() {
            assert_eq!(std::fs::read_to_string(&path).unwrap(), content(name), "whole or absent");
        }
        if *status == Some(200) {
            let is_recorded = recorded.iter().any(|args| args.contains(&format!("\"{name}\"")));
            assert!(is_recorded, "{name} was answered, so it is on the record");
            answered += 1;
        }
        let args = json!({"path": name, "content": content(name), "overwrite": false});
        let (again, reply) = connection.execute("write_file", &key(name), &args).unwrap();
        match (status, again) {
            // Answered before, or never begun: a second write would have found the file.
            (_, 200) => assert_eq!(std::fs::read_to_string(&path).unwrap(), content(name)),
            (None, 409) if reply["error"] == "outcome_unknown" => unknown += 1,
            other => panic!("{name}: {other:?} {reply}"),
        }
    }
    assert!(answered >= 300 && unknown <= 64, "{answered} answered, {unknown} unknown");
    let verified = scratch.run(["audit", "verify", "--json"]).json();
    assert_eq!(verified["ok"], true, "{verified}");
}

/// What a process holds.
#[derive(Debug)]
struct Held {
    kilobytes: u64,
    threads: usize,
    descriptors: usize,
}

impl Held {
    fn of(server: &RunningServer<'_>) -> Self {
        let process = format!("/proc/{}", server.child.id());
        let status = std::fs::read_to_string(format!("{process}/status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        let count =
            |folder: &str| std::fs::read_dir(format!("{process}/{folder}")).unwrap().count();
        Self {
            kilobytes: memory.trim().trim_end_matches(" kB").parse().unwrap(),
            threads: count("task"),
            descriptors: count("fd"),
        }
    }
}

#[test]
fn a_hundred_thousand_calls_leave_no_memory_thread_or_descriptor_behind() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let agent = server.token("agent");
    let make = |calls: usize| {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (server, agent) = (&server, &agent);
                scope.spawn(move || {
                    let mut connection = Client::connect(&server.address, agent);
                    for number in 0..calls / 8 {
                        let args = json!({"text": format!("text {number}")});
                        let reply = connection.execute("echo", "", &args).unwrap();
                        assert_eq!(reply.0, 200, "{reply:?}");
                    }
                });
            }
        });
    };
    make(20_000);
    let before = Held::of(&server);
    // What is read now and then, such as the record for statistics, takes memory once. A leak takes some every time.
    let mut sizes = vec![before.kilobytes];
    for _ in 0..5 {
        make(16_000);
        sizes.push(Held::of(&server).kilobytes);
    }
    let mut grown: Vec<u64> =
        sizes.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
    grown.sort_unstable();
    assert!(grown[2] < 512, "{sizes:?}");
    let after = Held::of(&server);
    assert!(after.threads <= before.threads + 2, "{before:?} {after:?}");
    assert!(after.descriptors <= before.descriptors + 8, "{before:?} {after:?}");
}

#[test]
fn idle_slow_and_half_sent_requests_keep_nobody_out() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let (agent, admin) = (server.token("agent"), server.token("admin"));
    let connect = || TcpStream::connect(&server.address);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let idle: Vec<TcpStream> = (0..2000).filter_map(|_| connect().ok()).collect();
        assert!(idle.len() > 1500, "{}", idle.len());
        let mut half: Vec<TcpStream> = Vec::new();
        for _ in 0..100 {
            let mut stream = connect().unwrap();
            let body = r#"{"args":{"text":"never whole"#;
            let request = server.request(&admin, "POST", "/api/tools/execute/echo", "", body);
            let request = request.replace("Content-Length: 28", "Content-Length: 2800");
            assert!(request.contains("2800"), "{request}");
            let _ = stream.write_all(request.as_bytes());
            half.push(stream);
        }
        let is_over = &is_over;
        scope.spawn(move || {
            let mut slow: Vec<TcpStream> = (0..200).filter_map(|_| connect().ok()).collect();
            let head = b"GET /api/tools HTTP/1.1\r\nHost: x\r\nX-A: ";
            let bytes = head.iter().copied().chain(std::iter::repeat(b'a'));
            for byte in bytes {
                for stream in &mut slow {
                    let _ = stream.write_all(&[byte]);
                }
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                std::thread::yield_now();
            }
        });
        for number in 0..300 {
            let (status, reply) =
                server.execute(&agent, "echo", json!({"text": number.to_string()}));
            assert_eq!(status, 200, "{reply}");
        }
        is_over.store(true, Ordering::Relaxed);
        drop((idle, half));
    });
}
