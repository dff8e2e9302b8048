//! What other programs run on their own is written by file tools only if somebody says so, whatever the mode.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use toolcrib_core::policy::{Answer, Covers, Scope, Wish};
use toolcrib_core::runs_later::{LaterLevel, LaterReader, RUNS_LATER};

use crate::opened::{Opened, Scratch};

const FREELY: [&str; 2] = ["mode=permissive", "policy.calls_per_minute=off"];

/// A call of each file tool that writes or removes a path.
fn writers(path: &str) -> [(&'static str, Value); 7] {
    [
        ("wink/create_file", json!({"path": path, "content": "x"})),
        ("wink/create_directory", json!({"path": format!("{path}/more")})),
        ("clemini/write_file", json!({"file_path": path, "content": "x"})),
        (
            "clemini/edit",
            json!({"file_path": path, "old_string": "", "new_string": "x", "create_if_not_exists": true}),
        ),
        ("nachos/filesystem", json!({"action": "write", "path": path, "content": "x"})),
        ("forgekeeper/write_file", json!({"path": path, "content": "x"})),
        ("nachos/filesystem", json!({"action": "delete", "path": path})),
    ]
}

fn write(crib: &Opened, path: &str) -> &'static str {
    crib.call("clemini/write_file", json!({"file_path": path, "content": "x"})).kind()
}

#[test]
fn every_file_tool_asks_about_what_other_programs_run() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&FREELY);
    for (place, expect) in [(".vscode/there", "approval_required"), ("plain/there", "ok")] {
        for (tool, args) in writers(place) {
            let removes = args["action"] == "delete";
            let _ = fs::remove_dir_all(scratch.work().join(place).parent().unwrap());
            if removes {
                scratch.put(place, "x");
            }
            let got = crib.call(tool, args.clone());
            assert_eq!(got.kind(), expect, "{tool} {args}: {}", got.text());
            let is_there = scratch.work().join(place).exists();
            assert_eq!(is_there, (expect == "ok") != removes, "{tool} {args}");
        }
    }
}

#[test]
fn every_row_of_the_list_is_asked_about_and_says_why() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&FREELY);
    for row in RUNS_LATER {
        let path = row.name.replace('*', ".x");
        let args = json!({"path": path, "content": "x"});
        if row.level == LaterLevel::Refused {
            assert_eq!(crib.call("wink/create_file", args).kind(), "protected_path", "{path}");
            continue;
        }
        let decision = crib.explain("wink/create_file", args).decision;
        if row.reader == LaterReader::Build {
            assert_eq!(decision.verdict().as_str(), "allow", "{path}");
            continue;
        }
        assert_eq!(decision.verdict().as_str(), "ask", "{path}");
        let why = format!("other programs run `{path}` on their own: {}", row.why);
        assert_eq!(decision.because, why);
        assert!(decision.rule.starts_with("rule `later-"), "{}", decision.rule);
    }
    for path in ["src/main.rs", ".env", ".gitignore", "README.md", ".github/CODEOWNERS"] {
        assert_eq!(write(&crib, path), "ok", "{path}");
    }
}

#[test]
fn no_spelling_and_no_link_gets_past_the_question() {
    let scratch = Scratch::new();
    scratch.put(".zed/tasks.json", "[]");
    scratch.put("plain/file", "");
    symlink(".zed", scratch.work().join("door")).unwrap();
    symlink("plain", scratch.work().join("open")).unwrap();
    symlink(".zed/tasks.json", scratch.work().join("file")).unwrap();
    let crib = scratch.open_with(&FREELY);
    for path in [
        ".VSCODE/tasks.json",
        ".vs\u{200b}code/tasks.json",
        "\u{ff0e}vscode/tasks.json",
        "deep/er/.vscode/tasks.json",
        "./.vscode//tasks.json",
        "plain/../.vscode/tasks.json",
        ".Cargo/CONFIG.toml",
        "door/tasks.json",
        "door/new.json",
        "file",
        ".mcp.json.",
    ] {
        let kind = write(&crib, path);
        assert!(matches!(kind, "approval_required" | "not_found"), "{path}: {kind}");
    }
    assert!(!scratch.work().join(".vscode").exists());
    assert_eq!(scratch.text(".zed/tasks.json"), "[]");
    assert_eq!(write(&crib, "open/file"), "ok", "the control");
}

