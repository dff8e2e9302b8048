//! Programs that make, copy, move, link and remove files.

use super::arguments::{Arguments, ValueFlags};
use super::row::{
    Caveat, Condition, Fact, FileEffectRules, FileWords, Operands, Program, Runs, Shows, example,
};

/// The flags of `cp`, `ln` and `mv` that take a value.
const COPY_VALUES: ValueFlags =
    ValueFlags { short: "St", long: &["--suffix", "--target-directory"] };

/// The flags whose value is the folder that all operands go into.
const INTO: &[&str] = &["t", "--target-directory"];

const COPIED: FileWords =
    FileWords::Operands { which: Operands::Last, flags: COPY_VALUES, into: INTO };

const MODE: ValueFlags = ValueFlags { short: "m", long: &["--mode"] };

pub(super) const ROWS: &[Program] = &[
    Program {
        writes: COPIED,
        effects: FileEffectRules {
            writes_unnamed: Condition::WithFlag {
                values: COPY_VALUES,
                any: &["r", "R", "a", "--recursive", "--archive", "--parents"],
            },
            ..FileEffectRules::RETARGETS
        },
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("cp a locked/b", Shows::Writes(&["locked/b/a", "locked/b"])),
            example("cp -t locked docs/a", Shows::Writes(&["locked/a", "locked"])),
            example("cp -tlocked docs/a", Shows::Writes(&["locked/a", "locked"])),
            example("cp --target-dir locked docs/a", Shows::Writes(&["locked/a", "locked"])),
            example("cp a b -S .bak", Shows::Writes(&["b/a", "b"])),
        ],
        ..Program::named(&["cp"])
    },
    Program {
        writes: COPIED,
        removes: FileWords::Find(moved_from),
        effects: FileEffectRules::RETARGETS,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("mv locked/b c", Shows::Removes(&["locked/b"])),
            example("mv -tlocked docs/a", Shows::Writes(&["locked/a", "locked"])),
            example("mv -t d a b", Shows::Removes(&["a", "b"])),
        ],
        ..Program::named(&["mv"])
    },
    Program {
        writes: FileWords::Operands {
            which: Operands::LastOrOwnName,
            flags: COPY_VALUES,
            into: INTO,
        },
        effects: FileEffectRules::RETARGETS,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("ln -s /etc/hosts", Shows::Writes(&["hosts"])),
            example("ln -s a b", Shows::Writes(&["b/a", "b"])),
        ],
        ..Program::named(&["ln"])
    },
    Program {
        caveat: Caveat::Flags {
            long: &["--strip-program"],
            short: "",
            about: "it runs the program that the flag names",
        },
        writes: FileWords::Operands {
            which: Operands::LastUnless(&["d", "--directory"]),
            flags: ValueFlags {
                short: "gmoSt",
                long: &["--suffix", "--mode", "--owner", "--group", "--target-directory"],
            },
            into: INTO,
        },
        effects: FileEffectRules::RETARGETS,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("install -s --strip-program=./evil a b", Shows::Caveat),
            example("install -Dt locked docs/a", Shows::Writes(&["locked/a", "locked"])),
            example("install -d locked/x docs/y", Shows::Writes(&["locked/x", "docs/y"])),
            example("install -m 644 /etc/hosts x", Shows::Writes(&["x/hosts", "x"])),
        ],
        ..Program::named(&["install"])
    },
    Program {
        effects: FileEffectRules { knows_writes: Condition::Never, ..FileEffectRules::RETARGETS },
        examples: &[example("rename a b c", Shows::Plain)],
        ..Program::named(&["link", "mount", "rename"])
    },
    Program {
        writes: FileWords::Operands { which: Operands::All, flags: MODE, into: &[] },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere, Fact::NameSaysEnough],
        examples: &[example("mkdir -m 700 a b", Shows::Writes(&["a", "b"]))],
        ..Program::named(&["mkdir"])
    },
    Program {
        writes: FileWords::Operands { which: Operands::All, flags: MODE, into: &[] },
        effects: FileEffectRules::NAMED,
        examples: &[example("mkfifo a", Shows::Writes(&["a"]))],
        ..Program::named(&["mkfifo"])
    },
    Program {
        facts: &[Fact::SameAnywhere],
        examples: &[example("mktemp -d", Shows::Plain)],
        ..Program::named(&["gunzip", "gzip", "mktemp"])
    },
    Program {
        writes: FileWords::Operands {
            which: Operands::All,
            flags: ValueFlags { short: "ns", long: &["--iterations", "--size"] },
            into: &[],
        },
        effects: FileEffectRules::NAMED,
        examples: &[example("shred -n 3 a", Shows::Writes(&["a"]))],
        ..Program::named(&["shred"])
    },
    Program {
        writes: FileWords::Operands { which: Operands::All, flags: ValueFlags::NONE, into: &[] },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[example("tee -a locked/b", Shows::Writes(&["locked/b"]))],
        ..Program::named(&["tee"])
    },
    Program {
        writes: FileWords::Operands {
            which: Operands::All,
            flags: ValueFlags { short: "drt", long: &["--date", "--reference", "--time"] },
            into: &[],
        },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere, Fact::NameSaysEnough],
        examples: &[example("touch -r /etc/hosts x", Shows::Writes(&["x"]))],
        ..Program::named(&["touch"])
    },
    Program {
        writes: FileWords::Operands {
            which: Operands::All,
            flags: ValueFlags { short: "rs", long: &["--reference", "--size"] },
            into: &[],
        },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[example("truncate -s 0 a", Shows::Writes(&["a"]))],
        ..Program::named(&["truncate"])
    },
    Program {
        writes: FileWords::Find(dd_writes),
        effects: FileEffectRules::NAMED,
        examples: &[example("dd if=a of=locked/b", Shows::Writes(&["locked/b"]))],
        ..Program::named(&["dd"])
    },
    Program {
        writes: FileWords::Find(patch_writes),
        effects: FileEffectRules {
            writes_unnamed: Condition::Always,
            ..FileEffectRules::RETARGETS
        },
        examples: &[example("patch -o out a.c a.diff", Shows::Writes(&["out", "a.c"]))],
        ..Program::named(&["patch"])
    },
    Program {
        removes: FileWords::Operands { which: Operands::All, flags: ValueFlags::NONE, into: &[] },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere, Fact::ActsOnFolders],
        examples: &[example("rm -rf locked/x", Shows::Removes(&["locked/x"]))],
        ..Program::named(&["rm"])
    },
    Program {
        removes: FileWords::Operands { which: Operands::All, flags: ValueFlags::NONE, into: &[] },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[example("rmdir a b", Shows::Removes(&["a", "b"]))],
        ..Program::named(&["rmdir"])
    },
    Program {
        removes: FileWords::Operands { which: Operands::All, flags: ValueFlags::NONE, into: &[] },
        effects: FileEffectRules::NAMED,
        examples: &[example("unlink a", Shows::Removes(&["a"]))],
        ..Program::named(&["unlink"])
    },
    Program {
        removes: FileWords::Find(chmod_removes),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere, Fact::ActsOnFolders],
        examples: &[
            example("chmod 644 a", Shows::Removes(&["a"])),
            example("chmod -w locked/x", Shows::Removes(&["locked/x"])),
            example("chmod --reference=a b", Shows::Removes(&["b"])),
        ],
        ..Program::named(&["chmod"])
    },
    Program {
        removes: FileWords::Operands {
            which: Operands::AllButFirst,
            flags: ValueFlags { short: "", long: &["--from"] },
            into: &[],
        },
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere, Fact::ActsOnFolders],
        examples: &[example("chown --from=a b c", Shows::Removes(&["c"]))],
        ..Program::named(&["chown"])
    },
    Program {
        removes: ALL_BUT_FIRST,
        effects: FileEffectRules::NAMED,
        facts: &[Fact::ActsOnFolders],
        examples: &[example("chgrp staff a", Shows::Removes(&["a"]))],
        ..Program::named(&["chgrp"])
    },
    Program {
        runs: Runs::Anything,
        effects: FileEffectRules {
            writes_unnamed: Condition::Always,
            knows_writes: Condition::Never,
            ..FileEffectRules::RETARGETS
        },
        examples: &[example("tar xf a", Shows::Caveat)],
        ..Program::named(&["tar"])
    },
    Program {
        effects: FileEffectRules {
            writes_unnamed: Condition::Always,
            knows_writes: Condition::Never,
            ..FileEffectRules::RETARGETS
        },
        examples: &[example("bsdtar -xf a", Shows::Plain)],
        ..Program::named(&["7z", "bsdtar", "cpio"])
    },
    Program {
        writes: FileWords::Operands {
            which: Operands::None,
            flags: ValueFlags { short: "dx", long: &[] },
            into: &["d"],
        },
        effects: FileEffectRules {
            writes_unnamed: Condition::Always,
            ..FileEffectRules::RETARGETS
        },
        examples: &[example("unzip a.zip -d locked", Shows::Writes(&["locked"]))],
        ..Program::named(&["unzip"])
    },
    Program {
        caveat: Caveat::Flags {
            long: &["--unzip-command", "--test"],
            short: "T@",
            about: "it runs the program that the flag names",
        },
        examples: &[example("zip -T -TT ./evil a.zip b", Shows::Caveat)],
        ..Program::named(&["zip"])
    },
    Program {
        caveat: Caveat::Flags {
            long: &["--filter"],
            short: "",
            about: "it runs the program that the flag names",
        },
        effects: FileEffectRules::UNNAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("split --filter=./evil -", Shows::Caveat),
            example("split -l 10 a", Shows::Plain),
        ],
        ..Program::named(&["split"])
    },
    Program {
        caveat: Caveat::Check(|_| {
            Some("it writes files under names that are not on its command line".to_owned())
        }),
        effects: FileEffectRules::UNNAMED,
        examples: &[example("csplit a 10", Shows::Caveat)],
        ..Program::named(&["csplit"])
    },
];

