//! Commands as agents write them: those that change nothing run unasked, and no others.

use crate::opened::{Opened, Scratch};

const HARMLESS: &str = include_str!("ordinary/harmless.txt");
const HARMFUL: &str = include_str!("ordinary/harmful.txt");

/// How many in a hundred of the harmless commands run unasked.
const LEAST_PER_CENT: usize = 90;

/// Returns the commands of a list, behind its two lines of heading.
fn commands(text: &str, scratch: &Scratch) -> Vec<String> {
    let work = scratch.work().display().to_string();
    let lines = text.lines().skip(2).filter(|line| !line.is_empty());
    lines.map(|line| line.replace("\\n", "\n").replace("WORKSPACE", &work)).collect()
}

fn open(scratch: &Scratch) -> Opened {
    for file in ["src/a.py", "src/b.py", "docs/a.md", "package.json"] {
        scratch.put(file, "hi\n");
    }
    scratch.open()
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "whoever changes the reading wants to know what is still asked"
)]
fn harmless_commands_run_unasked() {
    let scratch = Scratch::new();
    let crib = open(&scratch);
    let all = commands(HARMLESS, &scratch);
    assert!(all.len() >= 300, "{}", all.len());
    let asked: Vec<&String> = all.iter().filter(|it| crib.decide_command(it) != "allow").collect();
    let unasked = all.len() - asked.len();
    let per_cent = unasked * 100 / all.len();
    println!("{unasked} of {} harmless commands run unasked; asked: {asked:#?}", all.len());
    assert!(per_cent >= LEAST_PER_CENT, "{per_cent} %");
}

#[test]
fn harmful_commands_do_not() {
    let scratch = Scratch::new();
    let crib = open(&scratch);
    let all = commands(HARMFUL, &scratch);
    assert!(all.len() >= 200, "{}", all.len());
    let unasked: Vec<&String> =
        all.iter().filter(|it| crib.decide_command(it) == "allow").collect();
    assert!(unasked.is_empty(), "{unasked:#?}");
}

#[test]
fn a_full_path_into_the_workspace_is_followed() {
    let scratch = Scratch::new();
    let crib = open(&scratch);
    let work = scratch.work().display().to_string();
    std::os::unix::fs::symlink("/usr", scratch.work().join("out")).unwrap();
    for (command, expect) in [
        (format!("cd {work} && git status"), "allow"),
        (format!("cd {work} && make"), "ask"),
        (format!("cd {work}/src && ls"), "allow"),
        // Other settings hold there.
        (format!("cd {work}/src && git status"), "ask"),
        (format!("cd {work} && cd src && git status"), "ask"),
        (format!("cd src && cd {work} && git status"), "ask"),
        (format!("cd {work}/out && ls"), "ask"),
        (format!("cd {work}x && ls"), "ask"),
        (format!("cd {work}/src/../.. && ls"), "ask"),
        ("cd / && ls".to_owned(), "ask"),
    ] {
        assert_eq!(crib.decide_command(&command), expect, "{command}");
    }
}
