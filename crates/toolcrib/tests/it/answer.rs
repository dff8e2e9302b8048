//! Answers: true, whole, in time, and as they were asked for.

use std::fs;

use serde_json::{Value, json};

use crate::scratch::Scratch;

#[test]
fn a_result_that_gets_lost_is_not_a_success() {
    let scratch = Scratch::new();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = scratch.command();
    let output =
        command.args(["call", "forgekeeper/echo", "text=x"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write the result to stdout"));
}

#[test]
fn lists_can_be_set_as_they_are_shown() {
    let scratch = Scratch::new();
    let names = |words: &[&str]| {
        let all = words.iter().copied().chain(["config", "show", "--json"]);
        scratch.run(all).json()["files.protected"]["value"].clone()
    };
    let expect: Value = json!(["a", "b"]);
    assert_eq!(names(&["-c", "files.protected=a,b"]), expect);
    assert_eq!(names(&["-c", r#"files.protected=["a", "b"]"#]), expect);
    assert_eq!(scratch.run(["-c", "files.protected=[a", "config", "show"]).code, 2);
    assert_eq!(scratch.run(["--toolset", "", "tools"]).code, 2);
}

#[test]
fn large_files_full_of_matches_and_near_misses_end_in_time() {
    let scratch = Scratch::new();
    scratch.put("many", "a\n".repeat(2 << 20));
    let edit = |old: &str, all: bool| {
        let args =
            json!({"file_path": "many", "old_string": old, "new_string": "b", "replace_all": all});
        let start = std::time::Instant::now();
        let ran = scratch
            .feed(["--yes", "call", "clemini/edit", "-", "--json"], args.to_string().as_bytes());
        assert!(start.elapsed().as_secs() < 25, "{:?}", start.elapsed());
        ran.json()
    };
    assert_eq!(edit("a", false)["error_code"], "NOT_UNIQUE");
    assert_eq!(edit(&"yyyy\n".repeat(20_000), false)["error_code"], "NOT_FOUND");
    assert_eq!(edit("a", true)["replacements"], 2 << 20);
}

#[test]
fn a_schema_that_never_ends_does_not_hold_up_the_rest() {
    let scratch = Scratch::new();
    let branch = |key: &str| json!({"type": "object", "required": [key], "properties": {"n": {"$ref": "#"}}});
    let schema = json!({"anyOf": [branch("x"), branch("y")]});
    fs::write(scratch.path("schema.json"), schema.to_string()).unwrap();
    let config =
        format!("[hikai.output_types]\nloop = '{}'\n", scratch.path("schema.json").display());
    scratch.put_at("home/.config/toolcrib/config.toml", config);
    let data = (0..40).fold(json!({}), |inner, _| json!({"n": inner}));
    let calls = [
        json!({"id": 1, "tool": "hikai/validate_output", "args": {"outputType": "loop", "data": data}}),
        json!({"id": 2, "tool": "forgekeeper/echo", "args": {"text": "x"}}),
    ];
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let words = ["-c", "limits.deadline_ms=1000", "call", "--batch", "--jobs", "2"];
    let ran = scratch.feed(words, input.as_bytes());
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["id"], 2, "{}", ran.stdout);
    assert!(lines[1]["reply"]["error"].as_str().unwrap().contains("1000 ms"), "{}", ran.stdout);
}

#[test]
fn what_was_done_is_told_as_done_at_any_length() {
    let scratch = Scratch::new();
    let name = "q".repeat(150);
    let args = json!({"path": name, "content": "a"}).to_string();
    let words = ["-c", "limits.output_bytes=256", "--yes", "call"];
    let ran = scratch.run(words.into_iter().chain(["wink/create_file", &args, "--json"]));
    assert_eq!((ran.code, &ran.json()["success"]), (0, &json!(true)), "{}", ran.stdout);
    let args = json!({"path": "e/".repeat(1500)}).to_string();
    let ran = scratch.call("wink/create_directory", &args);
    assert_eq!(ran.code, 0, "{}", &ran.stdout[..200]);
    // The control: a reply that is only too long is refused.
    scratch.put("long", "x".repeat(1000));
    let ran =
        scratch.run(words.into_iter().chain(["clemini/read_file", "file_path=long", "--json"]));
    assert_eq!(ran.code, 1, "{}", ran.stdout);
}

#[test]
fn an_id_comes_back_as_it_was_written() {
    let scratch = Scratch::new();
    for id in ["12345678901234567890123", "1.0", r#"{"a":[null,1e3]}"#, r#""\u00e9""#, "null"] {
        for args in [r#"{"text":"x"}"#, r#"{"text":"x","text":"y"}"#] {
            let line = format!(r#"{{"id":{id},"tool":"forgekeeper/echo","args":{args}}}"#);
            let ran = scratch.feed(["call", "--batch"], line.as_bytes());
            assert!(ran.stdout.starts_with(&format!(r#"{{"id":{id},"reply":"#)), "{}", ran.stdout);
        }
    }
    let ran = scratch.feed(["call", "--batch"], b"{\"id\":7,\"args\":{}}\n");
    assert!(
        ran.stdout.contains(r#""id":7"#) && ran.stdout.contains("missing field `tool`"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_difference_shows_line_ends_that_change() {
    let scratch = Scratch::new();
    scratch.put("le.txt", "a\r\nsafe\rEVIL\r\nsame");
    let words = [
        "call",
        "clemini/write_file",
        "file_path=le.txt",
        "content=a\nsafe\rEVIL\r\nsame",
        "--dry-run",
    ];
    let ran = scratch.run(words);
    for line in
        ["    1 - a\\r\n", "    1 + a\n", "    2   safe\\rEVIL\n", "    3   same (no line end)\n"]
    {
        assert!(ran.stdout.contains(line), "{line:?}: {}", ran.stdout);
    }
    assert!(ran.stdout.contains("(+1 -1)"), "{}", ran.stdout);
}

#[test]
fn what_needs_no_state_works_without() {
    let scratch = Scratch::new();
    let run = |words: &[&str]| {
        let mut command = scratch.command();
        command.env("TOOLCRIB_STATE", "/proc/nowhere").args(words);
        command.output().unwrap().status.code()
    };
    assert_eq!(run(&["tools"]), Some(0));
    assert_eq!(run(&["config", "show"]), Some(0));
    assert_eq!(run(&["call", "forgekeeper/echo", "text=x"]), Some(0));
    assert_eq!(run(&["--yes", "call", "clemini/write_file", "file_path=a", "content=x"]), Some(1));
    assert!(!scratch.work().join("a").exists());
}
