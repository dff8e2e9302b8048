//! Programs whose first words do not say what they do: some run what other words name, some write where
//! other words say. What is not known here says nothing either way.

mod known;

use crate::nodes::SHELLS;
use crate::wrappers::{is_runner, wraps};

use known::{CURL, FIND, FLAGS, GIT_LONG, GIT_PLAIN, GIT_RUNS, GO, RUN_ANYTHING, SUMS};

/// Returns why a program's first words do not say what all of them do.
pub(crate) fn caveat(words: &[String]) -> Option<String> {
    let (name, rest) = words.split_first()?;
    let name = name.as_str();
    by_name(name, rest).or_else(|| by_words(name, rest))
}

/// What is so of a program whatever its words are, and of one that is there to run another.
fn by_name(name: &str, rest: &[String]) -> Option<String> {
    // `python3.11` is python.
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || ".-".contains(c));
    let runs_anything = |name: &str| {
        RUN_ANYTHING.contains(&name) || SHELLS.contains(&name) || wraps(name).is_some()
    };
    if name != "jobs" && (runs_anything(name) || !bare.is_empty() && runs_anything(bare)) {
        return Some(format!("`{name}` can run anything"));
    }
    // Before its command a program has flags, and flags may have a value.
    let command = rest.iter().enumerate().find(|(at, word)| {
        let follows_flag = *at > 0 && rest[at - 1].starts_with('-');
        !word.starts_with('-') && (!follows_flag || is_runner(name, word))
    });
    if let Some((_, command)) = command.filter(|(_, word)| is_runner(name, word)) {
        return Some(format!("`{name} {command}` can run anything"));
    }
    if name.contains('/') {
        return Some(format!("`{name}` is a program of the workspace, whatever its name"));
    }
    None
}

