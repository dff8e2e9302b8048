//! The examples in the contract of wink.

use serde_json::{Value, json};
use toolcrib_core::policy::{Answer, Covers, Pattern, Scope, Wish};
use toolcrib_ledger::GrantFile;

use super::check;
use crate::opened::{Opened, Scratch, for_each_user};

/// Returns the error reply of a wink tool, as the contract writes it.
#[track_caller]
fn check_wink_error(crib: &Opened, tool: &str, args: &Value, code: &str, text: &str) {
    let got = crib.reply(tool, args);
    assert_eq!(got["success"], false, "{tool} {args}");
    assert_eq!(got["output"], text, "{tool} {args}");
    assert_eq!(got["error"]["code"], code, "{tool} {args}");
    assert_eq!(format!("Error: {}", got["error"]["message"].as_str().unwrap()), text);
    assert!(!got["error"]["suggestion"].as_str().unwrap().is_empty());
}

#[test]
fn wink_create_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let content = "x".repeat(125);
    let expect = json!({"tool": "create_file", "success": true,
        "output": "Created file: hello.py (125 bytes)", "files_affected": ["hello.py"],
        "execution_time_ms": 5});
    check(&crib, "wink/create_file", &json!({"path": "hello.py", "content": content}), &expect);

    let args = json!({"path": "../etc/passwd", "content": ""});
    check_wink_error(
        &crib,
        "wink/create_file",
        &args,
        "path_outside_working_dir",
        "Error: Path '../etc/passwd' is outside working directory",
    );
    scratch.put("test.txt", "");
    let args = json!({"path": "test.txt", "content": ""});
    check_wink_error(
        &crib,
        "wink/create_file",
        &args,
        "file_exists",
        "Error: File 'test.txt' already exists. Use replace_string_in_file to modify",
    );
    let args = json!({"path": "big", "content": "x".repeat((10 << 20) + 1)});
    assert_eq!(crib.reply("wink/create_file", &args)["error"]["code"], "too_large");
    assert!(!scratch.work().join("big").exists());
}

#[test]
fn wink_permission_denied() {
    for_each_user(|scratch| {
        let crib = scratch.open();
        scratch.put("closed/test.txt", "x");
        scratch.put("hidden/test.txt", "x");
        scratch.set_mode("closed", 0o555);
        scratch.set_mode("hidden", 0o000);
        let args = json!({"path": "closed/protected.txt", "content": ""});
        check_wink_error(
            &crib,
            "wink/create_file",
            &args,
            "permission_denied",
            "Error: Cannot create file 'closed/protected.txt' - permission denied",
        );
        check_wink_error(
            &crib,
            "wink/list_dir",
            &json!({"path": "hidden"}),
            "permission_denied",
            "Error: Cannot list directory - permission denied",
        );
        check_wink_error(
            &crib,
            "wink/create_directory",
            &json!({"path": "closed/sub"}),
            "permission_denied",
            "Error: Cannot create directory - permission denied",
        );
        // The positive control: the same calls succeed where nothing forbids them.
        scratch.set_mode("closed", 0o755);
        scratch.set_mode("hidden", 0o755);
        check(
            &crib,
            "wink/create_directory",
            &json!({"path": "closed/sub"}),
            &json!({"success": true}),
        );
        check(&crib, "wink/list_dir", &json!({"path": "hidden"}), &json!({"success": true}));
    });
}

