//! `--server`: what a person is told if the command line, the token, the server or its replies are wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;

use crate::running_server::RunningServer;
use crate::scratch::{Ran, Scratch};

#[track_caller]
pub(crate) fn fails(ran: &Ran, code: i32, message: &str, hint: &str) {
    assert_eq!(ran.code, code, "{}", ran.stderr);
    assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
    assert!(ran.stderr.contains(hint), "{hint}: {}", ran.stderr);
    assert_eq!(ran.stdout, "");
}

#[test]
fn a_wrong_command_line_names_what_works() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let url = format!("http://{}", server.address);
    let token = scratch.state().join("first_tokens/agent");
    let token = token.to_str().unwrap();
    let run = |words: &[&str]| scratch.run(["--server", &url].iter().chain(words));
    fails(&run(&["tools"]), 2, "needs a token", "--token-file FILE");
    let named = "`stats`, `undo`, `proposals` and `plugins` work with a server";
    fails(&run(&["doctor"]), 2, "--server is not for this subcommand", named);
    fails(&run(&["serve"]), 2, "--server is not for this subcommand", named);
    for (flag, value) in [
        ("--workspace", Some("/tmp")),
        ("--toolset", Some("wink")),
        ("--mode", Some("strict")),
        ("--config", Some("policy.mode=strict")),
        ("--yes", None),
    ] {
        let mut words = vec!["--token-file", token, flag];
        words.extend(value);
        words.push("tools");
        fails(&run(&words), 2, &format!("{flag} is for this machine"), "hint:");
    }
    let with_token = |words: &[&str]| run(&[&["--token-file", token][..], words].concat());
    let many = ["audit", "tail", "-n", "10001"];
    fails(&with_token(&many), 2, "at most 10000 lines", "toolcrib audit export");
    let admins_only = "may not change what holds for everybody";
    fails(&with_token(&["stats", "rebuild"]), 1, admins_only, "`admin`");
    assert_eq!(with_token(&["tools"]).code, 0);
    let ran = scratch.run(["--token-file", token, "tools"]);
    fails(&ran, 2, "--token-file needs --server", "add --server URL");
    let ran = scratch.run(["call", "forgekeeper/echo", "text=a", "--wait", "3"]);
    fails(&ran, 2, "--wait needs --server", "");
    for address in ["127.0.0.1:1", "ftp://a", "http://a/api", "unix:"] {
        let ran = scratch.run(["--server", address, "--token-file", token, "tools"]);
        fails(&ran, 2, "is no address of a server", "write http://HOST:PORT, https://HOST:PORT or");
    }
}

#[test]
fn a_token_is_sent_in_plain_text_only_within_this_machine() {
    // This address leads to the listener, and is no loopback address.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let readable = "without TLS anyone on the way could read the token; nothing was sent";
    for url in [
        format!("http://0.0.0.0:{port}"),
        "http://192.0.2.1:7766".to_owned(),
        "http://[2001:db8::1]:7766".to_owned(),
    ] {
        let ran = ask(&url, &["tools"]);
        fails(&ran, 2, readable, &format!("use {}", url.replace("http:", "https:")));
        assert!(ran.stderr.contains("ssh -L"), "{}", ran.stderr);
    }
    assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
    // On this machine, whatever it is called.
    let none = r#"{"ok":true,"count":0,"calls":[]}"#;
    let reply =
        move |stream: &mut TcpStream| stream.write_all(json_reply(none).as_bytes()).unwrap();
    for host in ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]"] {
        let url = pretend(VERSION, reply).replace("127.0.0.1", host);
        assert_eq!(ask(&url, &["audit", "search"]).code, 0, "{url}");
    }
}

#[test]
fn a_wrong_token_or_role_is_told_with_the_next_step() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    let url = format!("http://{}", server.address);
    let run = |token: &str, words: &[&str]| {
        scratch.run(["--server", &url, "--token-file", token].iter().chain(words))
    };
    let put = |text: &str, mode: u32| {
        let path = scratch.path("token");
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let good = server.token("agent");
    let path = put(&good, 0o644);
    let chmod = format!("chmod 600 {path}");
    fails(&run(&path, &["tools"]), 2, "others can read or change the token", &chmod);
    assert_eq!(run(&put(&good, 0o600), &["tools"]).code, 0);
    fails(
        &run(&put("tcb_wrong", 0o600), &["tools"]),
        1,
        "does not accept the token",
        "toolcrib tokens add",
    );
    fails(&run(&put("two words", 0o600), &["tools"]), 2, "does not have one token", "");
    fails(&run("/nonexistent", &["tools"]), 2, "cannot be read", "");
    let agent = scratch.state().join("first_tokens/agent");
    let ran = run(agent.to_str().unwrap(), &["audit", "search"]);
    fails(
        &ran,
        1,
        "a token with the role `agent` may not read the record",
        "`approver` or `admin`",
    );
    let approver = scratch.state().join("first_tokens/approver");
    let ran = run(approver.to_str().unwrap(), &["call", "forgekeeper/echo", "text=a"]);
    fails(&ran, 1, "may not make calls", "`agent` or `admin`");
    drop(server);
    let ran = run(agent.to_str().unwrap(), &["tools"]);
    fails(&ran, 1, "cannot be reached", "check that `toolcrib serve` runs there");
    let ran = run(agent.to_str().unwrap(), &["call", "forgekeeper/echo", "text=a", "--json"]);
    assert_eq!(ran.json()["error"]["code"], "server_error");
}

