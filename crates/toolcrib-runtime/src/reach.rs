//! The files that a command may change, as far as its words tell: what they hold is kept before it runs.

use std::time::Duration;

use toolcrib_core::Ctx;
use toolcrib_core::capability::EntryKind;
use toolcrib_core::reading::{ONLY_LOOK, Reading};

use crate::paths::{Candidates, below, directories};

/// More than this are not looked for.
const MOST: usize = 512;

/// Nor are more entries of one directory, or more directories, looked at, or for longer than this.
const MOST_ENTRIES: usize = 1000;
const MOST_LISTED: usize = 512;
const LONGEST: Duration = Duration::from_millis(150);

/// How far a directory that is removed is looked into.
const DEEPEST: usize = 64;

/// What a command may change.
pub(crate) struct Reached {
    pub(crate) files: Vec<String>,
    /// How many of them, the first, it is known to write or remove.
    pub(crate) known: usize,
    /// Whether there may be more.
    pub(crate) is_cut: bool,
}

/// Returns them, those first that it is known to remove or write; nothing if all that it does is to look.
pub(crate) fn may_change(reading: &Reading, from: &str, ctx: &Ctx) -> Option<Reached> {
    if is_read_only(reading) {
        return None;
    }
    let mut reach = Reach {
        files: Vec::new(),
        listed: 0,
        is_cut: false,
        until: ctx.clock.elapsed() + LONGEST,
        ctx,
    };
    let directories = directories(reading, from);
    // Where its `cd` lead is in these words already.
    let here = [from.to_owned()];
    for word in &reading.removes {
        reach.add_all(&here, word, |reach, path| reach.add_tree(path, DEEPEST));
    }
    let candidates = Candidates::all(reading, &directories);
    for word in &reading.writes {
        reach.add_all(&here, word, Reach::add_file);
    }
    for word in &reading.writes {
        reach.add_all(&here, word, Reach::add_new);
    }
    let known = reach.files.len();
    // What stars stand for in the middle of a path is not looked for.
    let is_open =
        |word: &String| word.rsplit_once('/').is_some_and(|(folder, _)| has_stars(folder));
    let is_open = reading.writes.iter().chain(&reading.removes).any(is_open);
    for word in &candidates.paths {
        reach.add_all(&directories, word, Reach::add_file);
    }
    let is_cut = reach.is_cut || is_open || candidates.beyond.is_some();
    Some(Reached { files: reach.files, known, is_cut })
}

/// Whether all that it does is to look.
fn is_read_only(reading: &Reading) -> bool {
    let Ok(proven) = &reading.proven else { return false };
    let looks = proven.steps.iter().all(|step| {
        let name = step.words.first().map_or("", String::as_str);
        ONLY_LOOK.contains(&name) && step.caveat.is_none()
    });
    looks && proven.writes.is_empty() && reading.writes.is_empty() && reading.removes.is_empty()
}

struct Reach<'a> {
    files: Vec<String>,
    /// How many directories were listed.
    listed: usize,
    /// When it is enough.
    until: Duration,
    is_cut: bool,
    ctx: &'a Ctx,
}

