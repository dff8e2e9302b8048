//! Grants for commands that run scripts: they hold while the scripts are the same.

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolcrib_core::policy::Answer;

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
];

#[test]
fn a_grant_is_for_the_script_that_it_was_given_for() {
    for (command, script, data) in SCRIPT_COMMANDS {
        for choice in [0, 1] {
            let scratch = Scratch::new();
            let path = if command.contains("cd sub") { "sub/run.sh" } else { script };
            for file in
                ["sub/", "pkg/", "run.sh", "x.py", "x.pl", "x.rb", "x.awk", "run.js", "data"]
            {
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
