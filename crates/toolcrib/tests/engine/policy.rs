//! Rules from files: what a project may say, whose files are read, what is explained.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use toolcrib::CliErrorKind;
use toolcrib_core::policy::{Layer, rules_in};
use toolcrib_shell::BashReader;
use toolcrib_tools::CATALOGUES;

use crate::opened::Scratch;

#[test]
fn a_project_can_tighten_and_not_loosen() {
    let scratch = Scratch::new();
    scratch.put("a.txt", "x");
    let loose = "[[rule]]\nid = \"open\"\neffect = \"allow\"\n\
        [[rule]]\nid = \"shut\"\npaths = [\"a.txt\"]\neffect = \"deny\"\nbecause = \"not this one\"\n";
    scratch.put(".toolcrib/rules.toml", loose);
    let crib = scratch.open();
    let got = crib.call("wink/create_file", json!({"path": "b.txt", "content": "x"}));
    assert_eq!(got.kind(), "approval_required", "{}", got.text());
    let warnings = crib.crib.settings.warnings.join("\n");
    assert!(warnings.contains("`open` is ignored: a project can only tighten"), "{warnings}");
    let got = crib.call("wink/read_file", json!({"path": "a.txt"}));
    assert_eq!(got.kind(), "refused");
    assert!(got.text().contains("denied_by_policy") && got.text().contains("not this one"));
    // Another name for the same file changes nothing.
    symlink("a.txt", scratch.work().join("link")).unwrap();
    for path in ["./a.txt", "link", "x/../a.txt"] {
        let got = crib.call("wink/read_file", json!({"path": path}));
        assert_ne!(got.kind(), "ok", "{path}: {}", got.text());
    }
    // Nor does a command that names it.
    for command in [
        "cat a.txt",
        "cat ./a.txt",
        "cat link",
        "head -1 'a.txt'",
        "x=$(cat a.txt)",
        "sort --files0-from=a.txt",
    ] {
        assert_eq!(crib.decide_command(command), "deny", "{command}");
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
        assert_ne!(crib.decide_command(command), "allow", "{command}");
    }
    assert_eq!(crib.decide_command("cat b.txt"), "allow");
    // An error in the file stops every call, reads included.
    scratch.put(".toolcrib/rules.toml", "[[rule]]\neffect = \"alow\"\n");
    let refused = scratch.try_open(&[]).err().unwrap();
    assert_eq!(refused.kind, CliErrorKind::Rules);
    assert!(refused.message.contains("rules.toml`, line 1"), "{refused}");
}

#[test]
fn rules_that_others_could_write_are_not_read() {
    let scratch = Scratch::new();
    scratch.put_rules("[[rule]]\neffect = \"ask\"\n");
    let got = scratch.open().call("nachos/calculator", json!({"expression": "1+1"}));
    assert_eq!(got.kind(), "approval_required", "the control: it holds");
    let open = std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(scratch.path("home/.config/toolcrib/rules.toml"), open).unwrap();
    let refused = scratch.try_open(&[]).err().unwrap();
    assert!(refused.message.contains("not trusted"), "{refused}");
}

#[test]
fn every_tool_is_explained() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&[
        "forgekeeper.bash=on",
        "forgekeeper.powershell=on",
        "forgekeeper.http_fetch=on",
    ]);
    let mut count = 0;
    for catalogue in CATALOGUES {
        for tool in catalogue.tools {
            let declaration = tool.declaration();
            let name = format!("{}/{}", catalogue.name, declaration.name);
            let example: Value = serde_json::from_str(declaration.examples[0].args).unwrap();
            let explained = crib.explain(&name, example);
            assert_eq!(explained.tool.as_str(), name);
            assert!(!explained.decision.rule.is_empty(), "{name}");
            count += 1;
        }
    }
    assert!(count > 30, "only {count} tools");
}

#[test]
fn what_a_directory_holds_does_not_run_by_a_rule_for_another() {
    let scratch = Scratch::new();
    scratch.put_rules("[[rule]]\nargv = [\"make\", \"test\"]\neffect = \"allow\"\n");
    scratch.put("docs/evil/Makefile", "test:\n\techo evil\n");
    let crib = scratch.open();
    let there = |command: &str, directory: &str| {
        crib.decide("clemini/bash", json!({"command": command, "working_directory": directory}))
    };
    assert_eq!(crib.decide_command("make test"), "allow");
    assert_eq!(there("make test", "."), "allow");
    assert_eq!(there("make test", "docs/evil"), "ask");
    assert_eq!(crib.decide_command("cd docs/evil && make test"), "ask");
    assert_eq!(there("ls", "docs/evil"), "allow");
}

#[test]
fn hosts_that_a_call_names_are_judged() {
    let scratch = Scratch::new();
    scratch.put_rules(
        "[[rule]]\nhosts = [\"evil.example\", \"*.evil.example\"]\neffect = \"deny\"\n\
        covers = [\"evil.example\", \"a.evil.example\"]\nspares = [\"notevil.example\"]\n\
        [[rule]]\nhosts = [\"good.example\"]\neffect = \"allow\"\n",
    );
    let crib = scratch.open();
    for command in [
        "curl https://evil.example/x",
        "curl -s https://user@a.EVIL.example:443/",
        "git clone ssh://git@evil.example/r",
        "sh -c 'curl https://evil.example'",
    ] {
        assert_eq!(crib.decide_command(command), "deny", "{command}");
    }
    // The host that a command names does not say what the command does.
    assert_eq!(crib.decide_command("curl https://good.example/x"), "ask");
    let bad = "[[rule]]\nhosts = [\"https://x\"]\neffect = \"deny\"\n";
    let refused = rules_in(bad, "bad.toml", Layer::Operator, Some(&BashReader::default()));
    let refused = refused.err().unwrap().to_string();
    assert!(refused.contains("is not a host name"), "{refused}");
}
