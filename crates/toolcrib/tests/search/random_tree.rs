//! Random trees: the names, texts and ignore rules that a searcher meets, and random changes to them.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::random::Random;
use crate::ripgrep::give_to_reader;

const WORDS: &[&str] = &[
    "alpha",
    "Alpha",
    "beta",
    "gamma",
    "delta_x",
    "Zeta",
    "fn main() {",
    "é",
    "日本語",
    "x1",
    "f(a)",
    "0x1f",
    "kelvin",
    "\u{212a}elvin",
    "mass",
    "ma\u{17f}s",
    "TODO:",
    "end",
    "\tindent",
    "aaa",
];

const NAMES: &[&[u8]] = &[
    b"a",
    b"b.rs",
    b"c.txt",
    b"d",
    b"target",
    b"build",
    b"lib.rs",
    b".hidden",
    b".b.rs",
    b"x.log",
    b"e.min.js",
    b"sp ace",
    b"\xe9t\xe9",
    b"new\nline",
    b"quo'te",
    b"docs",
    b"src",
    b"keep.log",
    b"$dollar",
];

const RULES: &[&str] = &[
    "*.log",
    "!keep.log",
    "target/",
    "/build",
    "docs/**",
    "**/c.txt",
    "a",
    "!a",
    "*.rs",
    "!lib.rs",
    "src/*.txt",
    "# comment",
    "",
    "\\!odd",
    ".hidden",
    "!.hidden",
    "d/",
    "/src/",
    "e.*",
    "[ab]*",
    "sp\\ ace",
    "*.min.js",
    "trailing ",
    "{x,y}",
    "[",
];

const RULE_FILES: &[&str] = &[".gitignore", ".gitignore", ".ignore", ".rgignore"];

/// Returns the text of a file, which is plain in most cases.
pub(crate) fn text(random: &mut Random) -> Vec<u8> {
    let mut text = Vec::new();
    let end: &[u8] = if random.one_in(5) { b"\r\n" } else { b"\n" };
    for _ in 0..random.below(30) {
        for _ in 0..random.below(6) {
            text.extend_from_slice(random.pick(WORDS).as_bytes());
            text.push(b' ');
        }
        text.extend_from_slice(end);
    }
    if random.one_in(3) {
        text.extend_from_slice(b"no end beta");
    }
    match random.below(24) {
        0 => text.insert(random.below(text.len() + 1), 0),
        1 => text.push(0),
        2 => text = [b"a\n\0", text.as_slice()].concat(),
        3 => text = [b"\xef\xbb\xbf", text.as_slice()].concat(),
        4 => text = wide(&text, u16::to_le_bytes),
        5 => text = wide(&text, u16::to_be_bytes),
        6 => text.splice(0..0, [0xff, 0x80, b'a', b'l', b'p', b'h', b'a', 0xc3]).for_each(drop),
        7 => {
            // A long line.
            text.extend_from_slice(&b"filler alpha ".repeat(200 + random.below(12_000)));
            text.extend_from_slice(b"\nafter beta\n");
        }
        8 => text.extend(b"many lines with gamma in them\n".repeat(random.below(6000))),
        _ => {}
    }
    text
}

fn wide(text: &[u8], encode: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(encode).collect()
}

/// Returns a random name, as a path.
fn name(random: &mut Random) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(NAMES[random.below(NAMES.len())]))
}

/// Returns the rules of an ignore file.
pub(crate) fn rules(random: &mut Random) -> String {
    let rules: Vec<&str> = (0..=random.below(4)).map(|_| random.pick(RULES)).collect();
    let end = if random.one_in(4) { "\r\n" } else { "\n" };
    rules.join(end)
}

/// Returns the directories of a tree, the root first. Links are not followed.
pub(crate) fn directories(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.to_owned()];
    let mut at = 0;
    while at < found.len() {
        let Ok(entries) = fs::read_dir(&found[at]) else {
            at += 1;
            continue;
        };
        for entry in entries {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_dir() && entry.file_name() != ".git" {
                found.push(entry.path());
            }
        }
        at += 1;
    }
    found[1..].sort();
    found
}