#[test]
fn wink_read_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("hello.py", "123456789012345678901234\n".repeat(50));
    let lines = ["123456789012345678901234"; 10].join("\n");
    let expect = json!({"tool": "read_file", "success": true,
        "output": format!("Contents of hello.py (lines 1-10):\n{lines}"), "files_affected": [],
        "execution_time_ms": 2,
        "metadata": {"total_lines": 50, "lines_returned": 10, "file_size_bytes": 1250}});
    let args = json!({"path": "hello.py", "start_line": 1, "end_line": 10});
    check(&crib, "wink/read_file", &args, &expect);

    check_wink_error(
        &crib,
        "wink/read_file",
        &json!({"path": "missing.txt"}),
        "file_not_found",
        "Error: File 'missing.txt' not found",
    );
    scratch.put("twenty.txt", "line\n".repeat(20));
    let args = json!({"path": "twenty.txt", "start_line": 30, "end_line": 40});
    check_wink_error(
        &crib,
        "wink/read_file",
        &args,
        "invalid_line_range",
        "Error: Line range invalid - file has 20 lines, requested 30-40",
    );
    let args = json!({"path": "twenty.txt", "start_line": 5, "end_line": 4});
    let got = crib.reply("wink/read_file", &args);
    assert_eq!(got["error"]["code"], "invalid_line_range");
    scratch.put("binary", [0_u8, 1, 2, 255].repeat(1000));
    let got = crib.reply("wink/read_file", &json!({"path": "binary"}));
    let warning = "Warning: File appears to be binary, displaying first 1KB as hex";
    assert_eq!(got["success"], true);
    assert_eq!(got["metadata"]["warnings"], json!([warning]));
    assert!(got["output"].as_str().unwrap().starts_with(warning));
    assert_eq!(got["output"].as_str().unwrap().matches(" ff").count(), 1024 / 4);
}

#[test]
fn wink_replace_string_in_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    scratch.put("hello.py", "\n\n\n\nold_text\n");
    let expect = json!({"tool": "replace_string_in_file", "success": true,
        "output": "Replaced 1 occurrence in hello.py", "files_affected": ["hello.py"],
        "execution_time_ms": 3,
        "metadata": {"occurrences_found": 1, "occurrences_replaced": 1, "lines_changed": [5]}});
    let args = json!({"path": "hello.py", "old_string": "old_text", "new_string": "new"});
    check(&crib, "wink/replace_string_in_file", &args, &expect);
    check_wink_error(
        &crib,
        "wink/replace_string_in_file",
        &args,
        "string_not_found",
        "Error: String 'old_text' not found in file",
    );
    scratch.put("three.py", "\n\n\n\nx\nx\nx\n");
    let args = json!({"path": "three.py", "old_string": "x", "new_string": "y"});
    let got = crib.reply("wink/replace_string_in_file", &args);
    let warning = "Warning: Found 3 occurrences, replaced only the first at line 5";
    assert_eq!(got["metadata"]["warnings"], json!([warning]));
    assert_eq!(scratch.text("three.py"), "\n\n\n\ny\nx\nx\n");
    let args = json!({"path": "three.py", "old_string": "", "new_string": "y"});
    let got = crib.reply("wink/replace_string_in_file", &args);
    assert_eq!(got["success"], false);
}

#[test]
fn wink_list_dir() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    for name in ["src/app.py", "src/utils.py", "src/models/user.py"] {
        scratch.put(name, "");
    }
    let expect = json!({"tool": "list_dir", "success": true,
        "output": "Contents of ./src:\n  app.py\n  utils.py\n  models/\n", "files_affected": [],
        "execution_time_ms": 2, "metadata": {"total_entries": 3, "files": 2, "directories": 1}});
    check(&crib, "wink/list_dir", &json!({"path": "./src"}), &expect);
    check(&crib, "wink/list_dir", &json!({"path": "src"}), &expect);
    scratch.put("file.txt", "");
    check_wink_error(
        &crib,
        "wink/list_dir",
        &json!({"path": "file.txt"}),
        "not_a_directory",
        "Error: Path 'file.txt' is not a directory",
    );
    for number in 0..1001 {
        scratch.put(&format!("many/{number:04}"), "");
    }
    let got = crib.reply("wink/list_dir", &json!({"path": "many"}));
    assert_eq!(got["metadata"]["total_entries"], 1001);
    assert_eq!(got["output"].as_str().unwrap().matches("\n  ").count(), 1000);
    let got = crib.reply("wink/list_dir", &json!({"path": "many", "page": 2}));
    assert!(got["output"].as_str().unwrap().contains("\n  1000\n"));
}

