//! Which rule wins: tier and mode, the strictest rule, and what each kind of rule can do.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::Tier;
use toolcrib_runtime::YesToAgent;
use toolcrib_tools::CATALOGUES;

use crate::opened::{Opened, Scratch};

const MODES: [&str; 3] = ["mode=strict", "mode=standard", "mode=permissive"];

/// Returns the verdict about a command in each mode.
fn in_each_mode(scratch: &Scratch, command: &str) -> [&'static str; 3] {
    MODES.map(|mode| scratch.open_with(&[mode]).decide_command(command))
}

fn rule(id: &str, effect: &str, rest: &str) -> String {
    format!("[[rule]]\nid = \"{id}\"\neffect = \"{effect}\"\n{rest}\n")
}

#[test]
fn each_row_of_the_table_of_tiers_is_true() {
    let scratch = Scratch::new();
    scratch.put("a", "old");
    let replace = json!({"path": "a", "old_string": "old", "new_string": "new"});
    for (tool, tier, args, expect) in [
        ("nachos/calculator", Tier::Safe, json!({"expression": "1"}), ["allow", "allow", "allow"]),
        ("wink/read_file", Tier::Standard, json!({"path": "a"}), ["ask", "allow", "allow"]),
        (
            "wink/create_file",
            Tier::Elevated,
            json!({"path": "b", "content": ""}),
            ["ask", "ask", "allow"],
        ),
        ("wink/replace_string_in_file", Tier::Restricted, replace, ["deny", "ask", "ask"]),
        ("clemini/bash", Tier::Restricted, json!({"command": "touch x"}), ["deny", "ask", "ask"]),
    ] {
        let got = MODES.map(|mode| scratch.open_with(&[mode]).decide(tool, args.clone()));
        assert_eq!(got, expect, "{tool}");
        let told = scratch.open().explain(tool, args).decision.rule;
        assert_eq!(told, format!("tier {} in mode standard", tier.number()));
    }
    let all = CATALOGUES.iter().flat_map(|catalogue| catalogue.tools);
    assert!(all.map(|tool| tool.declaration()).all(|it| it.tier != Tier::Dangerous));
}

#[test]
fn the_strictest_rule_that_matches_decides_in_any_order() {
    let about = "argv = [\"touch\"]";
    let rules = ["allow", "ask", "deny"].map(|effect| rule(effect, effect, about));
    let decided = |rules: &[&String]| {
        let scratch = Scratch::new();
        scratch.put_rules(&rules.iter().map(|it| it.as_str()).collect::<String>());
        scratch.open().decide_command("touch x")
    };
    let [allow, ask, deny] = &rules;
    assert_eq!(decided(&[allow]), "allow", "the control");
    for both in [[allow, ask], [ask, allow]] {
        assert_eq!(decided(&both), "ask");
    }
    for all in [[allow, ask, deny], [deny, ask, allow], [ask, deny, allow]] {
        assert_eq!(decided(&all), "deny");
    }
    // A rule about something else does not count: tier and mode decide.
    let scratch = Scratch::new();
    scratch.put_rules(deny);
    assert_eq!(in_each_mode(&scratch, "mkdir x"), ["deny", "ask", "ask"]);
}

#[test]
fn an_audit_rule_decides_nothing_and_is_on_the_record() {
    let scratch = Scratch::new();
    scratch.put_rules(&rule("watch", "audit", "paths = [\"a\", \"new\"]"));
    scratch.put("a", "x");
    scratch.put("b", "x");
    let crib = scratch.open();
    let recorded = |args: Value, tool: &str, kind: &str| {
        assert_eq!(crib.call(tool, args).kind(), kind);
        let record = scratch.record();
        let decided = record.iter().rev().find(|line| line["event"] == "decided").unwrap();
        decided["rule"].as_str().unwrap().to_owned()
    };
    let plain = "tier 1 in mode standard";
    assert_eq!(recorded(json!({"path": "b"}), "wink/read_file", "ok"), plain, "the control");
    let noted = recorded(json!({"path": "a"}), "wink/read_file", "ok");
    assert_eq!(noted, format!("{plain}; audit rules: `watch`"));
    // A call that nobody approved is noted too.
    let write = json!({"path": "new", "content": "x"});
    let noted = recorded(write, "wink/create_file", "approval_required");
    assert!(noted.ends_with("; audit rules: `watch`"), "{noted}");
}