/// Returns the files of a tree, without those in `.git`.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for directory in directories(root) {
        let Ok(entries) = fs::read_dir(&directory) else { continue };
        for entry in entries {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

pub(crate) fn put(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap();
    give_to_reader(path);
}

/// Makes a tree of about `count` files.
pub(crate) fn make_random_tree(root: &Path, count: usize, random: &mut Random) {
    let mut directories = vec![root.to_owned()];
    for _ in 0..count {
        let parent = directories[random.below(directories.len())].clone();
        let path = parent.join(name(random));
        match random.below(12) {
            0..=2 => {
                if path.symlink_metadata().is_err() && parent.components().count() < 24 {
                    fs::create_dir(&path).unwrap();
                    give_to_reader(&path);
                    directories.push(path);
                }
            }
            3 => put(&parent.join(random.pick(RULE_FILES)), rules(random).as_bytes()),
            4 => {
                let targets = ["a", "..", "/etc/hostname", "nowhere", "c.txt", "."];
                if path.symlink_metadata().is_err() {
                    symlink(random.pick(&targets), &path).unwrap();
                }
            }
            _ if path.is_dir() || path.is_symlink() => {}
            _ => {
                put(&path, &text(random));
                if random.one_in(15) {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
                }
            }
        }
    }
    if random.one_in(2) {
        repository(root, random);
    }
    if random.one_in(3) {
        let inner = directories[random.below(directories.len())].clone();
        repository(&inner, random);
    }
    if random.one_in(4) {
        let locked = directories[random.below(directories.len())].clone();
        if locked != root {
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        }
    }
}

/// Makes a directory look like the root of a repository.
fn repository(root: &Path, random: &mut Random) {
    let info = root.join(".git/info");
    if fs::create_dir_all(&info).is_ok() {
        put(&info.join("exclude"), rules(random).as_bytes());
        for path in [root.join(".git"), info] {
            give_to_reader(&path);
        }
    }
}

fn is_rules(file: &Path) -> bool {
    RULE_FILES.iter().any(|name| file.ends_with(name))
}

/// Exchanges two names, as a deployment does.
fn exchange(a: &Path, b: &Path) -> String {
    if a.starts_with(b) || b.starts_with(a) || is_rules(a) || is_rules(b) {
        return "nothing".to_owned();
    }
    let cwd = rustix::fs::CWD;
    match rustix::fs::renameat_with(cwd, a, cwd, b, rustix::fs::RenameFlags::EXCHANGE) {
        Ok(()) => format!("exchanged {} with {}", a.display(), b.display()),
        Err(errno) => format!("nothing: {errno}"),
    }
}

/// Changes something in the tree; returns what, in words.
pub(crate) fn change_at_random(root: &Path, random: &mut Random) -> String {
    let directories = directories(root);
    let files = files(root);
    let directory = directories[random.below(directories.len())].clone();
    let fresh = directory.join(name(random));
    if files.is_empty() || random.below(19) < 7 {
        let other = directories[random.below(directories.len())].clone();
        return change_directory(root, &directory, &fresh, &other, random);
    }
    let file = files[random.below(files.len())].clone();
    let other = match random.below(3) {
        0 => files[random.below(files.len())].clone(),
        1 => directory,
        _ => fresh.clone(),
    };
    change_file(&file, &fresh, &other, random)
}

fn change_file(file: &Path, fresh: &Path, other: &Path, random: &mut Random) -> String {
    let shown = file.display();
    match random.below(12) {
        0..=2 => {
            let mut content = fs::read(file).unwrap();
            content.extend_from_slice(b"appended alpha\n");
            put(file, &content);
            format!("appended to {shown}")
        }
        3 => {
            let handle = fs::OpenOptions::new().write(true).open(file).unwrap();
            std::os::unix::fs::FileExt::write_all_at(&handle, b"beta in place ", 0).unwrap();
            format!("wrote into {shown}")
        }
        4 | 5 => {
            fs::remove_file(file).unwrap();
            format!("removed {shown}")
        }
        6 if !fresh.is_dir() => {
            fs::rename(file, fresh).unwrap();
            format!("moved {shown} to {}", fresh.display())
        }
        7 | 8 if !file.with_extension("new").is_dir() => {
            let new = file.with_extension("new");
            put(&new, &text(random));
            fs::rename(&new, file).unwrap();
            format!("replaced {shown}")
        }
        9 if !is_rules(file) => {
            let mode = if random.one_in(2) { 0o000 } else { 0o644 };
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
            format!("mode {mode:o} of {shown}")
        }
        // We do not read a rule file through a link that leads outside, but ripgrep does.
        10 if !is_rules(file) => {
            fs::remove_file(file).unwrap();
            symlink("/etc/passwd", file).unwrap();
            format!("linked {shown}")
        }
        11 => exchange(file, other),
        _ => "nothing".to_owned(),
    }
}

fn change_directory(
    root: &Path,
    directory: &Path,
    fresh: &Path,
    other: &Path,
    random: &mut Random,
) -> String {
    let shown = directory.display();
    let is_free = fresh.symlink_metadata().is_err();
    match random.below(10) {
        0..=3 if !fresh.is_dir() && !fresh.is_symlink() => {
            put(fresh, &text(random));
            format!("wrote {}", fresh.display())
        }
        4 if is_free => {
            let deep = fresh.join("deep");
            fs::create_dir_all(&deep).unwrap();
            put(&deep.join("f.txt"), &text(random));
            put(&fresh.join("g.rs"), &text(random));
            give_to_reader(fresh);
            give_to_reader(&deep);
            format!("made {}", fresh.display())
        }
        5 if directory != root => {
            let _ = fs::remove_dir_all(directory);
            format!("removed all of {shown}")
        }
        6 if directory != root && !fresh.starts_with(directory) && is_free => {
            fs::rename(directory, fresh).unwrap();
            format!("moved {shown} to {}", fresh.display())
        }
        7 => {
            let path = directory.join(random.pick(RULE_FILES));
            if random.one_in(3) {
                let _ = fs::remove_file(&path);
                return format!("removed {}", path.display());
            }
            put(&path, rules(random).as_bytes());
            format!("rules in {}", path.display())
        }
        8 => exchange(directory, other),
        9 if directory != root => {
            let mode = if random.one_in(2) { 0o000 } else { 0o755 };
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
            format!("mode {mode:o} of {shown}")
        }
        _ => "nothing".to_owned(),
    }
}
