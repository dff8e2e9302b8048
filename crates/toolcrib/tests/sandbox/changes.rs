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
            next.stderr.contains("takes back what became of the files it named"),
            "{}",
            next.stderr
        );
        let told = story(scratch);
        assert_eq!(told["outcome"], "unknown");
        assert_eq!(changes(&told), pairs(&[("replaced", "a")]));
        assert_eq!(seen(scratch, &told, "made"), ["other"]);
        assert!(nothing_is_aside(scratch));
        let undone = scratch.run(["undo", told["call"].as_str().unwrap()]);
        assert_eq!(undone.code, 0, "{}", undone.stderr);
        assert_eq!(scratch.text("a"), "before");
    });
}
