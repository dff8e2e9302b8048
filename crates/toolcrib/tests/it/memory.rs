//! The memory of `call --batch`, as the kernel counts it.

use std::fs;

use serde_json::json;

use crate::scratch::{Scratch, Session};

/// How many kilobytes the memory may grow by: what an allocator takes and gives, and far less than a leak of some
/// hundred bytes a call.
const MOST_GROWTH: u64 = 4096;

/// Returns what a process has of its own, in kilobytes, as the kernel counts it: what is in memory and what was swapped
/// out, since a busy machine may have taken its pages away at one reading and given them back at the next.
fn anonymous_memory(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let kilobytes = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    kilobytes("RssAnon:") + kilobytes("VmSwap:")
}

/// Makes calls eight at a time, and waits for all of them.
fn make_calls(session: &mut Session, count: usize) {
    for _ in 0..count / 8 {
        for _ in 0..7 {
            session.ask("forgekeeper/echo", json!({"text": "x"}));
        }
        session.ask("clemini/read_file", json!({"file_path": "a.txt"}));
        for _ in 0..8 {
            session.hear();
        }
    }
}

#[test]
fn the_memory_of_a_batch_does_not_grow_with_its_calls() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n".repeat(1000));
    let mut session = Session::with(&scratch, &["call", "--batch", "--jobs", "8"]);
    // What is only made once.
    make_calls(&mut session, 4000);
    let before = anonymous_memory(session.id());
    make_calls(&mut session, 20_000);
    let after = anonymous_memory(session.id());
    assert!(after < before + MOST_GROWTH, "{before} kB, then {after} kB");
    // The control: what the process has to remember is seen.
    let args = |number| json!({"file_path": format!("{number}"), "content": "x".repeat(60_000)});
    let mut parking = Session::parking(&scratch);
    parking.call("clemini/write_file", args(0));
    let before = anonymous_memory(parking.id());
    for number in 1..200 {
        parking.call("clemini/write_file", args(number));
    }
    let after = anonymous_memory(parking.id());
    assert!(after > before + MOST_GROWTH, "{before} kB, then {after} kB");
    session.end();
    parking.end();
}