impl Reach<'_> {
    /// Adds what a word could be, from any of these directories.
    fn add_all(&mut self, directories: &[String], word: &str, add: impl Fn(&mut Self, &str)) {
        for directory in directories {
            if self.is_enough() {
                return;
            }
            let path = below(directory, word);
            let resolved = self.ctx.files.resolve(&path);
            // A link that is removed is one itself.
            if resolved.has_links
                && let Some((folder, name)) = path.rsplit_once('/')
                && let folder = self.ctx.files.resolve(folder)
                && folder.is_inside
            {
                self.add(&format!("{}/{name}", folder.path));
            }
            if !resolved.is_inside {
                continue;
            }
            add(self, &resolved.path);
            for path in self.expand(&resolved.path) {
                add(self, &path);
            }
        }
    }

    fn kind(&self, path: &str) -> Option<EntryKind> {
        self.ctx.files.stat(path).ok().map(|meta| meta.kind)
    }

    /// Whether it was looked for long enough, or there are enough of them.
    fn is_enough(&mut self) -> bool {
        self.is_cut |= self.files.len() >= MOST || self.ctx.clock.elapsed() > self.until;
        self.is_cut
    }

    fn add(&mut self, path: &str) {
        if !self.is_enough() && !self.files.iter().any(|known| known == path) {
            self.files.push(path.to_owned());
        }
    }

    /// Adds a file that is there.
    fn add_file(&mut self, path: &str) {
        if self.kind(path) == Some(EntryKind::File) {
            self.add(path);
        }
    }

    /// Adds a file that is there or could be made.
    fn add_new(&mut self, path: &str) {
        if matches!(self.kind(path), Some(EntryKind::File) | None) && !has_stars(path) {
            self.add(path);
        }
    }

    /// Adds a file, or all that is below a directory.
    fn add_tree(&mut self, path: &str, deep: usize) {
        match self.kind(path) {
            Some(EntryKind::File) => self.add(path),
            Some(EntryKind::Directory) if deep > 0 => {
                for (name, kind) in self.entries(path) {
                    let path = format!("{path}/{name}");
                    match kind {
                        EntryKind::File | EntryKind::Link => self.add(&path),
                        EntryKind::Directory => self.add_tree(&path, deep - 1),
                        EntryKind::Special => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// The paths that stars in the last part of one stand for.
    fn expand(&mut self, path: &str) -> Vec<String> {
        let Some((folder, last)) = path.rsplit_once('/') else { return Vec::new() };
        if !has_stars(last) || has_stars(folder) {
            return Vec::new();
        }
        let entries = self.entries(folder).into_iter();
        let fitting = entries.filter(|(name, _)| {
            // Only what begins with a dot stands for names that do.
            name.starts_with('.') == last.starts_with('.') && fits(last.as_bytes(), name.as_bytes())
        });
        fitting.map(|(name, _)| format!("{folder}/{name}")).take(MOST).collect()
    }

    fn entries(&mut self, folder: &str) -> Vec<(String, EntryKind)> {
        self.listed += 1;
        if self.listed > MOST_LISTED || self.is_enough() {
            self.is_cut = true;
            return Vec::new();
        }
        let listing = self.ctx.files.list(folder, MOST_ENTRIES).unwrap_or_default();
        self.is_cut |= listing.total() > MOST_ENTRIES;
        listing.entries.into_iter().map(|entry| (entry.name, entry.kind)).collect()
    }
}

/// Whether a name fits a pattern of letters, stars and question marks.
fn fits(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last star was, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(b'[') if class(&pattern[at..], name[from]).is_some() => {
                at += class(&pattern[at..], name[from]).unwrap_or(1);
                from += 1;
            }
            Some(letter) if *letter == b'?' || *letter == name[from] => {
                at += 1;
                from += 1;
            }
            _ => {
                let Some((place, taken)) = star else { return false };
                star = Some((place, taken + 1));
                (at, from) = (place + 1, taken + 1);
            }
        }
    }
    pattern[at..].iter().all(|letter| *letter == b'*')
}

/// How long a class of letters at the start of a pattern is, if this letter is in it.
fn class(pattern: &[u8], letter: u8) -> Option<usize> {
    let is_not = matches!(pattern.get(1), Some(b'!' | b'^'));
    let from = if is_not { 2 } else { 1 };
    // One that comes first is a letter like any other.
    let end = from + 1 + pattern.get(from + 1..)?.iter().position(|it| *it == b']')?;
    let (letters, mut at, mut is_in) = (&pattern[from..end], 0, false);
    while at < letters.len() {
        if at + 2 < letters.len() && letters[at + 1] == b'-' {
            is_in |= (letters[at]..=letters[at + 2]).contains(&letter);
            at += 3;
        } else {
            is_in |= letters[at] == letter;
            at += 1;
        }
    }
    (is_in != is_not).then_some(end + 1)
}

fn has_stars(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_what_a_shell_takes_them_for() {
        for (pattern, name) in [
            ("*.rs", "a.rs"),
            ("a*b*c", "aXbYbZc"),
            ("?", "x"),
            ("*", ""),
            ("a**", "a"),
            ("*a?", "aab"),
            ("[ab].t", "b.t"),
            ("[!a-c]x", "dx"),
            ("x[]]", "x]"),
            ("[a", "[a"),
        ] {
            assert!(fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
        for (pattern, name) in [
            ("*.rs", "a.rss"),
            ("?", ""),
            ("a*b", "acbd"),
            ("*a?", "ba"),
            ("", "x"),
            ("[ab].t", "c.t"),
            ("[!a-c]x", "bx"),
            ("[a-c]", "d"),
        ] {
            assert!(!fits(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
