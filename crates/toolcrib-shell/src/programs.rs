//! Programs whose first words do not say what they do: some run what other words name, some write where
//! other words say. What is not known here says nothing either way.

/// Programs that run what they are told, whatever their words are.
const RUN_ANYTHING: &[&str] = &[
    ".",
    "alias",
    "ash",
    "at",
    "awk",
    "bash",
    "batch",
    "bind",
    "builtin",
    "bun",
    "busybox",
    "chroot",
    "command",
    "compgen",
    "complete",
    "coproc",
    "crontab",
    "csh",
    "dash",
    "declare",
    "deno",
    "doas",
    "docker",
    "ed",
    "emacs",
    "enable",
    "env",
    "eval",
    "ex",
    "exec",
    "expect",
    "export",
    "fc",
    "fish",
    "flock",
    "ftp",
    "gawk",
    "gdb",
    "getopts",
    "hash",
    "history",
    "ionice",
    "irb",
    "java",
    "jshell",
    "ksh",
    "less",
    "let",
    "lldb",
    "local",
    "ltrace",
    "lua",
    "luajit",
    "man",
    "mapfile",
    "mawk",
    "more",
    "nano",
    "nawk",
    "nc",
    "ncat",
    "nice",
    "node",
    "nohup",
    "npx",
    "nsenter",
    "osascript",
    "parallel",
    "perl",
    "php",
    "pip",
    "pip3",
    "pipx",
    "pkexec",
    "podman",
    "popd",
    "powershell",
    "prlimit",
    "psql",
    "pushd",
    "pwsh",
    "python",
    "python2",
    "python3",
    "rbash",
    "read",
    "readarray",
    "readonly",
    "rsync",
    "ruby",
    "runuser",
    "script",
    "set",
    "setarch",
    "setpriv",
    "setsid",
    "sftp",
    "sh",
    "shopt",
    "socat",
    "source",
    "sqlite3",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "tar",
    "taskset",
    "tclsh",
    "telnet",
    "time",
    "timeout",
    "tmux",
    "trap",
    "typeset",
    "unset",
    "unshare",
    "uv",
    "uvx",
    "vi",
    "view",
    "vim",
    "wait",
    "watch",
    "xargs",
    "xonsh",
    "zsh",
];

/// Words that make a program run or write something: long ones can be shortened, short ones bundled.
struct Flags {
    program: &'static str,
    long: &'static [&'static str],
    short: &'static str,
    about: &'static str,
}

const FLAGS: &[Flags] = &[
    Flags {
        program: "cargo",
        long: &[
            "--config",
            "--manifest-path",
            "--target-dir",
            "--artifact-dir",
            "--out-dir",
            "--root",
        ],
        short: "ZC",
        about: "its settings name programs to run",
    },
    Flags {
        program: "curl",
        long: &[
            "--config",
            "--output",
            "--remote-name",
            "--remote-name-all",
            "--output-dir",
            "--cookie-jar",
            "--dump-header",
            "--trace",
            "--trace-ascii",
            "--stderr",
            "--etag-save",
            "--libcurl",
            "--upload-file",
            "--unix-socket",
            "--engine",
            "--data-binary",
            "--data",
            "--form",
        ],
        short: "KoOcDTFd",
        about: "it writes files, or sends them",
    },
    Flags { program: "diff", long: &["--output"], short: "", about: "it writes a file" },
    Flags {
        program: "du",
        long: &["--files0-from"],
        short: "",
        about: "another file says what it reads",
    },
    Flags {
        program: "go",
        long: &[
            "--exec",
            "--toolexec",
            "-exec",
            "-toolexec",
            "-vettool",
            "-o",
            "-overlay",
            "-modfile",
        ],
        short: "",
        about: "it runs what they name",
    },
    Flags {
        program: "make",
        long: &["--eval", "--file", "--makefile", "--directory", "--include-dir"],
        short: "fCIE",
        about: "other files, or words, say what it runs",
    },
    Flags {
        program: "rg",
        long: &["--pre", "--hostname-bin", "--search-zip"],
        short: "z",
        about: "it runs what they name",
    },
    Flags {
        program: "sort",
        long: &["--compress-program", "--output", "--temporary-directory", "--files0-from"],
        short: "oT",
        about: "it runs or writes what they name",
    },
    Flags { program: "tree", long: &[], short: "oR", about: "it writes files" },
    Flags {
        program: "wc",
        long: &["--files0-from"],
        short: "",
        about: "another file says what it reads",
    },
    Flags {
        program: "wget",
        long: &["--use-askpass", "--execute", "--config", "--output-document", "--post-file"],
        short: "eO",
        about: "they say what it runs or writes",
    },
];