fn by_words(name: &str, rest: &[String]) -> Option<String> {
    let is = |word: &str, about: &str| Some(with(word, about));
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
        "cc" | "c++" | "clang" | "clang++" | "g++" | "gcc" | "gfortran" => compiler(rest),
        "jobs" => rest.first().and_then(|word| is(word, "it can run anything")),
        // It writes more than one file, under names that are not in its words.
        "csplit" => Some("it writes files".to_owned()),
        "xxd" => {
            let operands = rest.iter().filter(|it| *it == "-" || !it.starts_with('-')).count();
            let is_back = rest.iter().any(|word| is_bundled(word, "r"));
            (operands > 1 || is_back).then(|| "its second operand is written".to_owned())
        }
        "pytest" | "py.test" => pytest(rest),
        "strings" | "nm" | "objdump" | "readelf" | "size" => {
            let list = rest.iter().find(|word| word.starts_with('@'));
            list.and_then(|word| is(word, "another file says what it reads"))
        }
        _ if SUMS.contains(&name) => {
            let checks = |word: &&String| is_bundled(word, "c") || is_long(word, "--check");
            rest.iter().find(checks).and_then(|word| is(word, "another file says what it reads"))
        }
        "jq" | "rustc" => loads(name, rest),
        "curl" if rest.iter().any(|it| it.to_ascii_lowercase().contains("file:")) => {
            Some("it reads a file by its address".to_owned())
        }
        "curl" if spells_addresses(rest) => Some("it makes addresses of a pattern".to_owned()),
        "curl" => only(rest, "sSfLkIivgG46HXm", CURL, "it may read, write or send files"),
        "go" => only(rest, "vx", GO, "it may run or write something"),
        "cargo" if rest.iter().any(|word| word.starts_with("--logfile")) => {
            Some("with `--logfile`, it writes a file".to_owned())
        }
        // Their subscripts are evaluated, and what is in those is run.
        "test" | "[" => {
            let odd = |word: &&String| word.contains('[') || matches!(word.as_str(), "-v" | "-R");
            rest.iter().find(odd).and_then(|word| is(word, "a subscript is evaluated"))
        }
        "printf" => rest
            .iter()
            .find(|word| word.starts_with("-v") || counts(word))
            .and_then(|word| is(word, "it sets a variable")),
        // Whatever begins with a dash can be a setting of theirs, however many dashes there are.
        "npm" | "pnpm" | "yarn" => {
            let known = |word: &str| matches!(word, "--silent" | "-s" | "--if-present");
            // What is behind `--` is for the script.
            let own = rest.iter().take_while(|word| *word != "--");
            let odd = own.into_iter().find(|word| word.starts_with('-') && !known(word));
            odd.and_then(|word| is(word, "its settings say what it runs"))
        }
        "date" => date(rest),
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

fn with(word: &str, about: &str) -> String {
    format!("with `{word}`, {about}")
}

/// Whether a format has `%n`, with whatever may stand between the two.
fn counts(format: &str) -> bool {
    format.split('%').skip(1).any(|part| {
        part.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #'.*lhjztLq$I".contains(c))
            .starts_with('n')
    })
}

/// Of many flags, those that are known to do no more than say how.
fn only(rest: &[String], short: &str, long: &[&str], about: &str) -> Option<String> {
    let is_known = |word: &str| {
        let name = word.split('=').next().unwrap_or(word);
        let letters = word.strip_prefix('-').unwrap_or_default();
        long.contains(&name)
            || !word.starts_with("--") && letters.chars().all(|c| short.contains(c))
    };
    let odd = rest.iter().find(|word| word.starts_with('-') && word.len() > 1 && !is_known(word));
    odd.map(|word| with(word, about))
}

/// Words of programs that load, or run, what they name.
fn loads(name: &str, rest: &[String]) -> Option<String> {
    let loads = |it: &&String| match name {
        "jq" => {
            it.contains("import")
                || it.contains("include")
                || is_bundled(it, "Lf")
                || is_long(it, "--library-path")
                || is_long(it, "--from-file")
        }
        _ => {
            it.contains("link")
                || is_long(it, "--extern")
                || it.starts_with("-L")
                || it.starts_with("-Z")
                || it.starts_with('@')
        }
    };
    rest.iter().find(loads).map(|word| with(word, "it loads or runs what that names"))
}

fn compiler(rest: &[String]) -> Option<String> {
    const RUN: [&str; 15] = [
        "-fpass-plugin",
        "-fuse-ld",
        "-wrapper",
        "-B",
        "-fplugin",
        "-specs",
        "--specs",
        "@",
        "-Xclang",
        "-load",
        "-Wl,",
        "-Wa,",
        "-Wp,",
        "-Xlinker",
        "-Xassembler",
    ];
    // Of what has two dashes much is another name for one of those.
    let is_long = |word: &str| word.starts_with("--") && !matches!(word, "--version" | "--help");
    let runs = |word: &&String| is_long(word) || RUN.iter().any(|flag| word.starts_with(flag));
    rest.iter().find(runs).map(|word| with(word, "it runs what that names"))
}

/// Whether curl would make other addresses of its words, by braces and brackets.
fn spells_addresses(rest: &[String]) -> bool {
    let is_header = |at: usize| at > 0 && matches!(rest[at - 1].as_str(), "-H" | "--header");
    let is_plain = rest.iter().any(|word| word == "-g" || word == "--globoff");
    let words = rest.iter().enumerate();
    !is_plain
        && words.into_iter().any(|(at, word)| !is_header(at) && word.contains(['{', '[', '}']))
}

fn pytest(rest: &[String]) -> Option<String> {
    let known = |word: &str| {
        matches!(word, "-q" | "-qq" | "-v" | "-vv" | "-x" | "-s" | "-l" | "-k" | "-m")
            || word.starts_with("--tb=")
            || word.starts_with("--maxfail=")
    };
    let odd = rest.iter().find(|word| word.starts_with(['-', '@']) && !known(word));
    odd.map(|word| with(word, "it can load or write other files"))
}

fn date(rest: &[String]) -> Option<String> {
    let odd = rest.iter().enumerate().find(|(at, word)| {
        let is_value = *at > 0 && matches!(rest[at - 1].as_str(), "-d" | "--date" | "-r");
        let is_form = word.starts_with("-I") || word.starts_with("-d") || *word == "-R";
        let sets = is_bundled(word, "sf") || is_long(word, "--set") || is_long(word, "--file");
        !is_value && !is_form && (sets || !word.starts_with(['+', '-']))
    });
    odd.map(|(_, word)| with(word, "it sets the clock, or reads another file"))
}

fn flags(name: &str, rest: &[String]) -> Option<String> {
    let known = FLAGS.iter().find(|flags| flags.program == name)?;
    let is_it = |word: &str, long: &str| match name {
        // It takes no shortened ones: `--target` is not `--target-dir`.
        "cargo" => word.split('=').next() == Some(long),
        _ => is_long(word, long),
    };
    let found = rest.iter().find(|word| {
        known.long.iter().any(|long| is_it(word, long)) || is_bundled(word, known.short)
    })?;
    Some(format!("with `{found}`, {}", known.about))
}

/// Whether a word is a long option or a beginning of it, with or without a value.
fn is_long(word: &str, long: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    // Go takes one dash for two.
    let name = if long.starts_with("--") {
        name
    } else {
        name.strip_prefix('-').filter(|it| it.starts_with('-')).unwrap_or(name)
    };
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
    if GIT_RUNS.contains(&command.as_str())
        || command.starts_with("remote-")
        || command.contains("--")
    {
        return Some(format!("`git {command}` runs, or sets, what git runs"));
    }
    let reaches = matches!(
        command.as_str(),
        "archive" | "fetch" | "fetch-pack" | "ls-remote" | "pull" | "push" | "send-pack"
    );
    // Any other name can be a folder of the workspace, whose settings git then obeys.
    if reaches && command != "archive" {
        let remote = rest.iter().find(|word| !word.starts_with('-'));
        let flags = rest.iter().take_while(|word| word.starts_with('-'));
        let is_plain = |it: &str| GIT_PLAIN.contains(&it.split('=').next().unwrap_or(it));
        // What has a value would make the next word something else.
        if let Some(flag) = flags.into_iter().find(|it| !is_plain(it)) {
            return Some(with(flag, "git may go elsewhere"));
        }
        if let Some(remote) = remote.filter(|it| !matches!(it.as_str(), "origin" | "upstream")) {
            return Some(with(remote, "git may run what is set there"));
        }
        if let Some(flag) = rest.iter().find(|it| is_long(it, "--repo")) {
            return Some(with(flag, "git may go elsewhere"));
        }
    }
    let runs = |word: &&String| {
        GIT_LONG.iter().any(|long| is_long(word, long))
            || word.contains("::") && reaches
            || command == "grep" && is_bundled(word, "O")
            || command == "archive" && (is_bundled(word, "o") || is_long(word, "--remote"))
            || is_bundled(word, "s")
                && matches!(command.as_str(), "merge" | "pull" | "cherry-pick" | "revert")
            || is_long(word, "--strategy")
            || word.starts_with("--batch")
            || word.starts_with("--stdin")
    };
    rest.iter().find(runs).map(|word| format!("with `{word}`, git runs or writes something"))
}

/// Of sed's programs, only those that print lines by number, or by a plain text, are understood.
fn sed(rest: &[String]) -> Option<String> {
    let prints = |program: &str| {
        let Some(range) = program.strip_suffix('p') else { return false };
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
