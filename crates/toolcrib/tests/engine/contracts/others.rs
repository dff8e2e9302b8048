//! The examples in the contracts of clemini, nachos, hikai and forgekeeper.

use std::fs;

use serde_json::{Value, json};
use toolcrib_core::command::{Lines, Stream};
use toolcrib_ledger::RecordEntry;

use super::check;
use crate::opened::Scratch;

#[test]
fn clemini_read_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("src/main.rs", "fn main() {\n    println!(\"Hello\");\n}");
    let expect =
        json!({"contents": "1: fn main() {\n2:     println!(\"Hello\");\n3: }", "total_lines": 3});
    let got = crib.reply("clemini/read_file", &json!({"file_path": "src/main.rs"}));
    assert_eq!(got, expect);
    let lines: Vec<String> = (1..=200).map(|number| format!("line {number}")).collect();
    scratch.put("src/lib.rs", lines.join("\n") + "\n");
    let args = json!({"file_path": "src/lib.rs", "offset": 50, "limit": 10});
    let got = crib.reply("clemini/read_file", &args);
    assert!(got["contents"].as_str().unwrap().starts_with("50: line 50\n51: line 51\n"));
    assert_eq!((&got["total_lines"], &got["truncated"]), (&json!(200), &json!(true)));
    let expect = json!({"error": "File not found: nonexistent.rs", "error_code": "NOT_FOUND"});
    check(&crib, "clemini/read_file", &json!({"file_path": "nonexistent.rs"}), &expect);
    let absolute = scratch.work().join("src/main.rs");
    check(&crib, "clemini/read_file", &json!({"file_path": absolute}), &json!({"total_lines": 3}));
    scratch.put("binary", b"a\0b");
    check(
        &crib,
        "clemini/read_file",
        &json!({"file_path": "binary"}),
        &json!({"error_code": "BINARY_FILE"}),
    );
}

#[test]
fn clemini_write_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let args = json!({"file_path": "new_file.txt", "content": "Hello, world!"});
    let got = crib.reply("clemini/write_file", &args);
    assert_eq!(got, json!({"success": true, "bytes_written": 13, "created": true}));
    scratch.put("config.toml", "old");
    let args = json!({"file_path": "config.toml", "content": "[settings]\nkey = \"value\"", "backup": true});
    let got = crib.reply("clemini/write_file", &args);
    // The contract says 25 here; the text it shows has 24 bytes.
    let expect =
        json!({"success": true, "bytes_written": 24, "overwritten": true, "backup_created": true});
    assert_eq!(got, expect);
    assert_eq!(scratch.text("config.toml.bak"), "old");
    let expect = json!({"error": "Access denied: /etc/passwd is outside allowed paths",
        "error_code": "ACCESS_DENIED"});
    let args = json!({"file_path": "/etc/passwd", "content": "malicious"});
    check(&crib, "clemini/write_file", &args, &expect);
}

#[test]
fn clemini_edit() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("src/lib.rs", format!("let x = 5;{}", " ".repeat(1013)));
    let args =
        json!({"file_path": "src/lib.rs", "old_string": "let x = 5;", "new_string": "let x = 10;"});
    let got = crib.reply("clemini/edit", &args);
    assert_eq!(got, json!({"success": true, "replacements": 1, "file_size": 1024}));

    scratch.put("src/main.rs", format!("{}{}", "println!".repeat(5), " ".repeat(2003)));
    let args = json!({"file_path": "src/main.rs", "old_string": "println!", "new_string": "eprintln!",
        "replace_all": true});
    let got = crib.reply("clemini/edit", &args);
    assert_eq!(got, json!({"success": true, "replacements": 5, "file_size": 2048}));

    let args = json!({"file_path": "new_module.rs", "new_string": "pub fn init() {}",
        "create_if_not_exists": true});
    let got = crib.reply("clemini/edit", &args);
    // The contract says 17 here; the text it shows has 16 bytes.
    let expect = json!({"success": true, "replacements": 0, "file_size": 16, "created": true});
    assert_eq!(got, expect);

    scratch.put("src/lib.rs", "let x = 5;\nlet x = foo();\nlet x: i32\n");
    let args = json!({"file_path": "src/lib.rs", "old_string": "let x", "new_string": "let y"});
    let expect = json!({"error": "String matches 3 locations. Provide more context.",
        "error_code": "NOT_UNIQUE", "suggestions": ["let x = 5;", "let x = foo();", "let x: i32"]});
    check(&crib, "clemini/edit", &args, &expect);
    let args = json!({"file_path": "src/lib.rs", "old_string": "nonexistent code", "new_string": "replacement"});
    let expect = json!({"error": "String not found in file", "error_code": "NOT_FOUND"});
    check(&crib, "clemini/edit", &args, &expect);
}

