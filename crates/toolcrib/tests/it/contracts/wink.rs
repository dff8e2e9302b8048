//! The examples in the contract of wink.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use super::check;
use crate::scratch::{Scratch, users};

/// Returns the error reply of a wink tool, as the contract writes it.
#[track_caller]
fn check_wink_error(scratch: &Scratch, tool: &str, args: &Value, code: &str, text: &str) {
    let got = scratch.call(tool, &args.to_string()).json();
    assert_eq!(got["success"], false, "{tool} {args}");
    assert_eq!(got["output"], text, "{tool} {args}");
    assert_eq!(got["error"]["code"], code, "{tool} {args}");
    assert_eq!(format!("Error: {}", got["error"]["message"].as_str().unwrap()), text);
    assert!(!got["error"]["suggestion"].as_str().unwrap().is_empty());
}

#[test]
fn wink_create_file() {
    let scratch = Scratch::new();
    let content = "x".repeat(125);
    let expect = json!({"tool": "create_file", "success": true,
        "output": "Created file: hello.py (125 bytes)", "files_affected": ["hello.py"],
        "execution_time_ms": 5});
    check(&scratch, "wink/create_file", &json!({"path": "hello.py", "content": content}), &expect);

    let args = json!({"path": "../etc/passwd", "content": ""});
    check_wink_error(
        &scratch,
        "wink/create_file",
        &args,
        "path_outside_working_dir",
        "Error: Path '../etc/passwd' is outside working directory",
    );
    scratch.put("test.txt", "");
    let args = json!({"path": "test.txt", "content": ""});
    check_wink_error(
        &scratch,
        "wink/create_file",
        &args,
        "file_exists",
        "Error: File 'test.txt' already exists. Use replace_string_in_file to modify",
    );
    let args = json!({"path": "big", "content": "x".repeat((10 << 20) + 1)});
    let ran = scratch
        .feed(["--yes", "call", "wink/create_file", "-", "--json"], args.to_string().as_bytes());
    assert_eq!(ran.json()["error"]["code"], "too_large");
    assert!(!scratch.work().join("big").exists());
}

#[test]
fn wink_permission_denied() {
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("closed/test.txt", "x");
        scratch.put("hidden/test.txt", "x");
        let mode = |name: &str, mode| {
            fs::set_permissions(scratch.work().join(name), fs::Permissions::from_mode(mode))
                .unwrap();
        };
        mode("closed", 0o555);
        mode("hidden", 0o000);
        let args = json!({"path": "closed/protected.txt", "content": ""});
        check_wink_error(
            &scratch,
            "wink/create_file",
            &args,
            "permission_denied",
            "Error: Cannot create file 'closed/protected.txt' - permission denied",
        );
        check_wink_error(
            &scratch,
            "wink/list_dir",
            &json!({"path": "hidden"}),
            "permission_denied",
            "Error: Cannot list directory - permission denied",
        );
        check_wink_error(
            &scratch,
            "wink/create_directory",
            &json!({"path": "closed/sub"}),
            "permission_denied",
            "Error: Cannot create directory - permission denied",
        );
        // The positive control: the same calls succeed where nothing forbids them.
        mode("closed", 0o755);
        mode("hidden", 0o755);
        check(
            &scratch,
            "wink/create_directory",
            &json!({"path": "closed/sub"}),
            &json!({"success": true}),
        );
        check(&scratch, "wink/list_dir", &json!({"path": "hidden"}), &json!({"success": true}));
    }
}

