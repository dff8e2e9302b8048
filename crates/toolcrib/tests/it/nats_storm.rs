//! Many calls while workers are killed and come back: none is lost, none runs twice, and both records stay whole.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::nats_cluster::{Cluster, FREE_COMMANDS};
use crate::scratch::Scratch;

/// How many calls are made, by so many callers.
const CALLS: usize = 300;
const CALLERS: usize = 6;

/// How many workers are killed meanwhile.
const KILLS: usize = 8;

#[test]
fn no_call_is_lost_or_runs_twice_while_workers_are_killed() {
    let (here, there) = (Scratch::new(), Scratch::new());
    here.put_at("home/.config/toolcrib/rules.toml", FREE_COMMANDS);
    let cluster = Cluster::start(&here, &there);
    let names = ["one", "two"].map(|name| format!("worker.name={name}"));
    let mut workers = names.each_ref().map(|name| cluster.worker(&["-c", name]));
    let (next, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let replies: HashMap<usize, Value> = std::thread::scope(|scope| {
        let call = || {
            let mut replies = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= CALLS {
                    return replies;
                }
                let command = format!("echo {number} >> lines.txt");
                let (_, reply) = cluster.call("clemini/bash", json!({"command": command}));
                ended.fetch_add(1, Ordering::Relaxed);
                replies.push((number, reply));
            }
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        // Each kill waits for some calls, so that kills are spread over all of them, however fast the machine is.
        for kill in 0..KILLS {
            let due = CALLS * (kill + 1) / (KILLS + 2);
            while ended.load(Ordering::Relaxed) < due {
                std::thread::yield_now();
            }
            let worker = &mut workers[kill % 2];
            worker.signal(Signal::KILL);
            *worker = cluster.worker(&["-c", &names[kill % 2]]);
        }
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    });
    let lines = there.text("lines.txt");
    let (mut done, mut unknown) = (0, 0);
    for number in 0..CALLS {
        let ran = lines.lines().filter(|line| *line == number.to_string()).count();
        let reply = &replies[&number];
        if reply["exit_code"] == 0 {
            assert_eq!(ran, 1, "{number} is told as done: {reply}");
            done += 1;
        } else if reply.to_string().contains("\"outcome\":\"unknown\"") {
            assert!(ran <= 1, "{number} ran {ran} times: {reply}");
            unknown += 1;
        } else {
            assert_eq!(ran, 0, "{number} is told as not run: {reply}");
        }
    }
    assert!(done > CALLS / 2, "{done} done, {unknown} unknown");
    for scratch in [&here, &there] {
        let verified = scratch.run(["audit", "verify"]);
        assert_eq!(verified.code, 0, "{}{}", verified.stdout, verified.stderr);
    }
}
