//! Commands do not see what a rule denies, however they look for it. Each attempt has its control: where no rule
//! denies anything, the same script prints the secret.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};

use crate::changes::{seen, story};
use crate::ground::{Session, eventually, for_all, outside};
use crate::scratch::{Ran, Scratch};

const DENY: &str = r#"
[[rule]]
id = "no-secrets"
effect = "deny"
paths = ["secrets/**", "nest/secrets/**", ".env", "**/*.pem"]
"#;

/// What no command may print.
const SECRET: &str = "NEEDLE";

/// Puts open files and denied ones.
fn put_files(scratch: &Scratch) {
    outside(scratch, "rm -rf ./* .env");
    for (path, text) in [
        ("open/a.txt", "plain\n"),
        ("open/key.pem", "NEEDLE in a key\n"),
        (".env", "TOKEN=NEEDLE\n"),
        ("secrets/key.txt", "NEEDLE in secrets\n"),
        ("secrets/deep/more.txt", "NEEDLE further down\n"),
        ("nest/secrets/key.txt", "NEEDLE in a nest\n"),
    ] {
        scratch.put(path, text);
    }
    symlink("secrets", scratch.work().join("link")).unwrap();
    symlink("../.env", scratch.work().join("open/env")).unwrap();
}

fn put_rules(scratch: &Scratch, rules: &str) {
    scratch.put_at("home/.config/toolcrib/rules.toml", rules);
}

/// Runs a script by a name that tells nothing, so that only the sandbox can keep it from a file.
fn probe(scratch: &Scratch, session: &mut Session, script: &str) -> Value {
    scratch.put("probe.sh", script);
    session.bash("bash ./probe.sh 2>&1")
}

/// Calls a tool, with all tools on offer.
fn call(scratch: &Scratch, tool: &str, args: &Value) -> Ran {
    let on = "forgekeeper.bash=on";
    scratch.run(["--yes", "-c", on, "call", tool, &args.to_string(), "--json"])
}

/// Ways to a file. Each prints the secret where nothing is denied.
const WAYS: [&str; 24] = [
    "grep -rh -e NEEDL[E] .",
    "find . -type f | xargs cat",
    "find . -type f -exec cat {} +",
    "cat .env",
    "cat open/*.pem",
    "cd secrets && cat key.txt",
    "cat secrets/deep/more.txt",
    "tar cf - . | grep -a NEEDL[E]",
    "cp -r . /tmp/copy; find /tmp/copy -type f | xargs cat",
    "python3 -c 'import os\nfor folder, _, names in os.walk(\".\"):\n for name in names:\n  \
     try: print(open(folder + \"/\" + name).read())\n  except OSError: pass'",
    "cat link/key.txt",
    "cat open/env",
    "ln -s secrets other; cat other/key.txt",
    "cat /proc/self/root$PWD/secrets/key.txt",
    "cat /proc/self/cwd/.env",
    "exec 3< secrets; cat /proc/self/fd/3/key.txt",
    "mv nest nest2; cat nest*/secrets/key.txt",
    "python3 -c 'import os; os.rename(\"nest\", \"nest3\")'; cat nest*/secrets/key.txt",
    "mv secrets plain; cat plain/key.txt",
    "mv .env plain.txt; cat plain.txt .env",
    "ln .env hard; cat hard",
    "chmod -R 777 .env secrets; cat .env secrets/key.txt",
    "cp --reflink=auto .env copied; cat copied",
    "python3 -c 'import os; at = os.open(\"secrets\", os.O_PATH); \
     print(os.read(os.open(\"key.txt\", os.O_RDONLY, dir_fd=at), 99))'",
];

