//! Tools that others bring, under load: versions change and workers die while calls run.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::running_server::RunningServer;
use crate::scratch::Scratch;

const CALLS: usize = 10_000;
const SWAPS: usize = 50;
const KILLS: usize = 200;
const CALLERS: usize = 4;

fn module(result: &str) -> String {
    format!(
        "export const name = 'busy';\n\
         export const description = 'A tool of a test';\n\
         export const parameters = {{type: 'object'}};\n\
         export async function execute() {{ return {result}; }}\n"
    )
}

/// Proposes a version and approves it. Returns its hash.
fn load(server: &RunningServer<'_>, code: &str) -> String {
    let body = json!({"name": "busy", "description": "", "code": code, "reasoning": ""});
    let (status, proposed) = server.post(&server.token("agent"), "/api/tools/propose", &body);
    assert_eq!(status, 200, "{proposed}");
    let approve = "/api/tools/approve/busy";
    let (status, approved) = server.post(&server.token("approver"), approve, &json!({}));
    assert_eq!(status, 200, "{approved}");
    proposed["proposal"]["hash"].as_str().unwrap().to_owned()
}

/// Calls the tool from several threads until `is_over` and `least` calls were made. Returns the replies.
fn call_until(
    server: &RunningServer<'_>,
    is_over: &AtomicBool,
    made: &AtomicUsize,
    least: usize,
) -> Vec<(u16, Value)> {
    let agent = server.token("agent");
    thread::scope(|scope| {
        let call = || {
            let mut replies = Vec::new();
            while made.load(Ordering::Relaxed) < least || !is_over.load(Ordering::Relaxed) {
                replies.push(server.execute(&agent, "busy", json!({})));
                made.fetch_add(1, Ordering::Relaxed);
            }
            replies
        };
        let callers: Vec<_> = (0..CALLERS).map(|_| scope.spawn(call)).collect();
        callers.into_iter().flat_map(|caller| caller.join().unwrap()).collect()
    })
}

#[test]
fn no_call_is_lost_and_none_is_on_a_half_loaded_version_while_versions_change() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    // A version that was half loaded would reply with one of its own texts and the other's number.
    let versions = ["['one', 1]", "['two', 2]"].map(|result| load(&server, &module(result)));
    let (is_over, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    let replies = thread::scope(|scope| {
        let callers = scope.spawn(|| call_until(&server, &is_over, &made, CALLS));
        let admin = server.token("admin");
        for swap in 0..SWAPS {
            // Spread over all calls.
            while made.load(Ordering::Relaxed) < swap * CALLS / SWAPS {
                thread::yield_now();
            }
            let body = json!({"version": versions[swap % 2]});
            let (status, rolled) = server.post(&admin, "/api/plugins/busy/rollback", &body);
            assert_eq!(status, 200, "{rolled}");
        }
        is_over.store(true, Ordering::Relaxed);
        callers.join().unwrap()
    });
    assert!(replies.len() >= CALLS, "{}", replies.len());
    let mut seen = BTreeSet::new();
    for (status, reply) in &replies {
        assert_eq!(*status, 200, "{reply}");
        seen.insert(reply["result"].to_string());
    }
    let both = BTreeSet::from([r#"["one",1]"#.to_owned(), r#"["two",2]"#.to_owned()]);
    assert_eq!(seen, both);
}

/// Returns the workers that a process has started, directly or not.
fn workers_below(process: u32) -> Vec<i32> {
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse::<u32>() else { continue };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let parent =
            stat.rsplit_once(')').and_then(|(_, rest)| rest.split(' ').nth(2)?.parse().ok());
        if let Some(parent) = parent {
            parents.push((id, parent));
        }
    }
    let parent_of = |id: u32| parents.iter().find(|it| it.0 == id).map(|it| it.1);
    let is_below =
        |id: u32| std::iter::successors(Some(id), |id| parent_of(*id)).any(|id| id == process);
    let is_worker = |id: u32| {
        let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.windows(15).any(|part| part == b"__module_worker")
    };
    let found = parents.iter().map(|it| it.0).filter(|id| is_worker(*id) && is_below(*id));
    found.map(u32::cast_signed).collect()
}

#[test]
fn workers_that_are_killed_at_any_point_cost_no_answer_and_leave_no_process() {
    let scratch = Scratch::new();
    let server = RunningServer::start(&scratch);
    load(&server, &module("[...Array(2000).keys()].reduce((a, b) => a + b)"));
    let (is_over, made) = (AtomicBool::new(false), AtomicUsize::new(0));
    let replies = thread::scope(|scope| {
        let callers = scope.spawn(|| call_until(&server, &is_over, &made, 0));
        let mut kills = 0;
        while kills < KILLS {
            for worker in workers_below(server.child.id()) {
                kills +=
                    usize::from(kill_process(Pid::from_raw(worker).unwrap(), Signal::KILL).is_ok());
            }
        }
        is_over.store(true, Ordering::Relaxed);
        callers.join().unwrap()
    });
    for (status, reply) in &replies {
        let is_told = *status == 422 && reply["error"] == "failed";
        assert!(*status == 200 && reply["result"] == 1_999_000 || is_told, "{status} {reply}");
    }
    let (status, reply) = server.execute(&server.token("agent"), "busy", json!({}));
    assert_eq!((status, &reply["result"]), (200, &1_999_000.into()), "the control: {reply}");
    let left = workers_below(server.child.id());
    assert!(!left.is_empty(), "the control");
    server.stop();
    let is_alive = |id: &i32| fs::exists(format!("/proc/{id}")).unwrap();
    assert_eq!(left.iter().filter(|id| is_alive(id)).count(), 0);
}
