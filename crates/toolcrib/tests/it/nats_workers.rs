//! Calls that run on other machines: a gateway, a real NATS server, and workers.

use std::os::unix::fs::symlink;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::nats_cluster::{Cluster, FREE_COMMANDS};
use crate::nats_raw::{RawMessage, RawNats};
use crate::running_server::wait_until;
use crate::running_worker::RunningWorker;
use crate::scratch::Scratch;

#[test]
fn a_call_runs_on_a_worker_and_is_decided_and_recorded_at_the_gateway() {
    let (here, there) = (Scratch::new(), Scratch::new());
    here.put("where.txt", "at the gateway\n");
    there.put("where.txt", "at the worker\n");
    let cluster = Cluster::start(&here, &there);
    let _worker = cluster.worker(&[]);
    let read = json!({"file_path": "where.txt"});
    let (status, reply) = cluster.call("clemini/read_file", read.clone());
    assert_eq!((status, &reply["contents"]), (200, &json!("1: at the worker")), "{reply}");
    let (status, reply) = cluster.call("clemini/bash", json!({"command": "cat where.txt"}));
    assert_eq!((status, &reply["stdout"]), (200, &json!("at the worker\n")), "{reply}");
    // The control: a tool that is placed nowhere runs at the gateway.
    let (_, reply) = cluster.call("wink/read_file", json!({"path": "where.txt"}));
    assert!(reply.to_string().contains("at the gateway"), "{reply}");
    // A client of the contract is placed alike.
    let steps = json!([{"tool": "clemini/read_file", "payload": {"file_path": "where.txt"}}]);
    let replies = cluster.bus.client("_INBOX", &steps);
    assert!(replies[0].to_string().contains("at the worker"), "{replies:?}");
    // An error is that of the tool, in the words of its catalogue.
    let (_, reply) = cluster.call("clemini/read_file", json!({"file_path": "none.txt"}));
    assert_eq!(reply["error"], "not_found", "{reply}");
    // A change is approved at the gateway, where people see what would become of the files there.
    let write = json!({"file_path": "new.txt", "content": "made\n"});
    let (_, asked) = cluster.call("clemini/write_file", write);
    let id = asked["approval"]["id"].as_str().unwrap().to_owned();
    let (_, listed) = cluster.gateway.get(&cluster.gateway.token("approver"), "/api/approvals");
    let question = &listed["approvals"][0];
    assert_eq!(question["what"], "create new.txt (+1 -0)", "{listed}");
    assert!(question["place"].as_str().unwrap().starts_with("app ("), "{listed}");
    // At a terminal of the gateway's machine it cannot be run, because only the gateway reaches the worker.
    let ran = here.run(["--yes", "approvals", "approve", &id]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    assert!(ran.stderr.contains("--server URL"), "{}", ran.stderr);
    assert!(!there.work().join("new.txt").exists());
    cluster.approve(&id);
    let done = cluster.outcome(&id);
    assert_eq!(there.text("new.txt"), "made\n", "{done}");
    assert!(!here.work().join("new.txt").exists());
    // Both machines have the call on their record, and the worker can take the change back.
    let token = cluster.gateway.token("admin");
    let (_, calls) = cluster.gateway.get(&token, "/api/audit?tool=clemini/write_file");
    assert!(calls.to_string().contains(&id), "{calls}");
    assert!(there.run(["audit", "show", &id]).stdout.contains("clemini/write_file"));
    assert_eq!(there.run(["--yes", "undo", &id]).code, 0);
    assert!(!there.work().join("new.txt").exists());
}

#[test]
fn the_rules_of_the_gateway_hold_where_the_files_are() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let rules = "[[rule]]\nid = \"no-secrets\"\ntool = \"clemini\"\npaths = [\"secret/**\"]\neffect = \"deny\"\n\n\
        [[rule]]\nid = \"ask-plans\"\ntool = \"clemini/read_file\"\npaths = [\"plans/**\"]\neffect = \"ask\"\n";
    here.put_at("home/.config/toolcrib/rules.toml", rules);
    // What a worker's own user allows loosens nothing.
    let loose = "[[rule]]\nid = \"all\"\ntool = \"clemini\"\neffect = \"allow\"\n";
    there.put_at("home/.config/toolcrib/rules.toml", loose);
    there.put("secret/key", "hidden\n");
    there.put("plans/a.txt", "a plan\n");
    there.put("open.txt", "open\n");
    symlink("secret", there.work().join("link")).unwrap();
    // The gateway has a folder of that name that no rule is about: its own files say nothing.
    here.put("link/key", "nothing\n");
    let cluster = Cluster::start(&here, &there);
    let _worker = cluster.worker(&[]);
    let read = |path: &str| cluster.call("clemini/read_file", json!({"file_path": path}));
    assert_eq!(read("open.txt").0, 200, "the control");
    for path in ["secret/key", "link/key", "./secret/../secret/key"] {
        let (_, reply) = read(path);
        assert_eq!(reply["error"], "refused", "{path}: {reply}");
    }
    let (_, reply) = cluster.call("clemini/bash", json!({"command": "cat link/key"}));
    assert!(!reply.to_string().contains("hidden"), "{reply}");
    let (_, reply) = read("plans/a.txt");
    assert_eq!(reply["error"], "approval_required", "{reply}");
    let (_, reply) = cluster.call("clemini/write_file", json!({"file_path": "n", "content": "x"}));
    assert_eq!(reply["error"], "approval_required", "{reply}");
    // The file that a person approved a change of has changed meanwhile.
    let edit = json!({"file_path": "open.txt", "old_string": "open", "new_string": "shut"});
    let (_, asked) = cluster.call("clemini/edit", edit);
    let id = asked["approval"]["id"].as_str().unwrap().to_owned();
    there.put("open.txt", "open and more\n");
    cluster.approve(&id);
    let outcome = cluster.outcome(&id);
    assert_eq!(there.text("open.txt"), "open and more\n", "{outcome}");
    let edit = json!({"file_path": "open.txt", "old_string": "open and", "new_string": "shut and"});
    let done = cluster.call_approved("clemini/edit", edit);
    assert_eq!(there.text("open.txt"), "shut and more\n", "the control: {done}");
}

