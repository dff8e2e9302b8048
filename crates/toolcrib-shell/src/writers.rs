//! Which files programs write, by their words.

use toolcrib_core::reading::{Names, ONLY_LOOK};

use crate::nodes::is_stream;

/// Which of its operands a program writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writes {
    /// Every one.
    All,
    /// Every one but the first, which says how.
    ButFirst,
    /// The last, or what is then in it.
    Last,
    /// None: flags say where.
    Flags,
}

/// A program that writes.
struct Writer {
    name: &'static str,
    writes: Writes,
    /// Its short flags that have a value.
    short: &'static str,
    /// Its long ones.
    long: &'static [&'static str],
    /// Those of them whose value is written.
    into: &'static [&'static str],
}

const fn writer(
    name: &'static str,
    writes: Writes,
    short: &'static str,
    long: &'static [&'static str],
    into: &'static [&'static str],
) -> Writer {
    Writer { name, writes, short, long, into }
}

const INTO: &[&str] = &["t", "--target-directory"];

const WRITERS: &[Writer] = &[
    writer("cp", Writes::Last, "St", &["--suffix", "--target-directory"], INTO),
    writer(
        "curl",
        Writes::Flags,
        "oDc",
        &["--output", "--dump-header", "--cookie-jar", "--output-dir"],
        &["o", "D", "c", "--output", "--dump-header", "--cookie-jar", "--output-dir"],
    ),
    writer(
        "install",
        Writes::Last,
        "gmoSt",
        &["--suffix", "--mode", "--owner", "--group", "--target-directory"],
        INTO,
    ),
    writer("ln", Writes::Last, "St", &["--suffix", "--target-directory"], INTO),
    writer("mkdir", Writes::All, "m", &["--mode"], &[]),
    writer("mkfifo", Writes::All, "m", &["--mode"], &[]),
    writer("mv", Writes::Last, "St", &["--suffix", "--target-directory"], INTO),
    writer("rsync", Writes::Last, "e", &["--rsh"], &[]),
    writer("scp", Writes::Last, "PioFcJlSD", &[], &[]),
    writer("shred", Writes::All, "ns", &["--iterations", "--size"], &[]),
    writer("shuf", Writes::Flags, "no", &["--head-count", "--output"], &["o", "--output"]),
    writer(
        "sort",
        Writes::Flags,
        "koStT",
        &["--key", "--output", "--buffer-size", "--field-separator"],
        &["o", "--output"],
    ),
    writer("tee", Writes::All, "", &[], &[]),
    writer("touch", Writes::All, "drt", &["--date", "--reference", "--time"], &[]),
    writer("truncate", Writes::All, "rs", &["--reference", "--size"], &[]),
    writer("unzip", Writes::Flags, "dx", &[], &["d"]),
    writer(
        "wget",
        Writes::Flags,
        "OPaoeiUt",
        &["--output-document", "--directory-prefix", "--append-output", "--output-file"],
        &[
            "O",
            "P",
            "a",
            "o",
            "--output-document",
            "--directory-prefix",
            "--append-output",
            "--output-file",
        ],
    ),
];

/// Programs that remove files, or change who may do what with them.
const REMOVERS: &[Writer] = &[
    writer("chgrp", Writes::ButFirst, "", &[], &[]),
    writer("chmod", Writes::ButFirst, "", &[], &[]),
    writer("chown", Writes::ButFirst, "", &["--from"], &[]),
    writer("rm", Writes::All, "", &[], &[]),
    writer("rmdir", Writes::All, "", &[], &[]),
    writer("unlink", Writes::All, "", &[], &[]),
];

/// Programs whose flags are long with one dash, so that letters are not bundled.
const COMPILERS: &[&str] =
    &["c++", "cc", "clang", "clang++", "g++", "gcc", "gfortran", "ld", "rustc", "tsc"];

/// Words as programs of GNU take them.
#[derive(Default)]
struct Parsed {
    operands: Vec<String>,
    /// Flags with their values, short ones as a letter.
    values: Vec<(String, String)>,
    /// Those without, short ones as a letter.
    flags: Vec<String>,
}

impl Parsed {
    fn has(&self, flags: &[&str]) -> bool {
        let names = self.flags.iter().chain(self.values.iter().map(|it| &it.0));
        names.into_iter().any(|it| {
            let is_short_of =
                |long: &&str| it.len() > 2 && it.starts_with("--") && long.starts_with(it.as_str());
            flags.iter().any(|flag| flag == it || is_short_of(flag))
        })
    }
}

