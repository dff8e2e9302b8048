//! The spans that the server exports to a collector.

use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::running_server::{LOG, RunningServer, read_message, wait_until};
use crate::scratch::Scratch;
use crate::server_observation::{metrics, number};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A collector that takes exports. It refuses the first, so that it comes again.
struct Collector {
    address: SocketAddr,
    exports: Receiver<(String, Value)>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, exports) = channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            for (place, stream) in listener.incoming().enumerate() {
                if told.load(Ordering::SeqCst) {
                    return;
                }
                let status = if place == 0 { "503 Busy" } else { "200 OK" };
                take_export(stream.unwrap(), status, &sender);
            }
        });
        Self { address, exports, is_over, thread: Some(thread) }
    }

    /// Returns the spans of all exports until one has the name, and the heads of the requests.
    fn take_until(&self, last: &str) -> (Vec<Value>, Vec<String>) {
        let (mut spans, mut heads) = (Vec::<Value>::new(), Vec::new());
        while !spans.iter().any(|span| span["name"] == last) {
            let (head, export) = self.exports.recv().unwrap();
            heads.push(head);
            let resource = &export["resourceSpans"][0];
            let service = &resource["resource"]["attributes"][0];
            let name = json!({"key": "service.name", "value": {"stringValue": "toolcrib"}});
            assert_eq!(*service, name);
            spans.extend(resource["scopeSpans"][0]["spans"].as_array().unwrap().clone());
        }
        (spans, heads)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

/// Reads one request, and hands it on if it is accepted.
fn take_export(stream: TcpStream, status: &str, sender: &Sender<(String, Value)>) {
    let mut stream = BufReader::new(stream);
    let (head, body) = read_message(&mut stream);
    let reply = format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\n{{}}");
    stream.get_mut().write_all(reply.as_bytes()).unwrap();
    if status == "200 OK" {
        let _ = sender.send((head, serde_json::from_slice(&body).unwrap()));
    }
}

/// Writes a file with a header for the collector.
fn headers_file(scratch: &Scratch, mode: u32) -> PathBuf {
    scratch.put_at("headers", "X-Key: s3cret-key\n");
    let path = scratch.path("headers");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
    path
}

/// Returns an attribute of a span.
fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let all = span["attributes"].as_array().unwrap();
    all.iter().find(|it| it["key"] == key).map_or(&Value::Null, |it| &it["value"])
}

/// Returns the one span of a name.
#[track_caller]
fn find<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let mut found = spans.iter().filter(|span| span["name"] == name);
    let (Some(span), None) = (found.next(), found.next()) else { panic!("{name}: {spans:?}") };
    span
}

