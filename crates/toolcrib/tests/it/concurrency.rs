//! Calls at once: no update is lost, whoever makes it.

use std::fs;
use std::io::{BufRead, Write};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::scratch::{Scratch, users};

/// Lines for a batch that adds `count` lines of its own to one file.
fn additions(who: &str, count: usize) -> Vec<u8> {
    let line = |number: usize| {
        let new = format!("{who}-{number}\nEND");
        let args = json!({"file_path": "list.txt", "old_string": "END", "new_string": new});
        format!("{}\n", json!({"id": number, "tool": "clemini/edit", "args": args}))
    };
    (0..count).map(line).collect::<String>().into_bytes()
}

#[test]
fn edits_of_one_file_by_several_processes_are_all_there() {
    const EACH: usize = 100;
    for user in users() {
        let scratch = Scratch::of(user);
        scratch.put("list.txt", "END\n");
        let replies: Vec<String> = std::thread::scope(|scope| {
            let runs: Vec<_> = ["a", "b", "c"]
                .map(|who| {
                    let scratch = &scratch;
                    scope.spawn(move || {
                        let words = ["--yes", "call", "--batch", "--jobs", "4"];
                        scratch.feed(words, &additions(who, EACH)).stdout
                    })
                })
                .into_iter()
                .collect();
            runs.into_iter().map(|run| run.join().unwrap()).collect()
        });
        for reply in replies.iter().flat_map(|replies| replies.lines()) {
            let reply: Value = serde_json::from_str(reply).unwrap();
            assert_eq!(reply["reply"]["success"], true, "{reply}");
        }
        let text = scratch.text("list.txt");
        for who in ["a", "b", "c"] {
            for number in 0..EACH {
                let line = format!("{who}-{number}");
                assert!(text.lines().any(|it| it == line), "{user:?}: {line} was lost");
            }
        }
        assert_eq!(text.lines().count(), 3 * EACH + 1);
    }
}

#[test]
fn of_many_creators_one_wins() {
    let scratch = Scratch::new();
    let calls: String = (0..40)
        .map(|number| {
            let args = json!({"path": "one.txt", "content": format!("{number}")});
            format!("{}\n", json!({"id": number, "tool": "wink/create_file", "args": args}))
        })
        .collect();
    let ran = scratch.feed(["--yes", "call", "--batch", "--jobs", "8"], calls.as_bytes());
    let replies: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(replies.len(), 40);
    let winners: Vec<_> =
        replies.iter().filter(|reply| reply["reply"]["success"] == true).collect();
    assert_eq!(winners.len(), 1);
    assert_eq!(scratch.text("one.txt"), winners[0]["id"].to_string());
    assert_eq!(ran.code, 1);
}

#[test]
fn another_programs_save_is_never_overwritten_unseen() {
    let scratch = Scratch::new();
    scratch.put("shared.txt", "theirs 0\nours 0\n");
    let mut child = scratch
        .command()
        .args(["--yes", "call", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let path = scratch.work().join("shared.txt");
    let (theirs, ours) = std::thread::scope(|scope| {
        // Saves as editors do: read, change one's own line, write aside, rename.
        let editor = scope.spawn(|| {
            let mut saves = 0;
            for number in 1..=300 {
                let text = fs::read_to_string(&path).unwrap();
                let mine = text.lines().find(|line| line.starts_with("theirs")).unwrap();
                let changed = text.replace(mine, &format!("theirs {number}"));
                let aside = scratch.path("aside.tmp");
                fs::write(&aside, changed).unwrap();
                fs::rename(&aside, &path).unwrap();
                saves = number;
            }
            saves
        });
        let output = std::io::BufReader::new(child.stdout.take().unwrap());
        let reader = scope.spawn(|| {
            output
                .lines()
                .map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
                .collect::<Vec<_>>()
        });
        for number in 0..300 {
            let args = json!({"file_path": "shared.txt", "old_string": format!("ours {number}\n"),
                "new_string": format!("ours {}\n", number + 1)});
            writeln!(input, "{}", json!({"id": number, "tool": "clemini/edit", "args": args}))
                .unwrap();
        }
        drop(input);
        (editor.join().unwrap(), reader.join().unwrap())
    });
    child.wait().unwrap();
    // The editor is blind and may undo our line; it must never lose its own to us.
    let text = scratch.text("shared.txt");
    assert!(text.contains(&format!("theirs {theirs}\n")), "{text}");
    let told: Vec<_> = ours.iter().filter(|reply| reply["reply"]["success"] != true).collect();
    for reply in told {
        let code = &reply["reply"]["error_code"];
        assert!(code == "NOT_FOUND" || code == "IO_ERROR", "{reply}");
    }
}