#[test]
fn wink_create_directory() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let expect = json!({"tool": "create_directory", "success": true,
        "output": "Created directory: src/models", "files_affected": ["src/models"],
        "execution_time_ms": 3, "metadata": {"created_parents": ["src"]}});
    check(&crib, "wink/create_directory", &json!({"path": "src/models"}), &expect);
    check(
        &crib,
        "wink/create_directory",
        &json!({"path": "src/models"}),
        &json!({"success": true}),
    );
    scratch.put("test.txt", "");
    check_wink_error(
        &crib,
        "wink/create_directory",
        &json!({"path": "test.txt"}),
        "path_is_file",
        "Error: Path 'test.txt' exists as a file, cannot create directory",
    );
}

#[test]
fn wink_auto_approval_matching() {
    for (enabled, expect) in [("true", ["allow", "ask"]), ("false", ["ask", "ask"])] {
        let scratch = Scratch::new();
        scratch.put_rules(&format!(
            "[[rule]]\ntool = \"wink/create_directory\"\nargs = '^{{\"path\":\".*\\.txt\"}}$'\n\
             effect = \"allow\"\nenabled = {enabled}\n"
        ));
        let crib = scratch.open();
        let decide = |path: &str| crib.decide("wink/create_directory", json!({"path": path}));
        assert_eq!([decide("test.txt"), decide("test.md")], expect, "enabled = {enabled}");
    }
}

#[test]
fn wink_always_stores_a_pattern_that_matches_the_call() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let args = json!({"content": "a+b (ü) {}\n", "path": "a.txt"});
    crib.ask("wink/create_file", args, |question| {
        let covers = question.choices[0].0.clone();
        assert!(matches!(covers, Covers::Call { .. }));
        let wish = Wish { covers, scope: Scope::User, minutes: None };
        Answer::Always("a person".to_owned(), wish)
    })
    .done();
    let grants = GrantFile::new(&crib.crib.state).all().unwrap();
    let stored = serde_json::to_value(&grants[0]).unwrap();
    assert_eq!(stored["tool_name"], "wink/create_file");
    assert_eq!((&stored["enabled"], &stored["use_count"]), (&json!(true), &json!(0)));
    let pattern = Pattern::new(stored["param_pattern"].as_str().unwrap());
    // Compact, in the order in which the tool declares the keys.
    assert!(pattern.is_match(r#"{"path":"a.txt","content":"a+b (ü) {}\n"}"#), "{stored}");
    assert!(!pattern.is_match(r#"{"path":"aXtxt","content":"a+b (ü) {}\n"}"#));
    assert_eq!(pattern.check(), Ok(()));
}

#[test]
fn wink_read_file_counts_the_lines_of_the_whole_file() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let size = 12 << 20;
    scratch.put("long.txt", "0123456\n".repeat(size / 8) + "last");
    let args = json!({"path": "long.txt", "start_line": 1, "end_line": 2});
    let got = crib.reply("wink/read_file", &args);
    assert_eq!(got["metadata"]["total_lines"], size / 8 + 1, "{}", got["metadata"]);
    assert_eq!(got["metadata"]["lines_returned"], 2);
    assert_eq!(got["metadata"]["file_size_bytes"], size + 4);
    let warning = "Warning: File has 12582916 bytes, showing only the first 10485760";
    assert_eq!(got["metadata"]["warnings"], json!([warning]));
}

#[test]
fn declarations_have_the_defaults_and_names_of_the_contracts() {
    let scratch = Scratch::new();
    let crib = scratch.open();
    let toolset = crib.crib.toolset().unwrap();
    let find = |name: &str| toolset.find(&name.into()).unwrap().clone();
    for (tool, argument, default) in [
        ("wink/list_dir", "path", json!(".")),
        ("wink/file_search", "base_path", json!(".")),
        ("wink/grep_search", "is_regex", json!(false)),
        ("wink/grep_search", "max_results", json!(100)),
        ("wink/run_in_terminal", "timeout_seconds", json!(30)),
    ] {
        let schema = find(tool).tool.schema();
        assert_eq!(schema["properties"][argument]["default"], default, "{tool}: {schema}");
    }
    for (tool, title) in [("nachos/calculator", "Calculator"), ("nachos/filesystem", "Filesystem")]
    {
        assert_eq!(find(tool).tool.declaration().title(), title);
    }
    assert_eq!(find("wink/read_file").tool.declaration().title(), "Read file");
}
