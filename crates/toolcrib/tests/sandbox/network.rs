//! The way out: exactly the listed hosts, at the address that was checked, named as they were asked for.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolcrib_core::command::{CommandRequest, Finished, OnTimeout, Ran, Shell};
use toolcrib_core::{CallId, Cancel, Clock, Commands};
use toolcrib_host::{
    CommandLimits, Egress, FileRules, Hardlinks, HostRule, Operator, Profile, Root, Sandbox,
    SandboxRules, SharedSandbox, SystemClock, TaskOwner, UndoStore, Workspace,
};
use toolcrib_ledger::{Journal, SnapshotStore, StateFolder};

/// A server that notes what it is sent and answers with `answer`.
pub(crate) struct Server {
    pub(crate) port: u16,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Server {
    pub(crate) fn start(answer: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = Arc::clone(&heard);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let notes = Arc::clone(&notes);
                std::thread::spawn(move || serve(stream, answer, &notes));
            }
        });
        Self { port, heard }
    }

    fn heard(&self) -> String {
        let heard = self.heard.lock().unwrap();
        heard.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }
}

fn serve(mut stream: TcpStream, answer: &[u8], notes: &Mutex<Vec<Vec<u8>>>) {
    stream.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let mut bytes = vec![0; 65536];
    let count = stream.read(&mut bytes).unwrap_or(0);
    bytes.truncate(count);
    notes.lock().unwrap().push(bytes);
    let _ = stream.write_all(answer);
}

/// A sandbox whose names all lead to this machine, as `allowed.example` may and others may not.
pub(crate) struct Place {
    _folder: tempfile::TempDir,
    pub(crate) sandbox: SharedSandbox,
}

pub(crate) fn place(hosts: &[&str], ports: Vec<u16>) -> Place {
    place_for(hosts, ports, 1 << 30)
}

/// The same, with so many bytes that may pass.
pub(crate) fn place_for(hosts: &[&str], ports: Vec<u16>, most_bytes: u64) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let sandbox = Arc::new(sandbox_in(folder.path(), hosts, ports, most_bytes));
    Place { _folder: folder, sandbox: sandbox.commands_for(TaskOwner::nobody()) }
}

/// The same sandbox in a folder, whose workspace is the folder `work` there.
pub(crate) fn sandbox_in(
    folder: &Path,
    hosts: &[&str],
    ports: Vec<u16>,
    most_bytes: u64,
) -> Sandbox {
    let work = folder.join("work");
    std::fs::create_dir(&work).unwrap();
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let rules = FileRules { hardlinks: Hardlinks::Refuse, protected: Vec::new(), undo_bytes: 0 };
    let roots = vec![Root::open(&work).unwrap()];
    let state = StateFolder::open(&folder.join("undo")).unwrap();
    let journal = Arc::new(Journal::new(&state));
    let snapshots = Arc::new(SnapshotStore::new(&state, Arc::clone(&journal)));
    let undo = UndoStore { snapshots, journal };
    let workspace = Workspace::new(roots, rules, &[], undo, Arc::clone(&clock));
    let limits = CommandLimits {
        memory: 1 << 30,
        processes: 100,
        cpu_seconds: 100,
        task_time: Duration::from_mins(1),
        file_size: 1 << 30,
        growth: 1 << 30,
        files: 1 << 20,
        open_files: 1024,
        output: 1 << 30,
        network: most_bytes,
        saved: 1 << 20,
        scratch: 1 << 26,
    };
    let names: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let rules = SandboxRules {
        profile: Profile::Strict,
        bubblewrap: None,
        limits,
        egress: names,
        egress_ports: ports.clone(),
        toolchains: Vec::new(),
        caches: Vec::new(),
        protected: Vec::new(),
        unprotected: Vec::new(),
        user: 64646,
        most_tasks: 16,
        lives_on: true,
    };
    let hosts = hosts.iter().map(|host| HostRule::parse(host).unwrap()).collect();
    // Every name is this machine; only what the good names lead to is let through. Some names cannot be resolved.
    let resolve = |name: &str, port: u16| {
        if name.starts_with("unknown") {
            return Err(std::io::Error::other("failed to look it up"));
        } else if name.starts_with("empty") {
            return Ok(Vec::new());
        }
        let address: IpAddr =
            if name.starts_with("inside") { [10, 0, 0, 1].into() } else { [127, 0, 0, 1].into() };
        Ok(vec![SocketAddr::from((address, port))])
    };
    let egress =
        Egress::new(hosts, ports).with_resolver(Box::new(resolve), vec![[127, 0, 0, 1].into()]);
    let sandbox = Sandbox::new(rules, Operator::default(), Arc::new(workspace), clock, folder);
    sandbox.unwrap().with_egress(egress)
}

