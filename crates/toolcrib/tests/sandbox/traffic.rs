//! The network account of a command: what it counts, where it is kept, and what ends at its limit.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolcrib_core::command::{End, HostTraffic, Limit};

use crate::ground::{Session, for_all};
use crate::network::{HELLO_BACK, PAGE, Server, hello, place, place_for};

/// A server that reads all that it is sent, and returns how many bytes came.
fn counting_server() -> (u16, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let count = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&count);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = vec![0; 65536];
            let mut head = Vec::new();
            loop {
                let read = stream.read(&mut bytes).unwrap_or(0);
                if read == 0 {
                    break;
                }
                *counted.lock().unwrap() += read;
                head.extend_from_slice(&bytes[..read]);
                // The body of these tests ends in a mark.
                if head.ends_with(b"END") {
                    let _ = stream.write_all(PAGE);
                    break;
                }
                head = head.split_off(head.len().saturating_sub(3));
            }
        }
    });
    (port, count)
}

/// Sends so many bytes to `allowed.example`.
fn post(port: u16, size: usize) -> String {
    format!(
        "body = b'x' * ({size} - 3) + b'END'\n\
         print(say(b'POST http://allowed.example:{port}/ HTTP/1.1\\r\\nHost: allowed.example:{port}\\r\\n\
         Content-Length: {size}\\r\\n\\r\\n' + body))"
    )
}

#[test]
fn the_network_has_an_account() {
    let server = Server::start(HELLO_BACK);
    let (counting, _) = counting_server();
    let place = place(&["allowed.example", "*.below.example"], vec![server.port, counting]);
    let hello = hello("a.below.example");
    let script = format!(
        "{post}\n\
         for _ in range(2): print(say(b'CONNECT A.below.example:{port} HTTP/1.1\\r\\n\\r\\n', b'{hello}'))\n\
         for _ in range(3): say(b'CONNECT evil.example:443 HTTP/1.1\\r\\n\\r\\n')\n\
         say(b'NONSENSE\\r\\n\\r\\n')",
        post = post(counting, 100_000),
        port = server.port,
    );
    let finished = place.finished(&script);
    assert!(finished.stdout.text.contains("page"), "{}", finished.stderr.text);
    let of = |host: &str| -> HostTraffic {
        let found = finished.network.hosts.iter().find(|it| it.host == host);
        found.unwrap_or_else(|| panic!("{host}: {:?}", finished.network)).clone()
    };
    let posted = of("allowed.example");
    assert_eq!((posted.connections, posted.refused), (1, 0));
    assert!((100_000..101_000).contains(&posted.bytes_up), "{posted:?}");
    assert_eq!(posted.bytes_down, PAGE.len() as u64);
    let tunnel = of("a.below.example");
    assert_eq!((tunnel.connections, tunnel.refused), (2, 0));
    assert_eq!(tunnel.bytes_down, 2 * HELLO_BACK.len() as u64);
    // Each byte of the greeting takes four characters in the script.
    assert_eq!(tunnel.bytes_up, 2 * hello.len() as u64 / 4);
    let refused = of("evil.example");
    assert_eq!((refused.connections, refused.bytes_up, refused.refused), (0, 0, 3));
    assert_eq!(of("(invalid request)").refused, 1);
    assert_eq!(finished.network.hosts.len(), 4);
    // The control: a command that reaches for nothing has no account.
    assert!(place.finished("print(1)").network.is_empty());
}

#[test]
fn a_command_ends_when_its_bytes_are_used_up() {
    let (port, count) = counting_server();
    let sent = |most_bytes: u64| {
        *count.lock().unwrap() = 0;
        let place = place_for(&["allowed.example"], vec![port], most_bytes);
        let finished = place.finished(&post(port, 500_000));
        let up = finished.network.total().bytes_up;
        (finished, up, *count.lock().unwrap())
    };
    let (finished, up, received) = sent(100_000);
    assert_eq!(finished.end, End::Limited, "{}", finished.stdout.text);
    let strike = finished.strike.unwrap();
    assert_eq!((strike.limit, strike.allowed), (Limit::Network, 100_000));
    assert!(
        finished.notes.iter().any(|note| note.contains("the limit on network traffic was reached")),
        "{:?}",
        finished.notes
    );
    assert_eq!((up, received <= 100_000), (100_000, true), "{received}");
    assert_eq!(finished.usage.struck, Some(Limit::Network));
    // The control: within the limit, all of it arrives.
    let (finished, up, received) = sent(600_000);
    assert_eq!(finished.exit_code(), 0, "{}", finished.stderr.text);
    assert!(finished.strike.is_none() && up >= 500_000 && received as u64 == up, "{up} {received}");
}

/// What a shell script says to the proxy to reach `host`.
fn reach(host: &str) -> String {
    format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT {host}:443 HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
    )
}

#[test]
fn what_was_refused_is_on_the_record_whatever_the_command_prints() {
    for_all(|scratch| {
        let settings = ["-c", "sandbox.egress=allowed.example"];
        let mut session = Session::start(scratch, &settings);
        // What it prints pushes everything else out of the preview of the reply.
        let loud = format!("{}; seq 100000", reach("evil.example"));
        let reply = session.bash(&loud);
        assert!(reply["stdout"].as_str().unwrap().contains("403"), "{reply}");
        let task = json!({"command": reach("task.example"), "run_in_background": true});
        let task = session.call("clemini/bash", task)["task_id"].as_str().unwrap().to_owned();
        let wait = json!({"task_id": task, "wait": true, "timeout": 20});
        session.call("clemini/task_output", wait);
        // The control: a command without network has no such field.
        session.bash("echo quiet");
        session.end();
        let entry = |host: &str| json!([{"host": host, "connections": 0, "bytes_up": 0, "bytes_down": 0, "refused": 1}]);
        let record = scratch.record();
        let with_network: Vec<_> = record.iter().filter(|it| it["network"].is_array()).collect();
        assert_eq!(with_network.len(), 2, "{with_network:?}");
        let of = |event: &str| *with_network.iter().find(|it| it["event"] == event).unwrap();
        assert_eq!(of("ended")["network"], entry("evil.example"));
        assert_eq!(of("task_ended")["network"], entry("task.example"));
        for (event, host) in [("ended", "evil.example"), ("task_ended", "task.example")] {
            let call = of(event)["trace_id"].as_str().unwrap();
            let shown = scratch.run(["audit", "show", call]);
            let line = format!("network:   {host}: 1 refused");
            assert!(shown.stdout.contains(&line), "{}{}", shown.stdout, shown.stderr);
            let json = scratch.run(["audit", "show", call, "--json"]).json();
            assert_eq!(json["network"], entry(host), "{json}");
        }
        let stats = scratch.run(["stats", "resources"]);
        assert!(stats.stdout.contains("network: 2 refused"), "{}{}", stats.stdout, stats.stderr);
        let stats = scratch.run(["stats", "resources", "clemini/bash", "--json"]).json();
        assert_eq!(
            stats["resources"]["resources"]["network"],
            json!({"totalUpBytes": 0, "totalDownBytes": 0, "connections": 0, "refused": 2})
        );
    });
}
