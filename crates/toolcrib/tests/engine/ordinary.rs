//! Commands as agents write them: those that change nothing run unasked, and no others.

use crate::opened::{Opened, Scratch};

const HARMLESS: &str = include_str!("ordinary/harmless.txt");
const HARMFUL: &str = include_str!("ordinary/harmful.txt");

/// How many in a hundred of the harmless commands run unasked.
const LEAST_PER_CENT: usize = 87;

fn commands(text: &str) -> impl Iterator<Item = String> {
    let lines = text.lines().skip(1).filter(|line| !line.is_empty());
    lines.map(|line| line.replace("\\n", "\n"))
}

fn open(scratch: &Scratch) -> Opened {
    for file in ["src/a.py", "src/b.py", "docs/a.md", "package.json"] {
        scratch.put(file, "hi\n");
    }
    scratch.open()
}

#[test]
fn harmless_commands_run_unasked() {
    let scratch = Scratch::new();
    let crib = open(&scratch);
    let all: Vec<String> = commands(HARMLESS).collect();
    let asked: Vec<&String> = all.iter().filter(|it| crib.decide_command(it) != "allow").collect();
    let per_cent = (all.len() - asked.len()) * 100 / all.len();
    assert!(
        per_cent >= LEAST_PER_CENT,
        "{per_cent} % of {} run unasked; asked: {asked:#?}",
        all.len()
    );
}

#[test]
fn harmful_commands_do_not() {
    let scratch = Scratch::new();
    let crib = open(&scratch);
    for command in commands(HARMFUL) {
        assert_ne!(crib.decide_command(&command), "allow", "{command}");
    }
}