#[test]
fn only_an_own_rule_allows_what_tier_and_mode_refuse() {
    let scratch = Scratch::new();
    // `ls` is harmless by a rule that ships with Toolcrib.
    assert_eq!(in_each_mode(&scratch, "ls"), ["deny", "allow", "allow"]);
    scratch.put_rules(&rule("own", "allow", "argv = [\"ls\"]"));
    assert_eq!(in_each_mode(&scratch, "ls"), ["allow"; 3]);
}

#[test]
fn an_ask_rule_never_loosens() {
    let scratch = Scratch::new();
    scratch.put_rules(&rule("asks", "ask", "argv = [[\"ls\", \"touch\"]]"));
    assert_eq!(in_each_mode(&scratch, "touch x"), ["deny", "ask", "ask"]);
    assert_eq!(in_each_mode(&scratch, "ls"), ["deny", "ask", "ask"], "the control: it tightens");
}

#[test]
fn an_allow_rule_covers_every_part_and_a_deny_rule_any() {
    let scratch = Scratch::new();
    let allow = [
        rule("words", "allow", "argv = [[\"touch\", \"mkdir\"]]"),
        rule("hosts", "allow", "argv = [\"curl\"]\nhosts = [\"good.example\"]"),
        rule("out", "allow", "paths = [\"out/**\"]"),
        rule("no", "deny", "argv = [\"nc\"]"),
    ];
    scratch.put_rules(&allow.concat());
    let crib = scratch.open();
    for (command, expect) in [
        ("touch a && mkdir b", "allow"),
        ("touch a && install b", "ask"),
        ("touch a > out/log", "allow"),
        ("touch a > other/log", "ask"),
        ("curl https://good.example/", "allow"),
        ("curl https://good.example/ https://other.example/", "ask"),
        ("touch a && mkdir b && nc x", "deny"),
    ] {
        assert_eq!(crib.decide_command(command), expect, "{command}");
    }
    // Every path of a file tool, too.
    let write = |path: &str| crib.decide("wink/create_file", json!({"path": path, "content": ""}));
    assert_eq!((write("out/a"), write("b")), ("allow", "ask"));
}

#[test]
fn commands_that_do_not_show_their_files_are_not_allowed_by_their_words() {
    const WORDS: &str = "argv = [[\"cat\", \"cd\", \"ln\", \"mv\", \"cp\", \"git\"]]";
    let commands = [
        "cat /usr/share/x",
        "cd sub && cat a",
        "ln -s b c && cat c/x",
        "mv b c && cat c/x",
        "cp -r b c && cat c/x",
        "git checkout side && cat c/x",
    ];
    let scratch = Scratch::new();
    scratch.put("sub/a", "");
    let own = rule("own", "allow", WORDS);
    scratch.put_rules(&own);
    for command in commands {
        assert_eq!(scratch.open().decide_command(command), "allow", "the control: {command}");
    }
    for effect in ["ask", "deny"] {
        scratch.put_rules(&format!("{own}{}", rule("keys", effect, "paths = [\"keys/**\"]")));
        for command in commands {
            assert_eq!(in_each_mode(&scratch, command), ["deny", "ask", "ask"], "{command}");
        }
        assert_eq!(scratch.open().decide_command("cat sub/a"), "allow");
    }
}

