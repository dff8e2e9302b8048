//! What a person sees of a command: its output as it is printed, and one line about its end.

use crate::prompt::Session;
use crate::scratch::Scratch;

#[test]
fn output_is_shown_while_the_command_runs() {
    let scratch = Scratch::new();
    let command = "command=echo begun; while ! [ -e go ]; do sleep 0.01; done; echo ended; exit 3";
    let mut session = Session::start(&scratch, &["--yes", "call", "clemini/bash", command], "");
    session.wait_for("begun\r\n");
    assert!(!session.seen.contains("ended"), "{}", session.seen);
    scratch.put("go", "");
    session.wait_for("ended\r\n");
    session.wait_for("✗ exit 3 in ");
    assert_eq!(session.seen.matches("begun").count(), 1, "{}", session.seen);
    assert_eq!(session.child.wait().unwrap().code(), Some(1));
}

#[test]
fn a_command_that_fails_is_a_failure_in_every_catalogue() {
    let scratch = Scratch::new();
    for (tool, settings) in [
        ("clemini/bash", &[][..]),
        ("wink/run_in_terminal", &[]),
        ("forgekeeper/run_bash", &["-c", "forgekeeper.bash=true"]),
    ] {
        for (code, ends) in [(0, 0), (3, 1)] {
            let args = format!("command=echo out; echo err >&2; exit {code}");
            let words = [&["--yes"], settings, &["call", tool, &args]].concat();
            let ran = scratch.run(words);
            assert_eq!(ran.code, ends, "{tool}: {}{}", ran.stdout, ran.stderr);
            assert_eq!(ran.stdout, "out\n", "{tool}");
            let line = format!("exit {code} in ");
            assert!(ran.stderr.starts_with("err\n"), "{tool}: {}", ran.stderr);
            assert!(ran.stderr.contains(&line), "{tool}: {}", ran.stderr);
        }
    }
}

#[test]
fn the_record_tells_a_failed_command_from_a_failed_tool_in_every_catalogue() {
    let scratch = Scratch::new();
    let tools = [
        ("clemini/bash", &[][..]),
        ("wink/run_in_terminal", &[]),
        ("forgekeeper/run_bash", &["-c", "forgekeeper.bash=true"]),
    ];
    let lines = |words: &[&str]| -> Vec<serde_json::Value> {
        let ran = scratch.run(words);
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    for (tool, settings) in tools {
        for command in ["command=true", "command=exit 3", "command=kill -9 $$", "command=nope-nope"]
        {
            scratch.run([&["--yes"], settings, &["call", tool, command]].concat());
        }
        let found = lines(&["audit", "search", "--tool", tool, "--json"]);
        let of = |command: &str| {
            let is_it = |it: &&serde_json::Value| it["args"].as_str().unwrap().contains(command);
            found.iter().find(is_it).unwrap()
        };
        for (command, outcome, end) in [
            ("true", "ok", serde_json::json!({"exited": 0})),
            ("exit 3", "command_failed", serde_json::json!({"exited": 3})),
            ("kill -9", "command_failed", serde_json::json!({"signalled": 9})),
            ("nope-nope", "command_failed", serde_json::json!({"exited": 127})),
        ] {
            let got = of(command);
            assert_eq!((&got["outcome"], &got["end"]), (&outcome.into(), &end), "{tool}: {got}");
            assert_eq!(got["error"], serde_json::Value::Null, "{tool}: {got}");
        }
        let failed = ["audit", "search", "--outcome", "command_failed", "--tool", tool, "--json"];
        assert_eq!(lines(&failed).len(), 3, "{tool}");
        let stats = scratch.run(["stats", "--json"]).json();
        let mut all = stats["tools"].as_array().unwrap().iter();
        // Some contracts leave the catalogue out of the name.
        let figures = all.find(|it| tool.ends_with(it["toolName"].as_str().unwrap())).unwrap();
        assert_eq!(figures["failedCommands"], 3, "{figures}");
        assert_eq!(
            (&figures["errors"], &figures["totalCalls"]),
            (&0.into(), &4.into()),
            "{figures}"
        );
    }
    // The control: a command that runs out of time is an error of its call.
    let args = r#"{"command": "sleep 100", "timeout_seconds": 1}"#;
    scratch.call("clemini/bash", args);
    let late = lines(&["audit", "search", "--outcome", "error", "--json"]);
    assert_eq!((late.len(), &late[0]["error"]), (1, &"timeout".into()), "{late:?}");
    let shown = scratch.run(["audit", "tail", "-n", "100"]).stdout;
    assert!(shown.contains("exit code 3, took ") && shown.contains("ok, took "), "{shown}");
}

#[test]
fn a_pipe_gets_the_output_alone_and_the_end_names_what_changed() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "one\n");
    let command = "command=printf 'no end'; echo two >> a.txt; touch made";
    let ran = scratch.run(["--yes", "call", "clemini/bash", command]);
    assert_eq!(ran.stdout, "no end");
    for part in ["✓ exit 0 in ", " · made made · changed a.txt · undo: toolcrib undo "] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let id = ran.stderr.trim().rsplit(' ').next().unwrap();
    assert_eq!(scratch.run(["--yes", "undo", id]).code, 0);
    assert_eq!(scratch.text("a.txt"), "one\n");
    // The control: a command that changes nothing names nothing.
    let ran = scratch.run(["--yes", "call", "clemini/bash", "command=true"]);
    assert!(ran.stderr.contains("✓ exit 0") && !ran.stderr.contains('·'), "{}", ran.stderr);
}

#[test]
fn the_line_at_the_end_names_what_was_deleted() {
    let scratch = Scratch::new();
    for file in ["old/a", "old/b", "old/c", "kept/d"] {
        scratch.put(file, "x");
    }
    for (command, told) in [
        ("rm old/a", " · deleted old/a · undo: "),
        ("rm -rf old", " · deleted old · undo: "),
        ("cat kept/d", "exit 0 in "),
    ] {
        let ran = scratch.run(["--yes", "call", "clemini/bash", &format!("command={command}")]);
        assert!(ran.stderr.contains(told), "{command}: {}", ran.stderr);
        assert_eq!(ran.stderr.contains("deleted"), command.starts_with("rm"), "{}", ran.stderr);
    }
}

#[test]
fn progress_that_is_drawn_on_one_line_stays_on_one_line() {
    let scratch = Scratch::new();
    let command = r"command=printf '10%%\r20%%\r\nkept\r'; printf '\nend \033[2J\nbegun'";
    let mut command_words = scratch.command();
    command_words.env("TERM", "xterm").env("NO_COLOR", "1");
    command_words.args(["--yes", "call", "clemini/bash", command]);
    let mut session = Session::on_terminal(command_words, "");
    session.wait_for("exit 0 in ");
    // The terminal itself makes `\r\n` of each line feed.
    let seen = "10%\r\u{1b}[K20%\r\nkept\r\nend ";
    assert!(session.seen.contains(seen), "{:?}", session.seen);
    // What a command has begun is not on the same row as what we say.
    assert!(session.seen.contains("begun\r\n✓ exit 0"), "{:?}", session.seen);
    assert!(!session.seen.contains("\u{1b}[2J"), "{:?}", session.seen);
}