const ALL_BUT_FIRST: FileWords =
    FileWords::Operands { which: Operands::AllButFirst, flags: ValueFlags::NONE, into: &[] };

/// Returns what `mv` and `git mv` write.
pub(super) fn moved_to(rest: &[String]) -> Vec<String> {
    COPIED.of(rest)
}

/// Returns the files that `mv` and `git mv` take from where they were.
pub(super) fn moved_from(rest: &[String]) -> Vec<String> {
    let parsed = Arguments::parse(rest, COPY_VALUES);
    let has_folder = parsed.values.iter().any(|it| INTO.contains(&it.0.as_str()));
    let count = parsed.operands.len().saturating_sub(usize::from(!has_folder));
    parsed.operands.into_iter().take(count).collect()
}

fn dd_writes(rest: &[String]) -> Vec<String> {
    rest.iter().filter_map(|it| it.strip_prefix("of=")).map(str::to_owned).collect()
}

fn patch_writes(rest: &[String]) -> Vec<String> {
    let flags = ValueFlags { short: "opidDBFrVYz", long: &["--output", "--input", "--directory"] };
    let parsed = Arguments::parse(rest, flags);
    let into = parsed.values.iter().filter(|it| matches!(it.0.as_str(), "o" | "--output"));
    into.map(|it| it.1.clone()).chain(parsed.operands.first().cloned()).collect()
}

fn chmod_removes(rest: &[String]) -> Vec<String> {
    // `-x` is a mode and no flag.
    let is_mode = |word: &String| {
        let letters = word.strip_prefix('-').unwrap_or_default();
        !letters.is_empty() && letters.chars().all(|c| "rwxXst".contains(c))
    };
    let plain = |word: &String| if is_mode(word) { "a".to_owned() } else { word.clone() };
    ALL_BUT_FIRST.of(&rest.iter().map(plain).collect::<Vec<_>>())
}