#[test]
fn a_worker_runs_nothing_without_a_permit_and_nothing_twice() {
    let (here, there) = (Scratch::new(), Scratch::new());
    here.put_at("home/.config/toolcrib/rules.toml", FREE_COMMANDS);
    let cluster = Cluster::start(&here, &there);
    let worker = cluster.worker(&[]);
    let mut tap = RawNats::connect(&cluster.bus.url());
    tap.subscribe("nachos.>");
    let (_, reply) = cluster.call("clemini/bash", json!({"command": "echo ran >> ran.txt"}));
    assert_eq!(reply["exit_code"], 0, "{reply}");
    let ran = || there.text("ran.txt").lines().count();
    assert_eq!(ran(), 1);
    let check = std::iter::repeat_with(|| tap.next()).find(|it| it.verb() == "check");
    let run = std::iter::repeat_with(|| tap.next()).find(|it| it.verb() == "run");
    let (check, run) = (check.unwrap(), run.unwrap());
    let mut evil = RawNats::connect(&cluster.bus.url());
    let own = |number: u32| format!("_INBOX_GATEWAY.evil.{number}");
    // A message that the gateway sent is sent again, with its own reply: the offer is used up.
    let again = evil.ask(&run);
    assert!(again.contains("no_offer"), "{again}");
    // The same for another inbox, without a signature, and with one of something else.
    let forged = [
        RawMessage { reply: own(1), ..check.clone() },
        RawMessage { reply: own(2), headers: String::new(), ..check.clone() },
        RawMessage { reply: own(3), ..run.clone() },
        RawMessage { reply: own(4), headers: check.headers.clone(), ..run.clone() },
        RawMessage {
            reply: own(5),
            body: check.body.replace("ran.txt", "evil.txt"),
            ..check.clone()
        },
        RawMessage { reply: own(6), subject: run.subject.clone(), ..check.clone() },
        RawMessage { reply: own(7), body: "garbage".to_owned(), ..check.clone() },
        RawMessage { reply: own(8), body: String::new(), headers: String::new(), ..run.clone() },
    ];
    for message in &forged {
        let reply = evil.ask(message);
        assert!(reply.contains("\"reply\":\"refused\""), "{message:?}: {reply}");
    }
    // A check can be had again, and offers to run the call: but the offer is of no use without a permit.
    let checked: Value = serde_json::from_str(&evil.ask(&check)).unwrap();
    assert_eq!(checked["reply"], "checked", "{checked}");
    let permitted = json!({"offer": checked["offer"], "answered": null}).to_string();
    let run_it = RawMessage { reply: own(9), body: permitted, ..run.clone() };
    assert!(evil.ask(&run_it).contains("refused"));
    // A call that computes goes without a check, and so may only compute.
    let compute = check.subject.replace(".check", ".compute");
    let direct = RawMessage { reply: own(10), subject: compute, ..check };
    assert!(evil.ask(&direct).contains("refused"));
    // Nobody but a gateway gets replies.
    evil.publish(&RawMessage { reply: "_INBOX.evil".to_owned(), ..run });
    assert_eq!(ran(), 1);
    assert!(!there.work().join("evil.txt").exists());
    worker.signal(Signal::TERM);
    assert_eq!(worker.end().0, 0);
    let noted = there.run(["audit", "tail", "-n", "50"]).stdout;
    assert!(noted.contains("no gateway that is trusted has signed the message"), "{noted}");
}

