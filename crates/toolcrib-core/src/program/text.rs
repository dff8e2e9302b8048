//! Programs that read files and print: text, names, sums and states.

use super::arguments::{ValueFlags, is_bundled, is_long, is_operand};
use super::row::{
    Caveat, Fact, FileEffectRules, FileWords, Operands, PathWords, Program, Shows, example, with,
};

/// A program that only reads: its words name everything that it touches.
const READER: Program =
    Program { effects: FileEffectRules::NAMED, facts: &[Fact::ReadOnly], ..Program::named(&[]) };

const LISTED_ELSEWHERE: &str = "another file says what it reads";

/// Programs that only read, whatever their words are.
const PLAIN_READERS: &[&str] = &[
    "arch", "base64", "basename", "cat", "cmp", "column", "comm", "cut", "df", "dirname", "expand",
    "false", "fold", "groups", "head", "hexdump", "id", "join", "logname", "ls", "nl", "od",
    "paste", "ps", "pwd", "readlink", "realpath", "rev", "stat", "sum", "tac", "tail", "true",
    "type", "uname", "unexpand", "which", "whoami",
];

/// Programs that only print or compute, and builtins that only say what runs next.
const PRINTERS: &[&str] = &[":", "break", "continue", "echo", "exit", "expr", "seq", "tr"];

const SEARCHERS: &[&str] = &["egrep", "fgrep", "grep"];

/// Programs whose flags can only make them read files that their words do not name.
const LIST_READERS: &[&str] = &["cksum", "du", "md5sum", "sha1sum", "sha256sum", "wc"];

/// Whether a program only reads, whatever its words are.
pub fn reads_any_words(name: &str) -> bool {
    [PLAIN_READERS, PRINTERS, SEARCHERS, LIST_READERS].iter().any(|list| list.contains(&name))
}