#[test]
fn only_a_grant_for_the_very_file_answers() {
    let scratch = Scratch::new();
    scratch.put_rules(
        "[[rule]]\nid = \"edits\"\ntool = [\"write_file\"]\neffect = \"allow\"\n\
         [[rule]]\nid = \"paths\"\npaths = [\"**\", \".vscode/**\"]\neffect = \"allow\"\n",
    );
    for mode in ["mode=strict", "mode=standard", "mode=permissive"] {
        let crib = scratch.open_with(&[mode, FREELY[1]]);
        assert_eq!(write(&crib, "plain"), "ok", "{mode}: the control");
        assert_eq!(write(&crib, ".vscode/tasks.json"), "approval_required", "{mode}");
    }
    let crib = scratch.open_with(&FREELY);
    let file = scratch.work().join(".vscode/tasks.json");
    crib.grant("clemini/write_file", &Covers::Path(file.display().to_string()));
    assert_eq!(write(&crib, ".vscode/tasks.json"), "ok");
    assert_eq!(write(&crib, ".vscode/settings.json"), "approval_required");
    // A person who is asked sees why, and can say yes.
    let args = json!({"file_path": ".vscode/settings.json", "content": "{}"});
    let got = crib.ask("clemini/write_file", args, |question| {
        assert!(question.decision.because.contains("Visual Studio Code runs the tasks"));
        Answer::Yes("a person".to_owned())
    });
    got.done();
    // A grant for one call covers that call alone.
    let args = |content: &str| json!({"file_path": ".envrc", "content": content});
    let call = |content: &str| crib.call("clemini/write_file", args(content)).kind();
    assert_eq!(call("x"), "approval_required");
    let granted = crib.ask("clemini/write_file", args("x"), |question| {
        let covers = question.choices[0].0.clone();
        let scope = Scope::Project(question.root.clone());
        Answer::Always("a person".to_owned(), Wish { covers, scope, minutes: None })
    });
    granted.done();
    assert_eq!((call("x"), call("y")), ("ok", "approval_required"));
}

#[test]
fn six_of_seven_kinds_of_programs_have_a_rule() {
    let ids: Vec<&str> = LaterReader::ALL.into_iter().filter_map(LaterReader::rule_id).collect();
    assert_eq!((LaterReader::ALL.len(), ids.len()), (7, 6));
    let scratch = Scratch::new();
    let crib = scratch.open();
    for id in ids {
        assert!(crib.crib.rules.policy.rules().iter().any(|rule| rule.id == id), "{id}");
    }
    assert_eq!(LaterReader::Build.rule_id(), None);
}

#[test]
fn the_operator_switches_off_one_kind_of_program() {
    let scratch = Scratch::new();
    let without = format!("policy.without={}", LaterReader::Server.rule_id().unwrap());
    let crib = scratch.open_with(&[FREELY[0], FREELY[1], &without]);
    assert!(crib.crib.settings.warnings.is_empty(), "{:?}", crib.crib.settings.warnings);
    assert_eq!(write(&crib, ".github/workflows/ci.yml"), "ok");
    assert_eq!(write(&crib, ".envrc"), "approval_required");
    // A project cannot.
    scratch.put(".toolcrib/config.toml", "[policy]\nwithout = [\"later-shell\"]\n");
    let crib = scratch.open_with(&FREELY);
    let warnings = crib.crib.settings.warnings.join("\n");
    assert!(warnings.contains("policy.without"), "{warnings}");
    assert_eq!(write(&crib, ".envrc"), "approval_required");
}
