//! What becomes of calls on workers when something fails, and the limits that hold for them.

use rustix::process::Signal;
use serde_json::json;

use crate::nats_cluster::{Cluster, FREE_COMMANDS};
use crate::running_server::wait_until;
use crate::running_worker::RunningWorker;
use crate::scratch::Scratch;

#[test]
fn faults_end_calls_with_an_error_that_says_what_is_known() {
    let (here, there) = (Scratch::new(), Scratch::new());
    here.put_at("home/.config/toolcrib/rules.toml", FREE_COMMANDS);
    there.put("a.txt", "text\n");
    let mut cluster = Cluster::start(&here, &there);
    let (_, reply) = cluster.call("clemini/read_file", json!({"file_path": "a.txt"}));
    assert_eq!(reply["error"], "unavailable", "no worker yet: {reply}");
    let worker = cluster.worker(&[]);
    // A worker is killed while it runs something.
    let long = "echo begun >> begun.txt; sleep 600";
    let call = cluster.begin("clemini/bash", json!({"command": long, "timeout_seconds": 300}));
    wait_until(|| there.work().join("begun.txt").exists());
    worker.signal(Signal::KILL);
    let (_, reply) = call.join().unwrap();
    assert!(reply.to_string().contains("\"outcome\":\"unknown\""), "{reply}");
    drop(worker);
    let (_, reply) = cluster.call("clemini/read_file", json!({"file_path": "a.txt"}));
    assert_eq!(reply["error"], "unavailable", "{reply}");
    assert!(reply["message"].as_str().unwrap().contains("no worker of `app`"), "{reply}");
    // The NATS server goes away: what is placed nowhere works on.
    let worker = cluster.worker(&["--label", "gpu"]);
    assert_eq!(there.text("begun.txt"), "begun\n", "nothing ran twice");
    cluster.bus.kill();
    wait_until(|| {
        let (_, reply) = cluster.call("clemini/read_file", json!({"file_path": "a.txt"}));
        assert_eq!(reply["error"], "unavailable", "{reply}");
        reply["message"].as_str().unwrap().contains("NATS server is down")
    });
    let (status, _) = cluster.call("wink/read_file", json!({"path": "none"}));
    assert_ne!(status, 503);
    cluster.bus.begin();
    wait_until(|| cluster.call("clemini/read_file", json!({"file_path": "a.txt"})).0 == 200);
    // A worker that is told to stop ends what it runs, and takes no more.
    let call = cluster.begin("clemini/bash", json!({"command": "touch slow; sleep 2; echo done"}));
    wait_until(|| there.work().join("slow").exists());
    worker.signal(Signal::TERM);
    let (_, reply) = call.join().unwrap();
    assert_eq!(reply["stdout"], "done\n", "{reply}");
    let (code, last) = worker.end();
    assert_eq!((code, last.as_str()), (0, "Stopped.\n"));
}

#[test]
fn a_busy_worker_refuses_and_others_take_over() {
    let (here, there) = (Scratch::new(), Scratch::new());
    here.put_at("home/.config/toolcrib/rules.toml", FREE_COMMANDS);
    let cluster = Cluster::start(&here, &there);
    let name = |name: &str| format!("worker.name={name}");
    let one = cluster.worker(&["-c", &name("one"), "-c", "worker.most_running=1"]);
    let wait = json!({"command": "touch begun; while [ ! -e go ]; do sleep 0.1; done; echo ended"});
    let first = cluster.begin("clemini/bash", wait);
    wait_until(|| there.work().join("begun").exists());
    let (_, reply) = cluster.call("clemini/bash", json!({"command": "echo two"}));
    assert_eq!(reply["error"], "unavailable", "{reply}");
    assert!(reply["message"].as_str().unwrap().contains("no free worker"), "{reply}");
    let other = Scratch::new();
    let _two =
        RunningWorker::start(&other, &cluster.bus.url(), &cluster.key, &["-c", &name("two")]);
    wait_until(|| {
        let (_, reply) = cluster.call("clemini/bash", json!({"command": "echo two"}));
        reply["stdout"] == "two\n"
    });
    let listed = here.run(["workers", "--nats", &cluster.bus.url(), "--json"]).json();
    let of = |name: &str| {
        let all = listed.as_array().unwrap().iter();
        all.into_iter().find(|it| it["worker"] == name).unwrap_or_else(|| panic!("{listed}"))
    };
    assert_eq!((&of("one")["running"], &of("one")["most_running"]), (&json!(1), &json!(1)));
    assert!(of("two")["calls"].as_u64().unwrap() > 0, "{listed}");
    let shown = here.run(["workers", "--nats", &cluster.bus.url()]).stdout;
    assert!(shown.starts_with("WORKSPACE  WORKER  RUNNING"), "{shown}");
    there.put("go", "");
    assert_eq!(first.join().unwrap().1["stdout"], "ended\n");
    drop(one);
}

