//! What a command prints comes back bounded, is saved whole, and can be read by lines.

use serde_json::json;

use crate::ground::{Session, for_all};

#[test]
fn long_output_keeps_its_ends_and_says_what_is_left_out() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        for stream in ["", ">&2"] {
            let reply = session.bash(&format!("seq 100000 {stream}"));
            let name = if stream.is_empty() { "stdout" } else { "stderr" };
            let text = reply[name].as_str().unwrap();
            assert!(text.starts_with("1\n2\n") && text.ends_with("\n99999\n100000\n"), "{name}");
            let note = text.lines().find(|line| line.starts_with('[')).unwrap();
            // The numbers are right: what is shown and what is left out is everything.
            let numbers: Vec<usize> = note
                .split(|c: char| !c.is_ascii_digit())
                .filter_map(|word| word.parse().ok())
                .collect();
            let shown: Vec<&str> = text.lines().filter(|line| !line.starts_with('[')).collect();
            let bytes: usize = shown.iter().map(|line| line.len() + 1).sum();
            assert_eq!(bytes + numbers[0], 588_895, "{note}");
            assert_eq!(shown.len() + numbers[1], 100_000, "{note}");
            // And what it says about reading the rest is true.
            let id = reply["task_id"].as_str().unwrap();
            assert!(note.contains(id), "{note}");
            let args = json!({"task_id": id, "from_line": 50_000, "line_count": 3, "stream": name});
            let read = session.call("clemini/task_output", args);
            assert_eq!(read[name], "50000\n50001\n50002\n", "{read}");
            assert_eq!(read["lines"]["total"], 100_000);
            let whole = session.call("clemini/task_output", json!({"task_id": id}));
            assert_eq!(whole["status"], "completed", "{whole}");
            let words = ["output", id, "--lines", "70000-70001"];
            let extra: &[&str] = if stream.is_empty() { &[] } else { &["--stderr"] };
            let got = scratch.run([&words[..], extra].concat());
            assert_eq!(got.stdout, "70000\n70001\n", "{}", got.stderr);
        }
        session.end();
    });
}

#[test]
fn odd_output_is_shown_and_fits() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        for (command, expect) in [
            (r"printf 'a\xff\xfeb\n'", "a\\xff\\xfeb\n"),
            (r"printf 'a\0b'", "a\0b"),
            (r"printf '10%%\r20%%\r100%%\ndone\n'", "100%\ndone\n"),
            (r"printf 'a\r\nb\r\n'", "a\r\nb\r\n"),
            (r"printf 'h\303'; sleep 0.1; printf '\244\n'", "hä\n"),
            (r"printf 'x\r\r\n'", "x\r\n"),
        ] {
            assert_eq!(session.bash(command)["stdout"], expect, "{command}");
        }
        for command in [
            "head -c 300000 /dev/urandom",
            "head -c 300000 /dev/zero",
            "head -c 300000 /dev/zero | tr '\\0' a",
            "python3 -c 'print(\"€\" * 200000)'",
            "python3 -c 'print(\"\\\"\" * 200000)'",
            "yes $'\\e[31mred' | head -50000",
            "head -c 30000000 /dev/zero | tr '\\0' '\\n'",
        ] {
            let reply = session.bash(command);
            assert_eq!(reply["exit_code"], 0, "{command}: {reply}");
            let text = reply["stdout"].as_str().unwrap();
            assert!(text.contains(" left out here; read it with"), "{command}");
            assert!(reply.to_string().len() <= 64 << 10, "{command}: {}", reply.to_string().len());
            assert!(
                !command.contains('€') || !text.contains("\\x"),
                "{command}: a character was cut"
            );
        }
        session.end();
    });
}

#[test]
fn both_streams_are_read_at_once_and_to_the_end() {
    for_all(|scratch| {
        let mut session = Session::start(scratch, &[]);
        let both = "for i in 1 2 3 4 5; do head -c 300000 /dev/zero | tr '\\0' e >&2; \
            head -c 300000 /dev/zero | tr '\\0' o; done; echo end; echo end >&2";
        let reply = session.bash(both);
        for name in ["stdout", "stderr"] {
            assert!(reply[name].as_str().unwrap().ends_with("end\n"), "{name}");
        }
        // What is saved is bounded, and the answer says so.
        session.end();
        let mut session = Session::start(scratch, &["-c", "sandbox.saved_bytes=1000"]);
        let reply = session.bash("seq 100000");
        let text = reply["stdout"].as_str().unwrap();
        assert!(text.contains("only the first 1000 bytes are saved"), "{text}");
        session.end();
    });
}

#[test]
fn ids_lead_nowhere_else() {
    for_all(|scratch| {
        let secret = scratch.path("outside/secret.txt");
        assert!(secret.exists());
        for id in ["../../outside", "/etc", "..", "", ".", "a/b", "a\0b", "nothing"] {
            let got = scratch
                .call("clemini/task_output", &json!({"task_id": id, "from_line": 1}).to_string());
            let reply = got.json();
            assert_eq!(reply["error_code"], "NOT_FOUND", "{id}: {reply}");
        }
        let got = scratch.run(["output", "../../outside"]);
        assert_eq!(got.code, 1, "{}", got.stdout);
        let got = scratch.run(["output", "X", "--lines", "b-a"]);
        assert_eq!(got.code, 2, "{}", got.stdout);
    });
}