impl Place {
    /// Runs Python inside, with `say(bytes)`, which sends them to the proxy and returns its answer.
    fn python(&self, script: &str) -> (String, Vec<String>) {
        let finished = self.finished(script);
        assert_eq!(finished.exit_code(), 0, "{}", finished.stderr.text);
        (finished.stdout.text, finished.notes)
    }

    pub(crate) fn finished(&self, script: &str) -> Finished {
        let helper = "import socket, time\n\
            def connect():\n    s = socket.create_connection(('127.0.0.1', 3128)); s.settimeout(15); return s\n\
            def rest(s):\n    got = b''\n    try:\n        while True:\n            more = s.recv(65536)\n            \
            if not more: break\n            got += more\n    except OSError: pass\n    return got\n\
            def say(data, then=b''):\n    s = connect(); s.sendall(data)\n    \
            if then: s.recv(65536); s.sendall(then)\n    return rest(s)\n";
        let request = CommandRequest {
            call: CallId("N".to_owned()),
            shell: Shell::Program(vec![
                "python3".into(),
                "-c".into(),
                format!("{helper}\n{script}"),
            ]),
            text: String::new(),
            directory: None,
            time: Duration::from_mins(1),
            on_timeout: OnTimeout::Kill,
            keep: 100_000,
            rest_hint: "",
            is_read_only: false,
        };
        let Ran::Over(finished) = self.sandbox.run(&request, &Cancel::default()).unwrap() else {
            panic!()
        };
        *finished
    }
}

/// The first message of a TLS client that names `server`.
pub(crate) fn hello(server: &str) -> String {
    let name = server.as_bytes();
    let block = |bytes: &[u8], size: usize| {
        [&(bytes.len() as u64).to_be_bytes()[8 - size..], bytes].concat()
    };
    let entry = [&[0][..], &block(name, 2)].concat();
    let extension = [&[0, 0][..], &block(&block(&entry, 2), 2)].concat();
    let body = [
        &[3, 3][..],
        &[7; 32],
        &block(&[], 1),
        &block(&[0x13, 0x01], 2),
        &block(&[0], 1),
        &block(&extension, 2),
    ]
    .concat();
    let message = [&[1][..], &block(&body, 3)].concat();
    let record = [&[22, 3, 1][..], &block(&message, 2)].concat();
    record.iter().fold(String::new(), |text, byte| format!("{text}\\x{byte:02x}"))
}

pub(crate) const HELLO_BACK: &[u8] = b"HELLO BACK";
pub(crate) const PAGE: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage";

#[test]
fn listed_hosts_are_reached_and_nothing_else_is() {
    let server = Server::start(HELLO_BACK);
    let port = server.port;
    let place = place(&["allowed.example", "*.below.example"], vec![port]);
    let (good, evil) = (hello("allowed.example"), hello("evil.example"));
    let connect = |host: &str, port: u16| format!("CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n");
    let tunnel = |host: &str, first: &str| {
        let script = format!("print(say(b'{}', b'{first}'))", connect(host, port));
        place.python(&script).0
    };
    // The control: a listed host is reached, by its own name and below it.
    assert!(tunnel("allowed.example", &good).contains("HELLO BACK"));
    assert!(tunnel("ALLOWED.example", &good).contains("HELLO BACK"));
    assert!(tunnel("a.below.example", &hello("a.below.example")).contains("HELLO BACK"));
    assert!(server.heard().contains("allowed.example"));

    let refused = |request: &str, status: &str| {
        let (answer, notes) = place.python(&format!("print(say(b'{request}'))"));
        assert!(answer.contains(status), "{request}: {answer}");
        notes
    };
    let notes = refused(&connect("evil.example", port), "403");
    assert!(
        notes.iter().any(|note| note.contains("`evil.example` is not in `sandbox.egress`")),
        "{notes:?}"
    );
    for host in
        ["below.example", "evilallowed.example", "allowed.example.evil.example", "xbelow.example"]
    {
        refused(&connect(host, port), "403");
    }
    // N-005: addresses and the machine itself, by any spelling.
    for host in ["127.0.0.1", "localhost", "[::1]", "0x7f.1", "2130706433", "127.1"] {
        refused(&connect(host, port), "40");
    }
    refused(&connect("allowed.example", 22), "403");
    // N-007: what two readers would read differently.
    for host in [
        "evil.example\\x00.allowed.example",
        "allowed.example@evil.example",
        "allowed.example ",
        "a..b",
    ] {
        refused(&connect(host, port), "400");
    }
    refused("GET / HTTP/1.1\\r\\nHost: allowed.example\\r\\n\\r\\n", "400");
    refused("NONSENSE\\r\\n\\r\\n", "400");
    // N-013, and TLS for someone else: closed, and nothing reaches the server.
    let before = server.heard();
    for first in [
        "SSH-2.0-x\\r\\n".to_owned(),
        evil,
        "\\x16\\x03\\x01\\x00\\x05\\x01\\x00\\x00\\x01\\x00".to_owned(),
    ] {
        let answer = tunnel("allowed.example", &first);
        assert!(!answer.contains("HELLO BACK"), "{first}: {answer}");
    }
    assert_eq!(server.heard().replace('\0', ""), before.replace('\0', ""));
}

