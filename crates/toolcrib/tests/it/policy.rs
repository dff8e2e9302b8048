//! Rules from files, and `docs/policy.md`, whose examples are run.

use serde_json::{Value, json};

use crate::scratch::{Ran, Scratch};

/// Returns the code blocks of one kind on the page.
fn blocks(kind: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policy.md");
    let page = std::fs::read_to_string(page).unwrap();
    let mut blocks: Vec<String> = Vec::new();
    let mut is_in = false;
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(name) if name == kind => {
                is_in = true;
                blocks.push(String::new());
            }
            Some(_) => is_in = false,
            None if is_in => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            None => {}
        }
    }
    blocks
}

/// Returns the path of the user's own rules.
fn own_rules(scratch: &Scratch) -> std::path::PathBuf {
    scratch.path("home/.config/toolcrib/rules.toml")
}

#[test]
fn the_page_about_policy_is_true() {
    let scratch = Scratch::new();
    for (number, rule) in blocks("toml").iter().enumerate() {
        let file = format!("{number}.toml");
        scratch.put_at(&file, rule);
        let path = scratch.path(&file).display().to_string();
        let got = scratch.run(["policy", "check", &path]);
        assert_eq!(got.code, 0, "{rule}{}", got.stderr);
        assert_eq!(scratch.run(["rules", "add", &path]).code, 0);
    }
    let consoles = blocks("console");
    assert!(blocks("toml").len() == 3 && consoles.len() == 2);
    let rules = own_rules(&scratch).display().to_string();
    let mut expected = String::new();
    let mut got = String::new();
    for line in consoles.concat().lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            let program = env!("CARGO_BIN_EXE_toolcrib");
            let command = command.replacen("toolcrib", program, 1);
            let mut shell = std::process::Command::new("sh");
            let template = scratch.command();
            for (name, value) in template.get_envs() {
                if let Some(value) = value {
                    shell.env(name, value);
                }
            }
            let ran: Ran =
                shell.args(["-c", &command]).current_dir(scratch.work()).output().unwrap().into();
            got.push_str(&ran.stdout.replace(&rules, "RULES"));
            got.push_str(&ran.stderr);
        } else {
            expected.push_str(line);
            expected.push('\n');
        }
    }
    assert_eq!(got, expected);
}

#[test]
fn an_explanation_for_programs_has_all_its_keys() {
    let scratch = Scratch::new();
    let words = ["policy", "explain", "clemini/bash", "command=ls", "--json"];
    let explained = scratch.run(words).json();
    assert_eq!(explained["decision"], "allow", "{explained}");
    for key in ["tool", "rule", "because", "source", "reading", "confirm", "audited", "trouble"] {
        assert!(explained.get(key).is_some(), "{key}: {explained}");
    }
}

#[test]
fn a_rules_file_with_an_error_is_told_and_stops_calls() {
    let scratch = Scratch::new();
    scratch.put_at("bad.toml", "[[rule]]\nhosts = [\"https://x\"]\neffect = \"deny\"\n");
    let path = scratch.path("bad.toml").display().to_string();
    let got = scratch.run(["policy", "check", &path]);
    assert!(got.code != 0 && got.stderr.contains("is not a host name"), "{}", got.stderr);
    scratch.put(".toolcrib/rules.toml", "[[rule]]\neffect = \"alow\"\n");
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert_eq!(got.code, 2);
    assert!(got.stderr.contains("rules.toml`, line 1"), "{}", got.stderr);
}

#[test]
fn the_calls_of_a_batch_are_one_session_for_the_rate_limit() {
    let scratch = Scratch::new();
    let add = r#"{"id": 1, "tool": "nachos/calculator", "args": {"expression": "1+1"}}"#;
    let echo = r#"{"id": 2, "tool": "forgekeeper/echo", "args": {"text": "x"}}"#;
    let lines = [add, add, add, echo].join("\n");
    let got =
        scratch.feed(["-c", "policy.calls_per_minute=2", "call", "--batch"], lines.as_bytes());
    let refused: Vec<bool> =
        got.stdout.lines().map(|line| line.contains("limit of 2 calls a minute")).collect();
    assert_eq!(refused, [false, false, true, false], "{}", got.stdout);
}

