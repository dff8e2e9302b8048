//! What commands do to files: copies kept of those they name, the others seen by looking, all of it on the record.

use serde_json::{Value, json};

use crate::ground::{Session, eventually, for_all, plain};
use crate::scratch::Scratch;

/// The story of the newest call of `clemini/bash`.
fn story(scratch: &Scratch) -> Value {
    let found = scratch.run(["audit", "search", "--tool", "clemini/bash", "--json", "-n", "1"]);
    let call = found.json()["call"].as_str().unwrap().to_owned();
    scratch.run(["audit", "show", "--json", &call]).json()
}

/// What was done to which files of which copies were kept, in order.
fn changes(story: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = story["changes"].as_array().unwrap().iter();
    let mut all: Vec<_> =
        changes.map(|change| (text(&change["kind"]), text(&change["path"]))).collect();
    all.sort();
    all
}

/// What was seen, by what was done.
fn seen(scratch: &Scratch, story: &Value, what: &str) -> Vec<String> {
    let root = format!("{}/", scratch.work().display());
    let all = story["touched"].as_array().unwrap().iter().filter_map(|it| it[what].as_array());
    all.flatten().map(|path| path.as_str().unwrap().replace(&root, "")).collect()
}

fn pairs(expect: &[(&str, &str)]) -> Vec<(String, String)> {
    expect.iter().map(|(kind, path)| ((*kind).to_owned(), (*path).to_owned())).collect()
}

/// Nothing waits for a command's end.
fn nothing_is_aside(scratch: &Scratch) -> bool {
    let Ok(entries) = std::fs::read_dir(scratch.state().join("aside")) else { return true };
    entries.count() == 0
}

