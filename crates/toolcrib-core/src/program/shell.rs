//! Shells and their builtins, wrappers that run another program, and others that run what they are
//! told.

use super::arguments::ValueFlags;
use super::input::RunsInput;
use super::interpreter::SHELL_SCRIPTS;
use super::row::{
    Caveat, CommandWords, Fact, FileEffectRules, Program, Runs, Shows, example, with,
};
use super::script_flags::{ScriptFlags, ScriptOperands};
use super::text::reads_any_words;

/// A program that runs what it is told, whatever its words are.
const RUNS_ANYTHING: Program = Program { runs: Runs::Anything, ..Program::named(&[]) };

/// A program that runs the one whose words follow its flags.
const WRAPPER: Program = Program { commands: &[CommandWords::Rest { own: 0 }], ..RUNS_ANYTHING };

/// A wrapper with a word of its own before the program.
const WRAPPER_AFTER_ONE: Program =
    Program { commands: &[CommandWords::Rest { own: 1 }], ..RUNS_ANYTHING };

/// A wrapper that starts a shell if its words name no program.
const SHELL_BY_DEFAULT: Program = Program {
    runs_input: RunsInput::UnlessOperands { own: 0, flags: ValueFlags::NONE, but: &[] },
    ..WRAPPER
};

/// The flags of `sudo` and `doas` that take a value.
const SUDO_VALUES: ValueFlags = ValueFlags {
    short: "CDRTUghprtu",
    long: &["--chdir", "--chroot", "--group", "--host", "--prompt", "--role", "--type", "--user"],
};