#[test]
fn clemini_todo_write() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for statuses in [
        ["in_progress", "pending", "pending"],
        ["completed", "in_progress", "pending"],
        ["completed", "completed", "completed"],
    ] {
        let args = json!({"todos": [
            {"content": "Read the existing code", "activeForm": "Reading the existing code", "status": statuses[0]},
            {"content": "Write unit tests", "activeForm": "Writing unit tests", "status": statuses[1]},
            {"content": "Implement the feature", "activeForm": "Implementing the feature", "status": statuses[2]},
        ]});
        let got = crib.reply("clemini/todo_write", &args);
        assert_eq!(got, json!({"success": true, "count": 3}));
    }
}

#[test]
fn nachos_calculator_and_filesystem() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let answer = |expression: &str| {
        let args = json!({"sessionId": "test", "callId": "test", "expression": expression});
        crib.reply("nachos/calculator", &args)
    };
    assert_eq!(answer("2 + 2")["result"]["answer"], 4);
    assert_eq!(answer("10 * (5 + 3)")["result"]["answer"], 80);
    assert_eq!(answer("10 * 5")["result"], json!({"expression": "10 * 5", "answer": 50}));
    assert_eq!(answer("0.1 + 0.2")["result"]["answer"], 0.3);
    let refused = answer("evil()");
    assert_eq!(refused["success"], false);
    assert_eq!(refused["error"]["code"], "VALIDATION_ERROR");
    assert_eq!(refused["error"]["message"], "expression must contain only numbers and operators");

    let call = |args: Value| crib.reply("nachos/filesystem", &args);
    let written = call(json!({"action": "write", "path": "a.txt", "content": "hello"}));
    assert_eq!(written["result"], json!({"written": true}));
    assert!(written["metadata"]["duration"].is_u64());
    assert_eq!(call(json!({"action": "read", "path": "a.txt"}))["result"], "hello");
    assert_eq!(call(json!({"action": "list", "path": "."}))["result"], json!(["a.txt"]));
    assert_eq!(
        call(json!({"action": "delete", "path": "a.txt"}))["result"],
        json!({"deleted": true})
    );
    assert!(!scratch.work().join("a.txt").exists());
    let missing = call(json!({"action": "write", "path": "a.txt"}));
    assert_eq!(missing["error"]["message"], "content is required for write action");
    // An empty string is content.
    let empty = call(json!({"action": "write", "path": "empty.txt", "content": ""}));
    assert_eq!(empty["result"], json!({"written": true}));
    assert_eq!(scratch.text("empty.txt"), "");
    let outside = call(json!({"action": "read", "path": "/etc/passwd"}));
    assert_eq!(outside["error"]["code"], "VALIDATION_ERROR");
    assert_eq!(outside["error"]["message"], "Path /etc/passwd is not in allowed directories");
}

#[test]
fn hikai_reads_what_is_connected_and_nothing_else() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let none = json!({"error": "No active GitHub connection found"});
    for (tool, args) in [
        ("hikai/list_dirs", json!({})),
        ("hikai/list_files", json!({})),
        ("hikai/read_file", json!({"path": "a"})),
    ] {
        let crib = scratch.open_with(&["hikai.connection=none"]);
        assert_eq!(crib.reply(tool, &args), none, "{tool}");
    }
    scratch.put_at("other/src/main.tsx", "x".repeat(1020));
    let connection = format!("hikai.connection={}", scratch.path("other").display());
    let args = json!({"path": "src", "pattern": "*.tsx", "limit": 50});
    let got = scratch.open_with(&[&connection]).reply("hikai/list_files", &args);
    let expect = json!({"files": [{"path": "src/main.tsx", "name": "main.tsx", "size": 1020}],
        "truncated": false});
    assert_eq!(got, expect);
    scratch.put("big.txt", "y".repeat(200 << 10));
    let got = crib.reply("hikai/read_file", &json!({"path": "big.txt"}));
    assert_eq!(got["content"].as_str().unwrap().len(), 100 << 10);
    assert_eq!((&got["size"], &got["truncated"]), (&json!(200 << 10), &json!(true)));
    assert!(crib.reply("hikai/list_dirs", &json!({"depth": 0}))["error"].is_string());
    // More than the most is the most, with a warning.
    for (tool, argument, most) in [
        ("hikai/list_dirs", "depth", 3),
        ("hikai/list_dirs", "limit", 100),
        ("hikai/list_files", "limit", 100),
    ] {
        let got = crib.reply(tool, &json!({argument: most + 1}));
        let warning =
            format!("`{argument}` can be {most} at most, so {most} was used, not {}", most + 1);
        assert_eq!(got["warnings"], json!([warning]), "{tool}");
        assert!(crib.reply(tool, &json!({argument: most})).get("warnings").is_none(), "{tool}");
    }
}

