//! What programs do with the words they are given: run them, split them, write where they say.

/// Programs that run another one, whose words follow; with how many words of their own come before.
const WRAPPERS: &[(&str, usize)] = &[
    ("builtin", 0),
    ("busybox", 0),
    ("chroot", 1),
    ("chrt", 1),
    ("command", 0),
    ("coproc", 0),
    ("doas", 0),
    ("env", 0),
    ("exec", 0),
    ("fakeroot", 0),
    ("flock", 1),
    ("ionice", 0),
    ("jobs", 0),
    ("linux32", 0),
    ("linux64", 0),
    ("nice", 0),
    ("nohup", 0),
    ("nsenter", 0),
    ("parallel", 0),
    ("pkexec", 0),
    ("prlimit", 0),
    ("rlwrap", 0),
    ("runuser", 0),
    ("script", 0),
    ("setarch", 1),
    ("setpriv", 0),
    ("setsid", 0),
    ("stdbuf", 0),
    ("strace", 0),
    ("sudo", 0),
    ("systemd-run", 0),
    ("taskset", 1),
    ("time", 0),
    ("timeout", 1),
    ("unshare", 0),
    ("watch", 0),
    ("bwrap", 0),
    ("catchsegv", 0),
    ("choom", 0),
    ("dbus-run-session", 0),
    ("eatmydata", 0),
    ("firejail", 0),
    ("ltrace", 0),
    ("numactl", 0),
    ("perf", 1),
    ("proot", 0),
    ("systemd-inhibit", 0),
    ("toybox", 0),
    ("valgrind", 0),
    ("xvfb-run", 0),
    ("xargs", 0),
];

/// How many words of its own a wrapper has before the program; nothing if it is none.
pub(crate) fn wraps(name: &str) -> Option<usize> {
    WRAPPERS.iter().find(|(known, _)| *known == name).map(|(_, own)| *own)
}

/// Programs that write files they are given: whether all of them or the last, and their flags that have a value.
const WRITERS: &[(&str, bool, &[&str])] = &[
    ("cp", false, &["-S", "--suffix"]),
    ("install", false, &["-g", "-m", "-o", "-S", "--suffix", "--mode", "--owner", "--group"]),
    ("ln", false, &["-S", "--suffix"]),
    ("mkdir", true, &["-m", "--mode"]),
    ("mkfifo", true, &["-m", "--mode"]),
    ("mv", true, &["-S", "--suffix"]),
    ("rsync", false, &["-e", "--rsh"]),
    ("scp", false, &["-P", "-i", "-o"]),
    ("shred", true, &["-n", "-s"]),
    ("tee", true, &[]),
    ("touch", true, &["-d", "-r", "-t", "--date", "--reference"]),
    ("truncate", true, &["-r", "-s", "--reference", "--size"]),
];

/// Programs with a flag that names what they write.
const WRITING_FLAGS: &[(&str, &[&str])] = &[
    ("cc", &["-o"]),
    ("clang", &["-o"]),
    ("curl", &["-o", "--output"]),
    ("g++", &["-o"]),
    ("gcc", &["-o"]),
    ("rustc", &["-o"]),
    ("unzip", &["-d"]),
    ("wget", &["-O", "-P", "-a", "-o", "--output-document", "--directory-prefix"]),
];

/// What `env` splits into a command: `-S`, alone or among other flags, with its text or before it.
pub(crate) fn split_string(word: &str, next: Option<&String>) -> Option<String> {
    if let Some(long) = word.strip_prefix("--s") {
        return long.split_once('=').map(|it| it.1.to_owned()).or_else(|| next.cloned());
    }
    let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
    let (_, text) = flags.split_once('S')?;
    let text = if text.is_empty() { next?.clone() } else { text.to_owned() };
    // Its own spelling of a blank.
    Some(text.replace("\\_", " "))
}

