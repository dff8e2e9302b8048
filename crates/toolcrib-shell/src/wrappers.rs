//! What programs do with the words they are given: run them, split them.

use crate::budget::Budget;

/// Programs that run another one, whose words follow; with how many words of their own come before.
const WRAPPERS: &[(&str, usize)] = &[
    ("builtin", 0),
    ("busybox", 0),
    ("chroot", 1),
    ("chrt", 1),
    ("command", 0),
    ("coproc", 0),
    ("doas", 0),
    ("dumb-init", 0),
    ("env", 0),
    ("exec", 0),
    ("fakeroot", 0),
    ("flock", 1),
    ("gosu", 1),
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
    ("screen", 0),
    ("script", 0),
    ("setarch", 1),
    ("setpriv", 0),
    ("setsid", 0),
    ("ssh", 1),
    ("stdbuf", 0),
    ("strace", 0),
    ("su-exec", 1),
    ("sudo", 0),
    ("systemd-run", 0),
    ("taskset", 1),
    ("time", 0),
    ("timeout", 1),
    ("tini", 0),
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

/// Programs of which one command runs what its words name.
const RUNNERS: &[(&str, &[&str])] = &[
    ("bundle", &["exec"]),
    ("conda", &["run"]),
    ("docker", &["exec", "run"]),
    ("dotnet", &["exec", "run"]),
    ("kubectl", &["exec", "run"]),
    ("mamba", &["run"]),
    ("npm", &["exec", "x"]),
    ("pipenv", &["run"]),
    ("pnpm", &["dlx", "exec"]),
    ("podman", &["exec", "run"]),
    ("poetry", &["run"]),
    ("rye", &["run"]),
    ("uv", &["run"]),
    ("yarn", &["dlx", "exec"]),
];

/// Whether this command of a program runs what its further words name.
pub(crate) fn is_runner(name: &str, command: &str) -> bool {
    RUNNERS.iter().any(|(known, commands)| *known == name && commands.contains(&command))
}

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

/// Adds the words that braces make of one; returns whether they are no more than `most` together.
pub(crate) fn braces(word: &str, most: usize, all: &mut Vec<String>, budget: &Budget) -> bool {
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if all.len() + open.len() > most || !budget.spend_bytes(word.len()) {
            return false;
        }
        match innermost(&word) {
            Some((start, end)) => {
                let parts: Vec<&str> = word[start + 1..end].split(',').collect();
                if parts.len() > most || !budget.spend_bytes(parts.len() * word.len()) {
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
