//! Opening the engine, deciding about commands and calling file tools start no process, and nothing in this suite does.

use std::fs;

use serde_json::json;

use crate::opened::Scratch;

/// Returns the page faults of the children of this process that ended: none if it never had a child.
fn faults_of_children() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[8].parse().unwrap()
}

/// Returns the children of this process that run now.
fn children() -> String {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok()).collect()
}

#[test]
fn opening_deciding_and_file_tools_start_no_process() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    assert_eq!(crib.decide_command("ls"), "allow");
    crib.write("a", "x").done();
    crib.call("clemini/grep", json!({"pattern": "x"})).done();
    assert_eq!((faults_of_children(), children().as_str()), (0, ""));
}
