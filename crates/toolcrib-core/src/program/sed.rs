//! `sed` and `perl`, which can edit files in place.

use super::arguments::{Arguments, ValueFlags};
use super::input::RunsInput;
use super::row::{Caveat, Fact, FileEffectRules, FileWords, Program, Runs, Shows, example};

pub(super) const ROWS: &[Program] = &[
    Program {
        caveat: Caveat::Check(sed_caveat),
        runs_input: RunsInput::FromFlag { long: &["--file"], short: 'f' },
        writes: FileWords::Find(sed_writes),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("sed -n 1,20p f", Shows::Plain),
            example("sed -n /foo/p f", Shows::Plain),
            example("sed s/a/b/w f", Shows::Caveat),
            example("sed -nf - f", Shows::RunsInput),
            example("sed -f x.sed f", Shows::KeepsInput),
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
        facts: &[Fact::DrivenBy(&[])],
        examples: &[
            example("perl -e 1", Shows::Caveat),
            example("perl -pi -e s/a/b/ locked/x", Shows::Writes(&["locked/x"])),
        ],
        ..Program::named(&["perl"])
    },
];

/// Returns a caveat for every script but those that print lines by number or by a plain text.
fn sed_caveat(rest: &[String]) -> Option<String> {
    let prints = |script: &str| {
        let Some(range) = script.strip_suffix('p') else { return false };
        let text = range.strip_prefix('/').and_then(|it| it.strip_suffix('/'));
        if text.is_some_and(|text| {
            text.bytes().all(|it| it.is_ascii_alphanumeric() || b" _-".contains(&it))
        }) {
            return true;
        }
        let is_number = |it: &str| {
            !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'$')
        };
        range.split(',').count() <= 2 && range.split(',').all(is_number)
    };
    match rest {
        [flag, script, files @ ..]
            if flag == "-n"
                && prints(script)
                && !files.iter().any(|file| file.starts_with('-')) =>
        {
            None
        }
        _ => Some("a script of sed can write files and run programs".to_owned()),
    }
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