#[test]
fn a_worker_that_comes_back_under_its_name_does_not_run_a_call_again() {
    let (here, there) = (Scratch::new(), Scratch::new());
    here.put_at("home/.config/toolcrib/rules.toml", FREE_COMMANDS);
    let cluster = Cluster::start(&here, &there);
    let name = ["-c", "worker.name=w1"];
    let first = cluster.worker(&name);
    let long = "echo ran >> ran.txt; while [ ! -e go ]; do sleep 0.1; done";
    let call = cluster.begin("clemini/bash", json!({"command": long}));
    wait_until(|| there.work().join("ran.txt").exists());
    first.signal(Signal::KILL);
    drop(first);
    let second = cluster.worker(&name);
    let (_, reply) = call.join().unwrap();
    assert!(reply.to_string().contains("\"outcome\":\"unknown\""), "{reply}");
    assert_eq!(there.text("ran.txt"), "ran\n");
    // Two of one name do not get each other's calls.
    let _third = cluster.worker(&name);
    there.put("go", "");
    for number in 2..12 {
        let (_, reply) = cluster.call("clemini/bash", json!({"command": "echo ran >> ran.txt"}));
        assert_eq!(reply["exit_code"], 0, "{reply}");
        assert_eq!(there.text("ran.txt").lines().count(), number);
    }
    drop(second);
}

#[test]
fn the_limits_of_the_gateway_hold_for_what_a_worker_does() {
    let (here, there) = (Scratch::new(), Scratch::new());
    let rules = "[[rule]]\nid = \"free\"\ntool = \"clemini\"\neffect = \"allow\"\n";
    here.put_at("home/.config/toolcrib/rules.toml", rules);
    there.put("a.txt", "one\n");
    let words = ["-c", "limits.deadline_ms=8000", "-c", "policy.session_bytes=1000000"];
    let cluster = Cluster::start_with(&here, &there, &words);
    let _worker = cluster.worker(&[]);
    // The deadline holds on the worker, which ends the command.
    let (_, reply) = cluster.call("clemini/bash", json!({"command": "sleep 60; touch late"}));
    assert!(reply.to_string().contains("8000 ms") || reply["error"] == "timeout", "{reply}");
    let (_, reply) = cluster.call("clemini/bash", json!({"command": "echo in time"}));
    assert_eq!(reply["stdout"], "in time\n", "the control: {reply}");
    assert!(!there.work().join("late").exists());
    // A dry run shows what would become of the files there.
    let edit = json!({"args": {"file_path": "a.txt", "old_string": "one", "new_string": "two"}, "dry_run": true});
    let token = cluster.gateway.token("agent");
    let (_, dry) = cluster.gateway.post(&token, "/api/tools/execute/clemini/edit", &edit);
    assert!(dry.to_string().contains("two"), "{dry}");
    assert_eq!(there.text("a.txt"), "one\n");
    // More than a message can have is told as such.
    let large = "x".repeat(1_500_000);
    let write = json!({"file_path": "b.txt", "content": large});
    let (_, reply) = cluster.call("clemini/write_file", write);
    assert_eq!(reply["error"], "too_large", "{reply}");
    // What a worker wrote counts against the quota of the session.
    let write = |name: &str, bytes: usize| {
        let content = "x".repeat(bytes);
        cluster.call("clemini/write_file", json!({"file_path": name, "content": content})).1
    };
    let first = write("c.txt", 600_000);
    assert!(there.work().join("c.txt").exists(), "the control: {first}");
    let second = write("d.txt", 600_000);
    let third = write("e.txt", 600_000);
    assert!(!there.work().join("e.txt").exists(), "{second} {third}");
    assert_eq!(third["error"], "refused", "{third}");
}

#[test]
fn the_rules_of_the_workers_project_hold_as_they_are_now() {
    let (here, there) = (Scratch::new(), Scratch::new());
    there.put("a.txt", "text\n");
    let cluster = Cluster::start(&here, &there);
    let _worker = cluster.worker(&[]);
    let read = || cluster.call("clemini/read_file", json!({"file_path": "a.txt"}));
    assert_eq!(read().0, 200);
    let rule = "[[rule]]\nid = \"not-now\"\ntool = \"clemini/read_file\"\neffect = \"deny\"\n";
    there.put(".toolcrib/rules.toml", rule);
    assert_eq!(read().1["error"], "refused");
    std::fs::remove_file(there.work().join(".toolcrib/rules.toml")).unwrap();
    assert_eq!(read().0, 200);
    there.put(".toolcrib/rules.toml", "no rules at all");
    assert_ne!(read().0, 200, "half a policy is none");
}