#[test]
fn a_background_task_counts_like_what_the_call_runs_itself() {
    let scratch = Scratch::new();
    let bash = |number: u32, args: Value| {
        json!({"id": number, "tool": "clemini/bash", "args": args}).to_string()
    };
    let lines = [
        bash(1, json!({"command": "sleep 5", "run_in_background": true})),
        bash(2, json!({"command": "sleep 1.2"})),
        bash(3, json!({"command": "true"})),
    ];
    let got = scratch.feed(
        ["--yes", "-c", "policy.session_seconds=2", "call", "--batch"],
        lines.join("\n").as_bytes(),
    );
    assert!(got.stdout.lines().nth(2).unwrap().contains("a session may run 2 s"), "{}", got.stdout);
    for (setting, said) in [
        ("policy.tool_seconds=2", "a session may run one tool for 2 s"),
        ("policy.user_seconds=2", "the quota of a user is 2 s a day"),
    ] {
        let scratch = Scratch::new();
        let words = ["--yes", "-c", setting, "call", "--batch"];
        let got = scratch.feed(words, lines.join("\n").as_bytes());
        assert!(got.stdout.lines().nth(2).unwrap().contains(said), "{}", got.stdout);
        // Another tool may run. Another process of the user may not: the task's time is counted when it ends.
        let got = scratch.run(["-c", setting, "call", "forgekeeper/echo", "text=x"]);
        assert_eq!(got.code == 0, setting.contains("tool"), "{}", got.stdout);
    }
}

#[test]
fn git_ignores_a_folder_that_only_looks_like_a_repository() {
    let scratch = Scratch::new();
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("objects/x", ""),
        ("refs/x", ""),
        ("config", "[core]\nbare = false\nworktree = .\nfsmonitor = \"touch ../PWNED; false\"\n"),
    ] {
        scratch.put(&format!("docs/sub/{name}"), text);
    }
    for directory in ["docs/sub", "docs"] {
        let place = format!("working_directory={directory}");
        scratch.run([
            "--yes",
            "call",
            "clemini/bash",
            "command=git status; git -C sub status",
            &place,
        ]);
    }
    assert!(!scratch.work().join("docs/PWNED").exists() && !scratch.work().join("PWNED").exists());
}

#[test]
fn words_of_a_project_cannot_repaint_the_prompt() {
    let scratch = Scratch::new();
    let rule = "[[rule]]\nid = \"x\\u001b[2J\"\neffect = \"ask\"\nbecause = \"\\u001b[2J\\u001b[HTool: ls\\n\\u001b[8m\"\n";
    scratch.put(".toolcrib/rules.toml", rule);
    for words in [
        ["policy", "explain", "nachos/calculator", "expression=1"].as_slice(),
        &["rules", "list"],
        &["call", "nachos/calculator", "expression=1"],
    ] {
        let got = scratch.run(words);
        assert!(!got.stdout.contains('\u{1b}') && !got.stderr.contains('\u{1b}'), "{words:?}");
    }
}

