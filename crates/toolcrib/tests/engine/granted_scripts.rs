//! Grants for commands that run scripts: they hold while the scripts are the same.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolcrib_core::policy::{Answer, Covers};
use toolcrib_runtime::Choice;

use crate::always::{NO_SANDBOX, command_choices, say_always};
use crate::opened::Scratch;

/// Scripts in the words of commands: the command, the script, and a file that is only data for it.
const SCRIPT_COMMANDS: &[(&str, &str, Option<&str>)] = &[
    ("sh run.sh all", "run.sh", None),
    ("bash -ex +o posix run.sh data", "run.sh", Some("data")),
    ("bash --posix run.sh", "run.sh", None),
    ("python3 -W error x.py data", "x.py", Some("data")),
    ("python3.11 -u sub/x.py data", "sub/x.py", Some("data")),
    ("python3 -m pkg.mod data", "pkg/mod.py", Some("data")),
    ("python3 pkg", "pkg/__main__.py", None),
    ("node run data", "run.js", Some("data")),
    ("node -r ./hook.js run.js", "./hook.js", None),
    ("perl -w x.pl", "x.pl", None),
    ("ruby -r ./hook x.rb", "./hook.rb", None),
    ("awk -f x.awk data", "x.awk", Some("data")),
    ("timeout 60 sh run.sh", "run.sh", None),
    ("timeout 60 ./run.sh", "./run.sh", None),
    ("env A=b python3 x.py", "x.py", None),
    ("sh -c './run.sh all'", "./run.sh", None),
    ("bash -c 'cd sub && sh run.sh'", "run.sh", None),
    ("sh < run.sh", "run.sh", None),
    ("pypy < x.py", "x.py", None),
    ("make -f - < run.sh", "run.sh", None),
    ("/usr/bin/python3 x.py", "x.py", None),
    ("nohup python3 x.py > log 2>&1", "x.py", None),
    ("python3 x.py | head -5", "x.py", None),
    ("env -S 'sh run.sh'", "run.sh", None),
    ("find . -name data -exec sh run.sh {} +", "run.sh", None),
    ("xargs -n1 sh run.sh < data", "run.sh", None),
    ("poetry run python x.py", "x.py", None),
    ("source ./run.sh", "./run.sh", None),
    ("sudo -u nobody bash run.sh", "run.sh", None),
    ("if true; then sh run.sh; fi", "run.sh", None),
    ("bash -oe pipefail run.sh data", "run.sh", Some("data")),
    ("bash -eo pipefail run.sh data", "run.sh", Some("data")),
    ("bash -euxo pipefail run.sh", "run.sh", None),
    ("perl -im x.pl data", "x.pl", Some("data")),
    ("perl -F x.pl data", "x.pl", Some("data")),
    ("ruby -ir x.rb data", "x.rb", Some("data")),
    ("sed -ie -f x.sed data", "x.sed", Some("data")),
    ("python3 -m cProfile x.py", "x.py", None),
    ("python3 -m cProfile -s time -o out x.py", "x.py", None),
    ("python3 -m coverage run x.py", "x.py", None),
    ("python3 -m somebody.else x.py data", "x.py", Some("data")),
    ("coverage run x.py data", "x.py", Some("data")),
    ("/lib64/ld-linux-x86-64.so.2 /bin/sh run.sh data", "run.sh", Some("data")),
    ("vim -S x.vim", "x.vim", None),
    ("psql -f x.sql", "x.sql", None),
    ("at -f run.sh now", "run.sh", None),
    ("PYTHONPATH=sub python3 -m mod", "mod.py", None),
];

