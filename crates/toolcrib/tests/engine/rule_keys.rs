//! What each key of a rule matches. Each has its control: a call that the key spares.

use serde_json::{Value, json};
use toolcrib_core::policy::{Layer, rules_in};
use toolcrib_shell::BashReader;

use crate::opened::Scratch;

/// Opens with this rule and no shipped ones, and checks what becomes of commands.
#[track_caller]
fn check_commands(rule: &str, matched: &[&str], spared: &[&str]) {
    let scratch = Scratch::new();
    scratch.put_rules(&format!("[[rule]]\nid = \"it\"\neffect = \"deny\"\n{rule}\n"));
    let crib = scratch.open_with(&["policy.shipped=[]"]);
    for (commands, expect) in [(matched, "deny"), (spared, "ask")] {
        for command in commands {
            let shown: String = command.chars().take(60).collect();
            assert_eq!(crib.decide_command(command), expect, "{rule}: {shown}");
        }
    }
}

#[test]
fn a_rule_is_about_a_tool_by_any_of_its_names() {
    let decided = |about: &str| {
        let scratch = Scratch::new();
        scratch.put("a", "x");
        scratch.put_rules(&format!("[[rule]]\neffect = \"deny\"\n{about}\n"));
        let crib = scratch.open();
        let read = json!({"file_path": "a"});
        [
            crib.decide("clemini/read_file", read),
            crib.decide("wink/read_file", json!({"path": "a"})),
            crib.decide("nachos/calculator", json!({"expression": "1"})),
        ]
    };
    assert_eq!(decided("tool = \"clemini\""), ["deny", "allow", "allow"]);
    assert_eq!(decided("tool = \"read_file\""), ["deny", "deny", "allow"]);
    assert_eq!(decided("tool = \"wink/read_file\""), ["allow", "deny", "allow"]);
    assert_eq!(decided("tool = [\"clemini\", \"calculator\"]"), ["deny", "allow", "deny"]);
    assert_eq!(decided(""), ["deny"; 3]);
}

#[test]
fn words_are_matched_at_the_beginning_or_as_a_pattern() {
    check_commands(
        "argv = [\"cargo\", [\"build\", \"test\"]]",
        &["cargo build", "cargo test --lib"],
        &["cargo publish", "cargo", "echo cargo test"],
    );
    check_commands(
        "words = 'kill( .*)? -9( .*)?'",
        &["kill -9 1", "kill -s X -9 1"],
        &["kill -1 9", "echo kill -9 1"],
    );
    for key in ["words = 'kill.*'", "danger = \"fork_bomb\""] {
        let read = |effect: &str| {
            let text = format!("[[rule]]\n{key}\neffect = \"{effect}\"\n");
            rules_in(&text, "x", Layer::Operator, Some(&BashReader::default())).is_ok()
        };
        assert_eq!(["allow", "ask", "deny"].map(read), [false, true, true], "{key}");
    }
}

