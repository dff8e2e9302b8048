//! Undo of commands: what they did to the files they name is put back, and nothing that others did.

use serde_json::json;

use crate::changes::{changes, has_no_snapshots, pairs, seen, story};
use crate::ground::{Session, eventually, for_all};

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
                refused.stderr.contains("something else now has its name"),
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
        eventually("the task's end", || has_no_snapshots(scratch));
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
        assert!(
            refused.stderr.contains("does not show that the command changed it"),
            "{}",
            refused.stderr
        );
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
        assert!(!has_no_snapshots(scratch), "what is in the other root waits");
        let id = story(scratch)["call"].as_str().unwrap().to_owned();
        scratch.run(["-c", &settings, "call", "nachos/calculator", "expression=1"]);
        assert_eq!(changes(&story(scratch)).len(), 4);
        assert!(has_no_snapshots(scratch));
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