const VERSION: &str =
    concat!(r#"{"ok":true,"name":"toolcrib","version":""#, env!("CARGO_PKG_VERSION"), r#""}"#);

/// Answers the connections of one client: `version` to the question for it, and `reply` to all else.
fn pretend(version: &'static str, reply: impl Fn(&mut TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut line = String::new();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let _ = reader.read_line(&mut line);
            while line.trim_end() != "" {
                let is_version = line.contains("/api/version");
                if is_version {
                    let _ = stream.write_all(json_reply(version).as_bytes());
                    break;
                }
                if line.starts_with("GET ") || line.starts_with("POST ") {
                    reply(&mut stream);
                    break;
                }
                line.clear();
                let _ = reader.read_line(&mut line);
            }
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let _ = reader.read_to_end(&mut Vec::new());
        }
    });
    format!("http://{address}")
}

fn json_reply(body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn ask(url: &str, words: &[&str]) -> Ran {
    let scratch = Scratch::new();
    let path = scratch.path("token");
    std::fs::write(&path, "tcb_any").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    scratch.run(["--server", url, "--token-file", path.to_str().unwrap()].iter().chain(words))
}

#[test]
fn what_is_no_toolcrib_server_is_told_so() {
    let not_ours = "is no Toolcrib server";
    let check = "check the address";
    let html = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\n\r\n<p>\n";
    let url = pretend(r#"{"ok":true,"name":"other","version":"1"}"#, |_| {});
    fails(&ask(&url, &["tools"]), 1, not_ours, check);
    let url = pretend(VERSION, move |stream| stream.write_all(html.as_bytes()).unwrap());
    fails(&ask(&url, &["tools"]), 1, not_ours, check);
    let url = pretend(VERSION, |stream| stream.write_all(b"220 smtp ready\r\n").unwrap());
    fails(&ask(&url, &["tools"]), 1, not_ours, check);
    let url = pretend(VERSION, |_| {});
    fails(&ask(&url, &["tools"]), 1, "ended the connection", "it may have stopped");
    for body in ["[]", "{", "{\"names\": 1}", "\"\u{1b}[31m\""] {
        let url =
            pretend(VERSION, move |stream| stream.write_all(json_reply(body).as_bytes()).unwrap());
        fails(&ask(&url, &["tools"]), 1, "reply cannot be read", "the version of Toolcrib");
    }
}

#[test]
fn another_version_is_a_warning() {
    let none = r#"{"ok":true,"count":0,"calls":[]}"#;
    let other = r#"{"ok":true,"name":"toolcrib","version":"99.0"}"#;
    let reply =
        move |stream: &mut TcpStream| stream.write_all(json_reply(none).as_bytes()).unwrap();
    let ran = ask(&pretend(other, reply), &["audit", "search"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "No matching calls.\n"));
    assert!(ran.stderr.contains("the server has version 99.0 of Toolcrib"), "{}", ran.stderr);
    let ran = ask(&pretend(VERSION, reply), &["audit", "search"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
}

#[test]
fn a_hostile_server_neither_fills_the_memory_nor_leads_the_terminal() {
    let endless = |stream: &mut TcpStream| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunk = format!("100000\r\n{}\r\n", " ".repeat(0x10_0000));
        let _ = stream.write_all(head.as_bytes());
        while stream.write_all(chunk.as_bytes()).is_ok() {}
    };
    let ran = ask(&pretend(VERSION, endless), &["audit", "search"]);
    fails(&ran, 1, "is larger than 64 MiB", "ask for less");

    let call = r#"{"call":"01\u001b[31mAAAAAAAAAAAA","at":"\u001b[31m","tool":"a/\u001b[31m","args":"\u001b[31m","outcome":"\u001b[31m","elapsed_ms":1}"#;
    let body = format!(r#"{{"ok":true,"count":1,"calls":[{call}]}}"#);
    let outcome = r#"{"call":"01\u001b[31m","tool":"wink/\u001b[31m","text":"{\"output\":\"\\u001b[31m\"}","error":null,"decision":null,"grant":"\u001b[31m","changes":[],"touched":null,"place":{"root":"","has_copies":true,"deleted":[]},"elapsed_us":1,"has_failed_command":false,"unrecorded":null}"#;
    let tools = r#"{"names":["echo","\u001b[31m"],"limits":[{"deadline_ms":1,"output_bytes":1},{"deadline_ms":1,"output_bytes":1}]}"#;
    let error = r#"{"ok":false,"error":"x","message":"\u001b[31m"}"#;
    let changed = r#"{"calls":[{"call":"\u001b[31m","tool":"a/\u001b[31m","at":"\u001b[31m","command":"\u001b[31m","undone":false,"changes":[]}],"total":1,"short_ids":["\u001b[31m"]}"#;
    for (body, words) in [
        (body.as_str(), &["audit", "search"][..]),
        (body.as_str(), &["audit", "search", "--json"]),
        (tools, &["tools"]),
        (changed, &["undo"]),
        (error, &["audit", "search"]),
    ] {
        let reply = json_reply(body);
        let url = pretend(VERSION, move |stream| stream.write_all(reply.as_bytes()).unwrap());
        let ran = ask(&url, words);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(!said.contains('\u{1b}'), "{words:?}: {said:?}");
    }
    // The first reply has the tools, and the second one the outcome of the call.
    let number = std::sync::atomic::AtomicUsize::new(0);
    let url = pretend(VERSION, move |stream| {
        let is_first = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
        let body = if is_first { tools } else { outcome };
        stream.write_all(json_reply(body).as_bytes()).unwrap();
    });
    let ran = ask(&url, &["call", "echo", "text=a"]);
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(
        said.contains("\\x1b") || said.contains("\\u{1b}") || said.contains("\\u001b"),
        "{said:?}"
    );
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