#[test]
fn the_checked_address_is_the_dialled_one() {
    let server = Server::start(HELLO_BACK);
    // N-010: a listed name that leads inside is refused, whatever it is called.
    let place = place(&["inside.example", "allowed.example"], vec![server.port]);
    let request = format!("CONNECT inside.example:{} HTTP/1.1\\r\\n\\r\\n", server.port);
    let (answer, notes) = place.python(&format!("print(say(b'{request}'))"));
    assert!(
        answer.contains("403")
            && notes.iter().any(|note| note.contains("not on the open internet")),
        "{notes:?}"
    );
}

#[test]
fn an_allowed_host_that_the_network_fails_is_not_told_as_refused() {
    let server = Server::start(HELLO_BACK);
    // Nobody listens there any more.
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let hosts = ["allowed.example", "unknown.example", "empty.example", "inside.example"];
    let place = place(&hosts, vec![server.port, closed]);
    let told = |host: &str, port: u16, status: &str| {
        let request = format!("CONNECT {host}:{port} HTTP/1.1\\r\\n\\r\\n");
        let (answer, notes) = place.python(&format!("print(say(b'{request}'))"));
        assert!(answer.contains(status), "{host}: {answer}");
        notes.join("\n")
    };
    for (host, port, why) in [
        ("unknown.example", server.port, "its name could not be resolved: failed to look it up"),
        ("empty.example", server.port, "its name could not be resolved: it has no address"),
        ("allowed.example", closed, "cannot be reached"),
    ] {
        let notes = told(host, port, "502");
        let line = format!("network access failed: {host}:{port}: the host is allowed, but");
        assert!(notes.contains(&line) && notes.contains(why), "{notes}");
        assert!(!notes.contains("refused:"), "{notes}");
    }
    // The control: what the rules or the checks of the proxy keep back is told as refused.
    for host in ["evil.example", "inside.example"] {
        let notes = told(host, server.port, "403");
        assert!(notes.contains(&format!("network access refused: {host}:")), "{notes}");
    }
}

