//! Grants for commands that say where programs and scripts are looked for: they hold while what is found is the same.

use crate::always::{NO_SANDBOX, command_choices};
use crate::granted_scripts::after_change;
use crate::opened::Scratch;

#[test]
fn a_script_is_compared_where_the_command_finds_it() {
    // The command, the script that it runs, and a file of the same name that it does not run.
    for (granted, script, other) in [
        ("cd a && cd b && ./run.sh", "a/b/run.sh", "run.sh"),
        (r#"cd a && cd "$PWD/b" && ./run.sh"#, "a/b/run.sh", "run.sh"),
        (r#"cd a && cd "${PWD}/b" && sh run.sh"#, "a/b/run.sh", "run.sh"),
        ("CDPATH=a; cd b && ./run.sh", "a/b/run.sh", "b/run.sh"),
        ("CDPATH=a cd b && ./run.sh", "a/b/run.sh", "b/run.sh"),
        ("export CDPATH=$PWD/a; cd b; sh run.sh", "a/b/run.sh", "b/run.sh"),
        ("PATH=$PWD/p:$PATH; . run.sh", "p/run.sh", "run.sh"),
        ("PATH=p:$PATH source run.sh", "p/run.sh", "run.sh"),
        ("PATH=$PWD/p:$PATH tool", "p/tool", "tool"),
        ("export PATH=p:$PATH; touch a", "p/touch", "touch"),
        ("env PATH=p touch a", "p/touch", "touch"),
    ] {
        let files = ["b/", "a/b/", "p/", script, other];
        assert_ne!(after_change(&files, granted, script, granted), "allow", "{granted}");
        let control = after_change(&files, granted, "unrelated", granted);
        assert_eq!(control, "allow", "the control: {granted}");
    }
}

#[test]
fn a_file_that_a_variable_or_a_part_of_a_word_names_is_compared() {
    for (granted, script) in [
        ("vim -es -Sx.vim", "x.vim"),
        ("ex -sc 'source x.vim'", "x.vim"),
        ("make SHELL=./run.sh all", "run.sh"),
        ("NODE_OPTIONS='--require ./hook.js' node run.js", "hook.js"),
        ("env NODE_OPTIONS=--require=./hook.js node run.js", "hook.js"),
        ("BASH_ENV=run.sh bash -c ls", "run.sh"),
        ("export BASH_ENV=run.sh; bash -c ls", "run.sh"),
        ("LD_PRELOAD=$PWD/run.sh ls", "run.sh"),
        ("GIT_SSH_COMMAND='./run.sh -v' git fetch", "run.sh"),
    ] {
        for files in [&[script, "run.js", "Makefile"][..], &["run.js", "Makefile"]] {
            let changed = after_change(files, granted, script, granted);
            assert_eq!(changed, "ask", "{granted}: {files:?}");
            let control = after_change(files, granted, "other", granted);
            assert_eq!(control, "allow", "the control: {granted}");
        }
    }
}

#[test]
fn a_program_that_comes_first_later_is_not_the_one_that_was_granted() {
    for granted in ["PATH=p:$PATH touch a", "PATH=$PATH:; export PATH; unheard-of a"] {
        let added = if granted.contains("p:") { "p/touch" } else { "unheard-of" };
        assert_eq!(after_change(&["p/"], granted, added, granted), "ask", "{granted}");
        assert_eq!(after_change(&["p/"], granted, "other", granted), "allow", "the control");
    }
}

#[test]
fn a_folder_whose_files_are_run_is_compared_as_a_whole() {
    let files = ["d/one", "d/two", "e/one"];
    for (changed, expected) in [("d/one", "ask"), ("d/three", "ask"), ("e/one", "allow")] {
        let got = after_change(&files, "run-parts d", changed, "run-parts d");
        assert_eq!(got, expected, "{changed}");
    }
}

#[test]
fn where_nobody_knows_what_is_found_nothing_is_granted() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "one\n");
    scratch.set_mode("run.sh", 0o755);
    let crib = scratch.open_with(&[NO_SANDBOX]);
    for (command, name) in [
        (r#"cd "$(cat where)" && ./run.sh"#, "cd $(cat where)"),
        ("read d < where; cd $d; sh run.sh", "cd $d"),
        ("D=b; cd a && cd $D && ./run.sh", "cd $D"),
        ("PATH=$(cat where):$PATH run", "PATH"),
        ("BASH_ENV=$X bash -c ls", "BASH_ENV"),
    ] {
        let choices = command_choices(&crib, command);
        let why = choices[0].1.as_deref().unwrap_or_default();
        assert!(why.contains(&format!("cannot tell whether `{name}`")), "{command}: {choices:?}");
    }
    // The controls: no script is named, the folder is spelt out, and a variable that finds nothing.
    for command in [
        r#"cd "$(cat where)" && touch a"#,
        "cd sub && ./run.sh",
        "PATH=$HOME/bin:$PATH touch a",
        "TOKEN=$(cat where) touch a",
    ] {
        scratch.put("sub/run.sh", "one\n");
        assert_eq!(command_choices(&crib, command)[0].1, None, "{command}");
    }
}

#[test]
fn modules_that_check_code_do_not_end_a_grant_when_the_code_changes() {
    for command in ["python3 -m pytest x.py", "python3 -m mypy x.py"] {
        assert_eq!(after_change(&["x.py"], command, "x.py", command), "allow", "{command}");
    }
    let command = "python3 -m pdb x.py";
    assert_eq!(after_change(&["x.py"], command, "x.py", command), "ask", "the control");
}