pub(super) const ROWS: &[Program] = &[
    Program {
        runs: Runs::Shell,
        commands: &[CommandWords::CommandFlag],
        facts: &[Fact::RunsScript(SHELL_SCRIPTS)],
        examples: &[
            example("bash -c ls", Shows::Caveat),
            example("elvish x", Shows::Caveat),
            example("sh run.sh", Shows::DrivenBy(&[])),
            example("sh -ec make", Shows::NotDriven),
            example("bash -x +o posix run.sh", Shows::Scripts(&["run.sh"])),
            example("bash -eo pipefail run.sh", Shows::Scripts(&["run.sh"])),
            example("bash -oe pipefail run.sh", Shows::Scripts(&["pipefail", "run.sh"])),
            example("sh -ec make x", Shows::Scripts(&["make"])),
        ],
        ..Program::named(&[
            "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "loksh", "mksh", "nu", "oksh",
            "osh", "posh", "rbash", "sh", "tcsh", "xonsh", "yash", "zsh",
        ])
    },
    // Builtins that run words, or change what later words run.
    Program {
        names: &[".", "source"],
        facts: &[Fact::RunsScript(ScriptFlags::UNKNOWN)],
        examples: &[example("source x", Shows::Caveat), example(". ./x", Shows::Scripts(&["./x"]))],
        ..RUNS_ANYTHING
    },
    Program {
        names: &[
            "bind", "compgen", "complete", "declare", "enable", "export", "fc", "getopts", "hash",
            "history", "let", "local", "read", "readonly", "set", "shopt", "typeset", "unset",
            "wait",
        ],
        examples: &[example("declare x", Shows::Caveat), example("export A", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["alias", "eval", "trap"],
        commands: &[CommandWords::Each],
        examples: &[example("eval ls", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["mapfile", "readarray"],
        commands: &[CommandWords::CallbackFlag],
        examples: &[example("mapfile -C ls a", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["popd", "pushd"],
        facts: &[Fact::SameAnywhere],
        examples: &[example("pushd sub", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        caveat: Caveat::Check(cd_caveat),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("cd x", Shows::Plain),
            example("cd ..", Shows::Caveat),
            example("cd /", Shows::Caveat),
            example("cd", Shows::Caveat),
        ],
        ..Program::named(&["cd"])
    },
    // It lists jobs, and runs a program only with `-x`.
    Program {
        commands: &[CommandWords::Rest { own: 0 }],
        caveat: Caveat::Check(jobs_caveat),
        examples: &[example("jobs", Shows::Plain), example("jobs -x touch x", Shows::Caveat)],
        ..Program::named(&["jobs"])
    },
    Program {
        names: &[
            "builtin",
            "busybox",
            "catchsegv",
            "choom",
            "dbus-run-session",
            "dumb-init",
            "eatmydata",
            "exec",
            "ionice",
            "ltrace",
            "nice",
            "nohup",
            "numactl",
            "pkexec",
            "prlimit",
            "rlwrap",
            "screen",
            "setpriv",
            "setsid",
            "stdbuf",
            "strace",
            "systemd-inhibit",
            "time",
            "tini",
            "toybox",
            "valgrind",
            "xvfb-run",
            // The loader of programs runs the one that it is given.
            "ld-linux-aarch64.so.1",
            "ld-linux-armhf.so.3",
            "ld-linux-riscv64-lp64d.so.1",
            "ld-linux-x86-64.so.2",
            "ld-linux.so.2",
            "ld-musl-aarch64.so.1",
            "ld-musl-x86_64.so.1",
            "ld.so",
        ],
        examples: &[
            example("nice touch x", Shows::Caveat),
            example("nohup ./evil", Shows::Caveat),
            example("ld.so ./evil", Shows::Caveat),
        ],
        ..WRAPPER
    },
    Program {
        names: &["fakeroot", "firejail", "linux32", "linux64", "proot"],
        examples: &[
            example("fakeroot ./evil", Shows::Caveat),
            example("fakeroot", Shows::RunsInput),
            example("fakeroot make", Shows::KeepsInput),
        ],
        ..SHELL_BY_DEFAULT
    },
    Program {
        names: &["nsenter", "unshare"],
        commands: &[
            CommandWords::Rest { own: 0 },
            CommandWords::DirectoryFlag(&["-w", "--wd", "--wdns"]),
        ],
        runs_input: RunsInput::UnlessOperands {
            own: 0,
            flags: ValueFlags { short: "tSGW", long: &["--target", "--setuid", "--setgid"] },
            but: &[],
        },
        examples: &[
            example("unshare -r", Shows::RunsInput),
            example("nsenter -t 1 -m", Shows::RunsInput),
            example("unshare -r ls", Shows::KeepsInput),
            example("unshare --wd=/ rm -r etc", Shows::Directories(&["/"])),
        ],
        ..WRAPPER
    },
    Program {
        names: &["systemd-run"],
        commands: &[
            CommandWords::Rest { own: 0 },
            CommandWords::DirectoryFlag(&["--working-directory"]),
        ],
        examples: &[
            example("systemd-run ls", Shows::Caveat),
            example("systemd-run --working-directory=/ rm -r etc", Shows::Directories(&["/"])),
        ],
        ..WRAPPER
    },
    Program {
        names: &["bwrap"],
        commands: &[CommandWords::Rest { own: 0 }, CommandWords::DirectoryFlag(&["--chdir"])],
        examples: &[
            example("bwrap ls", Shows::Caveat),
            example("bwrap --chdir / rm -r etc", Shows::Directories(&["/"])),
        ],
        ..WRAPPER
    },
    Program {
        names: &["chrt", "gosu", "perf", "su-exec", "taskset", "timeout"],
        examples: &[example("timeout 5 touch x", Shows::Caveat)],
        ..WRAPPER_AFTER_ONE
    },
    Program {
        names: &["chroot", "setarch"],
        runs_input: RunsInput::UnlessOperands { own: 1, flags: ValueFlags::NONE, but: &[] },
        examples: &[
            example("chroot /mnt ls", Shows::Caveat),
            example("chroot /mnt", Shows::RunsInput),
            example("chroot /mnt ls", Shows::KeepsInput),
        ],
        ..WRAPPER_AFTER_ONE
    },
    Program {
        names: &["doas", "sudo"],
        commands: &[CommandWords::Rest { own: 0 }, CommandWords::DirectoryFlag(&["-D", "--chdir"])],
        runs_input: RunsInput::WithFlag {
            any: &["s", "i", "--shell", "--login"],
            flags: SUDO_VALUES,
        },
        facts: &[Fact::LogsIn],
        examples: &[
            example("sudo ls", Shows::Caveat),
            example("sudo -u me -s", Shows::RunsInput),
            example("sudo -s ls", Shows::KeepsInput),
            example("sudo tee f", Shows::KeepsInput),
            example("sudo -D / rm -r etc", Shows::Directories(&["/"])),
        ],
        ..WRAPPER
    },
    Program {
        names: &["su"],
        commands: &[CommandWords::CommandFlag],
        runs_input: RunsInput::UnlessOperands {
            own: 1,
            flags: ValueFlags { short: "cgGsTw", long: &["--command", "--group", "--shell"] },
            but: &["c", "--command"],
        },
        facts: &[Fact::LogsIn],
        examples: &[
            example("su -c ls", Shows::Caveat),
            example("su - me", Shows::RunsInput),
            example("su me -c ls", Shows::KeepsInput),
        ],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["runuser", "script"],
        commands: &[CommandWords::Rest { own: 0 }, CommandWords::CommandFlag],
        examples: &[example("script -c ls", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["flock"],
        commands: &[CommandWords::Rest { own: 1 }, CommandWords::CommandFlag],
        examples: &[example("flock lock ls", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        commands: &[
            CommandWords::Rest { own: 0 },
            CommandWords::SplitFlag,
            CommandWords::DirectoryFlag(&["-C", "--chdir"]),
        ],
        caveat: Caveat::Check(env_caveat),
        examples: &[
            example("env", Shows::Plain),
            example("env touch x", Shows::Caveat),
            example("env -0", Shows::Caveat),
            example("env -C / rm -r etc", Shows::Directories(&["/"])),
            example("sudo env -iC/ A=1 rm -r etc", Shows::Directories(&["/"])),
            example("env --ch=sub rm x", Shows::Directories(&["sub"])),
            example("env A=1 make -C sub", Shows::Directories(&[])),
        ],
        ..Program::named(&["env"])
    },
    Program {
        names: &["coproc"],
        commands: &[CommandWords::Rest { own: 0 }, CommandWords::Joined],
        examples: &[example("coproc ls", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["watch"],
        commands: &[CommandWords::Rest { own: 0 }, CommandWords::Each],
        examples: &[example("watch ls", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    // It hands its input to a program as words.
    Program {
        commands: &[CommandWords::Rest { own: 0 }],
        caveat: Caveat::Check(xargs_caveat),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::ReadOnly, Fact::PassesInputOn],
        examples: &[
            example("xargs touch", Shows::Caveat),
            example("xargs -n1 echo", Shows::Plain),
            example("xargs -0 -r -n 1 grep -l x", Shows::Plain),
            example("xargs -I{} cat {}", Shows::Plain),
            example("xargs -I {} wc -l {}", Shows::Plain),
            example("xargs -I{} {}", Shows::Caveat),
            example("xargs -Icat cat", Shows::Caveat),
            example("xargs -i cat", Shows::Caveat),
            example("xargs -a list cat", Shows::Caveat),
            example("xargs sort", Shows::Caveat),
            example("xargs -n1 xargs", Shows::Caveat),
            example("xargs ./cat", Shows::Caveat),
            example("xargs", Shows::Caveat),
        ],
        ..Program::named(&["xargs"])
    },
    Program {
        commands: &[CommandWords::Rest { own: 0 }],
        caveat: Caveat::Check(command_caveat),
        effects: FileEffectRules::NAMED,
        facts: &[Fact::SameAnywhere],
        examples: &[
            example("command touch x", Shows::Caveat),
            example("command -p touch", Shows::Caveat),
            example("command -v touch", Shows::Plain),
        ],
        ..Program::named(&["command"])
    },
    // Without a command, each line of its input is one.
    Program {
        names: &["parallel"],
        runs_input: RunsInput::UnlessOperands {
            own: 0,
            flags: ValueFlags {
                short: "CEILNPSUWadjns",
                long: &["--jobs", "--arg-file", "--colsep", "--delay", "--joblog", "--timeout"],
            },
            but: &[],
        },
        facts: &[Fact::PassesInputOn],
        examples: &[
            example("parallel touch", Shows::Caveat),
            example("parallel -j 4", Shows::RunsInput),
            example("parallel -j 4 gzip", Shows::KeepsInput),
        ],
        ..WRAPPER
    },
    // Editors and pagers, which start shells.
    Program {
        names: &["ed", "less", "man", "more", "nano"],
        examples: &[example("less f", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    // Editors with a language of their own.
    Program {
        names: &["emacs", "ex", "nvim", "vi", "view", "vim", "vimdiff"],
        facts: &[Fact::RunsScript(ScriptFlags::ANY)],
        examples: &[
            example("vim f", Shows::Caveat),
            example("vim -S x f", Shows::Scripts(&["x", "f"])),
            example("vim -Sx", Shows::Scripts(&["x"])),
            example("emacs --load=x", Shows::Scripts(&["--load", "x", "load=x"])),
        ],
        ..RUNS_ANYTHING
    },
    // It runs every file of a folder.
    Program {
        names: &["run-parts"],
        facts: &[Fact::RunsScript(ScriptFlags {
            operands: ScriptOperands::Folders,
            ..ScriptFlags::UNKNOWN
        })],
        examples: &[
            example("run-parts d", Shows::Caveat),
            example("run-parts --report d", Shows::Scripts(&["d"])),
        ],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["at", "batch"],
        runs_input: RunsInput::UnlessOperands {
            own: usize::MAX,
            flags: ValueFlags { short: "fqt", long: &[] },
            but: &["f", "l", "r", "d", "c", "V"],
        },
        facts: &[Fact::RunsScript(ScriptFlags {
            values: ValueFlags { short: "fqt", long: &[] },
            files: &["f"],
            operands: ScriptOperands::Data,
            ..ScriptFlags::UNKNOWN
        })],
        examples: &[
            example("at now", Shows::Caveat),
            example("at -f job now", Shows::Scripts(&["job"])),
            example("at now + 1 minute", Shows::RunsInput),
            example("at -f job now", Shows::KeepsInput),
        ],
        ..RUNS_ANYTHING
    },
    // Debuggers, databases and terminals, which all run what they are given.
    Program {
        names: &[
            "crontab", "gdb", "lldb", "mariadb", "mongosh", "mysql", "psql", "sqlite3", "tmux",
        ],
        facts: &[Fact::RunsScript(ScriptFlags::ANY)],
        examples: &[
            example("psql", Shows::Caveat),
            example("gdb -batch", Shows::Caveat),
            example("psql -f x", Shows::Scripts(&["x"])),
        ],
        ..RUNS_ANYTHING
    },
];

fn cd_caveat(rest: &[String]) -> Option<String> {
    match rest {
        [folder]
            if !folder.starts_with(['/', '-', '~']) && !folder.split('/').any(|it| it == "..") =>
        {
            None
        }
        _ => Some("it can leave the workspace".to_owned()),
    }
}

fn jobs_caveat(rest: &[String]) -> Option<String> {
    rest.first().map(|word| with(word, "it can run anything"))
}

/// Returns a caveat unless it only prints its variables.
fn env_caveat(rest: &[String]) -> Option<String> {
    (!rest.is_empty()).then(|| "`env` can run anything".to_owned())
}

/// Returns a caveat unless the program that is run only reads, whatever further words it gets.
fn xargs_caveat(rest: &[String]) -> Option<String> {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let has_count = |letter: &str| {
            let count = word.strip_prefix(letter)?;
            Some(count.is_empty() || count.bytes().all(|it| it.is_ascii_digit()))
        };
        match word.as_str() {
            "-0" | "-r" | "-t" | "-0r" | "-r0" | "--null" | "--no-run-if-empty" | "-I{}"
            | "-I%" => {}
            "-n" | "-L" | "-P" => drop(words.next()),
            // Another mark could be the name of the program.
            "-I" if words.next().is_some_and(|mark| matches!(mark.as_str(), "{}" | "%")) => {}
            _ if [has_count("-n"), has_count("-L"), has_count("-P")].contains(&Some(true)) => {}
            name if reads_any_words(name) => return None,
            _ => break,
        }
    }
    Some("`xargs` can run anything".to_owned())
}

/// Whether a command only says what a name stands for: `command -v NAME`.
pub fn only_looks_up(name: &str, rest: &[String]) -> bool {
    name == "command" && rest.first().is_some_and(|flag| matches!(flag.as_str(), "-v" | "-V"))
}

fn command_caveat(rest: &[String]) -> Option<String> {
    let looks_up = only_looks_up("command", rest);
    (!looks_up).then(|| "`command` can run anything".to_owned())
}