#[test]
fn plain_requests_are_passed_on_as_they_were_asked() {
    let server = Server::start(PAGE);
    let port = server.port;
    let place = place(&["allowed.example"], vec![port]);
    let ask = |head: &str| place.python(&format!("print(say(b'{head}'))")).0;
    let good = format!(
        "GET http://allowed.example:{port}/a?b HTTP/1.1\\r\\nHost: allowed.example:{port}\\r\\nProxy-Authorization: x\\r\\n\\r\\n"
    );
    assert!(ask(&good).contains("page"));
    let heard = server.heard();
    assert!(heard.starts_with("GET /a?b HTTP/1.1\r\n") && !heard.contains("Proxy-"), "{heard}");
    let count = || server.heard.lock().unwrap().len();
    let before = count();
    let line = format!("GET http://allowed.example:{port}/ HTTP/1.1\\r\\n");
    let host = format!("Host: allowed.example:{port}\\r\\n");
    for (head, status) in [
        (format!("{line}Host: evil.example\\r\\n\\r\\n"), "400"),
        (format!("{line}\\r\\n"), "400"),
        (format!("{line}{host}{host}\\r\\n"), "400"),
        (format!("{line}X: a\\nHost: evil.example\\r\\n{host}\\r\\n"), "400"),
        (format!("{line}{host}X: a\\rb\\r\\n\\r\\n"), "400"),
        (format!("{line}{host}Content-Length: +5\\r\\n\\r\\n"), "400"),
        (format!("{line}{host}Content-Length: 5\\r\\nContent-Length: 6\\r\\n\\r\\n"), "400"),
        (format!("{line}{host}Transfer-Encoding: chunked\\r\\n\\r\\n"), "411"),
        (format!("GET http://allowed.example:{port}/ HTTP/1.999\\r\\n{host}\\r\\n"), "400"),
        (
            format!(
                "GET http://evil.example:{port}/ HTTP/1.1\\r\\nHost: evil.example:{port}\\r\\n\\r\\n"
            ),
            "403",
        ),
        (
            format!(
                "GET http://allowed.example:{port}/{} HTTP/1.1\\r\\n{host}\\r\\n",
                "x".repeat(40_000)
            ),
            "431",
        ),
    ] {
        let answer = ask(&head);
        assert!(answer.contains(&format!("HTTP/1.1 {status}")), "{head}: {answer}");
    }
    assert_eq!(count(), before, "nothing of it reached the server");
}

#[test]
fn nobody_gets_around_the_way_out() {
    let server = Server::start(HELLO_BACK);
    let place = place(&["allowed.example"], vec![server.port]);
    let script = format!(
        "import os\n\
         def tried(what):\n    try: what(); print('REACHED')\n    except OSError as e: print('held')\n\
         tried(lambda: socket.create_connection(('127.0.0.1', {port}), 2))\n\
         tried(lambda: socket.create_connection(('1.1.1.1', 443), 2))\n\
         tried(lambda: socket.getaddrinfo('allowed.example', 443))\n\
         tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('1.1.1.1', 53)))\n\
         print(sorted(os.listdir('/proc/self/fd'))[:4], [n for n in os.environ if 'proxy' in n.lower()])",
        port = server.port
    );
    let (printed, _) = place.python(&script);
    assert!(!printed.contains("REACHED"), "{printed}");
    assert!(
        printed.contains("'HTTPS_PROXY'") && printed.contains("['0', '1', '2', '3']"),
        "{printed}"
    );
    assert_eq!(server.heard(), "");
}

#[test]
fn many_and_slow_clients_do_not_stop_it() {
    let server = Server::start(HELLO_BACK);
    let place = place(&["allowed.example"], vec![server.port]);
    let script = format!(
        "held = [connect() for _ in range(300)]\n\
         for s in held[:60]: s.sendall(b'CONN')\n\
         for s in held[100:]: s.close()\n\
         for s in held[:100]: s.close()\n\
         time.sleep(0.5)\n\
         print(say(b'CONNECT allowed.example:{port} HTTP/1.1\\r\\n\\r\\n', b'{hello}'))",
        port = server.port,
        hello = hello("allowed.example")
    );
    let (printed, _) = place.python(&script);
    assert!(printed.contains("HELLO BACK"), "{printed}");
}

#[test]
fn with_nothing_listed_there_is_no_way_out_at_all() {
    crate::ground::for_all(|scratch| {
        let got = crate::ground::inside(
            scratch,
            "exec 3<>/dev/tcp/127.0.0.1/3128 && echo REACHED; env | grep -i proxy; true",
        );
        assert_eq!(got.stdout, "", "{}", got.stderr);
        let got = crate::ground::inside_with(
            scratch,
            &["sandbox.egress=allowed.example"],
            "env | grep -c -i proxy=; exec 3<>/dev/tcp/127.0.0.1/3128 && echo OPEN",
        );
        assert_eq!(got.stdout, "9\nOPEN\n", "{}", got.stderr);
        for wrong in ["*", "http://x", "1.2.3.4", "a b", "*.com"] {
            let got =
                crate::ground::inside_with(scratch, &[&format!("sandbox.egress={wrong}")], "true");
            assert_eq!(got.code, 2, "{wrong}: {}", got.stderr);
            assert!(got.stderr.contains("is not a host"), "{}", got.stderr);
        }
    });
}