#[test]
fn a_blocked_command_does_not_run_whoever_approves_it() {
    let scratch = Scratch::new();
    let run = |crib: &Opened, command: &str| {
        crib.approve("clemini/bash", json!({"command": command})).0.reply["error_code"].clone()
    };
    scratch.put_rules(&rule("own", "allow", "argv = [\"rm\"]"));
    // No command can start here, so what is approved fails for that reason.
    let crib = scratch.open_with(&["sandbox.bubblewrap=/nowhere/bwrap"]);
    assert_eq!(run(&crib, "rm -rf /"), "BLOCKED");
    assert_ne!(run(&crib, "touch x"), "BLOCKED", "the control");
}

#[test]
fn yes_given_beforehand_confirms_the_own_call_and_not_those_of_an_agent() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&["sandbox.bubblewrap=/nowhere/bwrap"]);
    let args = json!({"command": "rm -rf target"});
    let told = crib.call("clemini/bash", args.clone());
    assert_eq!(told.json()["needs_confirmation"], true, "the control: {}", told.text());
    let approved = crib.approve("clemini/bash", args);
    assert!(approved.json().get("needs_confirmation").is_none(), "{}", approved.text());
    assert!(!approved.text().contains("approval"), "{}", approved.text());
    // The calls of an agent: each is told once, and runs when it comes again.
    let agent = crib.crib.runtime(Arc::new(YesToAgent("--yes".to_owned()))).unwrap();
    let call = |args: &Value| crib.call_in(&agent, "clemini/bash", args.clone());
    let confirmed = json!({"command": "rm -rf target", "confirmed": true});
    for unmet in [&confirmed, &json!({"command": "rm -rf target"})] {
        let told = call(unmet);
        assert_eq!(told.json()["error_code"], "NEEDS_CONFIRMATION", "{unmet}: {}", told.text());
        assert!(!told.text().contains("a person"), "{}", told.text());
    }
    let ran = call(&confirmed);
    assert!(ran.json().get("needs_confirmation").is_none(), "{}", ran.text());
    assert!(ran.text().contains("bubblewrap"), "it was about to run: {}", ran.text());
    let plain = call(&json!({"command": "touch x"}));
    assert!(plain.json().get("needs_confirmation").is_none(), "the control: {}", plain.text());
}

#[test]
fn shipped_files_are_selected_and_single_rules_switched_off() {
    let scratch = Scratch::new();
    let told = |settings: &[&str], command: &str| {
        let crib = scratch.open_with(settings);
        let decision = crib.explain("clemini/bash", json!({"command": command})).decision;
        (decision.verdict().as_str(), decision.rule.contains("tier 3"))
    };
    for (file, command, verdict) in
        [("blocked", "rm -rf /", "deny"), ("caution", "rm x", "ask"), ("harmless", "ls", "allow")]
    {
        let only = format!("policy.shipped=[\"{file}\"]");
        assert_eq!(told(&[&only], command), (verdict, false), "{file}");
        assert_eq!(told(&["policy.shipped=[]"], command), ("ask", true), "{file}");
    }
    assert_eq!(told(&["policy.without=caution-delete"], "rm x"), ("ask", true));
    assert_eq!(told(&["policy.without=caution-delete"], "chmod +x a"), ("ask", false));
}

#[test]
fn a_session_that_could_reach_the_network_is_asked() {
    const TAINTED: [&str; 3] =
        ["mode=permissive", "policy.tainted=ask", "sandbox.egress=[\"a.example\"]"];
    let scratch = Scratch::new();
    scratch.put("a", "x");
    for (settings, expect) in [(&TAINTED[..2], "ok"), (&TAINTED[..], "approval_required")] {
        let crib = scratch.open_with(settings);
        let read = || crib.call("wink/read_file", json!({"path": "a"})).kind();
        assert_eq!(read(), "ok", "{settings:?}: before");
        crib.call("clemini/write_file", json!({"file_path": "b", "content": "x"})).done();
        assert_eq!(read(), expect, "{settings:?}");
        crib.call("nachos/calculator", json!({"expression": "1"})).done();
    }
}