#[test]
fn hikai_reads_on_after_a_cut() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let lines: Vec<String> = (0..6000).map(|number| format!("{number:049}\n")).collect();
    let text = lines.concat();
    scratch.put("long.txt", &text);
    let (mut read, mut offset) = (String::new(), json!(1));
    while !offset.is_null() {
        let got = crib.reply("hikai/read_file", &json!({"path": "long.txt", "offset": offset}));
        // A part that is cut can end within a line, which the next part has whole.
        let content = got["content"].as_str().unwrap();
        let whole = content.rfind('\n').map_or(0, |end| end + 1);
        read.push_str(&content[..whole]);
        assert_eq!(got["truncated"].is_null(), got["nextOffset"].is_null(), "{got}");
        offset = got["nextOffset"].clone();
    }
    assert_eq!(read, text);
    let past = crib.reply("hikai/read_file", &json!({"path": "long.txt", "offset": 6001}));
    assert_eq!(past, json!({"error": "`offset` 6001 is past the last line, line 6000"}));
}

#[test]
fn hikai_saves_a_long_reply_and_refers_to_it() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("long.txt", "long\n".repeat(4000));
    scratch.put("short.txt", "short\n");
    let call = |path: &str| crib.approve("hikai/read_file", json!({"path": path}));
    let (long, short) = (call("long.txt"), call("short.txt"));
    let ended = |id: &str| {
        let mut record = scratch.record().into_iter();
        record.find(|line| line["event"] == "ended" && line["trace_id"] == id).unwrap()
    };
    assert_eq!(ended(long.id())["output"], long.id());
    assert!(ended(short.id()).get("output").is_none());
    let lines = Lines { from: 1, count: u64::MAX, most: 1 << 20 };
    let store = toolcrib_host::OutputStore::of_person(crib.crib.state.folder());
    let saved = |id: &str| store.read(id, Stream::Stdout, lines);
    assert_eq!(saved(long.id()).unwrap().text, long.text());
    assert!(saved(short.id()).is_err());
    // The control: another catalogue's contract wants nothing saved.
    let other = crib.approve("clemini/read_file", json!({"file_path": "long.txt"}));
    assert!(ended(other.id()).get("output").is_none());
}

#[test]
fn hikai_plans_and_validates() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let item = |status: &str| json!({"content": "A", "activeForm": "A-ing", "status": status});
    let call = |items: Vec<Value>| crib.reply("hikai/todo_manager", &json!({"items": items}));
    assert_eq!(call(vec![item("pending"); 15])["items"][14]["id"], "step-15");
    assert!(call(vec![item("pending"); 16])["error"].is_string());
    assert!(call(vec![item("in_progress"); 2])["error"].is_string());
    assert_eq!(call(vec![item("completed")])["currentItem"], Value::Null);
    let kept = call(vec![item("pending"), item("in_progress")]);
    assert_eq!(kept["currentItem"]["id"], "step-2");

    scratch.put_at(
        "home/.config/toolcrib/config.toml",
        "[hikai.output_types.poem]\ntype = 'object'\nrequired = ['verse']\n",
    );
    let crib = scratch.open();
    let validate = |kind: &str, data: Value| {
        let args = json!({"outputType": kind, "data": data});
        crib.reply("hikai/validate_output", &args)
    };
    let empty = json!({"domains": [], "layout": {}, "summary": {}});
    let expect = json!({"valid": false, "errors": ["Missing 'domains' array"], "warnings": []});
    assert_eq!(validate("domain_map", empty), expect);
    assert_eq!(validate("poem", json!({"verse": "la"}))["valid"], true);
    let wrong = validate("poem", json!({}));
    assert_eq!(wrong["valid"], false);
    assert!(wrong["errors"][0].as_str().unwrap().contains("verse"), "{wrong}");
    let unknown = validate("song", json!({}));
    assert!(unknown["error"].as_str().unwrap().contains("`domain_map` and `poem`"), "{unknown}");
}

