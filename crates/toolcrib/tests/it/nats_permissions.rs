//! The configuration that `toolcrib nats init` writes, in force: who may do what on the bus.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::nats_bus::NatsBus;
use crate::running_server::{RunningServer, wait_until};
use crate::running_worker::RunningWorker;
use crate::scratch::Scratch;

/// Returns the seed of a user.
fn seed(scratch: &Scratch, user: &str) -> String {
    fs::read_to_string(scratch.path(&format!("bus/{user}.nk"))).unwrap().trim().to_owned()
}

/// Writes a configuration for a worker `w1` and two agents, and starts a server with it.
fn start(scratch: &Scratch) -> NatsBus<'_> {
    let bus = NatsBus::absent(scratch);
    let listen = bus.url().replace("nats://", "");
    let dir = scratch.path("bus");
    let words = ["nats", "init", "--dir", dir.to_str().unwrap(), "--listen", &listen];
    let more = ["--worker", "w1=app@gpu", "--agent", "ci", "--agent", "other"];
    let ran = scratch.run([&words[..], &more].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("toolcrib -c nats.credentials=worker-w1.nk"), "{}", ran.stdout);
    let mut bus = bus;
    bus.begin_as(&dir.join("nats.conf"));
    bus
}

#[test]
fn the_written_configuration_lets_everybody_work_and_nobody_do_more() {
    let (here, there) = (Scratch::new(), Scratch::new());
    there.put("a.txt", "at the worker\n");
    let bus = start(&here);
    let credentials =
        |user: &str| format!("nats.credentials={}", here.path(&format!("bus/{user}.nk")).display());
    let (url, gateway) = (format!("nats.url={}", bus.url()), credentials("gateway"));
    let places = "nats.places=clemini=app@gpu,nachos/calculator=app";
    let server = RunningServer::start_with(&here, &["-c", &url, "-c", &gateway, "-c", places]);
    let key = here.run(["nats", "key"]).stdout.trim().to_owned();
    let words = ["-c", &credentials("worker-w1"), "-c", "worker.name=w1", "--label", "gpu"];
    let _worker = RunningWorker::start(&there, &bus.url(), &key, &words);
    let token = server.token("agent");
    wait_until(|| server.execute(&token, "nachos/calculator", json!({"expression": "1"})).0 == 200);
    let (_, reply) = server.execute(&token, "clemini/read_file", json!({"file_path": "a.txt"}));
    assert_eq!(reply["contents"], "1: at the worker", "{reply}");
    // An agent calls tools, and hears its own replies.
    let ci = seed(&here, "agent-ci");
    let read = json!({"prefix": "nachos.agent.ci", "tool": "clemini/read_file", "payload": {"file_path": "a.txt"}});
    let replies = bus.client_of(&["_INBOX_ci", &ci], &json!([read]));
    assert!(replies[0].to_string().contains("at the worker"), "{replies:?}");
    let denied = |inbox: &str, seed: &str, step: Value| {
        let mut step = step;
        step["denied"] = true.into();
        bus.client_of(&[inbox, seed], &json!([step])).remove(0)
    };
    let violation = json!(["PERMISSIONS_VIOLATION"]);
    let publish = |subject: &str| json!({"subject": subject, "raw": "{}"});
    for step in [
        json!({"listen": "_INBOX_other.>"}),
        json!({"listen": "_INBOX.>"}),
        json!({"listen": "_INBOX_GATEWAY.>"}),
        json!({"listen": "nachos.>"}),
        json!({"listen": "nachos.worker.w1.x.run"}),
        json!({"listen": "$SYS.>"}),
        json!({"listen": "$SRV.>"}),
        publish("_INBOX_other.r1"),
        publish("_INBOX_GATEWAY.a.b"),
        publish("nachos.agent.other.tool.calculator.request"),
        publish("nachos.tool.calculator.request"),
        publish("nachos.place.app.any.check"),
        publish("nachos.worker.w1.x.run"),
        publish("$JS.API.INFO"),
        publish("$KV.approvals.x"),
    ] {
        assert_eq!(denied("_INBOX_ci", &ci, step.clone()), violation, "an agent: {step}");
    }
    // A worker hears what is sent to it, and answers that.
    let w1 = seed(&here, "worker-w1");
    for step in [
        json!({"listen": "_INBOX_GATEWAY.>"}),
        json!({"listen": "nachos.worker.w2.x.run"}),
        json!({"listen": "nachos.worker.w1.x.run"}),
        json!({"listen": "nachos.place.other.any.check"}),
        json!({"listen": "nachos.tool.*.request"}),
        publish("nachos.worker.w1.x.run"),
        publish("_INBOX_GATEWAY.a.b"),
        publish("_INBOX_ci.r1"),
    ] {
        assert_eq!(denied("_INBOX.x", &w1, step.clone()), violation, "a worker: {step}");
    }
    // An operator sees the workers.
    let words = ["-c", &credentials("operator"), "workers", "--nats", &bus.url(), "--json"];
    let listed = here.run(words).json();
    assert_eq!(listed[0]["worker"], "w1", "{listed}");
    assert_eq!(listed[0]["labels"], "gpu", "{listed}");
    // Without a key, nobody gets in.
    let none = here.run(["workers", "--nats", &bus.url()]);
    assert_eq!(none.code, 1, "{}{}", none.stdout, none.stderr);
}

#[test]
fn what_init_cannot_write_is_told() {
    let scratch = Scratch::new();
    let dir = scratch.path("bus");
    let init = |words: &[&str]| {
        scratch.run([&["nats", "init", "--dir", dir.to_str().unwrap()], words].concat())
    };
    for (words, told) in [
        (["--worker", "w1"], "is no worker"),
        (["--worker", "W=app"], "is no worker"),
        (["--agent", "a b"], "cannot be the id of an agent"),
        (["--listen", "nowhere"], "no address to listen on"),
        (["--listen", "a\"b:1"], "no address to listen on"),
        (["--tls-key", "x"], "--tls-certificate"),
    ] {
        let ran = init(&words);
        assert_eq!(ran.code, 2, "{words:?}");
        assert!(ran.stderr.contains(told), "{words:?}: {}", ran.stderr);
        assert!(!dir.exists(), "{words:?}");
    }
    let twice = init(&["--agent", "ci", "--agent", "ci"]);
    assert!(twice.stderr.contains("named twice"), "{}", twice.stderr);
    assert_eq!(init(&["--listen", "10.0.0.1:4222"]).code, 0, "the control");
    let mode = |path: &str| fs::metadata(dir.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("."), mode("nats.conf"), mode("gateway.nk")), (0o700, 0o600, 0o600));
    let again = init(&[]);
    assert_eq!(again.code, 2, "what is there is never overwritten: {}", again.stdout);
}
