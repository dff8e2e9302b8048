//! `sed` and `perl`, which can edit files in place.

use super::arguments::{Arguments, ValueFlags};
use super::brackets;
use super::input::RunsInput;
use super::interpreter::{PERL_SCRIPTS, SED_SCRIPTS};
use super::row::{Caveat, Fact, FileEffectRules, FileWords, Program, Runs, Shows, example};

pub(super) const ROWS: &[Program] = &[
    Program {
        caveat: Caveat::Check(sed_caveat),
        runs_input: RunsInput::FromFlag { long: &["--file"], short: 'f' },
        writes: FileWords::Find(sed_writes),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::ReadOnly, Fact::RunsScript(SED_SCRIPTS)],
        examples: &[
            example("sed -n 1,20p f", Shows::Plain),
            example("sed -n /foo/p f", Shows::Plain),
            example("sed -n -e /a\\/b/,$p -e 3q f", Shows::Plain),
            example("sed -E s|^[./]+||g;/^$/d f", Shows::Plain),
            example("sed s/a/b/e f", Shows::Caveat),
            example("sed s/[/]w/x/w f", Shows::Caveat),
            example("sed -n s/[]/]/x/w/p f", Shows::Caveat),
            example("sed -n 1e f", Shows::Caveat),
            example("sed -n $!w f", Shows::Caveat),
            example("sed p f -i", Shows::Caveat),
            example("sed -nEi p f", Shows::Caveat),
            example("sed -s --in-place p f", Shows::Caveat),
            example("sed r/etc/passwd f", Shows::Caveat),
            example("sed s/a/b/w f", Shows::Caveat),
            example("sed -nf - f", Shows::RunsInput),
            example("sed -f x.sed f", Shows::KeepsInput),
            example("sed -nf x.sed f", Shows::Scripts(&["x.sed"])),
            example("sed -i.bak s/a/b/ locked/x", Shows::Writes(&["locked/x"])),
            example("sed -ne p -i locked/x", Shows::Writes(&["locked/x"])),
            example("sed -e s/i/j/ locked/x", Shows::Writes(&[])),
        ],
        ..Program::named(&["sed"])
    },
    Program {
        runs: Runs::Interpreter,
        writes: FileWords::Find(perl_writes),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::DrivenBy(&[]), Fact::RunsScript(PERL_SCRIPTS)],
        examples: &[
            example("perl -w x.pl", Shows::Scripts(&["x.pl"])),
            example("perl -lane 1 f", Shows::Scripts(&["1"])),
            example("perl -e 1", Shows::Caveat),
            example("perl -pi -e s/a/b/ locked/x", Shows::Writes(&["locked/x"])),
        ],
        ..Program::named(&["perl"])
    },
];

/// Returns a caveat for every script but those that only print lines, leave some out, or replace text in what they
/// print.
fn sed_caveat(rest: &[String]) -> Option<String> {
    let caveat = || Some("a sed script can write files and run programs".to_owned());
    let mut words = rest.iter();
    let (mut scripts, mut operands) = (Vec::new(), Vec::new());
    while let Some(word) = words.next() {
        match word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            None => operands.push(word),
            Some(letters) if letters.chars().all(|c| PLAIN_LETTERS.contains(c)) => {}
            Some(letters)
                if letters.ends_with('e')
                    && letters[..letters.len() - 1].chars().all(|c| PLAIN_LETTERS.contains(c)) =>
            {
                scripts.extend(words.next());
            }
            Some(_) => return caveat(),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    if scripts.is_empty() || !scripts.iter().all(|script| only_prints(script)) {
        return caveat();
    }
    None
}

/// The flags of sed that change nothing but how it reads and prints.
const PLAIN_LETTERS: &str = "nErsuz";

/// Whether every command of a script prints lines, leaves lines out or replaces text.
fn only_prints(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', ';', '\n']);
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let Some(behind) = pass_command(rest) else { return false };
        let behind = behind.trim_start_matches(' ');
        if !behind.is_empty() && !behind.starts_with([';', '\n']) {
            return false;
        }
        rest = behind.trim_start_matches([' ', ';', '\n']);
    }
    true
}

/// Returns what stands behind one command with its addresses; nothing if it could write a file or run a program.
fn pass_command(script: &str) -> Option<&str> {
    let mut rest = pass_address(script)?;
    if let Some(second) = rest.strip_prefix(',') {
        let behind = pass_address(second.strip_prefix('+').unwrap_or(second))?;
        if behind.len() == second.len() {
            return None;
        }
        rest = behind;
    }
    let rest = rest.trim_start_matches(' ');
    let rest = rest.strip_prefix('!').unwrap_or(rest);
    match rest.chars().next()? {
        'p' | 'd' | 'q' | '=' | 'n' | 'N' => Some(&rest[1..]),
        's' => {
            let delimiter = rest[1..].chars().next().filter(char::is_ascii_punctuation)?;
            let pattern = pass_text(&rest[2..], delimiter, Part::Pattern)?;
            let behind = pass_text(pattern, delimiter, Part::Replacement)?;
            // The flags `e` and `w` run a program and write a file.
            Some(behind.trim_start_matches(|c: char| c.is_ascii_digit() || "gpiI".contains(c)))
        }
        _ => None,
    }
}

/// Returns what stands behind an address, if there is one: a number, the last line, or a pattern.
fn pass_address(script: &str) -> Option<&str> {
    if let Some(pattern) = script.strip_prefix('/') {
        return pass_text(pattern, '/', Part::Pattern);
    }
    let number = script.trim_start_matches(|c: char| c.is_ascii_digit());
    Some(if number.len() == script.len() {
        script.strip_prefix('$').unwrap_or(script)
    } else {
        number
    })
}

/// A part of a script between delimiters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Pattern,
    Replacement,
}

/// Returns what stands behind a part and the delimiter that ends it.
fn pass_text(text: &str, delimiter: char, part: Part) -> Option<&str> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '\n' | '\r' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' if delimiter != '\\' => is_escaped = true,
            c if c == delimiter => {
                // Some versions take a delimiter in brackets for a part of the pattern.
                let is_clear = part == Part::Replacement || brackets::are_plain(&text[..at]);
                return is_clear.then(|| &text[at + 1..]);
            }
            _ => {}
        }
    }
    None
}

fn sed_writes(rest: &[String]) -> Vec<String> {
    let long = &["--expression", "--file", "--line-length"];
    edited_in_place(rest, ValueFlags { short: "efl", long })
}

fn perl_writes(rest: &[String]) -> Vec<String> {
    edited_in_place(rest, ValueFlags { short: "eEI", long: &[] })
}

fn edited_in_place(rest: &[String], flags: ValueFlags) -> Vec<String> {
    // Behind an `i` follows the suffix of the copy's name, and no further flags.
    let cut = |word: &String| match word.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => match letters.find('i') {
            Some(at) if !letters[..at].contains(|c| flags.short.contains(c)) => {
                word[..at + 2].to_owned()
            }
            _ => word.clone(),
        },
        _ => word.clone(),
    };
    let parsed = Arguments::parse(&rest.iter().map(cut).collect::<Vec<_>>(), flags);
    if !parsed.has(&["i", "--in-place"]) {
        return Vec::new();
    }
    let has_script = !parsed.values.is_empty();
    parsed.operands.into_iter().skip(usize::from(!has_script)).collect()
}
