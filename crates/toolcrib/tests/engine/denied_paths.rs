//! Denied paths do not exist for search and listings, and no race opens one. Each test has its control: the same
//! calls where no rule denies anything.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use crate::opened::{Opened, Scratch, for_each_user};

const DENY: &str = r#"
[[rule]]
id = "no-secrets"
effect = "deny"
paths = ["secrets/**", "**/.env.local", "**/*.pem"]
"#;

/// Puts two open files and three denied ones, each with the same word.
fn put_files(scratch: &Scratch) {
    for (path, text) in [
        ("open/a.txt", "needle in a\n"),
        ("open/b.txt", "needle in b\n"),
        ("open/key.pem", "needle in KEY\n"),
        ("secrets/key.txt", "needle in SECRET\n"),
        ("secrets/deep/more.txt", "needle in SECRET\n"),
    ] {
        scratch.put(path, text);
    }
}

/// Calls of every catalogue that search or list, and how many files or entries each leaves out. A contract whose
/// reply is a bare list has no place for a sentence.
fn lookups() -> Vec<(&'static str, Value, Option<&'static str>)> {
    let files = Some("3 files are left out: policy denies them");
    let entry = Some("1 entry is left out: policy denies it");
    vec![
        ("clemini/grep", json!({"pattern": "needle"}), files),
        ("clemini/grep", json!({"pattern": "needle", "output_mode": "files_with_matches"}), files),
        ("clemini/glob", json!({"pattern": "**/*"}), files),
        ("wink/grep_search", json!({"pattern": "needle"}), files),
        ("wink/file_search", json!({"pattern": "**/*"}), files),
        ("wink/list_dir", json!({"path": "."}), entry),
        ("wink/list_dir", json!({"path": "open"}), entry),
        ("hikai/search_code", json!({"query": "needle"}), None),
        ("hikai/list_dirs", json!({}), Some("are left out: policy denies them")),
        ("hikai/list_files", json!({"path": "open"}), entry),
        ("forgekeeper/read_dir", json!({"path": "."}), entry),
        ("nachos/filesystem", json!({"action": "list", "path": "."}), None),
    ]
}

fn tells(text: &str) -> bool {
    ["SECRET", "KEY", "secrets", "key.pem", "more.txt"].iter().any(|word| text.contains(word))
}

#[test]
fn search_and_listings_leave_out_what_a_rule_denies() {
    for_each_user(|scratch| {
        put_files(scratch);
        let open = scratch.open();
        scratch.put_rules(DENY);
        let denying = scratch.open();
        for (tool, args, sentence) in lookups() {
            let all = open.approve(tool, args.clone());
            assert!(tells(all.text()), "{tool} {args} finds nothing even without a rule");
            assert!(!all.text().contains("policy denies"), "{}", all.text());
            let some = denying.approve(tool, args.clone());
            some.done();
            assert!(!tells(some.text()), "{tool} {args}: {}", some.text());
            match sentence {
                Some(said) => assert!(some.text().contains(said), "{tool} {args}: {}", some.text()),
                None => {
                    assert!(!some.text().contains("left out"), "{tool} {args}: {}", some.text());
                }
            }
        }
    });
}

#[test]
fn what_is_left_out_does_not_depend_on_the_question() {
    let scratch = Scratch::new();
    put_files(&scratch);
    scratch.put_rules(DENY);
    let crib = scratch.open();
    // Otherwise whoever counts could guess a secret letter by letter.
    for pattern in ["SECRET", "KEY", "no file has this"] {
        let got = crib.approve("clemini/grep", json!({"pattern": pattern}));
        assert_eq!(got.json()["matches"], json!([]), "{pattern}");
        assert_eq!(got.json()["warnings"][0], "3 files are left out: policy denies them");
    }
}

#[test]
fn a_rule_for_one_tool_denies_nothing_to_another() {
    let scratch = Scratch::new();
    put_files(&scratch);
    scratch.put_rules(&DENY.replace("effect", "tool = \"wink\"\neffect"));
    let crib = scratch.open();
    assert!(tells(crib.approve("clemini/grep", json!({"pattern": "needle"})).text()));
    assert!(!tells(crib.approve("wink/grep_search", json!({"pattern": "needle"})).text()));
}

#[test]
fn a_rule_with_another_condition_hides_nothing() {
    for condition in ["args = 'never'", "hosts = [\"a.example\"]", "argv = [\"cat\"]"] {
        let scratch = Scratch::new();
        put_files(&scratch);
        scratch.put_rules(&DENY.replace("effect", &format!("{condition}\neffect")));
        let found = scratch.open().approve("clemini/grep", json!({"pattern": "needle"}));
        assert!(tells(found.text()), "{condition}: {}", found.text());
    }
}