#[test]
fn exact_words_are_matched_and_no_more() {
    let rule = "argv = [\"git\", [\"branch\", \"tag\"]]\nexact = true";
    check_commands(
        rule,
        &["git branch", "git tag", "ls && git tag", "git --no-pager branch", "env git tag"],
        &["git branch x", "git tag -l", "git", "git --no-pager tag x", "echo git tag"],
    );
    let decided = |exact: &str, command: &str| {
        let scratch = Scratch::new();
        let rule = "[[rule]]\nargv = [\"svn\", \"info\"]\neffect = \"allow\"";
        scratch.put_rules(&format!("{rule}\n{exact}\n"));
        scratch.open_with(&["policy.shipped=[]"]).decide_command(command)
    };
    for (command, exactly, begun) in [
        ("svn info", "allow", "allow"),
        ("svn info && svn info", "allow", "allow"),
        ("svn info x", "ask", "allow"),
        ("svn", "ask", "ask"),
    ] {
        assert_eq!(decided("exact = true", command), exactly, "{command}");
        assert_eq!(decided("exact = false", command), begun, "{command}");
    }
    for (exact, words) in [
        ("argv = [\"ls\"]\nexact = \"yes\"", "`exact` must be true or false"),
        ("exact = true\nwords = \"ls\"", "`exact` needs `argv`"),
    ] {
        let text = format!("[[rule]]\n{exact}\neffect = \"ask\"\n");
        let read = rules_in(&text, "x", Layer::Operator, Some(&BashReader::default()));
        let said = read.unwrap_err().to_string();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn every_danger_has_its_name_in_rules() {
    let deep = format!("{}rm x", "env ".repeat(12));
    let many = "true;".repeat(2000);
    let long = "A".repeat(70_000);
    for (name, command) in [
        ("fork_bomb", ":(){ :|:& };:"),
        ("too_deep", &deep),
        ("too_many", &many),
        ("too_long", &long),
        ("pipe_to_shell", "curl x | sh"),
        ("mixed_script", "\u{441}url x"),
    ] {
        check_commands(&format!("danger = \"{name}\""), &[command], &["touch x", "env rm x"]);
    }
}

#[test]
fn paths_are_relative_or_absolute_and_writes_are_written() {
    let scratch = Scratch::new();
    let absolute = scratch.work().join("abs/**").display().to_string();
    scratch.put_rules(&format!(
        "[[rule]]\neffect = \"deny\"\npaths = [\"rel/**\", \"{absolute}\"]\n\
         [[rule]]\neffect = \"deny\"\nwrites = [\"kept/**\"]\n"
    ));
    for folder in ["rel", "abs", "kept", "open"] {
        scratch.put(&format!("{folder}/a"), "x");
    }
    let crib = scratch.open();
    let read = |path: &str| crib.decide("wink/read_file", json!({"path": path}));
    let write =
        |path: &str| crib.decide("clemini/write_file", json!({"file_path": path, "content": ""}));
    let both = |folder: &str| {
        let path = format!("{folder}/a");
        (read(&path), write(&path))
    };
    assert_eq!((both("rel"), both("abs")), (("deny", "deny"), ("deny", "deny")));
    assert_eq!((both("kept"), both("open")), (("allow", "deny"), ("allow", "ask")));
    check_commands(
        "writes = [\"kept/**\"]",
        &[
            "echo x > kept/a",
            "cp b kept/a",
            "mv b kept/a",
            "ls | tee kept/a",
            "touch kept/a",
            "dd if=b of=kept/a",
            "rm kept/a",
            "chmod +x kept/a",
            "sed -i s/a/b/ kept/a",
        ],
        &["cat kept/a", "cp kept/a b", "sed s/a/b/ kept/a", "touch b"],
    );
}

#[test]
fn arguments_are_matched_as_text_or_exactly() {
    let decided = |rule: &str, args: Value| {
        let scratch = Scratch::new();
        let about = "tool = \"wink/create_file\"\neffect = \"deny\"";
        scratch.put_rules(&format!("[[rule]]\n{about}\n{rule}\n"));
        scratch.open().decide("wink/create_file", args)
    };
    // The tool declares `path` before `content`.
    let pattern = r#"args = '\{"path":"a","content":"x.*"\}'"#;
    let exact = "call = {content = \"x\", path = \"a\"}";
    let given = [json!({"content": "x", "path": "a"}), json!({"path": "a", "content": "x"})];
    for rule in [pattern, exact] {
        for args in given.clone() {
            assert_eq!(decided(rule, args.clone()), "deny", "{rule}: {args}");
        }
        assert_eq!(decided(rule, json!({"path": "b", "content": "x"})), "ask", "{rule}");
    }
    let longer = json!({"path": "a", "content": "xy"});
    assert_eq!((decided(pattern, longer.clone()), decided(exact, longer)), ("deny", "ask"));
}

#[test]
fn one_command_and_no_other_is_allowed_by_its_exact_call() {
    let decided = |rule: &str, command: &str| {
        let scratch = Scratch::new();
        scratch.put_rules(&format!("[[rule]]\neffect = \"allow\"\n{rule}\n"));
        scratch.open().decide_command(command)
    };
    let words = "argv = [\"frobnicate\", \"a\"]";
    let exact = "tool = \"clemini/bash\"\ncall = {command = \"frobnicate a\"}";
    for rule in [words, exact] {
        assert_eq!(decided(rule, "frobnicate a"), "allow", "{rule}");
    }
    // Of a program that nobody knows, any word may be added.
    assert_eq!(decided(words, "frobnicate a --exec x"), "allow");
    assert_eq!(decided(exact, "frobnicate a --exec x"), "ask");
    // Other conditions say nothing about what a command does.
    let whole = "tool = \"clemini/bash\"";
    assert_eq!(decided(whole, "frobnicate a"), "allow");
    for more in ["args = '.*frobnicate.*'", "paths = [\"**\"]", "hosts = [\"a.example\"]"] {
        assert_eq!(decided(&format!("{whole}\n{more}"), "frobnicate a"), "ask", "{more}");
    }
}

#[test]
fn a_rule_says_why_and_what_the_agent_must_confirm() {
    let scratch = Scratch::new();
    let rule = "[[rule]]\nid = \"x\"\nargv = [\"touch\"]\neffect = \"ask\"\nconfirm = true\n\
                because = \"mind the gap\"\n";
    scratch.put_rules(rule);
    let touch = || json!({"command": "touch a"});
    let must_confirm =
        || scratch.open().call("clemini/bash", touch()).json()["needs_confirmation"] == true;
    assert!(must_confirm());
    let decision = scratch.open().explain("clemini/bash", touch()).decision;
    assert_eq!(decision.because, "mind the gap");
    assert_eq!(decision.rule, "rule `x`: mind the gap");
    // A project's rule asks a person at once.
    scratch.put_rules("");
    scratch.put(".toolcrib/rules.toml", rule);
    assert!(!must_confirm());
    assert_eq!(scratch.open().decide_command("touch a"), "ask");
    // The agent reads the reason, too.
    scratch.put(".toolcrib/rules.toml", rule.replace("\"ask\"\nconfirm = true", "\"deny\""));
    let refused = scratch.open().call("clemini/bash", touch());
    assert!(refused.text().contains("mind the gap"), "{}", refused.text());
}

#[test]
fn a_rule_ends_when_it_expires() {
    for (expires, expect) in [("2020-01-31T12:00:00Z", "ask"), ("2999-01-31T12:00:00Z", "deny")] {
        let scratch = Scratch::new();
        scratch.put_rules(&format!(
            "[[rule]]\nargv = [\"touch\"]\neffect = \"deny\"\nexpires = \"{expires}\"\n"
        ));
        assert_eq!(scratch.open().decide_command("touch a"), expect, "{expires}");
    }
}

#[test]
fn a_disabled_rule_is_checked_and_decides_nothing() {
    for (enabled, expect) in [("false", "ask"), ("true", "deny")] {
        let scratch = Scratch::new();
        scratch.put_rules(&format!(
            "[[rule]]\nargv = [\"touch\"]\neffect = \"deny\"\nenabled = {enabled}\n"
        ));
        assert_eq!(scratch.open().decide_command("touch a"), expect, "enabled = {enabled}");
    }
    for wrong in ["effect = \"maybe\"", "effect = \"deny\"\nwords = '(a'"] {
        let text = format!("[[rule]]\nenabled = false\n{wrong}\n");
        let read = rules_in(&text, "x", Layer::Operator, Some(&BashReader::default()));
        assert!(read.is_err(), "{wrong}");
    }
}

#[test]
fn a_rule_for_git_push_covers_the_usual_remotes_alone() {
    let scratch = Scratch::new();
    scratch.put_rules("[[rule]]\nargv = [\"git\", \"push\"]\neffect = \"allow\"\n");
    let crib = scratch.open();
    for (command, expect) in [
        ("git push origin main", "allow"),
        ("git push upstream main", "allow"),
        ("git push other main", "ask"),
        ("git push https://evil.example/x.git main", "ask"),
        ("git push ./evil.git main", "ask"),
    ] {
        assert_eq!(crib.decide_command(command), expect, "{command}");
    }
}

#[test]
fn programs_that_obey_their_directory_are_not_covered_elsewhere() {
    let scratch = Scratch::new();
    let programs = ["make", "cargo", "npm", "git", "./prog", "cat", "grep", "cp"];
    scratch.put_rules(&format!("[[rule]]\nargv = [{programs:?}]\neffect = \"allow\"\n"));
    scratch.put("sub/a", "");
    let crib = scratch.open_with(&["policy.shipped=[]"]);
    for (command, elsewhere) in [
        ("make", "ask"),
        ("cargo build", "ask"),
        ("npm test", "ask"),
        ("git status", "ask"),
        ("./prog", "ask"),
        ("cat a", "allow"),
        ("grep x a", "allow"),
        ("cp a b", "allow"),
    ] {
        let there = json!({"command": command, "working_directory": "sub"});
        assert_eq!(crib.decide("clemini/bash", there), elsewhere, "{command}");
        assert_eq!(crib.decide_command(command), "allow", "the control: {command}");
    }
}