fn parse(rest: &[String], short: &str, long: &[&str]) -> Parsed {
    let mut parsed = Parsed::default();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            parsed.operands.extend(words.by_ref().cloned());
        } else if word.starts_with("--") {
            let (name, value) =
                word.split_once('=').map_or((word.as_str(), None), |it| (it.0, Some(it.1)));
            // Long ones may be shortened.
            match long.iter().find(|it| it.starts_with(name)) {
                Some(flag) => {
                    let value = value.map(str::to_owned).or_else(|| words.next().cloned());
                    parsed.values.extend(value.map(|value| ((*flag).to_owned(), value)));
                }
                None => parsed.flags.push(name.to_owned()),
            }
        } else if let Some(letters) = word.strip_prefix('-').filter(|it| !it.is_empty()) {
            for (at, letter) in letters.char_indices() {
                if !short.contains(letter) {
                    parsed.flags.push(letter.to_string());
                    continue;
                }
                let behind = &letters[at + letter.len_utf8()..];
                let value =
                    if behind.is_empty() { words.next().cloned() } else { Some(behind.to_owned()) };
                parsed.values.extend(value.map(|value| (letter.to_string(), value)));
                break;
            }
        } else {
            parsed.operands.push(word.clone());
        }
    }
    parsed
}

/// The files that a command is known to remove, or to change for others, as they are spelt.
pub(crate) fn removed_by(words: &[String]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let remover = REMOVERS.iter().find(|it| it.name == name_of(program));
    match rest.split_first() {
        Some((command, rest)) if name_of(program) == "git" && command == "rm" => {
            parse(rest, "", &[]).operands
        }
        _ if name_of(program) == "mv" => moved(rest),
        Some((command, rest)) if name_of(program) == "git" && command == "mv" => moved(rest),
        // `-x` is a mode of it.
        _ if name_of(program) == "chmod" => {
            let is_mode = |word: &String| {
                let letters = word.strip_prefix('-').unwrap_or_default();
                !letters.is_empty() && letters.chars().all(|c| "rwxXst".contains(c))
            };
            let plain = |word: &String| if is_mode(word) { "a".to_owned() } else { word.clone() };
            let rest: Vec<String> = rest.iter().map(plain).collect();
            remover.map_or_else(Vec::new, |it| it.written(&rest))
        }
        _ => remover.map_or_else(Vec::new, |it| it.written(rest)),
    }
}

/// What is gone from where it was.
fn moved(rest: &[String]) -> Vec<String> {
    let parsed = parse(rest, "St", &["--suffix", "--target-directory"]);
    let has_folder = parsed.values.iter().any(|it| INTO.contains(&it.0.as_str()));
    let count = parsed.operands.len().saturating_sub(usize::from(!has_folder));
    parsed.operands.into_iter().take(count).collect()
}

fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// The files that a command is known to write or move, as they are spelt.
pub(crate) fn written_by(words: &[String]) -> Vec<String> {
    let Some((program, rest)) = words.split_first() else { return Vec::new() };
    let name = name_of(program);
    match name {
        "dd" => rest.iter().filter_map(|it| it.strip_prefix("of=")).map(str::to_owned).collect(),
        "patch" => {
            let parsed = parse(rest, "opidDBFrVYz", &["--output", "--input", "--directory"]);
            let into = parsed.values.iter().filter(|it| matches!(it.0.as_str(), "o" | "--output"));
            into.map(|it| it.1.clone()).chain(parsed.operands.first().cloned()).collect()
        }
        "git" => git(rest),
        "sed" | "perl" => edited(name, rest),
        _ if COMPILERS.contains(&name) => outputs(rest),
        _ => WRITERS.iter().find(|it| it.name == name).map_or_else(Vec::new, |it| it.written(rest)),
    }
}

impl Writer {
    fn written(&self, rest: &[String]) -> Vec<String> {
        let parsed = parse(rest, self.short, self.long);
        let is_into = |it: &&(String, String)| self.into.contains(&it.0.as_str());
        let mut into: Vec<String> =
            parsed.values.iter().filter(is_into).map(|it| it.1.clone()).collect();
        if self.writes != Writes::Flags {
            // Of several folders, the last one is it.
            into.drain(..into.len().saturating_sub(1));
        }
        let writes = match self.writes {
            Writes::Last if self.name == "install" && parsed.has(&["d", "--directory"]) => {
                Writes::All
            }
            Writes::ButFirst if parsed.has(&["--reference"]) => Writes::All,
            writes => writes,
        };
        let operands = &parsed.operands;
        let mut all = Vec::new();
        match writes {
            Writes::Flags => return into,
            Writes::All => all.extend(operands.iter().cloned()),
            Writes::ButFirst => all.extend(operands.iter().skip(1).cloned()),
            Writes::Last if into.is_empty() => match &operands[..] {
                // A link gets the name of what it leads to.
                [one] if self.name == "ln" => return vec![base(one)],
                [.., last] if is_stream(last) => {}
                [sources @ .., last] => {
                    // Into a folder, it gets the name it had.
                    all.extend(sources.iter().map(|it| inside(last, it)));
                    all.push(last.clone());
                }
                [] => {}
            },
            Writes::Last => {}
        }
        for folder in into {
            all.extend(operands.iter().map(|it| inside(&folder, it)));
            all.push(folder);
        }
        all
    }
}

