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
    ("xargs", 0),
];

/// How many words of its own a wrapper has before the program; nothing if it is none.
pub(crate) fn wraps(name: &str) -> Option<usize> {
    WRAPPERS.iter().find(|(known, _)| *known == name).map(|(_, own)| *own)
}

/// Programs that write every file they are given.
const WRITE_ALL: &[&str] =
    &["install", "mkdir", "mkfifo", "mv", "shred", "tee", "touch", "truncate"];

/// Programs that write the last file they are given.
const WRITE_LAST: &[&str] = &["cp", "ln", "rsync", "scp"];

/// What `env` splits into a command: `-S`, alone or among other flags, with its text or before it.
pub(crate) fn split_string(word: &str, next: Option<&String>) -> Option<String> {
    if let Some(long) = word.strip_prefix("--s") {
        return long.split_once('=').map(|it| it.1.to_owned()).or_else(|| next.cloned());
    }
    let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
    let (_, text) = flags.split_once('S')?;
    if text.is_empty() { next.cloned() } else { Some(text.to_owned()) }
}

/// The files that a program is known to write, as they are spelt.
pub(crate) fn written_by(name: &str, rest: &[String]) -> Vec<String> {
    let files = || rest.iter().filter(|word| !word.starts_with('-')).cloned();
    if WRITE_ALL.contains(&name) {
        return files().collect();
    }
    if WRITE_LAST.contains(&name) {
        let named = rest.iter().filter_map(|word| word.strip_prefix("--target-directory="));
        return files().next_back().into_iter().chain(named.map(str::to_owned)).collect();
    }
    if name == "dd" {
        return rest
            .iter()
            .filter_map(|word| word.strip_prefix("of="))
            .map(str::to_owned)
            .collect();
    }
    Vec::new()
}

/// The words that braces make of one, as far as one pair of them goes.
pub(crate) fn braces(word: &str) -> Vec<String> {
    const MOST: usize = 32;
    let whole = || vec![word.to_owned()];
    if word.contains("${") {
        return whole();
    }
    let Some((before, rest)) = word.split_once('{') else { return whole() };
    let Some((inner, after)) = rest.split_once('}') else { return whole() };
    if !inner.contains(',') || inner.contains('{') {
        return whole();
    }
    inner
        .split(',')
        .take(MOST)
        .map(|part| format!("{before}{part}{after}"))
        .filter(|it| !it.is_empty())
        .collect()
}