#[test]
fn requests_and_calls_are_exported_in_the_trace_of_the_caller() {
    let (scratch, collector) = (Scratch::new(), Collector::start());
    let path = headers_file(&scratch, 0o600);
    let endpoint = format!("otlp.endpoint=http://{}", collector.address);
    let headers_file = format!("otlp.headers_file={}", path.display());
    let words = ["--config", &endpoint, "--config", &headers_file];
    let server = RunningServer::start_with(&scratch, &words);
    let agent = server.token("agent");
    let call = |tool: &str, flags: &str, args: Value| {
        let headers = format!(
            "traceparent: 00-{TRACE}-b7ad6b7169203331-{flags}\r\ntracestate: a=1\r\nX-Request-Id: id-{flags}\r\n"
        );
        let path = format!("/api/tools/execute/{tool}");
        server.send(&agent, "POST", &path, &headers, &json!({"args": args}).to_string()).0
    };
    assert_eq!(call("echo", "00", json!({"text": "not sampled"})), 200);
    assert_eq!(call("echo", "01", json!({"text": "s3cret"})), 200);
    assert_eq!(call("clemini/bash", "01", json!({"command": "touch x"})), 403);
    let (spans, heads) = collector.take_until("POST /api/tools/execute/{catalogue}/{tool}");
    check_echo(&spans);
    let parked = find(&spans, "execute_tool clemini/bash");
    assert_eq!(parked["status"], json!({"code": 2}));
    assert_eq!(attribute(parked, "error.type")["stringValue"], "approval_required");
    assert_eq!(attribute(parked, "toolcrib.policy.decision")["stringValue"], "ask");
    assert!(attribute(parked, "toolcrib.approval.id")["stringValue"].is_string());
    for head in &heads {
        assert!(head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{head}");
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(head.contains("x-key: s3cret-key"), "{head}");
    }
    assert!(!json!(spans).to_string().contains("s3cret"));
    wait_until(|| number(&metrics(&server), "toolcrib_spans_exported_total") == spans.len() as u64);
    assert_eq!(number(&metrics(&server), "toolcrib_spans_dropped_total"), 0);
}

/// Checks the spans of a call of `echo`.
fn check_echo(spans: &[Value]) {
    let request = find(spans, "POST /api/tools/execute/{tool}");
    let echo = find(spans, "execute_tool forgekeeper/echo");
    for span in [request, echo] {
        assert_eq!((&span["traceId"], &span["traceState"]), (&TRACE.into(), &"a=1".into()));
        assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
        let time = |key: &str| span[key].as_str().unwrap().parse::<u64>().unwrap();
        assert!(time("startTimeUnixNano") <= time("endTimeUnixNano"), "{span}");
        assert_eq!(span["status"], Value::Null);
    }
    let parent = json!("b7ad6b7169203331");
    assert_eq!((&request["parentSpanId"], &request["kind"]), (&parent, &2.into()));
    assert_eq!((&echo["parentSpanId"], &echo["kind"]), (&request["spanId"], &1.into()));
    for (span, key, expected) in [
        (request, "http.request.method", json!({"stringValue": "POST"})),
        (request, "http.route", json!({"stringValue": "/api/tools/execute/{tool}"})),
        (request, "http.response.status_code", json!({"intValue": "200"})),
        (request, "toolcrib.request.id", json!({"stringValue": "id-01"})),
        (request, "url.path", Value::Null),
        (echo, "gen_ai.operation.name", json!({"stringValue": "execute_tool"})),
        (echo, "gen_ai.tool.name", json!({"stringValue": "forgekeeper/echo"})),
        (echo, "gen_ai.tool.type", json!({"stringValue": "function"})),
        (echo, "toolcrib.policy.decision", json!({"stringValue": "allow"})),
        (echo, "toolcrib.principal.role", json!({"stringValue": "agent"})),
        (echo, "toolcrib.approval.id", Value::Null),
        (echo, "error.type", Value::Null),
    ] {
        assert_eq!(*attribute(span, key), expected, "{key}: {span}");
    }
    assert!(attribute(echo, "gen_ai.tool.call.id")["stringValue"].is_string(), "{echo}");
}

#[test]
fn a_server_that_stops_exports_its_last_spans() {
    let (scratch, collector) = (Scratch::new(), Collector::start());
    let endpoint = format!("otlp.endpoint=http://{}", collector.address);
    let server = RunningServer::start_with(&scratch, &["--config", &endpoint]);
    let agent = server.token("agent");
    // The collector refuses the first export.
    assert_eq!(server.get(&agent, "/api/version").0, 200);
    collector.take_until("GET /api/version");
    assert_eq!(server.get(&agent, "/api/tools").0, 200);
    assert_eq!(server.stop().0, 0);
    let (spans, _) = collector.take_until("GET /api/tools");
    let span = find(&spans, "GET /api/tools");
    assert_eq!(span["parentSpanId"], Value::Null);
    assert_eq!(span["traceId"].as_str().unwrap().len(), 32, "a trace of its own");
}

#[test]
fn without_a_collector_calls_go_on_and_the_log_says_so() {
    let scratch = Scratch::new();
    // Nobody listens at the port any more.
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let endpoint = format!("otlp.endpoint=http://{free}");
    let server = RunningServer::start_with(&scratch, &["--config", &endpoint]);
    let agent = server.token("agent");
    assert_eq!(server.execute(&agent, "echo", json!({"text": "hi"})).0, 200);
    assert_eq!(server.stop().0, 0);
    let log = std::fs::read_to_string(scratch.path(LOG)).unwrap();
    assert!(log.contains("WARN spans cannot be exported and are dropped"), "{log}");
}

#[test]
fn a_collector_with_wrong_settings_is_refused_without_showing_secrets() {
    let scratch = Scratch::new();
    let shared = format!("otlp.headers_file={}", headers_file(&scratch, 0o644).display());
    let good = "otlp.endpoint=http://127.0.0.1:1";
    for (settings, message) in [
        ([good, shared.as_str()], "others have access to it"),
        ([good, "otlp.headers_file=/nonexistent"], "No such file"),
        (["otlp.endpoint=http://u:s3cret@h", "log.level=info"], "it has a user in it"),
        (["otlp.endpoint=h:4318", "log.level=info"], "it begins neither with"),
    ] {
        let words = ["-c", settings[0], "-c", settings[1], "serve", "--address", "127.0.0.1:0"];
        let ran = scratch.run(words);
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
        assert!(!ran.stderr.contains("s3cret"), "{}", ran.stderr);
    }
    headers_file(&scratch, 0o600);
    RunningServer::start_with(&scratch, &["-c", good, "-c", &shared]).stop();
}