/// The files that a command is known to write, as they are spelt.
pub(crate) fn written_by(words: &[String]) -> Vec<String> {
    let Some((program, mut rest)) = words.split_first() else { return Vec::new() };
    let mut name = program.rsplit('/').next().unwrap_or(program);
    if name == "dd" {
        return rest
            .iter()
            .filter_map(|word| word.strip_prefix("of="))
            .map(str::to_owned)
            .collect();
    }
    if name == "patch" {
        return rest.iter().find(|word| !word.starts_with('-')).cloned().into_iter().collect();
    }
    if name == "git" && rest.first().is_some_and(|word| word == "mv") {
        (name, rest) = ("mv", &rest[1..]);
    }
    if let Some((_, flags)) = WRITING_FLAGS.iter().find(|(known, _)| *known == name) {
        return values_of(rest, flags);
    }
    let Some((_, is_all, with_value)) = WRITERS.iter().find(|(known, ..)| *known == name) else {
        return Vec::new();
    };
    let mut folders = values_of(rest, &["-t"]);
    folders.extend(values_of(rest, &["--target-directory"]));
    let mut operands: Vec<&String> = Vec::new();
    let mut is_value = false;
    for word in rest {
        if !is_value && !word.starts_with('-') {
            operands.push(word);
        }
        is_value = !is_value && (with_value.contains(&word.as_str()) || is_target_flag(word));
    }
    let base = |path: &str| path.trim_end_matches('/').rsplit('/').next().unwrap_or("").to_owned();
    let mut all: Vec<String> = Vec::new();
    if folders.is_empty() {
        match &operands[..] {
            // A link gets the name of what it leads to.
            [one] if name == "ln" => return vec![base(one)],
            [.., last] if !is_all || name == "mv" => {
                // Into a folder, it gets the name it had.
                let into = operands.iter().rev().skip(1);
                all.extend(into.map(|it| format!("{}/{}", last.trim_end_matches('/'), base(it))));
                all.push((*last).clone());
            }
            _ => {}
        }
    }
    for folder in folders {
        all.extend(operands.iter().map(|it| format!("{folder}/{}", base(it))));
        all.push(folder);
    }
    if *is_all {
        all.extend(operands.into_iter().cloned());
    }
    all
}

fn is_target_flag(word: &str) -> bool {
    word == "-t" || word.len() > 4 && "--target-directory".starts_with(word)
}

/// The values of flags: behind them, in the next word, or after a `=`; long ones may be shortened.
fn values_of(rest: &[String], flags: &[&str]) -> Vec<String> {
    let mut all = Vec::new();
    for (at, word) in rest.iter().enumerate() {
        for flag in flags {
            let (name, value) =
                word.split_once('=').map_or((word.as_str(), None), |it| (it.0, Some(it.1)));
            let is_it =
                name == *flag || flag.starts_with("--") && name.len() > 4 && flag.starts_with(name);
            if is_it {
                all.extend(value.map(str::to_owned).or_else(|| rest.get(at + 1).cloned()));
            } else if flag.len() == 2 && word.len() > 2 && word.starts_with(flag) {
                all.push(word[2..].to_owned());
            }
        }
    }
    all
}

/// Adds the words that braces make of one; returns whether they are no more than `most` together.
pub(crate) fn braces(word: &str, most: usize, all: &mut Vec<String>) -> bool {
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if all.len() + open.len() > most {
            return false;
        }
        match innermost(&word) {
            Some((start, end)) => {
                let parts: Vec<&str> = word[start + 1..end].split(',').collect();
                if parts.len() > most {
                    return false;
                }
                let made = parts.iter().rev();
                open.extend(
                    made.map(|part| format!("{}{part}{}", &word[..start], &word[end + 1..])),
                );
            }
            None if word.is_empty() => {}
            None => all.push(word),
        }
    }
    true
}

/// The first pair of braces that has a comma and no other braces in it.
fn innermost(word: &str) -> Option<(usize, usize)> {
    let mut start = None;
    for (at, byte) in word.bytes().enumerate() {
        match byte {
            b'{' if at > 0 && word.as_bytes()[at - 1] == b'$' => start = None,
            b'{' => start = Some(at),
            b'}' => {
                if let Some(from) = start
                    && word[from..at].contains(',')
                {
                    return Some((from, at));
                }
                start = None;
            }
            _ => {}
        }
    }
    None
}
