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
    assert!(blocks("toml").len() == 3 && consoles.len() == 1);
    let rules = own_rules(&scratch).display().to_string();
    let mut expected = String::new();
    let mut got = String::new();
    for line in consoles[0].lines() {
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
fn a_project_can_tighten_and_not_loosen() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "x");
    let loose = "[[rule]]\nid = \"open\"\neffect = \"allow\"\n\
        [[rule]]\nid = \"shut\"\npaths = [\"a.txt\"]\neffect = \"deny\"\nbecause = \"not this one\"\n";
    scratch.put(".toolcrib/rules.toml", loose);
    let got = scratch.run(["call", "wink/create_file", "path=b.txt", "content=x"]);
    assert_eq!(got.code, 4, "{}", got.stderr);
    assert!(got.stderr.contains("`open` is ignored: a project can only tighten"), "{}", got.stderr);
    let got = scratch.run(["call", "wink/read_file", "path=a.txt", "--json"]);
    assert_eq!(got.code, 3);
    assert!(got.stdout.contains("denied_by_policy") && got.stdout.contains("not this one"));
    // Another name for the same file changes nothing.
    std::os::unix::fs::symlink("a.txt", scratch.work().join("link")).unwrap();
    for path in ["./a.txt", "link", "x/../a.txt"] {
        let got = scratch.run(["call", "wink/read_file", &format!("path={path}"), "--json"]);
        assert_ne!(got.code, 0, "{path}: {}", got.stdout);
    }
    // Nor does a command that names it.
    let decided = |command: &str| {
        let command = format!("command={command}");
        let got = scratch.run(["policy", "explain", "clemini/bash", &command, "--json"]);
        got.json()["decision"].clone()
    };
    for command in [
        "cat a.txt",
        "cat ./a.txt",
        "cat link",
        "head -1 'a.txt'",
        "x=$(cat a.txt)",
        "sort --files0-from=a.txt",
    ] {
        assert_eq!(decided(command), "deny", "{command}");
    }
    // A path that could be that file is not allowed.
    let many = format!("cat {}link", "x/none ".repeat(210));
    for command in [
        "cat ../project/a.txt",
        "cat /proc/self/cwd/a.txt",
        "git show HEAD:a.txt",
        "git grep x -- :/a.txt",
        "cat < ../project/a.txt",
        "grep -fa.txt b",
        &many,
    ] {
        assert_ne!(decided(command), "allow", "{command}");
    }
    assert_eq!(decided("cat b.txt"), "allow");
    // An error in the file stops every call, reads included.
    scratch.put(".toolcrib/rules.toml", "[[rule]]\neffect = \"alow\"\n");
    let got = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
    assert_eq!(got.code, 2);
    assert!(got.stderr.contains("rules.toml`, line 1"), "{}", got.stderr);
}

#[test]
fn rules_that_others_could_write_are_not_read() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    scratch.put_at("home/.config/toolcrib/rules.toml", "[[rule]]\neffect = \"ask\"\n");
    let read = || scratch.run(["call", "nachos/calculator", "expression=1+1"]).code;
    assert_eq!(read(), 4, "the control: it holds");
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(own_rules(&scratch), open).unwrap();
    assert_eq!(read(), 2);
}

#[test]
fn every_tool_is_explained() {
    let scratch = Scratch::new();
    let tools = scratch.run(["tools", "--format", "json"]).json();
    let tools: Vec<String> = tools
        .as_array()
        .unwrap_or_else(|| panic!("{tools}"))
        .iter()
        .map(|tool| {
            format!("{}/{}", tool["catalogue"].as_str().unwrap(), tool["name"].as_str().unwrap())
        })
        .collect();
    assert!(tools.len() > 30, "{tools:?}");
    for tool in tools {
        let shown = scratch.run(["tools", &tool, "--format", "json"]).json();
        let example = &shown[0]["examples"][0]["args"];
        let got = scratch.run(["policy", "explain", &tool, &example.to_string(), "--json"]);
        let explained = got.json();
        assert!(explained["decision"].is_string(), "{tool} {example}: {explained}");
        for key in ["rule", "source", "reading"] {
            assert!(explained.get(key).is_some(), "{tool}: {key}: {explained}");
        }
    }
}

