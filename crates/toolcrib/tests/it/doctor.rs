//! `toolcrib doctor` where something is broken: it names what, goes on, and fails.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::scratch::Scratch;

const USER: &str = "home/.config/toolcrib";

/// Breaks something, and checks that calls stop with exit code 2 while `doctor` names `part` as broken,
/// says why, still looks at the others, and exits with 1.
#[track_caller]
fn check_broken(scratch: &Scratch, words: &[&str], part: &str, says: &str) {
    let call = ["call", "forgekeeper/echo", "text=x"];
    let ran = scratch.run(words.iter().copied().chain(call));
    assert_eq!(ran.code, 2, "{part}: {}{}", ran.stdout, ran.stderr);
    let ran = scratch.run(words.iter().copied().chain(["doctor", "--json"]));
    assert_eq!(ran.code, 1, "{part}: {}{}", ran.stdout, ran.stderr);
    let all = ran.json();
    assert_eq!(all[part]["ok"], false, "{all}");
    assert!(all[part]["says"].as_str().unwrap().contains(says), "{all}");
    for other in ["version", "kernel", "workspace", "settings", "rules", "state"] {
        assert!(all[other]["says"].is_string(), "{other} is looked at too: {all}");
    }
    let ran = scratch.run(words.iter().copied().chain(["doctor"]));
    assert_eq!(ran.code, 1, "{part}: {}", ran.stdout);
    let line = ran.stdout.lines().find(|line| line.starts_with(&format!("✗ {part}")));
    assert!(line.is_some_and(|line| line.contains(says)), "{part}: {}", ran.stdout);
}

/// The positive control: nothing is broken, so every part is good.
#[track_caller]
fn check_whole(scratch: &Scratch) {
    let ran = scratch.run(["doctor", "--json"]);
    let all = ran.json();
    for part in ["version", "kernel", "workspace", "settings", "mode", "tools", "rules", "state"] {
        assert_eq!(all[part]["ok"], true, "{part}: {all}");
    }
    assert!(all.get("calls").is_none(), "{all}");
    assert!(!all["sandbox"].as_array().unwrap().is_empty(), "{all}");
    let mechanisms = all["sandbox"].as_array().unwrap();
    let is_enforced = mechanisms.iter().all(|it| it["state"] == "enforced");
    assert_eq!(ran.code, i32::from(!is_enforced), "{all}");
}

#[test]
fn broken_rules_are_named_and_the_sandbox_is_still_examined() {
    let scratch = Scratch::new();
    check_whole(&scratch);
    for place in [USER, "project/.toolcrib"] {
        let file = format!("{place}/rules.toml");
        scratch.put_at(&file, "[[rule]]\ndecision = \"perhaps\"\n");
        check_broken(&scratch, &[], "rules", "rules.toml");
        let all = scratch.run(["doctor", "--json"]).json();
        assert!(!all["sandbox"].as_array().unwrap().is_empty(), "{all}");
        scratch.put_at(&file, "");
        check_whole(&scratch);
    }
}

#[test]
fn everything_that_is_wrong_with_settings_and_rules_is_named_at_once() {
    let scratch = Scratch::new();
    let rules =
        "[[rule]]\npath = \"a\"\neffect = \"ask\"\n\n[[rule]]\ncommand = \"b\"\neffect = \"ask\"\n";
    scratch.put_at(&format!("{USER}/rules.toml"), rules);
    scratch.put_at("project/.toolcrib/rules.toml", "[[rule]]\neffect = \"perhaps\"\n");
    let says = |part: &str| {
        let all = scratch.run(["doctor", "--json"]).json();
        let more = all[part]["more"].as_array().cloned().unwrap_or_default();
        let all = std::iter::once(all[part].clone()).chain(more);
        all.map(|it| it["says"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let found = says("rules");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].ends_with("line 2: a rule has no field `path`: did you mean `paths`?"),
        "{found:?}"
    );
    assert!(
        found[1].ends_with("line 6: a rule has no field `command`: did you mean `argv`?"),
        "{found:?}"
    );
    assert!(found[2].contains("`effect` must be"), "{found:?}");
    let shown = scratch.run(["doctor"]).stdout;
    assert_eq!(shown.lines().filter(|line| line.starts_with("✗ rules")).count(), 3, "{shown}");
    scratch.put_at(&format!("{USER}/config.toml"), "mod = 'strict'\nmode = 'loose'\n");
    scratch.put_at("project/.toolcrib/config.toml", "nope = 1\n");
    let found = says("settings");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[1].contains("`mode` must be") && found[2].contains("no setting `nope`"),
        "{found:?}"
    );
}

#[test]
fn broken_settings_are_named_and_the_rest_is_still_looked_at() {
    let scratch = Scratch::new();
    for place in [USER, "project/.toolcrib"] {
        let file = format!("{place}/config.toml");
        scratch.put_at(&file, "mode = 'loose'\n");
        check_broken(&scratch, &[], "settings", "`mode` must be");
        let all = scratch.run(["doctor", "--json"]).json();
        assert_eq!(all["workspace"]["ok"], true, "{all}");
        assert_eq!(all["state"]["ok"], true, "{all}");
        assert!(all["settings"]["fix"].as_str().unwrap().contains("config edit"), "{all}");
        assert_eq!(all["mode"]["ok"], false, "what is not known is not ticked: {all}");
        assert!(!all["sandbox"].as_array().unwrap().is_empty(), "{all}");
        scratch.put_at(&file, "mode = 'strict'\n");
        check_whole(&scratch);
        scratch.put_at(&file, "");
    }
    check_broken(&scratch, &["-c", "nope=1"], "settings", "no setting `nope`");
}

#[test]
fn a_forbidden_or_missing_workspace_is_named() {
    let scratch = Scratch::new();
    check_broken(&scratch, &["-C", "/"], "workspace", "`/`");
    let home = scratch.path("home");
    let home = home.to_str().unwrap();
    check_broken(&scratch, &["-C", home], "workspace", home);
    check_broken(&scratch, &["-C", "/nonexistent"], "workspace", "/nonexistent");
    for place in ["/", "/nonexistent"] {
        let all = scratch.run(["-C", place, "doctor", "--json"]).json();
        let elsewhere = scratch.run(["doctor", "--json"]).json();
        let names = |all: &Value| -> Vec<Value> {
            let findings = all["sandbox"].as_array().unwrap();
            findings.iter().map(|finding| finding["name"].clone()).collect()
        };
        assert_eq!(names(&all), names(&elsewhere), "the sandbox is examined all the same");
    }
    let all = scratch.run(["-C", "/", "doctor", "--json"]).json();
    assert!(all["workspace"]["fix"].as_str().unwrap().contains("-C DIR"), "{all}");
    check_whole(&scratch);
}

#[test]
fn a_state_folder_that_others_can_write_is_named() {
    let scratch = Scratch::new();
    check_whole(&scratch);
    let set_mode =
        |mode| fs::set_permissions(scratch.state(), fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o777);
    check_broken(&scratch, &[], "state", "other users can write");
    set_mode(0o700);
    check_whole(&scratch);
}

#[test]
fn what_stops_calls_is_named_whatever_it_is() {
    let scratch = Scratch::new();
    let missing = "forgekeeper.root=/nonexistent/root";
    check_broken(&scratch, &["-c", missing], "calls", "forgekeeper.root");
    let ran = scratch.run(["-c", "sandbox.egress_ports=http", "doctor"]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("✗ sandbox"), "{}", ran.stdout);
    assert!(ran.stdout.contains("`sandbox.egress_ports` must be"), "{}", ran.stdout);
    check_whole(&scratch);
}
