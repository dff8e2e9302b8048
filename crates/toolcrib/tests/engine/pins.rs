//! What an approval pins: the files and folders that a call names, and the files that drive its programs. A call does
//! not run if one of them changed since the question. No command of these tests runs. `tests/it/approvals.rs` has the
//! control that a command runs if nothing changed.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::{Arc, Mutex};

use serde_json::json;
use toolcrib_core::policy::Answer;
use toolcrib_runtime::Pins;

use crate::opened::Scratch;

fn bash(command: &str) -> serde_json::Value {
    json!({"command": command, "confirmed": true})
}

/// Returns what an approval of a command would pin.
fn pins_of(scratch: &Scratch, command: &str) -> Pins {
    let seen = Arc::new(Mutex::new(None));
    let sees = Arc::clone(&seen);
    let refused = scratch.open().ask("clemini/bash", bash(command), move |question| {
        *sees.lock().unwrap() = Some(question.pins.clone());
        Answer::No("a person".to_owned(), String::new())
    });
    let pins = seen.lock().unwrap().take();
    pins.unwrap_or_else(|| panic!("`{command}` was not asked about: {}", refused.text()))
}

fn pinned(scratch: &Scratch, command: &str) -> Vec<String> {
    pins_of(scratch, command).pinned.into_iter().map(|pin| pin.path).collect()
}

/// Asks about a command, makes a change before the answer, and checks that the command is refused because of it.
#[track_caller]
fn check_refused(
    scratch: &Scratch,
    command: &str,
    change: impl Fn(&Path) + Send + Sync + 'static,
    expect: &str,
) {
    let crib = scratch.open();
    let work = scratch.work();
    let got = crib.answer_after("clemini/bash", bash(command), move || change(&work));
    assert_eq!(got.kind(), "changed", "{command}: {}", got.text());
    let message = &got.0.error.as_ref().unwrap().message;
    assert!(message.contains(expect), "{command}: {message}");
    // The control: what is there now is asked about again, and nothing changes.
    let pins = pins_of(scratch, command);
    assert_eq!(pins.pinned, pins_of(scratch, command).pinned, "{command}");
}

fn write(name: &'static str, text: &'static str) -> impl Fn(&Path) + Send + Sync + 'static {
    move |work| fs::write(work.join(name), text).unwrap()
}

/// A command, a change before the answer, and what the refusal says of it.
type FolderChange = (&'static str, fn(&Path), &'static str);

#[test]
fn a_folder_that_a_command_names_is_pinned() {
    let tree = |scratch: &Scratch| {
        scratch.put("tpl/a", "one");
        scratch.put("tpl/sub/b", "two");
        scratch.put("src/main", "mine");
        scratch.put("build/x", "old");
        symlink("a", scratch.work().join("tpl/link")).unwrap();
    };
    let scratch = Scratch::new();
    tree(&scratch);
    assert_eq!(pinned(&scratch, "cp -r tpl out"), ["tpl"]);
    assert_eq!(pinned(&scratch, "rm -rf build"), ["build"]);
    let changes: [FolderChange; 8] = [
        (
            "cp -r tpl out",
            |work| fs::write(work.join("tpl/sub/b"), "owt").unwrap(),
            "`tpl` changed: `sub/b` in it changed",
        ),
        (
            "cp -r tpl out",
            |work| fs::write(work.join("tpl/new"), "").unwrap(),
            "`tpl` changed: `new` in it is new",
        ),
        (
            "mv tpl out",
            |work| fs::remove_file(work.join("tpl/a")).unwrap(),
            "`tpl` changed: `a` in it is gone",
        ),
        (
            "tar cf x.tar tpl",
            |work| {
                fs::remove_file(work.join("tpl/link")).unwrap();
                symlink("sub/b", work.join("tpl/link")).unwrap();
            },
            "`tpl` changed: `link` in it changed",
        ),
        (
            "cp -r tpl out",
            |work| {
                let mode = fs::Permissions::from_mode(0o755);
                fs::set_permissions(work.join("tpl/a"), mode).unwrap();
            },
            "`tpl` changed: `a` in it changed",
        ),
        (
            "rm -rf build",
            |work| {
                fs::rename(work.join("build"), work.join("gone")).unwrap();
                fs::rename(work.join("src"), work.join("build")).unwrap();
            },
            "`build` was replaced by something else",
        ),
        (
            "rm -rf build",
            |work| fs::rename(work.join("build"), work.join("gone")).unwrap(),
            "`build` is gone",
        ),
        (
            "rm -rf later",
            |work| fs::rename(work.join("src"), work.join("later")).unwrap(),
            "`later` is new",
        ),
    ];
    for (command, change, expect) in changes {
        let scratch = Scratch::new();
        tree(&scratch);
        check_refused(&scratch, command, change, expect);
    }
}