#[test]
fn wink_read_file() {
    let scratch = Scratch::new();
    scratch.put("hello.py", "123456789012345678901234\n".repeat(50));
    let lines = ["123456789012345678901234"; 10].join("\n");
    let expect = json!({"tool": "read_file", "success": true,
        "output": format!("Contents of hello.py (lines 1-10):\n{lines}"), "files_affected": [],
        "execution_time_ms": 2,
        "metadata": {"total_lines": 50, "lines_returned": 10, "file_size_bytes": 1250}});
    let args = json!({"path": "hello.py", "start_line": 1, "end_line": 10});
    check(&scratch, "wink/read_file", &args, &expect);

    check_wink_error(
        &scratch,
        "wink/read_file",
        &json!({"path": "missing.txt"}),
        "file_not_found",
        "Error: File 'missing.txt' not found",
    );
    scratch.put("twenty.txt", "line\n".repeat(20));
    let args = json!({"path": "twenty.txt", "start_line": 30, "end_line": 40});
    check_wink_error(
        &scratch,
        "wink/read_file",
        &args,
        "invalid_line_range",
        "Error: Line range invalid - file has 20 lines, requested 30-40",
    );
    let args = json!({"path": "twenty.txt", "start_line": 5, "end_line": 4});
    let got = scratch.call("wink/read_file", &args.to_string()).json();
    assert_eq!(got["error"]["code"], "invalid_line_range");
    scratch.put("binary", [0_u8, 1, 2, 255].repeat(1000));
    let got = scratch.call("wink/read_file", r#"{"path": "binary"}"#).json();
    let warning = "Warning: File appears to be binary, displaying first 1KB as hex";
    assert_eq!(got["success"], true);
    assert_eq!(got["metadata"]["warnings"], json!([warning]));
    assert!(got["output"].as_str().unwrap().starts_with(warning));
    assert_eq!(got["output"].as_str().unwrap().matches(" ff").count(), 1024 / 4);
}

#[test]
fn wink_replace_string_in_file() {
    let scratch = Scratch::new();
    scratch.put("hello.py", "\n\n\n\nold_text\n");
    let expect = json!({"tool": "replace_string_in_file", "success": true,
        "output": "Replaced 1 occurrence in hello.py", "files_affected": ["hello.py"],
        "execution_time_ms": 3,
        "metadata": {"occurrences_found": 1, "occurrences_replaced": 1, "lines_changed": [5]}});
    let args = json!({"path": "hello.py", "old_string": "old_text", "new_string": "new"});
    check(&scratch, "wink/replace_string_in_file", &args, &expect);
    check_wink_error(
        &scratch,
        "wink/replace_string_in_file",
        &args,
        "string_not_found",
        "Error: String 'old_text' not found in file",
    );
    scratch.put("three.py", "\n\n\n\nx\nx\nx\n");
    let args = json!({"path": "three.py", "old_string": "x", "new_string": "y"});
    let got = scratch.call("wink/replace_string_in_file", &args.to_string()).json();
    let warning = "Warning: Found 3 occurrences, replaced only the first at line 5";
    assert_eq!(got["metadata"]["warnings"], json!([warning]));
    assert_eq!(scratch.text("three.py"), "\n\n\n\ny\nx\nx\n");
    let args = json!({"path": "three.py", "old_string": "", "new_string": "y"});
    let got = scratch.call("wink/replace_string_in_file", &args.to_string()).json();
    assert_eq!(got["success"], false);
}

#[test]
fn wink_list_dir() {
    let scratch = Scratch::new();
    for name in ["src/app.py", "src/utils.py", "src/models/user.py"] {
        scratch.put(name, "");
    }
    let expect = json!({"tool": "list_dir", "success": true,
        "output": "Contents of ./src:\n  app.py\n  utils.py\n  models/\n", "files_affected": [],
        "execution_time_ms": 2, "metadata": {"total_entries": 3, "files": 2, "directories": 1}});
    check(&scratch, "wink/list_dir", &json!({"path": "./src"}), &expect);
    check(&scratch, "wink/list_dir", &json!({"path": "src"}), &expect);
    scratch.put("file.txt", "");
    check_wink_error(
        &scratch,
        "wink/list_dir",
        &json!({"path": "file.txt"}),
        "not_a_directory",
        "Error: Path 'file.txt' is not a directory",
    );
    for number in 0..1001 {
        scratch.put(&format!("many/{number:04}"), "");
    }
    let got = scratch.call("wink/list_dir", r#"{"path": "many"}"#).json();
    assert_eq!(got["metadata"]["total_entries"], 1001);
    assert_eq!(got["output"].as_str().unwrap().matches("\n  ").count(), 1000);
    let got = scratch.call("wink/list_dir", r#"{"path": "many", "page": 2}"#).json();
    assert!(got["output"].as_str().unwrap().contains("\n  1000\n"));
}

#[test]
fn wink_create_directory() {
    let scratch = Scratch::new();
    let expect = json!({"tool": "create_directory", "success": true,
        "output": "Created directory: src/models", "files_affected": ["src/models"],
        "execution_time_ms": 3, "metadata": {"created_parents": ["src"]}});
    check(&scratch, "wink/create_directory", &json!({"path": "src/models"}), &expect);
    check(
        &scratch,
        "wink/create_directory",
        &json!({"path": "src/models"}),
        &json!({"success": true}),
    );
    scratch.put("test.txt", "");
    check_wink_error(
        &scratch,
        "wink/create_directory",
        &json!({"path": "test.txt"}),
        "path_is_file",
        "Error: Path 'test.txt' exists as a file, cannot create directory",
    );
}

#[test]
fn wink_forms_for_people_and_models() {
    let scratch = Scratch::new();
    let content = format!("content={}", "x".repeat(125));
    let ran = scratch.run(["--yes", "call", "wink/create_file", "path=hello.py", &content]);
    let place = scratch.work().join("hello.py").canonicalize().unwrap();
    let expect =
        format!("✓ Created file: hello.py (125 bytes)\n  Location: {}\n  Time: ", place.display());
    assert!(ran.stdout.starts_with(&expect), "{}", ran.stdout);

    let ran = scratch.run(["tools", "wink/create_file", "--format", "openai"]);
    let function = ran.json()[0]["function"].clone();
    assert_eq!(function["name"], "create_file");
    assert!(
        function["description"]
            .as_str()
            .unwrap()
            .starts_with("Create a new file with specified content")
    );
    let expect = json!({
        "path": {"type": "string", "description": "Relative path to the file to create"},
        "content": {"type": "string", "description": "Content to write to the file"},
    });
    assert_eq!(function["parameters"]["properties"], expect);
    assert_eq!(function["parameters"]["required"], json!(["path", "content"]));
}