#[test]
fn too_many_calls_a_minute_are_refused_and_counted_by_tool() {
    let scratch = Scratch::new();
    let add = r#"{"id": 1, "tool": "nachos/calculator", "args": {"expression": "1+1"}}"#;
    let echo = r#"{"id": 2, "tool": "forgekeeper/echo", "args": {"text": "x"}}"#;
    let lines = [add, add, add, echo].join("\n");
    let got =
        scratch.feed(["-c", "policy.calls_per_minute=2", "call", "--batch"], lines.as_bytes());
    let replies: Vec<&str> = got.stdout.lines().collect();
    assert_eq!(replies.len(), 4, "{}", got.stdout);
    assert!(replies[2].contains("limit of 2 calls a minute"), "{}", replies[2]);
    for number in [0, 1, 3] {
        assert!(!replies[number].contains("limit of"), "{}", replies[number]);
    }
    // Another name for the conversation does not make another session.
    let named = |name: u32| add.replace("\"1+1\"", &format!("\"1+1\", \"sessionId\": \"s{name}\""));
    let lines = [named(0), named(1), named(2)].join("\n");
    let got =
        scratch.feed(["-c", "policy.calls_per_minute=2", "call", "--batch"], lines.as_bytes());
    assert_eq!(got.stdout.matches("POLICY_DENIED").count(), 1, "{}", got.stdout);
    assert!(scratch.record().iter().any(|line| line["conv_id"] == "s2"));
    // A background task counts like what the call runs itself.
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
    for odd in ["abc", "0", "-1", ""] {
        let setting = format!("policy.calls_per_minute={odd}");
        let got = scratch.run(["-c", &setting, "call", "forgekeeper/echo", "text=x"]);
        assert_eq!(got.code, 2, "{odd}: {}", got.stdout);
    }
    let write = |name: &str| {
        let args = format!(r#"{{"file_path": "{name}", "content": "0123456789"}}"#);
        format!(r#"{{"id": 1, "tool": "clemini/write_file", "args": {args}}}"#)
    };
    let lines = [write("a"), write("b"), write("c")].join("\n");
    let got = scratch
        .feed(["--yes", "-c", "policy.session_bytes=25", "call", "--batch"], lines.as_bytes());
    assert!(got.stdout.contains("this one has written"), "{}", got.stdout);
    assert!(scratch.work().join("b").exists() && !scratch.work().join("c").exists());
    let other =
        write("e").replace("clemini/write_file", "wink/create_file").replace("file_path", "path");
    let lines = [write("a"), write("d"), write("c"), other].join("\n");
    let got =
        scratch.feed(["--yes", "-c", "policy.tool_bytes=25", "call", "--batch"], lines.as_bytes());
    assert!(got.stdout.contains("bytes by one tool"), "{}", got.stdout);
    assert!(scratch.work().join("e").exists() && !scratch.work().join("c").exists());
}

#[test]
fn what_a_directory_holds_does_not_run_by_a_rule_for_another() {
    let scratch = Scratch::new();
    let rules = "[[rule]]\nargv = [\"make\", \"test\"]\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rules);
    scratch.put("docs/evil/Makefile", "test:\n\techo evil\n");
    let explain = |args: &[&str]| {
        let words = [&["policy", "explain", "clemini/bash"], args, &["--json"]].concat();
        scratch.run(words).json()["decision"].clone()
    };
    assert_eq!(explain(&["command=make test"]), "allow");
    assert_eq!(explain(&["command=make test", "working_directory=."]), "allow");
    assert_eq!(explain(&["command=make test", "working_directory=docs/evil"]), "ask");
    assert_eq!(explain(&["command=cd docs/evil && make test"]), "ask");
    assert_eq!(explain(&["command=ls", "working_directory=docs/evil"]), "allow");
    // Git ignores a folder that only looks like a repository.
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
fn hosts_that_a_call_names_are_judged() {
    let scratch = Scratch::new();
    let rules = "[[rule]]\nhosts = [\"evil.example\", \"*.evil.example\"]\neffect = \"deny\"\n\
        covers = [\"evil.example\", \"a.evil.example\"]\nspares = [\"notevil.example\"]\n\
        [[rule]]\nhosts = [\"good.example\"]\neffect = \"allow\"\n";
    scratch.put_at("home/.config/toolcrib/rules.toml", rules);
    let decided = |command: &str| {
        let command = format!("command={command}");
        let got = scratch.run(["policy", "explain", "clemini/bash", &command, "--json"]);
        got.json()["decision"].clone()
    };
    for command in [
        "curl https://evil.example/x",
        "curl -s https://user@a.EVIL.example:443/",
        "git clone ssh://git@evil.example/r",
        "sh -c 'curl https://evil.example'",
    ] {
        assert_eq!(decided(command), "deny", "{command}");
    }
    // The host that a command names does not say what the command does.
    assert_eq!(decided("curl https://good.example/x"), "ask");
    scratch.put_at("bad.toml", "[[rule]]\nhosts = [\"https://x\"]\neffect = \"deny\"\n");
    let path = scratch.path("bad.toml").display().to_string();
    let got = scratch.run(["policy", "check", &path]);
    assert!(got.code != 0 && got.stderr.contains("is no host"), "{}", got.stderr);
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