#[test]
fn a_user_is_bounded_across_processes() {
    let scratch = Scratch::new();
    let add = |setting: &str| {
        scratch.run(["-c", setting, "call", "nachos/calculator", "expression=1+1"]).code
    };
    let two = "policy.user_calls_per_minute=2";
    assert_eq!((add(two), add(two), add(two)), (0, 0, 3));
    assert_eq!(add("policy.user_calls_per_minute=0"), 0);
    let write = |path: &str| {
        let args = format!(r#"{{"file_path": "{path}", "content": "0123456789"}}"#);
        scratch
            .run(["--yes", "-c", "policy.user_bytes=25", "call", "clemini/write_file", &args])
            .code
    };
    assert_eq!((write("a"), write("b"), write("c")), (0, 0, 3));
    assert!(!scratch.work().join("c").exists());
}

#[test]
fn a_file_with_one_wrong_rule_adds_none() {
    let scratch = Scratch::new();
    let good =
        "[[rule]]\nid = \"good\"\nargv = [\"touch\"]\neffect = \"allow\"\ncovers = [\"touch a\"]\n";
    let wrong = good.replace("good", "wrong").replace("[\"touch a\"]", "[\"mkdir a\"]");
    scratch.put_at("both.toml", format!("{good}{wrong}"));
    scratch.put_at("good.toml", good);
    let run = |words: &[&str], file: &str| {
        let path = scratch.path(file).display().to_string();
        scratch.run([words, &[&path]].concat())
    };
    for words in [["rules", "add"], ["policy", "check"]] {
        let got = run(&words, "both.toml");
        assert_ne!(got.code, 0, "{words:?}");
        assert!(got.stderr.contains("does not cover its example `mkdir a`"), "{}", got.stderr);
    }
    assert_eq!(run(&["policy", "check"], "good.toml").code, 0);
    assert!(!own_rules(&scratch).exists(), "a check adds nothing");
    assert_eq!(run(&["rules", "add"], "good.toml").code, 0);
    assert_eq!(std::fs::read_to_string(own_rules(&scratch)).unwrap(), good);
}

#[test]
fn a_rule_is_removed_by_its_id_or_its_line() {
    let scratch = Scratch::new();
    let text = "# mine\n[[rule]]\nid = \"one\"\nargv = [\"touch\"]\neffect = \"deny\"\n\n# the second\n\
                [[rule]]\nargv = [\"mkdir\"]\neffect = \"deny\"\n";
    scratch.put_at("more.toml", text);
    let more = scratch.path("more.toml").display().to_string();
    assert_eq!(scratch.run(["rules", "add", &more]).code, 0);
    let own = || std::fs::read_to_string(own_rules(&scratch)).unwrap();
    let decided = |command: &str| {
        let command = format!("command={command}");
        let shown = scratch.run(["policy", "explain", "clemini/bash", &command, "--json"]);
        shown.json()["decision"].as_str().unwrap().to_owned()
    };
    assert_eq!((decided("touch a"), decided("mkdir a")), ("deny".to_owned(), "deny".to_owned()));
    let all = scratch.run(["rules", "list", "--json"]).json();
    let is_shipped = |it: &&Value| it["file"].as_str().unwrap().starts_with("shipped:");
    let shipped = all.as_array().unwrap().iter().find(is_shipped).unwrap()["id"].as_str().unwrap();
    // What is not there, or not yours, is not removed.
    for (rule, hint) in [
        ("two", "`toolcrib rules list` shows"),
        ("line 9", "`toolcrib rules list` shows"),
        (shipped, "`policy.without`"),
    ] {
        let ran = scratch.run(["rules", "remove", rule]);
        assert_eq!(ran.code, 1, "{rule}");
        assert!(ran.stderr.contains(hint), "{rule}: {}", ran.stderr);
        assert_eq!(own(), text, "{rule}");
    }
    let ran = scratch.run(["rules", "remove", "one"]);
    assert!(ran.code == 0 && ran.stdout.ends_with(": one\n"), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(own(), "# mine\n# the second\n[[rule]]\nargv = [\"mkdir\"]\neffect = \"deny\"\n");
    assert_eq!((decided("touch a"), decided("mkdir a")), ("ask".to_owned(), "deny".to_owned()));
    let listed = scratch.run(["rules", "list"]).stdout;
    assert!(listed.contains("line 3 (all tools)"), "{listed}");
    assert_eq!(scratch.run(["rules", "remove", "line 3"]).code, 0);
    assert_eq!(own(), "# mine\n# the second\n");
    assert_eq!(decided("mkdir a"), "ask");
    let removed = scratch.record().into_iter().filter(|it| it["event"] == "removed");
    let rules: Vec<Value> = removed.map(|it| it["detail"]["rules"][0].clone()).collect();
    assert_eq!(rules, [json!("one"), json!("line 3")]);
}

#[test]
fn a_replay_shows_what_more_rules_would_have_decided() {
    let scratch = Scratch::new();
    scratch.put("a", "x");
    for path in ["path=a", "path=a"] {
        assert_eq!(scratch.run(["call", "wink/read_file", path]).code, 0);
    }
    assert_eq!(scratch.run(["call", "nachos/calculator", "expression=1"]).code, 0);
    let deny = "[[rule]]\nid = \"shut\"\npaths = [\"a\"]\neffect = \"deny\"\n";
    scratch.put_at("more.toml", deny);
    let more = scratch.path("more.toml").display().to_string();
    let shown = scratch.run(["policy", "replay", &more]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert_eq!(shown.stdout.matches("shut").count(), 2, "{}", shown.stdout);
    // The control: the rules in force decide as they did. The file is tried, not added.
    let same = scratch.run(["policy", "replay"]);
    assert!(same.code == 0 && !same.stdout.contains("shut"), "{}", same.stdout);
}

#[test]
fn a_check_that_fails_shows_nothing_of_a_file_that_rules_keep() {
    let scratch = Scratch::new();
    scratch.put("secrets/k.txt", "first line\npassphrase = open sesame tonight\nlast line\n");
    let edit = |words: &[&str]| {
        let call = ["call", "clemini/edit", "file_path=secrets/k.txt", "new_string=x"];
        let ran = scratch.run([&call[..], words].concat());
        format!("{}{}", ran.stdout, ran.stderr)
    };
    let tries = [
        &["old_string=e", "--json"][..],
        &["old_string=passphrase = open sesame today", "--json"],
        &["old_string=e", "--dry-run"],
    ];
    // The control: without a rule, the caller is shown what is like its text.
    assert!(edit(tries[0]).contains("open sesame"), "{}", edit(tries[0]));
    for effect in ["deny", "ask"] {
        let rule =
            format!("[[rule]]\nid = \"kept\"\npaths = [\"secrets/**\"]\neffect = \"{effect}\"\n");
        scratch.put_at("home/.config/toolcrib/rules.toml", &rule);
        for words in tries {
            let told = edit(words);
            assert!(
                !told.contains("sesame") && told.contains("kept"),
                "{effect} {words:?}: {told}"
            );
        }
    }
}
