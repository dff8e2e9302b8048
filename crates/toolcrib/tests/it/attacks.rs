//! Paths, links and special files that try to lead a tool astray, as root and as an ordinary user.
//! Every refusal stands beside a call that shows the probe works.

mod paths;
mod special;

use serde_json::json;

use crate::scratch::{Ran, Scratch};

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

fn read(scratch: &Scratch, (tool, key): (&str, &str), path: &str) -> Ran {
    let mut args = json!({key: path});
    if tool == "nachos/filesystem" {
        args["action"] = json!("read");
    }
    scratch.call(tool, &args.to_string())
}

fn write(scratch: &Scratch, (tool, key): (&str, &str), path: &str) -> Ran {
    let mut args = json!({key: path, "content": "EVIL"});
    if tool == "nachos/filesystem" {
        args["action"] = json!("write");
    }
    scratch.call(tool, &args.to_string())
}

/// Asserts that a call was refused and told nothing.
#[track_caller]
fn refused(ran: &Ran, what: &str) {
    assert_ne!(ran.code, 0, "{what}: {}", ran.stdout);
    assert!(
        !ran.stdout.contains("SECRET") && !ran.stdout.contains("root:x:0"),
        "{what}: {}",
        ran.stdout
    );
}