/// What `find` does to what it finds.
const FIND: &[&str] = &[
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

/// Git's words that run or write what follows them.
const GIT_LONG: &[&str] = &[
    "--exec",
    "--filters",
    "--help",
    "--exec-path",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--output",
    "--receive-pack",
    "--textconv",
    "--tool",
    "--upload-pack",
    "--config",
    "--config-env",
    "--template",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--separate-git-dir",
    "--file",
    "--server-option",
    "--gpg-sign",
    "--output-directory",
    "--pathspec-from-file",
];

/// Git's commands that do nothing but run what they are told, or change what git runs later.
const GIT_RUNS: &[&str] = &[
    "bisect",
    "clone",
    "config",
    "credential",
    "daemon",
    "difftool",
    "fast-import",
    "filter-branch",
    "help",
    "hook",
    "init",
    "instaweb",
    "maintenance",
    "mergetool",
    "rebase",
    "remote",
    "replace",
    "send-email",
    "shell",
    "submodule",
    "svn",
    "upload-archive",
    "worktree",
];

/// Returns why a program's first words do not say what all of them do.
pub(crate) fn caveat(words: &[String]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    let name = name.as_str();
    if RUN_ANYTHING.contains(&name) {
        return Some(format!("`{name}` can run anything"));
    }
    if name.contains('/') {
        return Some(format!("`{name}` is a program of the workspace, whatever its name"));
    }
    let is = |word: &str, about: &str| Some(format!("with `{word}`, {about}"));
    match name {
        "git" => git(rest),
        "find" | "fd" | "fdfind" => {
            let finds = |word: &&String| {
                FIND.contains(&word.as_str())
                    || name != "find" && (word.starts_with("--exec") || is_bundled(word, "xX"))
            };
            rest.iter().find(finds).and_then(|word| is(word, "it runs or writes something"))
        }
        "sed" => sed(rest),
        // Their subscripts are evaluated, and what is in those is run.
        "test" | "[" => {
            let odd = |word: &&String| word.contains('[') || matches!(word.as_str(), "-v" | "-R");
            rest.iter().find(odd).and_then(|word| is(word, "a subscript is evaluated"))
        }
        "printf" => rest
            .iter()
            .find(|word| word.starts_with("-v"))
            .and_then(|word| is(word, "a subscript is evaluated")),
        // Whatever begins with a dash can be a setting of theirs, however many dashes there are.
        "npm" | "pnpm" | "yarn" => {
            let known = |word: &str| matches!(word, "--silent" | "-s" | "--if-present");
            let odd = rest.iter().find(|word| word.starts_with('-') && !known(word));
            odd.and_then(|word| is(word, "its settings say what it runs"))
        }
        "date" => rest
            .iter()
            .find(|word| {
                !word.starts_with(['+', '-']) || is_bundled(word, "sf") || is_long(word, "--set")
            })
            .and_then(|word| is(word, "it sets the clock, or reads another file")),
        "uniq" => {
            let operands = rest.iter().filter(|it| *it == "-" || !it.starts_with('-')).count();
            (operands > 1).then(|| "its second operand is written".to_owned())
        }
        "cd" => match rest {
            [folder]
                if !folder.starts_with(['/', '-', '~'])
                    && !folder.split('/').any(|it| it == "..") =>
            {
                None
            }
            _ => Some("it leaves the directory".to_owned()),
        },
        "make" | "gmake" => {
            let goals = rest.iter().filter(|word| !word.starts_with('-')).count();
            let sets = rest.iter().find(|word| word.contains('='));
            sets.and_then(|word| is(word, "its variables say what it runs"))
                .or_else(|| (goals > 1).then(|| "it makes more than one thing".to_owned()))
                .or_else(|| flags("make", rest))
        }
        _ => flags(name, rest),
    }
}

fn flags(name: &str, rest: &[String]) -> Option<String> {
    let known = FLAGS.iter().find(|flags| flags.program == name)?;
    let found = rest.iter().find(|word| {
        known.long.iter().any(|long| is_long(word, long)) || is_bundled(word, known.short)
    })?;
    Some(format!("with `{found}`, {}", known.about))
}

/// Whether a word is a long option or a beginning of it, with or without a value.
fn is_long(word: &str, long: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    if long.starts_with("--") {
        return name.len() > 2 && name.starts_with("--") && long.starts_with(name);
    }
    name == long
}

/// Whether a word is short options of which one is in `short`.
fn is_bundled(word: &str, short: &str) -> bool {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    rest.is_some_and(|rest| rest.contains(|c| short.contains(c)))
}

fn git(rest: &[String]) -> Option<String> {
    let at = rest.iter().position(|word| !word.starts_with('-'));
    let before = &rest[..at.unwrap_or(rest.len())];
    if let Some(word) =
        before.iter().find(|word| !matches!(word.as_str(), "--no-pager" | "--version"))
    {
        return Some(format!("with `{word}` before its command, git can run anything"));
    }
    let (command, rest) = rest[at?..].split_first()?;
    if GIT_RUNS.contains(&command.as_str()) {
        return Some(format!("`git {command}` runs, or sets, what git runs"));
    }
    let runs = |word: &&String| {
        GIT_LONG.iter().any(|long| is_long(word, long))
            || word.contains("::")
            || command == "grep" && is_bundled(word, "O")
            || matches!(command.as_str(), "fetch" | "pull" | "push" | "ls-remote" | "archive")
                && is_bundled(word, "uo")
    };
    rest.iter().find(runs).map(|word| format!("with `{word}`, git runs or writes something"))
}

/// Of sed's programs, only those that print lines by number are understood.
fn sed(rest: &[String]) -> Option<String> {
    let prints = |program: &str| {
        let Some(range) = program.strip_suffix('p') else { return false };
        let is_number = |it: &str| {
            !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit() || byte == b'$')
        };
        range.split(',').count() <= 2 && range.split(',').all(is_number)
    };
    match rest {
        [flag, program, files @ ..]
            if flag == "-n"
                && prints(program)
                && !files.iter().any(|file| file.starts_with('-')) =>
        {
            None
        }
        _ => Some("sed can write files and run programs".to_owned()),
    }
}