#[test]
fn a_worker_trusts_only_the_gateways_that_it_was_told() {
    let (here, there, other) = (Scratch::new(), Scratch::new(), Scratch::new());
    let cluster = Cluster::start(&here, &there);
    let key = other.run(["nats", "key"]).stdout;
    let worker = RunningWorker::start(&there, &cluster.bus.url(), key.trim(), &[]);
    let mut last = Value::Null;
    wait_until(|| {
        last = cluster.call("clemini/read_file", json!({"file_path": "a"})).1;
        !last.to_string().contains("NATS server is down")
    });
    assert_eq!(last["error"], "unavailable", "{last}");
    assert!(last["message"].as_str().unwrap().contains("not signed with a key"), "{last}");
    drop(worker);
    let _worker = cluster.worker(&[]);
    let (_, reply) = cluster.call("clemini/read_file", json!({"file_path": "a"}));
    assert_eq!(reply["error"], "not_found", "the control: {reply}");
}

#[test]
fn what_a_worker_or_a_gateway_cannot_be_started_with_is_told() {
    let scratch = Scratch::new();
    let key = scratch.run(["nats", "key"]).stdout.trim().to_owned();
    assert_eq!(scratch.run(["nats", "key"]).stdout.trim(), key, "it is made once");
    let worker = |words: &[&str]| {
        let ran = scratch.run([&["worker"], words].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}{}", ran.stdout, ran.stderr);
        ran.stderr
    };
    let url = ["--nats", "nats://127.0.0.1:1"];
    let with = |words: &[&str]| worker(&[&url[..], words].concat());
    assert!(worker(&[]).contains("no NATS server is named"));
    assert!(worker(&["--nats", "http://x"]).contains("not the URL of a NATS server"));
    assert!(with(&[]).contains("--as NAME"));
    assert!(with(&["--as", "App *"]).contains("cannot be the name of a workspace"));
    assert!(with(&["--as", "app"]).contains("no gateway is trusted"));
    assert!(with(&["--as", "app", "--gateway", "VKEY"]).contains("is no public key"));
    let tools = with(&["--as", "app", "--gateway", &key, "--tools", "clemini,clemini/edti"]);
    assert!(tools.contains("no tool `clemini/edti`"), "{tools}");
    let label = with(&["--as", "app", "--gateway", &key, "--label", "a.b"]);
    assert!(label.contains("cannot be the name of a label"), "{label}");
    for places in
        ["clemini", "clemini=App", "=app", "clemini/bahs=app", "clemini=app,clemini=other"]
    {
        let places = format!("nats.places={places}");
        let words = [
            "-c",
            &places,
            "-c",
            "nats.url=nats://127.0.0.1:1",
            "serve",
            "--address",
            "127.0.0.1:0",
        ];
        let ran = scratch.run(words);
        assert_eq!(ran.code, 2, "{places}: {}", ran.stderr);
        assert!(ran.stderr.contains("places no tools"), "{}", ran.stderr);
    }
    // A tool that is placed elsewhere never runs here, also if the NATS server was forgotten.
    let words = ["-c", "nats.places=clemini=app", "serve", "--address", "127.0.0.1:0"];
    let ran = scratch.run(words);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no NATS server is named"), "{}", ran.stderr);
    let none = scratch.run(["workers", "--nats", "nats://127.0.0.1:1"]);
    assert_eq!(none.code, 1, "{}", none.stderr);
    assert!(none.stderr.contains("the NATS server does not answer"), "{}", none.stderr);
}