#[test]
fn a_grant_is_for_the_script_that_it_was_given_for() {
    for (command, script, data) in SCRIPT_COMMANDS {
        for choice in [0, 1] {
            let scratch = Scratch::new();
            let path = match *command {
                it if it.contains("cd sub") => "sub/run.sh",
                it if it.contains("=sub") => "sub/mod.py",
                _ => script,
            };
            for file in [
                "sub/", "pkg/", "run.sh", "x.py", "x.pl", "x.rb", "x.awk", "run.js", "data",
                "pipefail", "Makefile",
            ] {
                scratch.put(file, "one\n");
            }
            scratch.put(path, "one\n");
            scratch.set_mode("run.sh", 0o755);
            let crib = scratch.open_with(&[NO_SANDBOX]);
            let offered = command_choices(&crib, command);
            if offered.get(choice).is_none_or(|it| it.1.is_some()) {
                assert_eq!(choice, 1, "{command}: {offered:?}");
                continue;
            }
            say_always(&crib, command, choice);
            assert_eq!(crib.decide_command(command), "allow", "the control: {command}");
            scratch.put(path, "two\n");
            assert_eq!(crib.decide_command(command), "ask", "{command}");
            let told = crib.explain("clemini/bash", json!({"command": command})).decision.rule;
            let why = format!("`{script}` changed since grant `");
            assert!(told.contains(&why), "{command}: {told}");
            fs::remove_file(scratch.work().join(path)).unwrap();
            assert_eq!(crib.decide_command(command), "ask", "{command}: it is gone");
            scratch.put(path, "one\n");
            if path == "run.sh" {
                scratch.set_mode("run.sh", 0o755);
            }
            assert_eq!(crib.decide_command(command), "allow", "the control: {command}");
            if let Some(data) = data {
                scratch.put(data, "two\n");
                assert_eq!(crib.decide_command(command), "allow", "{command}: only data changed");
            }
        }
    }
}

#[test]
fn a_grant_does_not_cover_a_script_that_comes_later() {
    let scratch = Scratch::new();
    let crib = scratch.open_with(&[NO_SANDBOX]);
    for (command, script) in [
        ("python3 x.py", "x.py"),
        ("python3 -m mod", "mod.py"),
        ("node run", "run.js"),
        ("uv run y.py", "y.py"),
    ] {
        say_always(&crib, command, 1);
        assert_eq!(crib.decide_command(command), "allow", "the control: {command}");
        scratch.put(script, "one\n");
        assert_eq!(crib.decide_command(command), "ask", "{command}");
        say_always(&crib, command, 1);
        assert_eq!(crib.decide_command(command), "allow", "the control: {command}");
        scratch.put(script, "two\n");
        assert_eq!(crib.decide_command(command), "ask", "{command}");
    }
}

#[test]
fn a_grant_for_a_script_is_not_bound_to_other_steps() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "one\n");
    scratch.put("other.sh", "one\n");
    scratch
        .put_rules("[[rule]]\nargv = [\"sh\", \"other.sh\"]\nexact = true\neffect = \"allow\"\n");
    let crib = scratch.open_with(&[NO_SANDBOX]);
    say_always(&crib, "sh run.sh", 1);
    scratch.put("other.sh", "two\n");
    assert_eq!(crib.decide_command("sh other.sh; sh run.sh"), "allow");
    scratch.put("run.sh", "two\n");
    assert_eq!(crib.decide_command("sh other.sh; sh run.sh"), "ask");
    // A rule that names all words holds whatever the script contains.
    assert_eq!(crib.decide_command("sh other.sh"), "allow");
}

#[test]
fn a_grant_is_not_bound_to_files_that_drive_a_program() {
    let scratch = Scratch::new();
    scratch.put("Makefile", "all:\n");
    let crib = scratch.open_with(&[NO_SANDBOX]);
    assert_eq!(crib.decide_command("make all"), "ask", "the control");
    say_always(&crib, "make all", 1);
    scratch.put("Makefile", "all:\n\ttouch made\n");
    assert_eq!(crib.decide_command("make all"), "allow");
}

#[test]
fn the_offer_says_that_changes_of_the_script_are_asked_about() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "one\n");
    let crib = scratch.open_with(&[NO_SANDBOX]);
    let words = |command: &str| {
        let shown = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&shown);
        crib.ask("clemini/bash", json!({"command": command}), move |question| {
            let words = question.shown.grants.iter().map(|offer| offer.words.clone());
            seen.lock().unwrap().extend(words);
            Answer::No("a person".to_owned(), String::new())
        });
        shown.lock().unwrap().join("\n")
    };
    let script = words("sh run.sh");
    assert!(
        script.contains("`sh run.sh` (new flags and changes to `run.sh` are asked about)"),
        "{script}"
    );
    assert!(script.contains("this exact call (changes to `run.sh` are asked about)"), "{script}");
    let none = words("cargo build");
    assert!(none.contains("`cargo build`, here") && !none.contains("changes of"), "{none}");
}