#[test]
fn a_denied_name_of_any_bytes_is_masked() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    for_all(|scratch| {
        put_files(scratch);
        let odd = scratch.work().join("open").join(OsStr::from_bytes(b"\xff\n\x01.pem"));
        fs::write(&odd, "NEEDLE in an odd name\n").unwrap();
        let way = ["sandbox", "run", "--", "sh", "-c", "cat open/*; exit 0"];
        assert!(scratch.run(way).stdout.contains("odd name"), "the control");
        put_rules(scratch, DENY);
        let got = scratch.run(way);
        assert!(got.code == 0 && got.stdout.contains("plain"), "{}", got.stderr);
        assert!(!got.stdout.contains(SECRET), "{}", got.stdout);
        let call = call(scratch, "clemini/bash", &json!({"command": "cat open/*"}));
        assert!(call.stdout.contains("plain") && !call.stdout.contains(SECRET), "{}", call.stdout);
    });
}

#[test]
fn no_way_leads_to_what_a_rule_denies() {
    for_all(|scratch| {
        let mut free = Session::start(scratch, &[]);
        // It has read the rules by the time it answers.
        free.bash("true");
        put_rules(scratch, DENY);
        let mut bound = Session::start(scratch, &[]);
        for way in WAYS {
            put_files(scratch);
            let reply = probe(scratch, &mut bound, &format!("{way}; cat open/a.txt"));
            let printed = reply["stdout"].as_str().unwrap_or_default();
            assert!(!printed.contains(SECRET), "{way}: {reply}");
            assert!(printed.contains("plain"), "it ran: {way}: {reply}");
            for path in [".env", "secrets/key.txt", "nest/secrets/key.txt", "open/key.pem"] {
                assert!(scratch.text(path).contains(SECRET), "{way}: {path} stays");
            }
            // The control. `free` began before there were rules.
            put_files(scratch);
            let reply = probe(scratch, &mut free, way);
            assert!(reply["stdout"].as_str().unwrap().contains(SECRET), "{way}: {reply}");
        }
        free.end();
        bound.end();
    });
}

#[test]
fn what_is_masked_says_permission_denied_and_stays() {
    for_all(|scratch| {
        put_files(scratch);
        put_rules(scratch, DENY);
        let mut session = Session::start(scratch, &[]);
        for attempt in
            ["cat .env", "ls secrets", "ls nest/secrets", "cat open/key.pem", "cd secrets"]
        {
            let reply = probe(scratch, &mut session, attempt);
            let printed = reply["stdout"].as_str().unwrap();
            assert!(printed.contains("Permission denied"), "{attempt}: {reply}");
        }
        for attempt in [
            "echo x > .env",
            "echo x >> open/key.pem",
            "truncate -s 0 .env",
            "rm -f .env",
            "rm -rf secrets",
            "rm -rf nest",
            "echo x > x; mv -f x .env",
            "mkdir d; mv -fT d secrets",
            "echo x > secrets/new",
            "chmod 777 secrets",
            "touch -d 2001-01-01 .env",
            "umount .env",
        ] {
            let reply = probe(scratch, &mut session, &format!("set -e\n{attempt}\necho did it"));
            let printed = reply["stdout"].as_str().unwrap_or_default();
            assert!(!printed.contains("did it"), "{attempt}: {reply}");
            assert!(scratch.text(".env").contains(SECRET), "{attempt}");
            assert!(scratch.text("secrets/deep/more.txt").contains(SECRET), "{attempt}");
            assert!(!scratch.work().join("secrets/new").exists(), "{attempt}");
        }
        // The names are seen, and everything else works.
        let reply = probe(scratch, &mut session, "ls -A; echo made > open/made; cat open/made");
        let printed = reply["stdout"].as_str().unwrap();
        for name in [".env", "secrets", "made"] {
            assert!(printed.contains(name), "{reply}");
        }
        session.end();
    });
}

