//! Bad input gets a clear error in the catalogue's format and an exit code of its own, and does no harm.

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch};

#[track_caller]
fn check(scratch: &Scratch, words: &[&str], code: i32, says: &str) {
    let ran = scratch.run(words);
    let all = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.code, code, "{words:?}: {all}");
    // Catalogues differ in how they capitalise sentences and quote names.
    let level = |text: &str| text.to_lowercase().replace('`', "'");
    assert!(level(&all).contains(&level(says)), "{words:?}: {all}");
    assert!(!all.contains("panicked"), "{words:?}: {all}");
}

#[test]
fn arguments_that_do_not_fit_are_told_with_their_place() {
    let scratch = Scratch::new();
    let call = |args: &str, says: &str| {
        check(&scratch, &["call", "wink/read_file", args, "--json"], 6, says);
    };
    call("{}", "`path` is missing");
    call(r#"{"path": "a", "path": "b"}"#, "`path` is given twice");
    call("[1, 2]", "arguments must be an object");
    call("{\"path\": ", "line 1");
    call(&format!("{}1{}", r#"{"path":"#.repeat(5000), "}".repeat(5000)), "nested deeper");
    call(r#"{"path": 18446744073709551616}"#, "too large to keep exactly");
}

#[test]
fn a_tool_that_is_not_there_has_an_exit_code_of_its_own() {
    let scratch = Scratch::new();
    check(&scratch, &["call", "wink/raed_file", "{}"], 5, "did you mean `wink/read_file`");
    // A tool that is there and shut is refused.
    check(&scratch, &["--toolset", "wink", "call", "clemini/edit", "{}"], 3, "not on offer");
    let shut = ["-c", "forgekeeper.allow=[\"echo\"]", "call", "forgekeeper/get_time", "{}"];
    check(&scratch, &shut, 3, "Tool 'get_time' not in allowlist");
    check(&scratch, &["--toolset", "wink", "call", "list_dir", "{}"], 0, "Contents of .");
    check(&scratch, &["--toolset", "wnik", "tools"], 2, "did you mean `wink`");
    let twice = ["--toolset", "wink,clemini", "call", "edit", "{}"];
    check(&scratch, &twice, 2, "share the name `read_file`");
    check(&scratch, &["--toolset", "wink,clemini/edit", "tools"], 0, "clemini/edit");
}

#[test]
fn arguments_can_come_on_stdin_and_are_bounded() {
    let scratch = Scratch::new();
    scratch.put("a", "fine\n");
    let call = |input: &[u8]| scratch.feed(["call", "wink/read_file", "-", "--json"], input);
    assert_eq!(call(br#"{"path": "a"}"#).code, 0);
    assert_eq!(call(b"").code, 6);
    assert_eq!(call(b"\xff\xfe").code, 6);
    let huge = [b"{\"path\": \"".as_slice(), &vec![b'x'; 40 << 20], b"\"}"].concat();
    let ran = call(&huge);
    assert_eq!(ran.code, 6);
    assert!(ran.stdout.contains("limit"), "{}", ran.stdout);
}

#[test]
fn a_batch_answers_every_line_and_survives_the_bad_ones() {
    let scratch = Scratch::new();
    scratch.put("a", "fine\n");
    let input = br#"{"id": 1, "tool": "clemini/read_file", "args": {"file_path": "a"}}
not json
{"id": "two", "tool": "nope"}

{"id": 3, "tool": 5}
{"id": 4, "tool": "clemini/read_file", "args": {"file_path": "a"}, "extra": 1}
{"id": 5, "tool": "clemini/write_file", "args": {"file_path": "b", "content": "x"}}
[1]
{"id": 6, "tool": "nachos/calculator", "args": {"expression": "6 * 7"}}"#;
    let ran = scratch.feed(["call", "--batch"], input);
    assert_eq!(ran.code, 1);
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: Vec<Value> = lines.iter().map(|line| line["id"].clone()).collect();
    assert_eq!(Value::from(ids), json!([1, null, "two", 3, 4, 5, null, 6]));
    assert_eq!(lines[0]["reply"]["contents"], "1: fine");
    assert!(lines[0]["elapsed_us"].is_u64());
    assert!(lines[2]["reply"]["error"]["message"].as_str().unwrap().contains("no tool `nope`"));
    assert_eq!(lines[5]["reply"]["error_code"], "ACCESS_DENIED");
    assert_eq!(lines[5]["reply"]["context"]["reason"], "approval_required");
    assert!(!scratch.work().join("b").exists());
    assert_eq!(lines[7]["reply"]["result"]["answer"], 42);
}

#[test]
fn input_that_cannot_be_read_fails_the_batch() {
    let scratch = Scratch::new();
    for (input, code) in [("/", 1), ("/dev/null", 0)] {
        let stdin = std::fs::File::open(input).unwrap();
        let mut command = scratch.command();
        let ran: Ran = command.args(["call", "--batch"]).stdin(stdin).output().unwrap().into();
        assert_eq!(ran.code, code, "{input}: {}", ran.stderr);
        assert_eq!(
            ran.stderr.contains("stdin cannot be read"),
            code == 1,
            "{input}: {}",
            ran.stderr
        );
    }
}

#[test]
fn a_line_that_is_too_long_is_told_with_the_limit() {
    let scratch = Scratch::new();
    let call = r#"{"id": 1, "tool": "nachos/calculator", "args": {"expression": "6 * 7"}}"#;
    let input = format!("{}\n{call}\n", "x".repeat(33 << 20));
    let ran = scratch.feed(["call", "--batch"], input.as_bytes());
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [long, short] = lines[..] else { panic!("{}", ran.stdout) };
    assert!(long.contains("it is longer than 33554432 bytes"), "{long}");
    assert!(short.contains(r#""answer":42"#), "the next line is answered: {short}");
}

#[test]
fn a_batch_with_jobs_answers_all_whatever_the_order() {
    let scratch = Scratch::new();
    let call = |number: usize| {
        let args = json!({"expression": format!("{number} * 2")});
        format!("{}\n", json!({"id": number, "tool": "nachos/calculator", "args": args}))
    };
    let input: String = (0..500).map(call).collect();
    for jobs in ["1", "16"] {
        let ran = scratch.feed(["call", "--batch", "--jobs", jobs], input.as_bytes());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let mut answers = vec![false; 500];
        for (place, line) in ran.stdout.lines().enumerate() {
            let line: Value = serde_json::from_str(line).unwrap();
            let id = usize::try_from(line["id"].as_u64().unwrap()).unwrap();
            assert_eq!(line["reply"]["result"]["answer"], id * 2);
            assert!(jobs != "1" || id == place, "out of order");
            answers[id] = true;
        }
        assert!(answers.iter().all(|is_there| *is_there));
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_batch_quietly() {
    let scratch = Scratch::new();
    let program = env!("CARGO_BIN_EXE_toolcrib");
    let line = format!(
        "yes '{{\"tool\":\"forgekeeper/echo\",\"args\":{{\"text\":\"x\"}}}}' | head -n 20000 | {program} call --batch | head -n 1"
    );
    let output = std::process::Command::new("timeout")
        .args(["60", "bash", "-c", &line])
        .current_dir(scratch.work())
        .env("TOOLCRIB_STATE", scratch.state())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(output.stderr, b"", "{}", String::from_utf8_lossy(&output.stderr));
}