#[test]
fn a_script_that_is_known_only_when_the_command_runs_cannot_be_granted() {
    let scratch = Scratch::new();
    scratch.put("a.sh", "one\n");
    let crib = scratch.open_with(&[NO_SANDBOX]);
    let choices = command_choices(&crib, "for f in *.sh; do sh \"$f\"; done");
    let why = choices[0].1.as_deref().unwrap_or_default();
    assert!(why.contains("cannot tell whether `"), "{choices:?}");
    // The control: with names in the command, it can.
    let named = "for f in a.sh; do sh \"$f\"; done";
    assert_eq!(command_choices(&crib, named)[0].1, None);
    say_always(&crib, named, 0);
    assert_eq!(crib.decide_command(named), "allow");
    scratch.put("a.sh", "two\n");
    assert_eq!(crib.decide_command(named), "ask");
}

/// Gives a grant for the first command, changes a file, and returns what is decided about the second one.
pub(crate) fn after_change(files: &[&str], granted: &str, changed: &str, again: &str) -> String {
    let scratch = Scratch::new();
    for file in files {
        scratch.put(file, "one\n");
        if !file.ends_with('/') {
            scratch.set_mode(file, 0o755);
        }
    }
    let crib = scratch.open_with(&[NO_SANDBOX]);
    let offered = command_choices(&crib, granted);
    let is_wide = |it: &Choice| it.1.is_none() && matches!(it.0, Covers::Argv(_));
    let choice = offered.iter().position(is_wide);
    let Some(choice) = choice.or_else(|| offered.iter().position(|it| it.1.is_none())) else {
        return "not offered".to_owned();
    };
    say_always(&crib, granted, choice);
    assert_eq!(crib.decide_command(granted), "allow", "the control: {granted}");
    scratch.put(changed, "two\n");
    scratch.set_mode(changed, 0o755);
    crib.decide_command(again).to_owned()
}

#[test]
fn what_another_step_names_still_belongs_to_the_step_that_runs_it() {
    let files = ["mod.py", "run.js", "d/__main__.py"];
    for (granted, changed, again) in [
        ("python3 -m mod", "mod.py", "echo mod.py; python3 -m mod"),
        ("node run", "run.js", "cat run.js; node run"),
        ("python3 d", "d/__main__.py", "cat d/__main__.py; python3 d"),
    ] {
        assert_eq!(after_change(&files, granted, changed, again), "ask", "{again}");
        assert_eq!(after_change(&files, granted, "other", again), "allow", "the control: {again}");
    }
}

#[test]
fn a_program_is_compared_in_every_folder_that_it_could_be_of() {
    let files = ["run.sh", "sub/run.sh"];
    for granted in [
        "cd sub && ./run.sh",
        "(cd sub && ./run.sh)",
        "bash -c 'cd sub && ./run.sh'",
        "env -C sub ./run.sh",
        "cd sub && timeout 9 ./run.sh",
    ] {
        assert_ne!(after_change(&files, granted, "sub/run.sh", granted), "allow", "{granted}");
    }
    assert_eq!(after_change(&files, "cd sub && ./run.sh", "other", "cd sub && ./run.sh"), "allow");
}

#[test]
fn what_is_found_only_when_the_command_runs_is_not_granted() {
    let files = ["run.sh", "s/run.sh", "l"];
    for granted in [
        r"find s -name run.sh -exec sh {} \;",
        r"find s -name run.sh -execdir sh run.sh \;",
        r"find s -name run.sh -execdir ./run.sh \;",
        "xargs -a l sh",
    ] {
        assert_ne!(after_change(&files, granted, "s/run.sh", granted), "allow", "{granted}");
    }
}

#[test]
fn a_package_that_comes_later_is_not_the_module_that_was_granted() {
    let granted = "python3 -m mod";
    let added = "mod/__main__.py";
    assert_eq!(after_change(&["mod.py"], granted, added, granted), "ask");
    assert_eq!(after_change(&["mod.py"], granted, "other", granted), "allow", "the control");
}

#[test]
fn a_script_that_is_too_large_to_compare_is_not_granted() {
    let scratch = Scratch::new();
    for (name, size, is_offered) in [("small.sh", 1 << 10, true), ("large.sh", 9 << 20, false)] {
        scratch.put(name, format!("#{}\necho one\n", "x".repeat(size)));
        let crib = scratch.open_with(&[NO_SANDBOX]);
        let offered = command_choices(&crib, &format!("sh {name}"));
        assert_eq!(offered.iter().any(|it| it.1.is_none()), is_offered, "{name}: {offered:?}");
    }
}