pub(super) const ROWS: &[Program] = &[
    Program {
        names: PLAIN_READERS,
        examples: &[
            example("cat a b", Shows::Plain),
            example("ls -la src", Shows::Writes(&[])),
            example("head -n 3 a", Shows::Paths(&["head", "-n", "3", "a"])),
        ],
        ..READER
    },
    Program {
        names: PRINTERS,
        paths: PathWords::Text,
        examples: &[example("echo secrets/x", Shows::Paths(&[]))],
        ..READER
    },
    Program {
        names: &["printf"],
        paths: PathWords::Text,
        caveat: Caveat::Check(printf_caveat),
        examples: &[
            example("printf %s a", Shows::Plain),
            example("printf -v x y", Shows::Caveat),
            example("printf hello%n PATH", Shows::Caveat),
            example("printf %+ln PATH", Shows::Caveat),
        ],
        ..READER
    },
    Program {
        names: SEARCHERS,
        paths: PathWords::Choose(without_pattern),
        examples: &[
            example("grep -r a/b src", Shows::Paths(&["-r", "src"])),
            example("grep -e a/b src", Shows::Paths(&["-e", "a/b", "src"])),
        ],
        ..READER
    },
    Program {
        names: &["rg"],
        paths: PathWords::Choose(without_pattern),
        caveat: Caveat::Flags {
            long: &["--pre", "--hostname-bin", "--search-zip"],
            short: "z",
            about: "it runs another program",
        },
        examples: &[
            example("rg x", Shows::Plain),
            example("rg --pre ./x y", Shows::Caveat),
            example("rg a/b src", Shows::Paths(&["src"])),
        ],
        ..READER
    },
    Program {
        names: &["cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum"],
        caveat: Caveat::Flags { long: &["--check"], short: "c", about: LISTED_ELSEWHERE },
        examples: &[
            example("sha256sum a", Shows::Plain),
            example("sha256sum -c list", Shows::Caveat),
            example("md5sum --che list", Shows::Caveat),
        ],
        ..READER
    },
    Program {
        caveat: Caveat::Flags { long: &["--check"], short: "c", about: LISTED_ELSEWHERE },
        examples: &[example("b2sum a", Shows::Plain), example("b2sum -c list", Shows::Caveat)],
        ..Program::named(&["b2sum", "sha224sum", "sha384sum"])
    },
    Program {
        names: &["date"],
        caveat: Caveat::Check(date_caveat),
        examples: &[
            example("date -Iseconds", Shows::Plain),
            example("date -d tomorrow", Shows::Plain),
            example("date 010203042026", Shows::Caveat),
            example("date -d -s", Shows::Plain),
            example("date -d -d -s +1day", Shows::Caveat),
        ],
        ..READER
    },
    Program {
        names: &["diff"],
        caveat: Caveat::Flags {
            long: &["--output", "--paginate"],
            short: "l",
            about: "it writes a file or runs another program",
        },
        examples: &[example("diff -u a b", Shows::Plain), example("diff -l a b", Shows::Caveat)],
        ..READER
    },
    Program {
        names: &["du", "wc"],
        caveat: Caveat::Flags { long: &["--files0-from"], short: "", about: LISTED_ELSEWHERE },
        examples: &[
            example("wc -l a", Shows::Plain),
            example("du --files0-from=list", Shows::Caveat),
        ],
        ..READER
    },
    Program {
        names: &["file"],
        caveat: Caveat::Flags {
            long: &[
                "--files-from",
                "--compile",
                "--magic-file",
                "--uncompress",
                "--uncompress-noreport",
            ],
            short: "fCmzZ",
            about: "it reads its file names from a list, writes a file or runs another program",
        },
        examples: &[
            example("file a", Shows::Plain),
            example("file -f list", Shows::Caveat),
            example("file -z a", Shows::Caveat),
        ],
        ..READER
    },
    Program {
        names: &["jq"],
        caveat: Caveat::Check(jq_caveat),
        examples: &[
            example("jq .a x.json", Shows::Plain),
            example("jq -L lib .a", Shows::Caveat),
            example("jq --from-file=x", Shows::Caveat),
        ],
        ..READER
    },
    Program {
        names: &["sort"],
        caveat: Caveat::Flags {
            long: &["--compress-program", "--output", "--temporary-directory", "--files0-from"],
            short: "oT",
            about: "it runs a program or writes a file",
        },
        writes: FileWords::Operands {
            which: Operands::None,
            flags: ValueFlags {
                short: "koStT",
                long: &["--key", "--output", "--buffer-size", "--field-separator"],
            },
            into: &["o", "--output"],
        },
        examples: &[
            example("sort f", Shows::Plain),
            example("sort -ro x f", Shows::Caveat),
            example("sort --compress-prog ./x f", Shows::Caveat),
            example("sort -uo locked/x a", Shows::Writes(&["locked/x"])),
        ],
        ..READER
    },
    Program {
        names: &["strings"],
        caveat: Caveat::Check(response_file_caveat),
        examples: &[example("strings a", Shows::Plain), example("strings @list", Shows::Caveat)],
        ..READER
    },
    Program {
        caveat: Caveat::Check(response_file_caveat),
        facts: &[Fact::HasMoreFlags],
        examples: &[example("nm a", Shows::Plain), example("nm @list", Shows::Caveat)],
        ..Program::named(&["nm", "objdump", "readelf", "size"])
    },
    Program {
        names: &["test"],
        caveat: Caveat::Check(test_caveat),
        examples: &[example("test -f x", Shows::Plain), example("test -v x[0]", Shows::Caveat)],
        ..READER
    },
    Program {
        caveat: Caveat::Check(test_caveat),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[example("[ -f x ]", Shows::Plain), example("[ -v x ]", Shows::Caveat)],
        ..Program::named(&["[", "[["])
    },
    Program {
        names: &["tree"],
        caveat: Caveat::Flags { long: &[], short: "oR", about: "it writes files" },
        examples: &[example("tree src", Shows::Plain), example("tree -o x", Shows::Caveat)],
        ..READER
    },
    Program {
        names: &["uniq"],
        caveat: Caveat::Check(uniq_caveat),
        examples: &[
            example("uniq a", Shows::Plain),
            example("uniq a b", Shows::Caveat),
            example("uniq - b", Shows::Caveat),
            example("uniq -- a -b", Shows::Caveat),
            example("uniq a -- -b", Shows::Caveat),
            example("uniq -- a", Shows::Plain),
        ],
        ..READER
    },
    Program {
        caveat: Caveat::Check(xxd_caveat),
        facts: &[Fact::SameAnywhere, Fact::NameSaysEnough],
        examples: &[
            example("xxd a", Shows::Plain),
            example("xxd a b", Shows::Caveat),
            example("xxd -r a", Shows::Caveat),
            example("xxd --revert a", Shows::Caveat),
            example("xxd a -b", Shows::Caveat),
        ],
        ..Program::named(&["xxd"])
    },
    Program {
        caveat: Caveat::Flags { long: &["--output"], short: "o", about: "it writes a file" },
        writes: FileWords::Operands {
            which: Operands::None,
            flags: ValueFlags { short: "no", long: &["--head-count", "--output"] },
            into: &["o", "--output"],
        },
        effects: FileEffectRules::NAMED,
        examples: &[
            example("shuf a", Shows::Plain),
            example("shuf -o s.out a", Shows::Caveat),
            example("shuf -o s.out a", Shows::Writes(&["s.out"])),
        ],
        ..Program::named(&["shuf"])
    },
    Program {
        facts: &[Fact::SameAnywhere],
        examples: &[example("tsort a", Shows::Plain)],
        ..Program::named(&["tsort"])
    },
    Program {
        facts: &[Fact::SameAnywhere, Fact::NameSaysEnough],
        examples: &[example("sleep 1", Shows::Plain)],
        ..Program::named(&["sleep", "yes", "zcat"])
    },
    Program {
        facts: &[Fact::NameSaysEnough],
        examples: &[example("nproc", Shows::Plain)],
        ..Program::named(&[
            "cal",
            "cloc",
            "fmt",
            "free",
            "hostname",
            "lsof",
            "nproc",
            "pgrep",
            "printenv",
            "shellcheck",
            "tokei",
            "tty",
            "uptime",
        ])
    },
];

