//! What programs do: what they run, read, write, remove and reach. Each program, or family of programs that behave
//! alike, is one row with examples that a test tries. A program without a row is unknown: nothing is said of it
//! either way.

mod arguments;
mod awk;
mod brackets;
mod build;
mod curl;
mod driven;
mod file;
mod find;
mod git;
mod git_signing;
mod input;
mod interpreter;
mod network;
mod new_flag;
mod python_module;
mod row;
mod script;
mod script_flags;
mod sed;
mod shell;
mod text;

use std::collections::HashMap;
use std::sync::LazyLock;

pub use arguments::{ValueFlags, base_name};
pub use input::{RunsInput, is_input};
pub use row::{
    Caveat, CommandWords, Condition, Example, Fact, FileEffectRules, FileWords, HostWords,
    Operands, PathWords, Program, Runs, Shows, is_stream,
};
pub use script::{ScriptPlace, ScriptWord};
pub use script_flags::{ScriptFlags, ScriptOperands};
pub use shell::only_looks_up;
pub use text::reads_any_words;

/// The rows of every family.
const FAMILIES: &[&[Program]] = &[
    awk::ROWS,
    build::ROWS,
    curl::ROWS,
    driven::ROWS,
    file::ROWS,
    find::ROWS,
    git::ROWS,
    interpreter::ROWS,
    network::ROWS,
    sed::ROWS,
    shell::ROWS,
    text::ROWS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Program>> = LazyLock::new(|| {
    let named = all().flat_map(|row| row.names.iter().map(move |name| (*name, row)));
    named.collect()
});

/// Returns every row.
pub fn all() -> impl Iterator<Item = &'static Program> {
    FAMILIES.iter().copied().flatten()
}

/// Returns the row of the program with this name, without a folder.
pub fn find(name: &str) -> Option<&'static Program> {
    BY_NAME.get(name).copied()
}

/// Whether something is so of the program with this name.
pub fn is(name: &str, fact: Fact) -> bool {
    find(name).is_some_and(|program| program.is(fact))
}

/// Whether a program reads commands in the language of a shell.
pub fn is_shell(name: &str) -> bool {
    find(name).is_some_and(|program| program.runs == Runs::Shell)
}

/// Whether a program reads scripts in a language of its own, whatever version its name ends with.
pub fn is_interpreter(name: &str) -> bool {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    find(bare).is_some_and(|program| program.runs == Runs::Interpreter)
}

/// Returns the words of a command that could name files of code that its program runs, in their order.
pub fn script_words(words: &[String]) -> Vec<ScriptWord> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    find_version(base_name(name)).map_or_else(Vec::new, |row| script::script_words(row, rest))
}

/// Returns the row of the program with this name, whatever version the name ends with: `python3.11` is python.
fn find_version(name: &str) -> Option<&'static Program> {
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    find(name).or_else(|| find(bare))
}

/// Returns the files of its directory that say what a command does, if there are files that its words do not name: a
/// `Makefile`, a module that a script imports. Returns nothing if there are none, as far as is known.
pub fn driving_files(words: &[String]) -> Option<&'static [&'static str]> {
    let (name, rest) = words.split_first()?;
    let program = find_version(base_name(name))?;
    if program.runs == Runs::Shell {
        // Behind `-c`, the words are the script, and they are read like any other.
        let has_script = rest.iter().any(|word| !word.starts_with('-'))
            && !rest.iter().any(|word| arguments::is_bundled(word, "c"));
        return has_script.then_some(&[]);
    }
    program.driven_by()
}

/// Whether it is known which flags of the program with this name make it run or write something else. Of every other
/// program, any flag could.
pub fn knows_flags(name: &str) -> bool {
    find(name).is_some_and(Program::knows_flags)
}

/// Returns the first flag behind the first `granted` words of a command that those words do not cover. Of programs
/// whose flags are known, there is none: their caveats say which flags matter.
pub fn new_flag(words: &[String], granted: usize) -> Option<&String> {
    let name = words.first().filter(|name| !knows_flags(name));
    name.and_then(|_| new_flag::new_flag(words, granted))
}

/// Whether a program that is no shell runs commands that it reads from its input.
pub fn runs_input(words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    find(base_name(name)).is_some_and(|program| program.runs_input.holds(rest))
}

/// Whether a program could run what it reads from its input.
pub fn could_run_input(words: &[String]) -> bool {
    let Some(name) = words.first().map(|name| base_name(name)) else { return false };
    let runs_anything = || find_version(name).is_some_and(|it| it.runs == Runs::Anything);
    is_shell(name) || is_interpreter(name) || runs_anything() || runs_input(words)
}

/// The most words behind a wrapper that are searched for its directory.
const MOST_WRAPPER_WORDS: usize = 64;

/// Returns the directories that wrappers among these words run their command in, each with the number of the word
/// behind it: `env -C DIR CMD`.
pub fn wrapper_directories(words: &[String]) -> Vec<(usize, &str)> {
    let mut all = Vec::new();
    for (at, name) in words.iter().enumerate().take(MOST_WRAPPER_WORDS) {
        let flags = find(base_name(name)).and_then(Program::directory_flags);
        let rest = words.iter().enumerate().skip(at + 1).take(MOST_WRAPPER_WORDS);
        for (at, word) in rest.filter(|_| flags.is_some()) {
            let follows_flag = words[at - 1].starts_with('-');
            if !word.starts_with('-') && !word.contains('=') && !follows_flag {
                break;
            }
            let next = words.get(at + 1).map(|next| (at + 2, next.as_str()));
            let found = flags.into_iter().flatten().find_map(|flag| {
                match arguments::flag_value(word, flag)? {
                    "" => next,
                    value => Some((at + 1, value)),
                }
            });
            all.extend(found);
        }
    }
    all
}

