//! Taking back: exactly what a call did, and nothing else.

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// Makes a call and returns its id.
#[track_caller]
fn call(scratch: &Scratch, tool: &str, args: &Value) -> String {
    let ran = scratch.call(tool, &args.to_string());
    assert_eq!(ran.code, 0, "{tool}: {}", ran.stdout);
    scratch.record().last().unwrap()["trace_id"].as_str().unwrap().to_owned()
}

#[test]
fn the_list_shows_what_each_call_changed() {
    let scratch = Scratch::new();
    let ran = scratch.run(["undo"]);
    assert!(ran.code == 0 && ran.stderr.contains("No call has changed a file"), "{}", ran.stderr);
    let id = call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    call(&scratch, "wink/read_file", &json!({"path": "a"}));
    let ran = scratch.run(["undo"]);
    assert!(ran.stdout.contains(&id[..10]) && !ran.stdout.contains(&id), "{}", ran.stdout);
    assert!(ran.stdout.contains("  created  a\n"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("read_file"), "{}", ran.stdout);
    let listed = scratch.run(["undo", "--json"]).json();
    assert_eq!((&listed["total"], &listed["calls"][0]["call"]), (&json!(1), &json!(id)));
}

#[test]
fn force_and_redo_work_from_another_directory() {
    let scratch = Scratch::new();
    scratch.put("a", "before");
    let id = call(&scratch, "clemini/write_file", &json!({"file_path": "a", "content": "ours"}));
    scratch.put("a", "a person's work");
    let elsewhere = scratch.path("outside").display().to_string();
    let undo = |words: &[&str]| scratch.run([&["-C", &elsewhere, "undo"], words].concat());
    let ran = undo(&[&id]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("was changed after"), "{}", ran.stderr);
    assert!(ran.stderr.contains("--force"), "{}", ran.stderr);
    let ran = undo(&[&id, "--force", "--json"]);
    assert_eq!((ran.code, scratch.text("a")), (0, "before".to_owned()), "{}", ran.stderr);
    let by = ran.json()["by"].as_str().unwrap().to_owned();
    assert_eq!(undo(&[&by]).code, 0);
    assert_eq!(scratch.text("a"), "a person's work");
    let ran = undo(&[&id]);
    assert!(ran.code == 1 && ran.stderr.contains("already"), "{}", ran.stderr);
}

#[test]
fn a_call_is_undone_by_the_beginning_of_its_id_or_as_the_last() {
    let scratch = Scratch::new();
    let ids: Vec<String> = ["1", "2", "3"]
        .map(|text| {
            call(&scratch, "clemini/write_file", &json!({"file_path": "a", "content": text}))
        })
        .to_vec();
    let ran = scratch.run(["undo", &ids[2][..3]]);
    assert!(ran.code == 1 && ran.stderr.contains("at least 4 characters"), "{}", ran.stderr);
    let shared = (0..26).find(|end| ids[1][..=*end] != ids[2][..=*end]).unwrap().max(4);
    let ran = scratch.run(["undo", &ids[2][..shared]]);
    assert_eq!((ran.code, scratch.text("a")), (1, "3".to_owned()));
    assert!(ran.stderr.contains("calls that changed files"), "{}", ran.stderr);
    assert!(ran.stderr.contains("clemini/write_file") && ran.stderr.contains("hint: type more"));
    let told = scratch.run(["undo", "zzzz", "--json"]).json();
    assert_eq!(told["error"]["code"], "not_found");
    let ran = scratch.run(["undo", &ids[2][..=shared].to_lowercase()]);
    assert_eq!((ran.code, scratch.text("a")), (0, "2".to_owned()), "{}", ran.stderr);
    // An undo is not what the next `--last` takes back.
    assert_eq!(scratch.run(["undo", "--last"]).code, 0);
    assert_eq!(scratch.text("a"), "1");
    assert_eq!(scratch.run(["undo", "--last"]).code, 0);
    assert!(!scratch.work().join("a").exists());
    let ran = scratch.run(["undo", "--last"]);
    assert!(ran.code == 1 && ran.stderr.contains("left to undo"), "{}", ran.stderr);
}

#[test]
fn the_list_is_of_this_workspace_and_elsewhere_paths_are_whole() {
    let scratch = Scratch::new();
    let id = call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    let elsewhere = scratch.path("outside").display().to_string();
    let there = |words: &[&str]| scratch.run([&["-C", &elsewhere, "undo"], words].concat());
    let ran = there(&[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, ""));
    assert!(ran.stderr.contains("in this workspace yet"), "{}", ran.stderr);
    assert!(ran.stderr.contains("1 call in other workspaces; --all"), "{}", ran.stderr);
    assert_eq!(there(&["--json"]).json()["total"], 0);
    let whole = scratch.work().join("a").display().to_string();
    assert!(there(&["--all"]).stdout.contains(&whole));
    assert_eq!(there(&["--last"]).code, 1);
    let ran = there(&[&id]);
    assert!(ran.code == 0 && ran.stdout.contains(&whole), "{}{}", ran.stdout, ran.stderr);
    assert!(!scratch.work().join("a").exists());
}

#[test]
fn the_last_call_is_one_of_this_workspace_and_not_of_one_below_it() {
    let scratch = Scratch::new();
    scratch.put("sub/", "");
    let below = scratch.work().join("sub").display().to_string();
    call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    let made = ["-C", &below, "--yes", "call", "wink/create_file", "path=b", "content=1"];
    let ran = scratch.run(made);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    // The newest call is the one below, and the last one here is the other.
    let listed = scratch.run(["undo"]);
    assert!(listed.stdout.contains("created  a\n"), "{}", listed.stdout);
    assert!(!listed.stdout.contains("sub/b"), "{}", listed.stdout);
    assert!(listed.stderr.contains("1 call in other workspaces"), "{}", listed.stderr);
    assert_eq!(scratch.run(["undo", "--last"]).code, 0);
    assert!(!scratch.work().join("a").exists() && scratch.work().join("sub/b").exists());
    let ran = scratch.run(["undo", "--last"]);
    assert!(ran.code == 1 && scratch.work().join("sub/b").exists(), "{}", ran.stdout);
    assert!(ran.stderr.contains("no call of this workspace is left to undo"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("changed files in `{below}`")), "{}", ran.stderr);
    // The control: the command that the hint names undoes it, and so does `--last` there.
    let id = ran.stderr.split("`toolcrib undo ").nth(1).and_then(|it| it.split('`').next());
    let ran = scratch.run(["undo", id.unwrap()]);
    assert_eq!(ran.code, 0, "{}{}", ran.stdout, ran.stderr);
    assert!(!scratch.work().join("sub/b").exists());
    assert_eq!(scratch.run(made).code, 0);
    assert_eq!(scratch.run(["-C", &below, "undo", "--last"]).code, 0);
    assert!(!scratch.work().join("sub/b").exists());
    let ran = scratch.run(["undo", "--last"]);
    assert!(ran.code == 1 && ran.stderr.contains("no call is left to undo"), "{}", ran.stderr);
}

#[test]
fn past_calls_can_be_looked_at_where_no_call_can_run() {
    let scratch = Scratch::new();
    let id = call(&scratch, "wink/create_file", &json!({"path": "a", "content": "1"}));
    let ran = scratch.run(["-C", "/", "call", "wink/list_dir", "path=."]);
    assert!(ran.code == 2 && ran.stderr.contains("cannot be the workspace"), "{}", ran.stderr);
    for words in [&["stats"][..], &["undo"], &["grants", "list"], &["held", "list"]] {
        let ran = scratch.run([&["-C", "/"], words].concat());
        assert_eq!(ran.code, 0, "{words:?}: {}", ran.stderr);
    }
    let ran = scratch.run(["-C", "/", "output", &id]);
    assert!(ran.code == 1 && ran.stderr.contains("no saved output"), "{}", ran.stderr);
    assert_eq!(scratch.run(["-C", "/", "undo", &id]).code, 0);
    assert_eq!(scratch.run(["-C", "/does/not/exist", "stats"]).code, 2);
}
