//! `find` and `fd`: they search for files, and can run programs on them, write them or delete them.

use super::arguments::is_bundled;
use super::row::{Caveat, CommandWords, Fact, FileEffectRules, Program, Shows, example, with};

pub(super) const ROWS: &[Program] = &[
    Program {
        commands: &[CommandWords::Exec],
        caveat: Caveat::Check(find_caveat),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::ReadOnly, Fact::ActsOnFolders],
        examples: &[
            example("find . -name x", Shows::Plain),
            example("find . -delete", Shows::Caveat),
            example("find . -exec touch x", Shows::Caveat),
            example("find . -fprintf out x", Shows::Caveat),
        ],
        ..Program::named(&["find"])
    },
    Program { facts: &[Fact::NameSaysEnough], ..FD },
    Program { names: &["fdfind"], ..FD },
];

const FD: Program = Program {
    commands: &[CommandWords::Exec],
    caveat: Caveat::Check(fd_caveat),
    examples: &[
        example("fd x", Shows::Plain),
        example("fd -Hx touch", Shows::Caveat),
        example("fd --exec-batch touch", Shows::Caveat),
    ],
    ..Program::named(&["fd"])
};

/// The tests of `find` that do something to what it finds.
const ACTIONS: &[&str] = &[
    "-delete",
    "-exec",
    "-execdir",
    "-fls",
    "-fprint",
    "-fprint0",
    "-fprintf",
    "-ok",
    "-okdir",
    "-files0-from",
];

const ABOUT: &str = "it runs a program, or writes or deletes files";

fn find_caveat(rest: &[String]) -> Option<String> {
    rest.iter().find(|word| ACTIONS.contains(&word.as_str())).map(|word| with(word, ABOUT))
}

fn fd_caveat(rest: &[String]) -> Option<String> {
    let acts = |word: &&String| {
        ACTIONS.contains(&word.as_str()) || word.starts_with("--exec") || is_bundled(word, "xX")
    };
    rest.iter().find(acts).map(|word| with(word, ABOUT))
}