#[test]
fn what_is_no_change_of_a_folder_is_not_taken_for_one() {
    let scratch = Scratch::new();
    scratch.put("tpl/a", "one");
    scratch.put("tpl/.git/index", "1");
    let before = pins_of(&scratch, "cp -r tpl out").pinned;
    // An empty folder holds nothing, git writes while it reads, and a file that is written again has the same content.
    scratch.put("tpl/empty/", "");
    scratch.put("tpl/.git/index", "2");
    scratch.put("tpl/a", "one");
    assert_eq!(pins_of(&scratch, "cp -r tpl out").pinned, before);
    scratch.put("tpl/a", "two");
    assert_ne!(pins_of(&scratch, "cp -r tpl out").pinned, before, "the control");
}

#[test]
fn a_folder_that_is_too_large_is_named_as_not_pinned() {
    let scratch = Scratch::new();
    for number in 0..2001 {
        scratch.put(&format!("many/{number:04}"), "");
    }
    let expect = "what is in `many`, except 2000 of its files";
    assert_eq!(pins_of(&scratch, "rm -rf many").unpinned, [expect]);
    check_refused(&scratch, "rm -rf many", write("many/1000", "x"), "`1000` in it changed");
    fs::remove_file(scratch.work().join("many/2000")).unwrap();
    assert_eq!(pins_of(&scratch, "rm -rf many").unpinned, [""; 0], "the control");
}

#[test]
fn the_whole_workspace_is_named_as_not_pinned() {
    let scratch = Scratch::new();
    scratch.put("a", "");
    let before = pins_of(&scratch, "cp -r . /tmp/x");
    assert_eq!(before.unpinned, ["what is in `.`, which is the whole workspace"]);
    scratch.put("b", "");
    assert_eq!(pins_of(&scratch, "cp -r . /tmp/x").pinned, before.pinned);
}

#[test]
fn the_files_that_drive_a_program_are_pinned() {
    for (command, file) in [
        ("make", "Makefile"),
        ("cd sub && make", "sub/makefile"),
        ("timeout 5 make", "Makefile"),
        ("sh -c 'make all'", "GNUmakefile"),
        ("npm test", "package.json"),
        ("cd sub && pnpm run x", "package.json"),
        ("yarn run x", ".yarnrc.yml"),
        ("just x", "justfile"),
        ("task x", "Taskfile.yml"),
        ("rake", "Rakefile"),
        ("cargo build", "Cargo.toml"),
        ("cargo build", ".cargo/config.toml"),
        ("gradle x", "build.gradle"),
        ("./gradlew x", "settings.gradle.kts"),
        ("mvn test", "pom.xml"),
        ("cmake .", "CMakeLists.txt"),
        ("ninja", "build.ninja"),
        ("pytest", "conftest.py"),
        ("tox", "tox.ini"),
        ("node x.js", "package.json"),
        ("docker compose up", "compose.yaml"),
    ] {
        let scratch = Scratch::new();
        scratch.put("sub/other", "");
        let crib = scratch.open();
        let is_asked = crib.decide_command(command) == "ask";
        assert!(is_asked, "{command}");
        scratch.put(file, "one");
        let got = pins_of(&scratch, command);
        assert!(got.pinned.iter().any(|pin| pin.path == file), "{command}: {:?}", got.pinned);
        let is_named = |it: &String| it.starts_with("the other files that `");
        assert!(got.unpinned.iter().any(is_named), "{command}: {:?}", got.unpinned);
        check_refused(&scratch, command, write(file, "two"), &format!("`{file}` changed"));
        let scratch = Scratch::new();
        scratch.put("sub/other", "");
        scratch.put(".cargo/", "");
        check_refused(&scratch, command, write(file, "two"), &format!("`{file}` is new"));
    }
}

#[test]
fn a_program_can_be_driven_by_files_of_a_folder_that_it_names() {
    let scratch = Scratch::new();
    scratch.put("sub/Makefile", "");
    scratch.put("sub/conftest.py", "");
    assert_eq!(pinned(&scratch, "make -C sub"), ["sub", "sub/Makefile"]);
    assert_eq!(pinned(&scratch, "pytest sub"), ["sub", "sub/conftest.py"]);
    check_refused(&scratch, "make -C sub", write("sub/Makefile", "x"), "`Makefile` in it changed");
}

#[test]
fn of_a_folder_that_a_command_only_runs_in_it_matters_which_folder_it_is() {
    let scratch = Scratch::new();
    scratch.put("sub/Makefile", "");
    scratch.put("sub/notes", "");
    let before = pins_of(&scratch, "cd sub && make");
    assert_eq!(before.unpinned, ["the other files that `make` reads"]);
    scratch.put("sub/notes", "changed");
    assert_eq!(pins_of(&scratch, "cd sub && make").pinned, before.pinned);
    for command in ["cd sub && cp -r . ../out", "cd sub && cp -r ../sub ../out"] {
        check_refused(&scratch, command, write("sub/notes", "x"), "`notes` in it changed");
        scratch.put("sub/notes", "changed");
    }
    let swap = |work: &Path| {
        fs::rename(work.join("sub"), work.join("gone")).unwrap();
        fs::create_dir(work.join("sub")).unwrap();
        fs::rename(work.join("gone/Makefile"), work.join("sub/Makefile")).unwrap();
    };
    check_refused(&scratch, "cd sub && make", swap, "`sub` was replaced by something else");
}