/// Returns all words of a search but its pattern: the first operand, unless a flag gives the pattern.
pub(super) fn without_pattern(rest: &[String]) -> Vec<&String> {
    let pattern = pattern_at(rest);
    let others = rest.iter().enumerate().filter(|(at, _)| Some(*at) != pattern);
    others.map(|it| it.1).collect()
}

fn pattern_at(rest: &[String]) -> Option<usize> {
    let is_given = rest
        .iter()
        .any(|word| is_bundled(word, "ef") || word.starts_with("--f") || word.starts_with("--re"));
    if is_given {
        return None;
    }
    let end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let first = rest[..end].iter().position(|word| is_operand(word));
    first.or_else(|| (end + 1 < rest.len()).then_some(end + 1))
}

fn printf_caveat(rest: &[String]) -> Option<String> {
    // `%n`, with whatever may stand between the two.
    let counts = |format: &str| {
        format.split('%').skip(1).any(|part| {
            part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*lhjztLq$I".contains(c))
                .starts_with('n')
        })
    };
    let word = rest.iter().find(|word| word.starts_with("-v") || counts(word))?;
    Some(with(word, "it sets a variable"))
}

fn date_caveat(rest: &[String]) -> Option<String> {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let is_form = word.starts_with("-I") || word.starts_with("-d") || *word == "-R";
        let sets = is_bundled(word, "sf") || is_long(word, "--set") || is_long(word, "--file");
        if matches!(word.as_str(), "-d" | "--date" | "-r") {
            words.next();
        } else if !is_form && (sets || !word.starts_with(['+', '-'])) {
            return Some(with(word, "it sets the clock or reads another file"));
        }
    }
    None
}

fn jq_caveat(rest: &[String]) -> Option<String> {
    let loads = |it: &&String| {
        it.contains("import")
            || it.contains("include")
            || is_bundled(it, "Lf")
            || is_long(it, "--library-path")
            || is_long(it, "--from-file")
    };
    rest.iter().find(loads).map(|word| with(word, "it loads another file as its program"))
}

fn response_file_caveat(rest: &[String]) -> Option<String> {
    rest.iter().find(|word| word.starts_with('@')).map(|word| with(word, LISTED_ELSEWHERE))
}

/// Returns why a test runs something: bash evaluates subscripts, and runs the commands in them.
fn test_caveat(rest: &[String]) -> Option<String> {
    let odd = |word: &&String| word.contains('[') || matches!(word.as_str(), "-v" | "-R");
    rest.iter().find(odd).map(|word| with(word, "bash evaluates a subscript"))
}

fn uniq_caveat(rest: &[String]) -> Option<String> {
    let flags_end = rest.iter().position(|word| word == "--").unwrap_or(rest.len());
    let (before, behind) = rest.split_at(flags_end);
    let operands = before.iter().filter(|word| is_operand(word)).count();
    let operands = operands + behind.len().saturating_sub(1);
    (operands > 1).then(|| "it writes its second operand".to_owned())
}

fn xxd_caveat(rest: &[String]) -> Option<String> {
    let is_back = rest.iter().any(|word| word.starts_with("-r") || word.starts_with("--r"));
    if is_back {
        return Some("with `-r`, it writes a file".to_owned());
    }
    // Behind its first operand, a word with a dash is an operand, too.
    let first = rest.iter().position(|word| is_operand(word) || word == "--");
    let has_more = first.is_some_and(|first| first + 1 < rest.len());
    has_more.then(|| "it writes its second operand".to_owned())
}