#[test]
fn links_lead_to_no_denied_file() {
    for_each_user(|scratch| {
        put_files(scratch);
        symlink("secrets", scratch.work().join("alias")).unwrap();
        symlink("../secrets/key.txt", scratch.work().join("open/plain.txt")).unwrap();
        // A file that may not be written was once decided on by its name alone.
        scratch.set_mode("secrets/key.txt", 0o444);
        let open = scratch.open();
        scratch.put_rules(DENY);
        let denying = scratch.open();
        for (tool, args) in [
            ("clemini/read_file", json!({"file_path": "open/plain.txt"})),
            ("clemini/read_file", json!({"file_path": "alias/key.txt"})),
            ("wink/list_dir", json!({"path": "alias"})),
            ("nachos/filesystem", json!({"action": "list", "path": "alias"})),
        ] {
            assert_eq!(open.approve(tool, args.clone()).kind(), "ok", "{tool} {args}");
            let got = denying.approve(tool, args.clone());
            assert_eq!(got.kind(), "refused", "{tool} {args}: {}", got.text());
        }
    });
}

/// Exchanges `name` with a link to `target` until told to stop.
fn swap(work: &Path, name: &str, target: &str, stop: &AtomicBool) {
    let (name, link) = (work.join(name), work.join(format!("{name}-link")));
    symlink(target, &link).unwrap();
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, &name, CWD, &link, RenameFlags::EXCHANGE).unwrap();
    }
}

/// Makes calls while a folder and a link to another are exchanged, until `is_enough` says so of an answer's text.
/// Returns whether that happened.
fn race(scratch: &Scratch, target: &str, most: usize, mut attempt: impl FnMut() -> bool) -> bool {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let swapper = scope.spawn(|| swap(&scratch.work(), "d", target, &stop));
        let is_met = (0..most).any(|_| attempt());
        stop.store(true, Ordering::Relaxed);
        swapper.join().unwrap();
        is_met
    })
}

fn read(crib: &Opened) -> String {
    crib.call("clemini/read_file", json!({"file_path": "d/f"})).text().to_owned()
}

/// How often a call races at most. Without the check on the handle a few hundred are enough.
const MOST_RACES: usize = 5000;

#[test]
fn a_race_reads_no_denied_file() {
    let put = |scratch: &Scratch| {
        scratch.put("d/f", "open");
        scratch.put("secrets/f", "SECRET");
    };
    let control = Scratch::new();
    put(&control);
    let crib = control.open();
    assert!(race(&control, "secrets", MOST_RACES, || read(&crib).contains("SECRET")));
    let scratch = Scratch::new();
    put(&scratch);
    scratch.put_rules(DENY);
    let crib = scratch.open();
    let (mut done, mut refused) = (0, 0);
    let is_read = race(&scratch, "secrets", MOST_RACES, || {
        let text = read(&crib);
        done += usize::from(text.contains("open"));
        refused += usize::from(text.contains("ACCESS_DENIED") || text.contains("denies"));
        text.contains("SECRET")
    });
    assert!(!is_read, "a denied file was read");
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
}

#[test]
fn a_race_writes_nowhere_that_is_asked_about() {
    const ASK: &str = "[[rule]]\nid = \"ask\"\neffect = \"ask\"\npaths = [\"locked/**\"]\n";
    let put = |scratch: &Scratch| {
        scratch.put("d/f", "");
        scratch.put("locked/f", "as it was");
    };
    let settings = ["mode=permissive", "policy.calls_per_minute=off"];
    let is_written = |scratch: &Scratch| scratch.text("locked/f") != "as it was";
    let write = |crib: &Opened| {
        let args = json!({"file_path": "d/f", "content": "written"});
        crib.call("clemini/write_file", args).kind()
    };
    let control = Scratch::new();
    put(&control);
    let crib = control.open_with(&settings);
    assert!(race(&control, "locked", MOST_RACES, || {
        write(&crib);
        is_written(&control)
    }));
    let scratch = Scratch::new();
    put(&scratch);
    scratch.put_rules(ASK);
    let crib = scratch.open_with(&settings);
    let (mut done, mut asked) = (0, 0);
    let is_written = race(&scratch, "locked", MOST_RACES / 5, || {
        match write(&crib) {
            "ok" => done += 1,
            _ => asked += 1,
        }
        is_written(&scratch)
    });
    assert!(!is_written, "a file was written that a person had to be asked about");
    assert!(done > 0 && asked > 0, "{done} done, {asked} asked about");
    assert_eq!(fs::read_to_string(scratch.work().join("locked/f")).unwrap(), "as it was");
}