#[test]
fn a_link_that_leads_out_of_the_workspace_is_pinned() {
    let scratch = Scratch::new();
    symlink("/bin/echo", scratch.work().join("tool")).unwrap();
    scratch.put("victim", "");
    let change = |work: &Path| {
        fs::remove_file(work.join("tool")).unwrap();
        symlink("/bin/rm", work.join("tool")).unwrap();
    };
    check_refused(&scratch, "./tool victim", change, "`tool` was replaced by something else");
}

#[test]
fn a_script_that_is_named_in_another_way_is_pinned() {
    let scratch = Scratch::new();
    for (command, file) in [("python3 -m mod", "mod.py"), ("node run", "run.js")] {
        scratch.put(file, "one");
        let before = pins_of(&scratch, command).pinned;
        assert!(before.iter().any(|pin| pin.path == file), "{command}: {before:?}");
        assert_eq!(pins_of(&scratch, command).pinned, before, "the control");
        scratch.put(file, "two");
        assert_ne!(pins_of(&scratch, command).pinned, before, "{command}");
    }
}

#[test]
fn what_is_only_known_when_it_runs_and_what_a_list_leaves_out_is_told() {
    let scratch = Scratch::new();
    scratch.put("run.sh", "");
    let unpinned = |command: &str| pins_of(&scratch, command).unpinned;
    let told = unpinned("bash /proc/self/cwd/run.sh");
    assert!(told[0].starts_with("the value of `/proc/self/cwd/run.sh`"), "{told:?}");
    // What is proven to run has no values that are still to come.
    assert_eq!(unpinned("for i in 1 2; do touch f$i; done"), [""; 0]);
    assert_eq!(unpinned("touch 'a$b' '*'"), [""; 0]);
    assert_ne!(unpinned("for i in $X; do touch f$i; done"), [""; 0], "the control");
    assert_ne!(unpinned("touch *.o"), [""; 0], "the control");
    let told = unpinned("touch $A $B $C $D $E $F $G $H $I $J $K $L");
    assert_eq!(told.last().unwrap(), "2 more words");
    let told = unpinned("ant; bazel; composer; eslint; gradle; jest; just; make; tox");
    assert!(told.last().unwrap().ends_with("more programs read"), "{told:?}");
}

#[test]
fn files_that_a_program_reads_beyond_its_words_are_named_as_not_pinned() {
    let scratch = Scratch::new();
    scratch.put("main.py", "import helper");
    scratch.put("run.sh", "");
    scratch.put("tpl/a", "");
    for (command, expect) in [
        ("make", &["the other files that `make` reads"][..]),
        ("python3 main.py", &["the other files that `python3` reads"]),
        ("sh run.sh", &["the other files that `sh` reads"]),
        ("./run.sh", &["the other files that `./run.sh` reads"]),
        (
            "make && npm test",
            &["the other files that `make` reads", "the other files that `npm` reads"],
        ),
        // The control: the words of these programs name all that they read.
        ("cp -r tpl out", &[]),
        ("rm -rf tpl", &[]),
        ("touch made; echo ran >> log", &[]),
        ("sh -c 'touch a'", &[]),
    ] {
        assert_eq!(pins_of(&scratch, command).unpinned, expect, "{command}");
    }
}

#[test]
fn a_file_that_a_driven_program_has_nothing_to_do_with_is_not_pinned() {
    let scratch = Scratch::new();
    scratch.put("Makefile", "");
    scratch.put("package.json", "{}");
    scratch.put("notes.txt", "");
    assert_eq!(pinned(&scratch, "make"), ["Makefile"]);
    assert_eq!(pinned(&scratch, "npm test"), ["package.json"]);
    assert_eq!(pinned(&scratch, "touch x"), [""; 0]);
}

#[test]
fn an_agent_does_not_learn_the_name_of_a_denied_file_that_changed() {
    let scratch = Scratch::new();
    scratch.put_rules("[[rule]]\nid = \"secret\"\neffect = \"deny\"\npaths = [\"tpl/secret*\"]\n");
    scratch.put("tpl/a", "");
    let crib = scratch.open();
    let work = scratch.work();
    let got = crib.answer_after("clemini/bash", bash("cp -r tpl/ out"), move || {
        fs::write(work.join("tpl/secret-7"), "").unwrap();
    });
    assert_eq!(got.kind(), "changed", "{}", got.text());
    assert!(
        got.text().contains("`tpl` changed") && !got.text().contains("secret-7"),
        "{}",
        got.text()
    );
}
