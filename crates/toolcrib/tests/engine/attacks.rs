//! Paths, links and special files that try to lead a tool astray, as root and as an ordinary user.
//! Every refusal stands beside a call that shows the probe works.

mod paths;
mod special;
mod web;

use serde_json::json;

use crate::opened::{Opened, Reply};

/// The ways to read, write, list and delete, by catalogue.
const READERS: [(&str, &str); 5] = [
    ("wink/read_file", "path"),
    ("clemini/read_file", "file_path"),
    ("nachos/filesystem", "path"),
    ("hikai/read_file", "path"),
    ("forgekeeper/read_file", "path"),
];
const WRITERS: [(&str, &str); 4] = [
    ("wink/create_file", "path"),
    ("clemini/write_file", "file_path"),
    ("nachos/filesystem", "path"),
    ("forgekeeper/write_file", "path"),
];

fn read(crib: &Opened, (tool, key): (&str, &str), path: &str) -> Reply {
    let mut args = json!({key: path});
    if tool == "nachos/filesystem" {
        args["action"] = json!("read");
    }
    crib.approve(tool, args)
}

fn write(crib: &Opened, (tool, key): (&str, &str), path: &str) -> Reply {
    let mut args = json!({key: path, "content": "EVIL"});
    if tool == "nachos/filesystem" {
        args["action"] = json!("write");
    }
    crib.approve(tool, args)
}

fn delete(crib: &Opened, path: &str) -> Reply {
    crib.approve("nachos/filesystem", json!({"action": "delete", "path": path}))
}

/// Asserts that a call was refused and told nothing.
#[track_caller]
fn refused(reply: &Reply, what: &str) {
    let text = reply.text();
    assert_ne!(reply.kind(), "ok", "{what}: {text}");
    assert!(!text.contains("SECRET") && !text.contains("root:x:0"), "{what}: {text}");
}