fn base(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}

fn inside(folder: &str, path: &str) -> String {
    format!("{}/{}", folder.trim_end_matches('/'), base(path))
}

/// What git changes of the files it is given.
fn git(rest: &[String]) -> Vec<String> {
    let Some((command, rest)) = rest.split_first() else { return Vec::new() };
    match command.as_str() {
        "mv" => written_by(&[&["mv".to_owned()], rest].concat()),
        "checkout" | "restore" => parse(rest, "bBs", &["--source", "--orphan"]).operands,
        _ => Vec::new(),
    }
}

/// The files that are edited in place.
fn edited(name: &str, rest: &[String]) -> Vec<String> {
    let (values, long): (&str, &[&str]) = match name {
        "sed" => ("efl", &["--expression", "--file", "--line-length"]),
        _ => ("eEI", &[]),
    };
    // What is behind an `i` is the end of a copy's name.
    let cut = |word: &String| match word.strip_prefix('-') {
        Some(letters) if !letters.starts_with('-') => match letters.find('i') {
            Some(at) if !letters[..at].contains(|c| values.contains(c)) => {
                word[..at + 2].to_owned()
            }
            _ => word.clone(),
        },
        _ => word.clone(),
    };
    let parsed = parse(&rest.iter().map(cut).collect::<Vec<_>>(), values, long);
    if !parsed.has(&["i", "--in-place"]) {
        return Vec::new();
    }
    let has_program = !parsed.values.is_empty();
    parsed.operands.into_iter().skip(usize::from(!has_program)).collect()
}

/// What compilers put out.
fn outputs(rest: &[String]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        let next = || rest.get(at + 1).cloned();
        match word.strip_prefix("-o").or_else(|| word.strip_prefix("--output")) {
            Some("") => all.extend(next()),
            Some(value) => all.push(value.trim_start_matches('=').to_owned()),
            None if matches!(word.as_str(), "--outDir" | "--outFile" | "--out-dir") => {
                all.extend(next());
            }
            None => all.extend(word.strip_prefix("--out-dir=").map(str::to_owned)),
        }
    }
    all
}

/// Git's commands that leave names as they are.
const LOOKING: &[&str] = &[
    "add",
    "blame",
    "branch",
    "cat-file",
    "commit",
    "describe",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "merge-base",
    "name-rev",
    "push",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "tag",
];

/// Whether what it writes is known by its words, if anything.
fn is_known(words: &[String]) -> bool {
    const READERS: &[&str] = &["[", "cd", "sed"];
    match words {
        [git, command, ..] if git == "git" => {
            LOOKING.contains(&command.as_str())
                || matches!(command.as_str(), "mv" | "rm" | "checkout" | "restore")
        }
        [name, ..] => {
            let mut known = WRITERS.iter().chain(REMOVERS);
            ONLY_LOOK.contains(&name.as_str())
                || READERS.contains(&name.as_str())
                || known.any(|it| it.name == name)
                || matches!(name.as_str(), "dd" | "patch" | "perl")
        }
        [] => true,
    }
}

/// What a command does to files beyond those that its words name.
pub(crate) fn names(words: &[String]) -> Names {
    let (leads_elsewhere, writes_unnamed) = (leads_elsewhere(words), writes_unnamed(words));
    Names { leads_elsewhere, writes_unnamed, is_known: is_known(words) }
}

fn leads_elsewhere(words: &[String]) -> bool {
    const NAMES: &[&str] = &[
        "bsdtar", "cp", "cpio", "install", "link", "ln", "mount", "mv", "patch", "rename", "rsync",
        "scp", "tar", "unzip", "7z",
    ];
    match words {
        [git, command, ..] if git == "git" => !LOOKING.contains(&command.as_str()),
        [name, ..] => NAMES.contains(&name.as_str()),
        [] => false,
    }
}

fn writes_unnamed(words: &[String]) -> bool {
    let Some((name, rest)) = words.split_first() else { return false };
    match name.as_str() {
        "cp" => parse(rest, "St", &["--suffix", "--target-directory"]).has(&[
            "r",
            "R",
            "a",
            "--recursive",
            "--archive",
            "--parents",
        ]),
        "curl" => parse(rest, "oDc", &[]).has(&["O", "J", "--remote-name", "--remote-name-all"]),
        "wget" | "rsync" | "tar" | "bsdtar" | "cpio" | "unzip" | "7z" | "patch" | "csplit"
        | "split" => true,
        "git" => leads_elsewhere(words),
        _ => false,
    }
}
