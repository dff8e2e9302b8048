//! `toolcrib connect`: repositories get names, are tested, and are what hikai's tools read.

use std::process::Command;

use serde_json::json;

use crate::scratch::Scratch;

/// Makes a repository beside the workspace with two commits, and returns its path.
fn repository(scratch: &Scratch) -> String {
    repository_at(scratch, "repository", "fn second() {}\n")
}

/// Makes a repository with two commits, of which the second has this text in `src/main.rs`. Returns its path.
pub(crate) fn repository_at(scratch: &Scratch, name: &str, text: &str) -> String {
    let path = scratch.path(name);
    let file = format!("{name}/src/main.rs");
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).arg("-C").arg(&path);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        let ran = git.args(args).output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    };
    std::fs::create_dir(&path).unwrap();
    git(&["init", "-q", "-b", "main"]);
    scratch.put_at(&file, "fn first() {}\n");
    git(&["add", "-A"]);
    git(&["commit", "-qm", "one"]);
    scratch.put_at(&file, text);
    git(&["commit", "-qam", "two"]);
    path.display().to_string()
}

#[test]
fn a_connection_is_added_tested_used_and_removed() {
    let scratch = Scratch::new();
    let path = repository(&scratch);
    let none = scratch.run(["connect", "list"]);
    assert_eq!(none.stdout, "There are no connections.\n");
    assert!(none.stderr.contains("toolcrib connect add NAME PLACE"), "{}", none.stderr);
    let added = scratch.run(["connect", "add", "old", &format!("git:{path}#main~1")]);
    assert_eq!(added.stdout, format!("Added: old is git:{path}#main~1\n"), "{}", added.stderr);
    // The workspace is read until something else is chosen.
    let read = ["call", "hikai/read_file", "path=src/main.rs", "--json"];
    assert_eq!(scratch.run(read).code, 1);
    let chosen = scratch.run(["connect", "add", "new", &format!("git:{path}"), "--use"]);
    assert_eq!(chosen.code, 0, "{}", chosen.stderr);
    assert_eq!(scratch.run(read).json()["content"], "fn second() {}\n");
    // One run can choose another.
    let other = scratch.run(["-c", "hikai.connection=old", "call", read[1], read[2], "--json"]);
    assert_eq!(other.json()["content"], "fn first() {}\n");
    let found = scratch.run(["call", "hikai/search_code", "query=second", "--json"]);
    assert!(found.stdout.contains("src/main.rs"), "{}{}", found.stdout, found.stderr);
    let list = scratch.run(["connect", "list"]).stdout;
    assert!(list.contains("  old  git:") && list.contains("* new  git:"), "{list}");
    let tested = scratch.run(["connect", "test", "old", "--json"]).json();
    assert_eq!((&tested["directories"], &tested["files"]), (&json!(1), &json!(0)), "{tested}");
    assert_eq!(tested["commit"].as_str().unwrap().len(), 40);
    let removed = scratch.run(["connect", "remove", "new"]);
    assert!(removed.stderr.contains("read the workspace again"), "{}", removed.stderr);
    assert_eq!(scratch.run(read).code, 1);
    let list = scratch.run(["connect", "list", "--json"]).json();
    let expect = json!([{"name": "old", "place": format!("git:{path}#main~1"), "chosen": false}]);
    assert_eq!(list, expect);
}

#[test]
fn what_cannot_be_connected_says_why() {
    let scratch = Scratch::new();
    let path = repository(&scratch);
    for (name, place, expect) in [
        ("workspace", format!("git:{path}"), "its own meaning"),
        ("a b", format!("git:{path}"), "a name has letters"),
        ("a", format!("{path}#main"), "a folder has no revisions"),
        ("a", "github:o".to_owned(), "OWNER/NAME"),
    ] {
        let added = scratch.run(["connect", "add", name, &place]);
        assert!(
            added.code != 0 && added.stderr.contains(expect),
            "{name} {place}: {}",
            added.stderr
        );
    }
    assert_eq!(scratch.run(["connect", "list"]).stdout, "There are no connections.\n");
    // What is wrong with the repository itself is said when it is opened, and by every call.
    for (place, expect) in
        [("git:/nowhere/at/all".to_owned(), "cannot be opened"), (format!("git:{path}#v9"), "v9")]
    {
        assert_eq!(scratch.run(["connect", "add", "wrong", &place, "--use"]).code, 0);
        let tested = scratch.run(["connect", "test"]);
        assert_eq!(tested.code, 1, "{}", tested.stdout);
        assert!(tested.stderr.contains(expect), "{place}: {}", tested.stderr);
        let read = scratch.run(["call", "hikai/list_files"]);
        assert!(read.code != 0 && read.stderr.contains(expect), "{place}: {}", read.stderr);
    }
    let unknown = scratch.run(["connect", "test", "wrnog"]);
    assert!(unknown.stderr.contains("did you mean `wrong`?"), "{}", unknown.stderr);
    assert_ne!(scratch.run(["connect", "remove", "nothing"]).code, 0);
}

#[test]
fn toolcribs_own_folders_are_no_repositories() {
    let scratch = Scratch::new();
    let path = repository(&scratch);
    let read = |place: &str| {
        let connection = format!("hikai.connection=git:{place}");
        let args = ["-c", &connection, "call", "hikai/read_file", "path=src/main.rs", "--json"];
        (scratch.run(["connect", "test", &format!("git:{place}")]), scratch.run(args))
    };
    let (tested, called) = read(&path);
    assert_eq!(tested.code, 0, "{}", tested.stderr);
    assert_eq!(called.json()["content"], "fn second() {}\n");
    // The state folder is there by now.
    let inside = scratch.state().join("repository");
    let copied = Command::new("cp").arg("-a").arg(&path).arg(&inside).status().unwrap();
    assert!(copied.success());
    let link = scratch.path("link");
    std::os::unix::fs::symlink(&inside, &link).unwrap();
    for place in [inside.display().to_string(), link.display().to_string()] {
        let (tested, called) = read(&place);
        for run in [tested, called] {
            assert!(run.code != 0, "{}", run.stdout);
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(said.contains("is Toolcrib's own"), "{said}");
        }
    }
}
