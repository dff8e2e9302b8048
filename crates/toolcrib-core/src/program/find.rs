//! `find` and `fd`: they search for files, and can run programs on them, write them or delete them.

use super::arguments::is_bundled;
use super::row::{Caveat, CommandWords, Fact, FileEffectRules, Program, Shows, example, with};
use super::text::reads_any_words;

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
            example("find . -exec grep -l x {} ;", Shows::Plain),
            example("find . -exec wc -l {} +", Shows::Plain),
            example("find . -exec cat {} ; -delete", Shows::Caveat),
            example("find . -exec cat {} ; -exec rm {} ;", Shows::Caveat),
            example("find . -execdir cat {} ;", Shows::Caveat),
            example("find . -exec {} ;", Shows::Caveat),
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
    // It may run a program that only reads, whatever the names are that it gets.
    let reads = |at: usize| {
        let program = rest.get(at + 1);
        rest[at] == "-exec" && program.is_some_and(|name| reads_any_words(name))
    };
    let acts = |(at, word): &(usize, &String)| ACTIONS.contains(&word.as_str()) && !reads(*at);
    rest.iter().enumerate().find(acts).map(|(_, word)| with(word, ABOUT))
}

fn fd_caveat(rest: &[String]) -> Option<String> {
    let acts = |word: &&String| {
        ACTIONS.contains(&word.as_str()) || word.starts_with("--exec") || is_bundled(word, "xX")
    };
    rest.iter().find(acts).map(|word| with(word, ABOUT))
}