#[test]
fn what_a_command_does_to_the_files_it_names_can_be_taken_back() {
    for_all(|scratch| {
        for (name, text) in [("a.txt", "one\n"), ("b.txt", "two\n"), ("d/x", "x"), ("d/e/y", "y")] {
            scratch.put(name, text);
        }
        let command = "sed -i s/one/uno/ *.txt; rm -r d; echo new > n.txt; echo more >> b.txt";
        let args = json!({"command": command}).to_string();
        scratch.call("clemini/bash", &args);
        let told = story(scratch);
        let expect = [
            ("created", "n.txt"),
            ("removed", "d/e/y"),
            ("removed", "d/x"),
            ("replaced", "a.txt"),
            ("replaced", "b.txt"),
        ];
        assert_eq!(changes(&told), pairs(&expect));
        assert_eq!(seen(scratch, &told, "removed"), ["d"]);
        let id = told["call"].as_str().unwrap();
        let shown = scratch.run(["audit", "show", id]).stdout;
        assert!(shown.contains("- one") && shown.contains("+ uno"), "{shown}");
        assert!(nothing_is_aside(scratch));
        let undone = scratch.run(["undo", id]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        for (name, text) in [("a.txt", "one\n"), ("b.txt", "two\n"), ("d/x", "x"), ("d/e/y", "y")] {
            assert_eq!(scratch.text(name), text);
        }
        assert!(!scratch.work().join("n.txt").exists());
        // One that only looks leaves nothing, nor does one that changes nothing of what it names.
        for command in ["cat a.txt", "true a.txt; bash -c 'cat a.txt'"] {
            scratch.call("clemini/bash", &json!({"command": command}).to_string());
            let told = story(scratch);
            assert_eq!((changes(&told), &told["touched"]), (Vec::new(), &json!([])), "{command}");
            assert!(nothing_is_aside(scratch));
        }
    });
}

#[test]
fn what_a_command_does_to_files_it_does_not_name_is_seen() {
    for_all(|scratch| {
        for name in ["one.txt", "two.txt", "deep/three", "deep/four", "still"] {
            scratch.put(name, "before");
        }
        // In a process that stays, what covers protected names stays too.
        let init = plain(scratch, "git").args(["init", "-q"]).status().unwrap();
        assert!(init.success());
        let mut session = Session::start(scratch, &[]);
        session.bash("true");
        assert_eq!(story(scratch)["touched"], json!([]));
        session.bash(
            "n=one; echo x > $n.txt; n=two; rm $n.txt; n=three; rm deep/$n; n=new; mkdir $n; touch $n/file",
        );
        let told = story(scratch);
        assert_eq!(seen(scratch, &told, "changed"), ["one.txt"]);
        assert_eq!(seen(scratch, &told, "removed"), ["two.txt"]);
        assert_eq!(seen(scratch, &told, "thinned"), ["deep"]);
        assert_eq!(seen(scratch, &told, "made"), ["new", "new/file"]);
        let found = scratch.run(["audit", "search", "--text", "two.txt", "--json"]);
        assert_eq!(found.json()["call"], told["call"]);
        // Many are counted.
        session.bash("for n in $(seq 100); do touch many-$n; done");
        let told = story(scratch);
        assert_eq!(seen(scratch, &told, "made").len(), 40);
        assert_eq!(told["touched"][0]["more"], 60);
        session.end();
    });
}

#[test]
fn what_cannot_be_kept_or_looked_at_is_no_reason_not_to_run() {
    for_all(|scratch| {
        scratch.put("a", "before");
        scratch.put("large", vec![b'x'; 2 << 20]);
        let command = "truncate -s 100M a; echo more >> large; mkfifo pipe; [ -p pipe ]";
        let ran = scratch.call("clemini/bash", &json!({"command": command}).to_string());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let told = story(scratch);
        assert_eq!(changes(&told), pairs(&[("replaced", "a")]));
        assert!(seen(scratch, &told, "changed").contains(&"large".to_owned()), "{told}");
        // What it has become was not looked at, so that nobody knows whether it is still that.
        assert!(told["changes"][0]["after"].is_null(), "{told}");
        // A link out of the workspace, and a pipe, are not read.
        let out = scratch.path("home/secret");
        std::fs::write(&out, "secret").unwrap();
        std::os::unix::fs::symlink(&out, scratch.work().join("link")).unwrap();
        let command = json!({"command": "cat link pipe 2>/dev/null < /dev/null & sh -c true"});
        scratch.call("clemini/bash", &command.to_string());
        assert_eq!(changes(&story(scratch)), []);
        assert!(nothing_is_aside(scratch));
    });
}

#[test]
fn what_a_task_does_is_settled_at_its_end() {
    for_all(|scratch| {
        scratch.put("a", "before");
        let mut session = Session::start(scratch, &[]);
        let command = "while ! [ -e go ]; do sleep 0.01; done; echo after > a";
        session.call("clemini/bash", json!({"command": command, "run_in_background": true}));
        assert_eq!(changes(&story(scratch)), []);
        assert!(!nothing_is_aside(scratch), "what it held is kept while the task runs");
        scratch.put("go", "");
        eventually("the task's change", || changes(&story(scratch)) == pairs(&[("replaced", "a")]));
        eventually("its end", || nothing_is_aside(scratch));
        session.end();
        let told = story(scratch);
        assert!(seen(scratch, &told, "changed").contains(&"a".to_owned()), "{told}");
        scratch.run(["undo", told["call"].as_str().unwrap()]);
        assert_eq!(scratch.text("a"), "before");
    });
}

#[test]
fn what_a_lost_command_did_is_told_and_can_be_taken_back() {
    for_all(|scratch| {
        scratch.put("a", "before");
        scratch.put("same", "same");
        let mut session = Session::start(scratch, &[]);
        let command = "echo after > a; touch $(printf other); cat same; sleep 1000";
        session.ask("clemini/bash", json!({"command": command}));
        eventually("its work", || scratch.work().join("other").exists());
        session.kill();
        let next = scratch.run(["call", "nachos/calculator", "expression=1+1"]);
        assert!(
            next.stderr.contains("restores the files named on its command line"),
            "{}",
            next.stderr
        );
        let told = story(scratch);
        assert_eq!(told["outcome"], "unknown");
        assert_eq!(changes(&told), pairs(&[("replaced", "a")]));
        assert_eq!(seen(scratch, &told, "made"), ["other"]);
        assert!(nothing_is_aside(scratch));
        // Somebody else may have changed it since, so that this is for a person to say.
        let id = told["call"].as_str().unwrap();
        let refused = scratch.run(["undo", id]);
        assert!(refused.stderr.contains("did not see the command end"), "{}", refused.stderr);
        assert_eq!(scratch.text("a"), "after\n");
        assert_eq!(scratch.run(["undo", id, "--force"]).code, 0);
        assert_eq!(scratch.text("a"), "before");
    });
}

#[test]
fn what_is_lost_in_one_workspace_is_settled_there_and_not_in_another() {
    for_all(|scratch| {
        for name in ["a", "same"] {
            scratch.put(name, "before");
        }
        let mut session = Session::start(scratch, &[]);
        let command = "echo after > a; touch new; cat same; sleep 1000";
        session.ask("clemini/bash", json!({"command": command}));
        eventually("its work", || scratch.work().join("new").exists());
        session.kill();
        let elsewhere = scratch.path("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let mut command = scratch.command();
        command.current_dir(&elsewhere).args(["call", "nachos/calculator", "expression=1"]);
        assert!(command.status().unwrap().success());
        assert!(!nothing_is_aside(scratch));
        assert_eq!(changes(&story(scratch)), []);
        scratch.run(["call", "nachos/calculator", "expression=1"]);
        assert_eq!(changes(&story(scratch)), pairs(&[("created", "new"), ("replaced", "a")]));
        assert!(nothing_is_aside(scratch));
    });
}

#[test]
fn what_another_call_did_meanwhile_is_not_taken_back() {
    for_all(|scratch| {
        scratch.put("app.sh", "while ! [ -e go ]; do sleep 0.01; done\n");
        scratch.put("both", "");
        let mut session = Session::start(scratch, &[]);
        let args = json!({"command": "sh app.sh; echo one >> both", "run_in_background": true});
        let task = session.call("clemini/bash", args)["task_id"].as_str().unwrap().to_owned();
        let args =
            json!({"file_path": "app.sh", "old_string": "while", "new_string": "true; while"});
        session.call("clemini/edit", args);
        session.bash("echo two >> both");
        scratch.put("go", "");
        eventually("the task's change", || {
            let shown = scratch.run(["audit", "show", "--json", &task]).json();
            changes(&shown) == pairs(&[("replaced", "both")])
        });
        session.end();
        let refused = scratch.run(["undo", &task]);
        assert!(refused.stderr.contains("another call changed it"), "{}", refused.stderr);
        assert_eq!(scratch.text("both"), "two\none\n");
        assert!(scratch.text("app.sh").starts_with("true; while"));
    });
}

#[test]
fn copies_are_kept_of_what_is_there_before_what_could_be() {
    for_all(|scratch| {
        for name in ["p1/x", "p2/x", "p3/x", "important", ".env", "deep/a/b/c/d/e/f/g/file"] {
            scratch.put(name, "precious");
        }
        std::os::unix::fs::symlink("important", scratch.work().join("link")).unwrap();
        scratch.put("locked", "precious");
        let locked = std::os::unix::fs::PermissionsExt::from_mode(0o444);
        std::fs::set_permissions(scratch.work().join("locked"), locked).unwrap();
        let command = "cd p1; touch o1 o2 o3 o4 o5 o6 o7 o8; cd ../p2; touch q1 q2; cd ../p3; touch r1; cd ..; \
            rm -rf link important .e* deep locked";
        scratch.call("clemini/bash", &json!({"command": command}).to_string());
        assert!(!scratch.work().join("important").exists());
        let undone = scratch.run(["undo", story(scratch)["call"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        for name in ["important", ".env", "deep/a/b/c/d/e/f/g/file", "link", "locked"] {
            assert_eq!(scratch.text(name), "precious", "{name}");
        }
        assert!(scratch.work().join("link").is_symlink());
        assert!(!scratch.work().join("p1/o1").exists());
        // More than are kept are counted, and undo says that they are missing.
        for number in 0..300 {
            scratch.put(&format!("many/{number}"), "x");
        }
        scratch.call("clemini/bash", r#"{"command": "rm -r many"}"#);
        let told = story(scratch);
        assert_eq!(told["touched"][0]["unkept"], 300 - 256);
        let undone = scratch.run(["undo", told["call"].as_str().unwrap()]);
        assert!(undone.stderr.contains("not all of what it did"), "{}", undone.stderr);
    });
}

#[test]
fn one_command_in_two_roots_is_taken_back_in_both() {
    for_all(|scratch| {
        let other = scratch.path("other");
        scratch.put_at("other/z", "before");
        scratch.put("a", "before");
        let settings = format!("roots=[{:?}]", other.display().to_string());
        let command = format!("echo x > {}/z; rm a", other.display());
        let args = json!({"command": command}).to_string();
        let ran = scratch.run(["-c", &settings, "call", "--yes", "clemini/bash", &args]);
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        let undone = scratch.run(["undo", story(scratch)["call"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        assert_eq!(std::fs::read_to_string(other.join("z")).unwrap(), "before");
        assert_eq!(scratch.text("a"), "before");
    });
}

#[test]
fn what_stands_in_the_way_of_an_undo_is_named() {
    for_all(|scratch| {
        for name in ["a", "d/x"] {
            scratch.put(name, "before");
        }
        let args = json!({"command": "rm a; mkdir a; rm -r d; ln -s . d"}).to_string();
        scratch.call("clemini/bash", &args);
        let told = story(scratch);
        let id = told["call"].as_str().unwrap();
        assert_eq!(changes(&told), pairs(&[("removed", "d/x"), ("replaced", "a")]));
        for _ in 0..2 {
            let refused = scratch.run(["undo", id, "--force"]);
            assert!(
                refused.stderr.contains("something else is in its place"),
                "{}",
                refused.stderr
            );
            assert!(refused.stderr.contains("move that away"), "{}", refused.stderr);
            let _ = std::fs::remove_dir(scratch.work().join("a"));
        }
        std::fs::remove_file(scratch.work().join("d")).unwrap();
        assert_eq!(scratch.run(["undo", id, "--force"]).code, 0);
        assert_eq!((scratch.text("a"), scratch.text("d/x")), ("before".into(), "before".into()));
    });
}

#[test]
fn what_a_command_just_changed_is_not_the_next_ones() {
    for_all(|scratch| {
        scratch.put("sub/out", "");
        scratch.put("gen.sh", "date > sub/out\n");
        let mut session = Session::start(scratch, &[]);
        for _ in 0..10 {
            session.bash("sh gen.sh");
            assert_eq!(seen(scratch, &story(scratch), "changed"), ["sub/out"]);
            session.bash("sh gen.sh");
            session.bash("sh -c true");
            assert_eq!(story(scratch)["touched"], json!([]));
        }
        session.end();
    });
}

#[test]
fn one_file_in_two_workspaces_is_one_file() {
    for_all(|scratch| {
        scratch.put("sub/f", "before\n");
        let mut session = Session::start(scratch, &[]);
        let command = "while ! [ -e go ]; do sleep 0.01; done; echo one >> sub/f";
        session.call("clemini/bash", json!({"command": command, "run_in_background": true}));
        let outer = story(scratch)["call"].as_str().unwrap().to_owned();
        let args = json!({"command": "echo two >> f"}).to_string();
        let mut inner = scratch.command();
        inner.current_dir(scratch.work().join("sub")).args([
            "call",
            "--yes",
            "clemini/bash",
            &args,
        ]);
        assert!(inner.output().unwrap().status.success());
        scratch.put("go", "");
        eventually("the task's change", || {
            !changes(&scratch.run(["audit", "show", "--json", &outer]).json()).is_empty()
        });
        session.end();
        assert_ne!(scratch.run(["undo", &outer]).code, 0);
        assert_eq!(scratch.text("sub/f"), "before\ntwo\none\n");
    });
}

#[test]
fn what_was_there_before_two_changes_can_be_had_back() {
    for_all(|scratch| {
        scratch.put("a", "original");
        let mut session = Session::start(scratch, &[]);
        let command = "echo mine > a; touch begun; while ! [ -e go ]; do sleep 0.01; done";
        session.call("clemini/bash", json!({"command": command, "run_in_background": true}));
        let id = story(scratch)["call"].as_str().unwrap().to_owned();
        eventually("its beginning", || scratch.work().join("begun").exists());
        session.call("clemini/write_file", json!({"file_path": "a", "content": "theirs"}));
        scratch.put("go", "");
        eventually("the task's end", || nothing_is_aside(scratch));
        session.end();
        let refused = scratch.run(["undo", &id]);
        assert!(refused.stderr.contains("another call changed it"), "{}", refused.stderr);
        let shown = scratch.run(["audit", "show", &id]).stdout;
        assert!(shown.contains(&format!("toolcrib undo --force {id}")), "{shown}");
        assert_eq!(scratch.run(["undo", &id, "--force"]).code, 0);
        assert_eq!(scratch.text("a"), "original");
    });
}

#[test]
fn what_a_script_is_given_is_put_back_only_by_force() {
    for_all(|scratch| {
        scratch.put("given", "before");
        scratch.put("work.sh", "echo after > $1\n");
        scratch.call("clemini/bash", r#"{"command": "rm -f no*/thing; sh work.sh given"}"#);
        let told = story(scratch);
        let id = told["call"].as_str().unwrap().to_owned();
        assert_eq!(told["touched"][0]["unkept"], 1, "what the star stands for is not looked for");
        let refused = scratch.run(["undo", &id]);
        assert!(refused.stderr.contains("does not show who changed it"), "{}", refused.stderr);
        assert_eq!(scratch.text("given"), "after\n");
        assert_eq!(scratch.run(["undo", &id, "--force"]).code, 0);
        assert_eq!(scratch.text("given"), "before");
    });
}

#[test]
fn what_is_settled_is_settled_once_and_a_folder_comes_back_private() {
    use std::os::unix::fs::PermissionsExt;
    for_all(|scratch| {
        scratch.put_at("other/b", "before");
        for name in ["a", "private/s"] {
            scratch.put(name, "before");
        }
        let other = scratch.path("other");
        let settings = format!("roots=[{:?}]", other.display().to_string());
        let mut session = Session::start(scratch, &["-c", &settings]);
        let command = format!(
            "echo x > a; rm -r private; echo x > {}/b; touch begun; sleep 1000",
            other.display()
        );
        session.ask("clemini/bash", json!({"command": command}));
        eventually("its work", || scratch.work().join("begun").exists());
        session.kill();
        for _ in 0..3 {
            scratch.run(["call", "nachos/calculator", "expression=1"]);
        }
        let expect = [("created", "begun"), ("removed", "private/s"), ("replaced", "a")];
        assert_eq!(changes(&story(scratch)), pairs(&expect));
        assert!(!nothing_is_aside(scratch), "what is in the other root waits");
        let id = story(scratch)["call"].as_str().unwrap().to_owned();
        scratch.run(["-c", &settings, "call", "nachos/calculator", "expression=1"]);
        assert_eq!(changes(&story(scratch)).len(), 4);
        assert!(nothing_is_aside(scratch));
        let undone = scratch.run(["undo", &id, "--force"]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        assert_eq!(
            (scratch.text("a"), scratch.text("private/s")),
            ("before".into(), "before".into())
        );
        let mode = scratch.work().join("private").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    });
}

#[test]
fn letters_in_brackets_new_folders_and_locked_ones_are_told_apart() {
    for_all(|scratch| {
        for name in ["a.txt", "b.txt", "c.txt", "sub/kept"] {
            scratch.put(name, "before");
        }
        let command =
            "rm [ab].txt; mkdir -p q/r && echo z > q/r/z; chmod 555 sub; sh -c true sub/kept";
        scratch.call("clemini/bash", &json!({"command": command}).to_string());
        let told = story(scratch);
        let expect = [("created", "q/r/z"), ("removed", "a.txt"), ("removed", "b.txt")];
        assert_eq!(changes(&told), pairs(&expect));
        assert!(told["touched"][0]["unkept"].is_null(), "{told}");
        let undone = scratch.run(["undo", told["call"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        for name in ["a.txt", "b.txt", "c.txt"] {
            assert_eq!(scratch.text(name), "before");
        }
        assert!(!scratch.work().join("q/r/z").exists());
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(scratch.work().join("sub"), open).unwrap();
    });
}

#[test]
fn what_comes_while_files_are_looked_at_again_is_not_the_commands() {
    for_all(|scratch| {
        scratch.put("f", "before");
        let mut session = Session::start(scratch, &[]);
        let mut other = Session::start(scratch, &[]);
        for round in 0..5 {
            // Large files take a while to be looked at after its end.
            let command = format!(
                "for n in 1 2 3; do head -c 3000000 /dev/zero > big$n; done; if false; then echo A > f; fi; touch done{round}"
            );
            let asked = session.ask("clemini/bash", json!({"command": command}));
            eventually("its end", || scratch.work().join(format!("done{round}")).exists());
            let content = format!("theirs {round}");
            other.call("clemini/write_file", json!({"file_path": "f", "content": content}));
            assert_eq!(session.hear().0, asked);
            let id = story(scratch)["call"].as_str().unwrap().to_owned();
            scratch.run(["undo", &id]);
            assert_eq!(scratch.text("f"), content);
        }
        session.end();
        other.end();
    });
}
