//! Wild trees: names, texts and rules that a searcher meets in the world, by chance.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::chance::Chance;
use crate::rg::give;

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

/// Text of a file: most is plain, some is not.
pub(crate) fn text(chance: &mut Chance) -> Vec<u8> {
    let mut text = Vec::new();
    let end: &[u8] = if chance.one_in(5) { b"\r\n" } else { b"\n" };
    for _ in 0..chance.below(30) {
        for _ in 0..chance.below(6) {
            text.extend_from_slice(chance.pick(WORDS).as_bytes());
            text.push(b' ');
        }
        text.extend_from_slice(end);
    }
    if chance.one_in(3) {
        text.extend_from_slice(b"no end beta");
    }
    match chance.below(24) {
        0 => text.insert(chance.below(text.len() + 1), 0),
        1 => text.push(0),
        2 => text = [b"a\n\0", text.as_slice()].concat(),
        3 => text = [b"\xef\xbb\xbf", text.as_slice()].concat(),
        4 => text = wide(&text, u16::to_le_bytes),
        5 => text = wide(&text, u16::to_be_bytes),
        6 => text.splice(0..0, [0xff, 0x80, b'a', b'l', b'p', b'h', b'a', 0xc3]).for_each(drop),
        7 => {
            // A long line.
            text.extend_from_slice(&b"filler alpha ".repeat(200 + chance.below(12_000)));
            text.extend_from_slice(b"\nafter beta\n");
        }
        8 => text.extend(b"many lines with gamma in them\n".repeat(chance.below(6000))),
        _ => {}
    }
    text
}

fn wide(text: &[u8], encode: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(encode).collect()
}

/// A name, as a path.
fn name(chance: &mut Chance) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(NAMES[chance.below(NAMES.len())]))
}

/// Rules of an ignore file.
pub(crate) fn rules(chance: &mut Chance) -> String {
    let rules: Vec<&str> = (0..=chance.below(4)).map(|_| chance.pick(RULES)).collect();
    let end = if chance.one_in(4) { "\r\n" } else { "\n" };
    rules.join(end)
}

/// Directories of a tree, the root first, without those behind links.
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

/// Files of a tree, without those in `.git`.
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
    give(path);
}

/// Grows a tree of about `count` files.
pub(crate) fn grow(root: &Path, count: usize, chance: &mut Chance) {
    let mut directories = vec![root.to_owned()];
    for _ in 0..count {
        let parent = directories[chance.below(directories.len())].clone();
        let path = parent.join(name(chance));
        match chance.below(12) {
            0..=2 => {
                if path.symlink_metadata().is_err() && parent.components().count() < 24 {
                    fs::create_dir(&path).unwrap();
                    give(&path);
                    directories.push(path);
                }
            }
            3 => put(&parent.join(chance.pick(RULE_FILES)), rules(chance).as_bytes()),
            4 => {
                let targets = ["a", "..", "/etc/hostname", "nowhere", "c.txt", "."];
                if path.symlink_metadata().is_err() {
                    symlink(chance.pick(&targets), &path).unwrap();
                }
            }
            _ if path.is_dir() || path.is_symlink() => {}
            _ => {
                put(&path, &text(chance));
                if chance.one_in(15) {
                    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
                }
            }
        }
    }
    if chance.one_in(2) {
        repository(root, chance);
    }
    if chance.one_in(3) {
        let inner = directories[chance.below(directories.len())].clone();
        repository(&inner, chance);
    }
    if chance.one_in(4) {
        let locked = directories[chance.below(directories.len())].clone();
        if locked != root {
            fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
        }
    }
}

/// Makes a directory look like the root of a repository.
fn repository(root: &Path, chance: &mut Chance) {
    let info = root.join(".git/info");
    if fs::create_dir_all(&info).is_ok() {
        put(&info.join("exclude"), rules(chance).as_bytes());
        for path in [root.join(".git"), info] {
            give(&path);
        }
    }
}

fn is_rules(file: &Path) -> bool {
    RULE_FILES.iter().any(|name| file.ends_with(name))
}

/// Lets two change places, as a deployment does.
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

/// Does something to the tree; returns what, in words.
pub(crate) fn disturb(root: &Path, chance: &mut Chance) -> String {
    let directories = directories(root);
    let files = files(root);
    let directory = directories[chance.below(directories.len())].clone();
    let fresh = directory.join(name(chance));
    if files.is_empty() || chance.below(19) < 7 {
        let other = directories[chance.below(directories.len())].clone();
        return disturb_directory(root, &directory, &fresh, &other, chance);
    }
    let file = files[chance.below(files.len())].clone();
    let other = match chance.below(3) {
        0 => files[chance.below(files.len())].clone(),
        1 => directory,
        _ => fresh.clone(),
    };
    disturb_file(&file, &fresh, &other, chance)
}

fn disturb_file(file: &Path, fresh: &Path, other: &Path, chance: &mut Chance) -> String {
    let shown = file.display();
    match chance.below(12) {
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
            put(&new, &text(chance));
            fs::rename(&new, file).unwrap();
            format!("replaced {shown}")
        }
        9 if !is_rules(file) => {
            let mode = if chance.one_in(2) { 0o000 } else { 0o644 };
            fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
            format!("mode {mode:o} of {shown}")
        }
        // A rule file behind a link that leads outside is not read by us.
        10 if !is_rules(file) => {
            fs::remove_file(file).unwrap();
            symlink("/etc/passwd", file).unwrap();
            format!("linked {shown}")
        }
        11 => exchange(file, other),
        _ => "nothing".to_owned(),
    }
}

fn disturb_directory(
    root: &Path,
    directory: &Path,
    fresh: &Path,
    other: &Path,
    chance: &mut Chance,
) -> String {
    let shown = directory.display();
    let is_free = fresh.symlink_metadata().is_err();
    match chance.below(10) {
        0..=3 if !fresh.is_dir() && !fresh.is_symlink() => {
            put(fresh, &text(chance));
            format!("wrote {}", fresh.display())
        }
        4 if is_free => {
            let deep = fresh.join("deep");
            fs::create_dir_all(&deep).unwrap();
            put(&deep.join("f.txt"), &text(chance));
            put(&fresh.join("g.rs"), &text(chance));
            give(fresh);
            give(&deep);
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
            let path = directory.join(chance.pick(RULE_FILES));
            if chance.one_in(3) {
                let _ = fs::remove_file(&path);
                return format!("removed {}", path.display());
            }
            put(&path, rules(chance).as_bytes());
            format!("rules in {}", path.display())
        }
        8 => exchange(directory, other),
        9 if directory != root => {
            let mode = if chance.one_in(2) { 0o000 } else { 0o755 };
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
            format!("mode {mode:o} of {shown}")
        }
        _ => "nothing".to_owned(),
    }
}