#[test]
fn every_tool_that_runs_commands_is_kept_from_it() {
    for_all(|scratch| {
        for (tool, args) in [
            ("clemini/bash", json!({"command": "grep -r NEEDL[E] ."})),
            ("clemini/bash", json!({"command": "find . -type f | xargs cat"})),
            ("wink/run_in_terminal", json!({"command": "grep -r NEEDL[E] ."})),
            ("forgekeeper/run_bash", json!({"command": "grep -r NEEDL[E] ."})),
        ] {
            put_files(scratch);
            put_rules(scratch, "");
            let reply = call(scratch, tool, &args);
            assert!(reply.stdout.contains(SECRET), "{tool}: {}{}", reply.stdout, reply.stderr);
            put_rules(scratch, DENY);
            let reply = call(scratch, tool, &args);
            assert!(reply.stdout.contains("Permission denied"), "{tool}: {}", reply.stdout);
            assert!(!reply.stdout.contains("NEEDLE in"), "{tool}: {}", reply.stdout);
            assert!(!reply.stdout.contains("TOKEN="), "{tool}: {}", reply.stdout);
        }
        // A rule about one tool hides nothing from another.
        put_rules(scratch, &DENY.replace("effect", "tool = \"wink\"\neffect"));
        let reply = scratch.call("clemini/bash", r#"{"command": "grep -r NEEDL[E] ."}"#);
        assert!(reply.stdout.contains(SECRET), "{}", reply.stdout);
    });
}

#[test]
fn a_task_keeps_its_masks_and_each_command_gets_its_own() {
    for_all(|scratch| {
        put_files(scratch);
        put_rules(scratch, DENY);
        let mut session = Session::start(scratch, &[]);
        scratch.put("wait.sh", "touch begun; while ! [ -e go ]; do sleep 0.01; done; cat .env");
        let args = json!({"command": "bash ./wait.sh 2>&1", "run_in_background": true});
        let task = session.call("clemini/bash", args)["task_id"].as_str().unwrap().to_owned();
        eventually("the task", || scratch.work().join("begun").exists());
        // A file that appears between two commands is masked for the second. Its own files a command sees.
        let reply = probe(scratch, &mut session, "cat late.pem; echo own > own.pem; cat own.pem");
        assert!(reply["stdout"].as_str().unwrap().contains("own"), "{reply}");
        scratch.put("late.pem", "NEEDLE, late\n");
        let reply = probe(scratch, &mut session, "cat late.pem own.pem");
        let printed = reply["stdout"].as_str().unwrap();
        assert_eq!(printed.matches("Permission denied").count(), 2, "{reply}");
        assert!(!printed.contains(SECRET), "{reply}");
        scratch.put("go", "");
        let args = json!({"task_id": task, "wait": true, "timeout": 20});
        let over = session.call("clemini/task_output", args);
        assert!(over["stdout"].as_str().unwrap().contains("Permission denied"), "{over}");
        session.end();
    });
}

#[test]
fn folders_that_cannot_be_searched_are_hidden_and_too_many_files_are_refused() {
    for_all(|scratch| {
        put_files(scratch);
        scratch.put("closed/deep/x.pem", "NEEDLE behind a closed folder\n");
        let close = |mode| {
            let path = scratch.work().join("closed/deep");
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        let open_it = "chmod 755 closed/deep; cat closed/deep/x.pem";
        // The control: with permission, and without the rule.
        put_rules(scratch, "");
        let mut session = Session::start(scratch, &[]);
        let reply = probe(scratch, &mut session, open_it);
        assert!(reply["stdout"].as_str().unwrap().contains(SECRET), "{reply}");
        session.end();
        put_rules(scratch, DENY);
        for mode in [0o000, 0o444, 0o111] {
            close(mode);
            let mut session = Session::start(scratch, &[]);
            let reply = probe(scratch, &mut session, open_it);
            let printed = reply["stdout"].as_str().unwrap_or_default();
            assert!(
                printed.contains("denied") || printed.contains("Read-only"),
                "{mode:o}: {reply}"
            );
            assert!(!printed.contains(SECRET), "{mode:o}: {reply}");
            session.end();
        }
        close(0o755);
        let all = "mkdir -p many && cd many && for n in $(seq 4100); do echo x > $n.pem; done";
        assert_eq!(outside(scratch, all).code, 0);
        let reply = scratch.call("clemini/bash", r#"{"command": "echo ran"}"#);
        let said = format!("{}{}", reply.stdout, reply.stderr);
        assert!(!said.contains("ran\\n") && said.contains("deny a whole folder"), "{said}");
        put_rules(scratch, &DENY.replace("\"**/*.pem\"", "\"many/**\""));
        let reply = scratch.call("clemini/bash", r#"{"command": "echo ran"}"#);
        assert!(reply.stdout.contains("ran"), "{}{}", reply.stdout, reply.stderr);
    });
}

#[test]
fn nothing_is_kept_or_told_of_what_is_masked() {
    for_all(|scratch| {
        put_files(scratch);
        let keeps = |scratch: &Scratch| {
            let state = scratch.state().display().to_string();
            !outside(scratch, &format!("grep -rlaz NEEDLE {state}")).stdout.is_empty()
        };
        put_rules(scratch, DENY);
        scratch.call("clemini/bash", r#"{"command": "rm -rf open", "confirmed": true}"#);
        assert!(!scratch.work().join("open/a.txt").exists());
        assert!(scratch.text("open/key.pem").contains(SECRET));
        assert!(!keeps(scratch));
        let told = story(scratch);
        for part in ["changes", "touched"] {
            assert!(!told[part].to_string().contains("key.pem"), "{told}");
        }
        // Another program writes a denied file meanwhile: the command is not said to have done it.
        let mut session = Session::start(scratch, &[]);
        scratch.put("wait.sh", "touch begun; while ! [ -e go ]; do sleep 0.01; done; touch made");
        session.ask("clemini/bash", json!({"command": "bash ./wait.sh"}));
        eventually("the command", || scratch.work().join("begun").exists());
        fs::write(scratch.work().join(".env"), "TOKEN=NEEDLE, new\n").unwrap();
        scratch.put("go", "");
        session.hear();
        session.end();
        let told = story(scratch);
        assert!(!told.to_string().contains(".env"), "{told}");
        assert!(seen(scratch, &told, "made").iter().any(|path| path.ends_with("made")), "{told}");
        // The control: without the rule, a copy is kept.
        put_rules(scratch, "");
        scratch.call("clemini/bash", r#"{"command": "rm -rf open", "confirmed": true}"#);
        assert!(!scratch.work().join("open").exists() && keeps(scratch));
    });
}

#[test]
fn a_command_ends_when_another_program_replaces_a_masked_file() {
    for_all(|scratch| {
        put_files(scratch);
        put_rules(scratch, DENY);
        let mut session = Session::start(scratch, &[]);
        scratch.put("wait.sh", "touch begun; while true; do sleep 0.01; done");
        session.ask("clemini/bash", json!({"command": "bash ./wait.sh"}));
        eventually("the command", || scratch.work().join("begun").exists());
        outside(scratch, "cp .env new; mv new .env");
        let (_, reply) = session.hear();
        assert!(reply.to_string().contains("another program replaced `.env`"), "{reply}");
        session.end();
    });
}

#[test]
fn what_git_keeps_is_asked_about() {
    let scratch = Scratch::new();
    let verdict = |command: &str| {
        let argument = format!("command={command}");
        let got = scratch.run(["policy", "explain", "clemini/bash", &argument]);
        got.stdout.lines().next().unwrap_or_default().to_owned()
    };
    let printing = [
        "git show HEAD",
        "git log -p",
        "git log -1 --patch",
        "git log -L1,2:file",
        "git cat-file -p HEAD",
        "git diff HEAD~1",
        "git blame file",
        "git grep word",
        "git status -v",
    ];
    let plain = ["git status", "git log --oneline -5", "git log --stat -n 3", "git ls-files"];
    for command in printing.iter().chain(&plain) {
        assert_eq!(verdict(command), "clemini/bash would run", "{command}");
    }
    put_rules(&scratch, DENY);
    for command in printing {
        assert_eq!(verdict(command), "clemini/bash would ask a person", "{command}");
    }
    for command in plain {
        assert_eq!(verdict(command), "clemini/bash would run", "{command}");
    }
}

#[test]
fn a_folder_that_needs_a_question_is_masked_until_it_was_answered() {
    let rules = |effect: &str| {
        format!("[[rule]]\nid = \"private\"\neffect = \"{effect}\"\npaths = [\"secrets/**\"]\n")
    };
    let by_script = "cat secrets/key.txt";
    for_all(|scratch| {
        // The control: a rule that only notes hides nothing.
        for (effect, is_seen) in [("audit", true), ("ask", false)] {
            put_files(scratch);
            put_rules(scratch, &rules(effect));
            let mut session = Session::start(scratch, &[]);
            // Whoever approves this is not told of the folder.
            let got = probe(scratch, &mut session, by_script).to_string();
            assert_eq!(got.contains(SECRET), is_seen, "{effect}: {got}");
            // Whoever approves this is.
            let got = session.bash("cat secrets/key.txt").to_string();
            assert!(got.contains(SECRET), "{effect}: {got}");
            // The answer was for that command.
            let got = probe(scratch, &mut session, by_script).to_string();
            assert_eq!(got.contains(SECRET), is_seen, "{effect}: {got}");
            session.end();
        }
    });
}

#[test]
fn what_the_manual_says_is_not_hidden_can_be_read() {
    for_all(|scratch| {
        put_files(scratch);
        let keep = "git init -q . && git add -fA && git -c user.name=a -c user.email=a@b commit -qm a && \
                    ln .env second";
        let kept = outside(scratch, keep);
        assert_eq!(kept.code, 0, "{}", kept.stderr);
        put_rules(scratch, DENY);
        let mut session = Session::start(scratch, &[]);
        let mut printed = |script: &str| {
            let reply = probe(scratch, &mut session, script);
            reply["stdout"].as_str().unwrap_or_default().to_owned()
        };
        assert!(!printed("cat .env").contains(SECRET), "the control");
        // What was committed, by git and by any other program, and a second name.
        assert!(printed("git cat-file -p HEAD:.env").contains(SECRET));
        let objects = "python3 -c 'import glob, zlib\nfor f in glob.glob(\".git/objects/??/*\"): \
                       print(zlib.decompress(open(f, \"rb\").read()))'";
        assert!(printed(objects).contains(SECRET));
        assert!(printed("cat second").contains(SECRET));
        assert!(!printed("cat open/env link/key.txt").contains(SECRET), "links are followed");
        assert!(printed("head -c 3 /etc/passwd /usr/bin/env").contains("/usr/bin/env"));
        // Git takes what is hidden for changed.
        let status = printed("git status --short");
        assert!(status.contains(".env") && !status.contains("open/a.txt"), "{status}");
        session.end();
    });
}

#[test]
fn folders_with_denied_files_stay_and_their_other_files_can_change() {
    for_all(|scratch| {
        put_files(scratch);
        scratch.put("open/b.txt", "b\n");
        put_rules(scratch, DENY);
        let mut session = Session::start(scratch, &[]);
        let mut printed = |script: &str| {
            let reply = probe(scratch, &mut session, script);
            reply["stdout"].as_str().unwrap_or_default().to_owned()
        };
        for folder in ["open", "nest", "secrets"] {
            let said = printed(&format!("mv {folder} moved && echo did it"));
            assert!(!said.contains("did it"), "{folder}: {said}");
        }
        let change = "echo c >> open/a.txt && mv open/a.txt open/c.txt && mv open/b.txt b.txt && \
                      rm open/c.txt && cat b.txt && echo did it";
        let said = printed(change);
        assert!(said.contains("b\ndid it"), "{said}");
        assert!(!scratch.work().join("open/b.txt").exists());
        session.end();
    });
}
