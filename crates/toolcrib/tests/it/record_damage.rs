//! A record that others touched: foreign files, pipes, damaged segments, a missing key.

use std::fs;
use std::process::Stdio;

use crate::scratch::{Ran, Scratch};

fn log_of(scratch: &Scratch) -> std::path::PathBuf {
    scratch.state().join("context_log")
}

#[test]
fn a_file_that_nobody_of_us_wrote_is_found_and_hides_nothing() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    assert_eq!(scratch.run(["audit", "verify"]).code, 0, "the control");
    let forged = r#"{"ts":"2026-11-15T23:05:00Z","act":"tool_call","event":"ended"}"#;
    fs::write(log_of(&scratch).join("ctx-20991231-23.jsonl"), forged).unwrap();
    let got = scratch.run(["audit", "verify"]);
    assert_eq!(got.code, 1, "{}", got.stdout);
    assert!(got.stdout.contains("ctx-20991231-23"), "{}", got.stdout);
    // Whoever follows sees what comes.
    let mut follower = scratch.command();
    follower.args(["audit", "tail", "-f", "-n", "0", "--json"]);
    let mut follower = follower.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines =
        std::io::BufRead::lines(std::io::BufReader::new(follower.stdout.take().unwrap()));
    let (told, hear) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        while let Some(Ok(line)) = lines.next() {
            let _ = told.send(line);
        }
    });
    // It may not have begun to look when the first call is made.
    let until = std::time::Instant::now() + std::time::Duration::from_secs(30);
    let mut seen = None;
    while seen.is_none() && std::time::Instant::now() < until {
        scratch.run(["call", "forgekeeper/get_time", "{}"]);
        seen = hear.recv_timeout(std::time::Duration::from_millis(500)).ok();
    }
    let _ = follower.kill();
    let _ = follower.wait();
    assert!(seen.is_some_and(|line| line.contains("get_time")));
    fs::remove_file(log_of(&scratch).join("ctx-20991231-23.jsonl")).unwrap();
    // A whole line without an end in the file that is written to is none of ours, either.
    let current = fs::read_dir(log_of(&scratch)).unwrap().map(|it| it.unwrap().path());
    let current = current.into_iter().find(|it| it.extension().is_some_and(|it| it == "jsonl"));
    let mut file = fs::OpenOptions::new().append(true).open(current.unwrap()).unwrap();
    std::io::Write::write_all(&mut file, forged.as_bytes()).unwrap();
    assert_eq!(scratch.run(["audit", "verify"]).code, 1);
}

#[test]
fn a_pipe_in_the_place_of_a_file_swallows_nothing() {
    let scratch = Scratch::new();
    scratch.put("a", "x");
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let current = fs::read_dir(log_of(&scratch)).unwrap().map(|it| it.unwrap().path());
    let current = current.into_iter().find(|it| it.extension().is_some_and(|it| it == "jsonl"));
    let current = current.unwrap();
    fs::remove_file(&current).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&current).status().unwrap();
    assert!(made.success());
    let got = scratch.run(["call", "wink/read_file", "path=a"]);
    assert_eq!(got.code, 0, "{}", got.stdout);
    assert!(got.stderr.contains("is not a regular file"), "{}", got.stderr);
    assert_eq!(scratch.call("clemini/write_file", r#"{"file_path": "b", "content": "x"}"#).code, 1);
    assert!(!scratch.work().join("b").exists());
}

#[test]
fn a_damaged_file_takes_nothing_else_along() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    let whole = scratch.run(["audit", "search"]).stdout;
    let before = scratch.run(["stats"]);
    assert!(before.stdout.contains("get_time"), "{}", before.stdout);
    for damage in [&b""[..], b"no gzip", &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xff, 0xff, 0xff]] {
        let file = log_of(&scratch).join("ctx-20250101-00.jsonl.gz");
        fs::write(&file, damage).unwrap();
        let found = scratch.run(["audit", "search"]);
        assert_eq!((found.code, &found.stdout), (0, &whole), "{}", found.stderr);
        for words in
            [&["audit", "search"][..], &["audit", "tail"], &["stats"], &["stats", "rebuild"]]
        {
            let got = scratch.run(words);
            assert_eq!(got.code, 0, "{words:?}: {}", got.stderr);
            let is_said =
                got.stderr.contains("ctx-20250101-00") && got.stderr.contains("audit verify");
            assert!(is_said, "{words:?}: {}", got.stderr);
        }
        let got = scratch.run(["audit", "export"]);
        assert!(got.code == 1 && got.stdout.contains("get_time"), "{}", got.stderr);
        assert_eq!(scratch.run(["audit", "verify"]).code, 1);
        fs::remove_file(file).unwrap();
    }
    assert_eq!(scratch.run(["audit", "export", "--json"]).code, 0);
    assert_eq!(scratch.run(["stats", "rebuild", "--json"]).json()["ok"], true);
}

#[test]
fn a_record_without_its_key_is_not_taken_for_an_empty_one() {
    let scratch = Scratch::new();
    scratch.run(["call", "forgekeeper/get_time", "{}"]);
    scratch.run(["stats"]);
    let key = scratch.state().join("record.key");
    let kept = fs::read(&key).unwrap();
    fs::remove_file(&key).unwrap();
    for words in [&["audit", "search"][..], &["audit", "export"], &["stats"], &["audit", "verify"]]
    {
        let got = scratch.run(words);
        assert_ne!(got.code, 0, "{words:?}: {}", got.stdout);
        assert!((got.stdout + &got.stderr).contains("record.key"), "{words:?}");
    }
    let refused = scratch.call("clemini/write_file", r#"{"file_path": "a", "content": "x"}"#);
    assert!(refused.code != 0 && !scratch.work().join("a").exists(), "{}", refused.stderr);
    assert!(!key.exists(), "no other is made");
    fs::write(&key, kept).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    fs::set_permissions(&key, mode).unwrap();
    assert!(scratch.run(["stats"]).stdout.contains("get_time"), "the figures are there again");
    assert_eq!(scratch.run(["audit", "verify"]).code, 0);
}

#[test]
fn a_place_without_a_record_is_not_certified() {
    let scratch = Scratch::new();
    let mut command = scratch.command();
    let typo = scratch.path("typo");
    command.env("TOOLCRIB_STATE", &typo).args(["audit", "verify"]);
    let got: Ran = command.output().unwrap().into();
    assert_eq!(got.code, 1, "{}", got.stdout);
    assert!(got.stderr.contains("there is no record at"), "{}", got.stderr);
    assert!(!typo.exists());
}
