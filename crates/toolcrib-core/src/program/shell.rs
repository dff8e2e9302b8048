//! Shells and their builtins, interpreters, wrappers that run another program, and others that run what they are
//! told.

use super::row::{
    Caveat, CommandWords, Fact, FileEffectRules, Program, Runs, Shows, example, with,
};

/// A program that runs what it is told, whatever its words are.
const RUNS_ANYTHING: Program = Program { runs: Runs::Anything, ..Program::named(&[]) };

/// A program that runs the one whose words follow its flags.
const WRAPPER: Program = Program { commands: &[CommandWords::Rest { own: 0 }], ..RUNS_ANYTHING };

/// A wrapper with a word of its own before the program.
const WRAPPER_AFTER_ONE: Program =
    Program { commands: &[CommandWords::Rest { own: 1 }], ..RUNS_ANYTHING };

pub(super) const ROWS: &[Program] = &[
    Program {
        runs: Runs::Shell,
        commands: &[CommandWords::CommandFlag],
        examples: &[example("bash -c ls", Shows::Caveat), example("elvish x", Shows::Caveat)],
        ..Program::named(&[
            "ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "loksh", "mksh", "nu", "oksh",
            "osh", "posh", "rbash", "sh", "tcsh", "xonsh", "yash", "zsh",
        ])
    },
    Program {
        runs: Runs::Interpreter,
        examples: &[example("python3.11 x.py", Shows::Caveat), example("node x.js", Shows::Caveat)],
        ..Program::named(&[
            "bun", "deno", "lua", "node", "nodejs", "php", "python", "ruby", "tclsh",
        ])
    },
    // They read programs in languages of their own, but not from standard input by default.
    Program {
        names: &[
            "R",
            "Rscript",
            "dc",
            "expect",
            "iex",
            "ipython",
            "irb",
            "java",
            "jshell",
            "julia",
            "luajit",
            "nawk",
            "octave",
            "osascript",
            "powershell",
            "pwsh",
            "pypy",
            "runghc",
            "ts-node",
            "tsx",
        ],
        examples: &[example("pypy3 x.py", Shows::Caveat), example("ts-node x.ts", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    Program {
        names: &["awk", "gawk", "mawk"],
        facts: &[Fact::SameAnywhere],
        examples: &[example("awk x f", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    // Builtins that run words, or change what later words run.
    Program {
        names: &[
            ".", "bind", "compgen", "complete", "declare", "enable", "export", "fc", "getopts",
            "hash", "history", "let", "local", "read", "readonly", "set", "shopt", "source",
            "typeset", "unset", "wait",
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
            "bwrap",
            "catchsegv",
            "choom",
            "command",
            "dbus-run-session",
            "dumb-init",
            "eatmydata",
            "exec",
            "fakeroot",
            "firejail",
            "ionice",
            "linux32",
            "linux64",
            "ltrace",
            "nice",
            "nohup",
            "nsenter",
            "numactl",
            "pkexec",
            "prlimit",
            "proot",
            "rlwrap",
            "screen",
            "setpriv",
            "setsid",
            "stdbuf",
            "strace",
            "systemd-inhibit",
            "systemd-run",
            "time",
            "tini",
            "toybox",
            "unshare",
            "valgrind",
            "xvfb-run",
        ],
        examples: &[
            example("command touch x", Shows::Caveat),
            example("fakeroot ./evil", Shows::Caveat),
        ],
        ..WRAPPER
    },
    Program {
        names: &["chroot", "chrt", "gosu", "perf", "setarch", "su-exec", "taskset", "timeout"],
        examples: &[example("timeout 5 touch x", Shows::Caveat)],
        ..WRAPPER_AFTER_ONE
    },
    Program {
        names: &["doas", "sudo"],
        facts: &[Fact::LogsIn],
        examples: &[example("sudo ls", Shows::Caveat)],
        ..WRAPPER
    },
    Program {
        names: &["su"],
        commands: &[CommandWords::CommandFlag],
        facts: &[Fact::LogsIn],
        examples: &[example("su -c ls", Shows::Caveat)],
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
        names: &["env"],
        commands: &[CommandWords::Rest { own: 0 }, CommandWords::SplitFlag],
        examples: &[example("env touch x", Shows::Caveat)],
        ..RUNS_ANYTHING
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
    Program {
        names: &["parallel", "xargs"],
        facts: &[Fact::PassesInputOn],
        examples: &[example("xargs touch", Shows::Caveat)],
        ..WRAPPER
    },
    // Editors and pagers, which start shells.
    Program {
        names: &["ed", "emacs", "ex", "less", "man", "more", "nano", "nvim", "vi", "view", "vim"],
        examples: &[example("less f", Shows::Caveat)],
        ..RUNS_ANYTHING
    },
    // Schedulers, debuggers, databases and terminals, which all run what they are given.
    Program {
        names: &[
            "at", "batch", "crontab", "gdb", "lldb", "mariadb", "mongosh", "mysql", "psql",
            "sqlite3", "tmux",
        ],
        examples: &[example("psql", Shows::Caveat), example("gdb -batch", Shows::Caveat)],
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
        _ => Some("it leaves the directory".to_owned()),
    }
}

fn jobs_caveat(rest: &[String]) -> Option<String> {
    rest.first().map(|word| with(word, "it can run anything"))
}
