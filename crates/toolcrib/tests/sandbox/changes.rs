//! What commands do to files: snapshots of the files they name, a scan for the others, all of it on the record.

use serde_json::{Value, json};

use crate::ground::{Session, eventually, for_all, plain};
use crate::scratch::Scratch;

/// The story of the newest call of `clemini/bash`.
pub(crate) fn story(scratch: &Scratch) -> Value {
    let found = scratch.run(["audit", "search", "--tool", "clemini/bash", "--json", "-n", "1"]);
    let call = found.json()["call"].as_str().unwrap().to_owned();
    scratch.run(["audit", "show", "--json", &call]).json()
}

/// What was done to which files of which copies were kept, in order.
pub(crate) fn changes(story: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let changes = story["changes"].as_array().unwrap().iter();
    let mut all: Vec<_> =
        changes.map(|change| (text(&change["kind"]), text(&change["path"]))).collect();
    all.sort();
    all
}

/// What was seen, by what was done.
pub(crate) fn seen(scratch: &Scratch, story: &Value, what: &str) -> Vec<String> {
    let root = format!("{}/", scratch.work().display());
    let all = story["touched"].as_array().unwrap().iter().filter_map(|it| it[what].as_array());
    all.flatten().map(|path| path.as_str().unwrap().replace(&root, "")).collect()
}

pub(crate) fn pairs(expect: &[(&str, &str)]) -> Vec<(String, String)> {
    expect.iter().map(|(kind, path)| ((*kind).to_owned(), (*path).to_owned())).collect()
}

/// Returns whether no snapshot waits for the end of a command.
pub(crate) fn has_no_snapshots(scratch: &Scratch) -> bool {
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
        assert!(has_no_snapshots(scratch));
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
            assert!(has_no_snapshots(scratch));
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
        assert!(has_no_snapshots(scratch));
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
        assert!(!has_no_snapshots(scratch), "what it held is kept while the task runs");
        scratch.put("go", "");
        eventually("the task's change", || changes(&story(scratch)) == pairs(&[("replaced", "a")]));
        eventually("its end", || has_no_snapshots(scratch));
        session.end();
        let told = story(scratch);
        assert!(seen(scratch, &told, "changed").contains(&"a".to_owned()), "{told}");
        scratch.run(["undo", told["call"].as_str().unwrap()]);
        assert_eq!(scratch.text("a"), "before");
    });
}

/// Waits until a file is older than the time by which the clock of files may be behind: what is younger counts as made
/// by a command that nobody saw the end of.
fn wait_until_old(scratch: &Scratch, name: &str) {
    let made = std::fs::metadata(scratch.work().join(name)).unwrap().modified().unwrap();
    let is_old = || made.elapsed().is_ok_and(|age| age > std::time::Duration::from_millis(50));
    eventually("the file is old enough", is_old);
}

#[test]
fn what_a_lost_command_did_is_told_and_can_be_taken_back() {
    for_all(|scratch| {
        scratch.put("a", "before");
        scratch.put("same", "same");
        wait_until_old(scratch, "same");
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
        assert!(has_no_snapshots(scratch));
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
        wait_until_old(scratch, "same");
        let mut session = Session::start(scratch, &[]);
        let command = "echo after > a; touch new; cat same; sleep 1000";
        session.ask("clemini/bash", json!({"command": command}));
        eventually("its work", || scratch.work().join("new").exists());
        session.kill();
        let elsewhere = scratch.path("elsewhere");
        std::fs::create_dir(&elsewhere).unwrap();
        let mut command = scratch.command();
        command.current_dir(&elsewhere).args(["call", "nachos/calculator", "expression=1"]);
        assert!(command.output().unwrap().status.success());
        assert!(!has_no_snapshots(scratch));
        assert_eq!(changes(&story(scratch)), []);
        scratch.run(["call", "nachos/calculator", "expression=1"]);
        assert_eq!(changes(&story(scratch)), pairs(&[("created", "new"), ("replaced", "a")]));
        assert!(has_no_snapshots(scratch));
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
        assert!(undone.stderr.contains("changed other files, too"), "{}", undone.stderr);
    });
}