/// Returns a command without a flag before its subcommand that changes nothing but how it prints: `git --no-pager log`
/// is `git log`. Returns nothing if there is no such flag.
pub fn plain_spelling(words: &[String]) -> Option<Vec<String>> {
    match words {
        [name, flag, rest @ ..] if name == "git" && flag == "--no-pager" => {
            Some(std::iter::once(name).chain(rest).cloned().collect())
        }
        _ => None,
    }
}

/// Returns why the first words of a command do not say what all of them do.
pub fn caveat(words: &[String]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    let program = find(name);
    name_caveat(name, rest).or_else(|| program.and_then(|program| program.caveat.of(rest)))
}

/// Returns what is so of a program whatever its words are, or of one that is there to run another.
fn name_caveat(name: &str, rest: &[String]) -> Option<String> {
    // `python3.11` is python.
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let runs_anything = |name: &str| {
        find(name).is_some_and(|it| it.runs != Runs::Nothing || it.own_words().is_some())
    };
    // Of some, the check knows when they run none, or one that only reads.
    let is_checked = find(name)
        .is_some_and(|it| it.runs == Runs::Nothing && matches!(it.caveat, Caveat::Check(_)));
    if !is_checked && (runs_anything(name) || runs_anything(bare)) {
        return Some(format!("`{name}` can run anything"));
    }
    let runs_after = |word: &str| find(name).is_some_and(|it| it.runs_after(word));
    // Flags may stand before the subcommand, and flags may have a value.
    let subcommand = rest.iter().enumerate().find(|(at, word)| {
        let follows_flag = *at > 0 && rest[at - 1].starts_with('-');
        !word.starts_with('-') && (!follows_flag || runs_after(word))
    });
    if let Some((_, subcommand)) = subcommand.filter(|(_, word)| runs_after(word)) {
        return Some(format!("`{name} {subcommand}` can run anything"));
    }
    let is_path = name.contains('/');
    is_path.then(|| format!("`{name}` is a path, so it can be any program, whatever its name"))
}

/// Returns the files that a command is known to write or move, as they are spelt.
pub fn written_by(words: &[String]) -> Vec<String> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    find(base_name(name)).map_or_else(Vec::new, |program| program.writes.of(rest))
}

/// Returns the files that a command is known to remove, or to open to other users, as they are spelt.
pub fn removed_by(words: &[String]) -> Vec<String> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    find(base_name(name)).map_or_else(Vec::new, |program| program.removes.of(rest))
}

/// What a command does to files beyond the words that name them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileEffects {
    /// It can make a path lead somewhere else, so that later paths may mean other files.
    pub retargets_paths: bool,
    /// It writes files that its words do not name.
    pub writes_unnamed: bool,
    /// It is known which of its words it writes, if any.
    pub knows_writes: bool,
}

/// Returns what a command does to files beyond the words that name them.
pub fn file_effects(words: &[String]) -> FileEffects {
    let Some((name, rest)) = words.split_first() else {
        return FileEffects { knows_writes: true, ..FileEffects::default() };
    };
    find(name).map_or_else(FileEffects::default, |program| FileEffects {
        retargets_paths: program.effects.retargets_paths.holds(rest),
        writes_unnamed: program.effects.writes_unnamed.holds(rest),
        knows_writes: program.effects.knows_writes.holds(rest),
    })
}

/// Whether a command could print, or write elsewhere, what a repository keeps of its files: their committed content.
pub fn prints_committed_content(words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    base_name(name) == "git" && git::could_print_content(rest)
}

/// Where the output of a command goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintsTo {
    /// To whoever reads it.
    Screen,
    /// To another program, which may take it for names of files.
    Program,
}

/// Returns the words of a command that could name files.
pub fn path_words(words: &[String], output: PrintsTo) -> Vec<&String> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    match find(base_name(name)).map(|program| program.paths) {
        Some(PathWords::Text) if output == PrintsTo::Screen => Vec::new(),
        Some(PathWords::Choose(choose)) => choose(rest),
        _ => words.iter().collect(),
    }
}

/// Returns the words of a command that could name hosts that it reaches.
pub fn host_words(words: &[String]) -> Vec<&String> {
    let Some((name, rest)) = words.split_first() else { return Vec::new() };
    let is_value = |at: usize, flags: &[&str]| {
        let before = at.checked_sub(1).map_or(name, |at| &rest[at]);
        flags.contains(&before.as_str())
    };
    match find(base_name(name)).map_or(HostWords::None, |program| program.hosts) {
        HostWords::None => Vec::new(),
        HostWords::All => rest.iter().collect(),
        HostWords::AllButValuesOf(flags) => {
            let words = rest.iter().enumerate().filter(|(at, _)| !is_value(*at, flags));
            words.map(|it| it.1).collect()
        }
        HostWords::WithSubcommand(commands) => {
            let reaches = rest.iter().any(|word| commands.contains(&word.as_str()));
            if reaches { rest.iter().collect() } else { Vec::new() }
        }
    }
}