#[test]
fn forgekeeper_errors_as_shown() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let got = crib.reply("forgekeeper/nonexistent", &json!({}));
    let expect =
        json!({"ok": false, "error": "tool_not_found", "message": "Tool 'nonexistent' not found"});
    check_fields(&got, &expect);
    let limited = scratch.open_where(&[("TOOL_ALLOW", "get_time,echo")]);
    let got = limited.reply("forgekeeper/read_file", &json!({"path": "a"}));
    let expect = json!({"ok": false, "error": "tool_not_allowed",
        "message": "Tool 'read_file' not in allowlist"});
    check_fields(&got, &expect);
    let got = limited.reply("forgekeeper/echo", &json!({"text": "a"}));
    assert_eq!(got["ok"], true);

    scratch.put("large.txt", "x".repeat(52_000));
    let got = crib.reply("forgekeeper/read_file", &json!({"path": "large.txt"}));
    let expect = json!({"ok": false, "error": "output_too_large",
        "message": "Tool output exceeded 10240 bytes"});
    check_fields(&got, &expect);
    assert!(got["actualBytes"].as_u64().unwrap() > 52_000);
    assert!(got["hint"].as_str().unwrap().contains("`offset` and `limit`"), "{got}");
    let wide = scratch.open_where(&[("TOOLS_MAX_OUTPUT_BYTES", "60000")]);
    let got = wide.reply("forgekeeper/read_file", &json!({"path": "large.txt"}));
    assert_eq!(got["result"]["bytes"], 52_000);
    let args = json!({"path": "b", "content": "x".repeat(65_537)});
    let got = crib.reply("forgekeeper/write_file", &args);
    assert_eq!(got["error"], "size_exceeded");
}

#[test]
fn forgekeeper_logs_an_event_with_every_field() {
    let scratch = Scratch::new();
    scratch.put("README.md", "# Forgekeeper\n");
    let done = scratch.open().approve("forgekeeper/read_file", json!({"path": "README.md"}));
    let event = scratch.record().pop().unwrap();
    let expect = json!({"actor": "tool", "act": "tool_call", "trace_id": done.done(), "iter": 0,
        "name": "read_file", "status": "ok", "args_preview": "{\"path\":\"README.md\"}",
        "result_preview": done.text(), "bytes": done.text().len()});
    check_fields(&event, &expect);
    for key in ["id", "ts", "conv_id"] {
        assert!(event[key].is_string(), "{key}: {event}");
    }
    let (ms, us) = (event["elapsed_ms"].as_u64().unwrap(), event["elapsed_us"].as_u64().unwrap());
    assert_eq!(ms, us / 1000, "{event}");
    let parsed = event.to_string();
    let parsed = RecordEntry::parse(parsed.as_bytes()).unwrap();
    assert_eq!(parsed.end.elapsed_ms(), Some(us as f64 / 1000.0));
}

#[test]
fn forgekeeper_times_out_as_shown() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    assert_eq!(
        crib.reply("forgekeeper/write_file", &json!({"path": "a", "content": "1"}))["ok"],
        true
    );
    // While the test holds the directory's lock, every write in the directory waits.
    let held = fs::File::open(scratch.work()).unwrap();
    held.lock().unwrap();
    let hurried = scratch.open_where(&[("TOOLS_TIMEOUT_MS", "2000")]);
    let late = hurried.approve("forgekeeper/write_file", json!({"path": "a", "content": "2"}));
    assert_eq!(late.kind(), "timeout");
    let expect =
        json!({"ok": false, "error": "timeout", "message": "Tool execution exceeded 2000ms"});
    check_fields(late.json(), &expect);
    drop(held);
    assert_eq!(scratch.text("a"), "1");
    assert_eq!(
        crib.reply("forgekeeper/write_file", &json!({"path": "a", "content": "3"}))["ok"],
        true
    );
}

#[test]
fn forgekeeper_root_is_its_own() {
    let scratch = Scratch::new();
    scratch.put_at("sandbox/inner.txt", "inner\n");
    scratch.put("outer.txt", "outer\n");
    let root = scratch.path("sandbox").display().to_string();
    let crib = scratch.open_where(&[("TOOLS_FS_ROOT", &root)]);
    let read = |path: &str| crib.reply("forgekeeper/read_file", &json!({"path": path}));
    assert_eq!(read("inner.txt")["result"]["content"], "inner\n");
    assert_eq!(read("outer.txt")["error"], "ENOENT");
    assert_eq!(read("../project/outer.txt")["error"], "path_outside_sandbox");
}

#[track_caller]
fn check_fields(got: &Value, expect: &Value) {
    for (key, value) in expect.as_object().unwrap() {
        assert_eq!(&got[key], value, "{got}");
    }
}
