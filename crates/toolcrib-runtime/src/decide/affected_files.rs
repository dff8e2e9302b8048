//! The files that a command may change, as far as its command line tells. Snapshots of them are taken before the
//! command runs.

use std::path::Path;

use toolcrib_core::Ctx;
use toolcrib_core::capability::EntryKind;
use toolcrib_core::policy::{DeniedPaths, PathAccess};

use super::command_paths::below;
use super::proposal::Proposal;

/// The most files that are looked for.
const MOST_FILES: usize = 512;

/// The most entries that are read of one directory.
const MOST_ENTRIES: usize = 1000;

/// The most directories that are listed.
const MOST_DIRECTORIES: usize = 512;

/// The most directory levels below a removed directory that are looked into.
const MOST_LEVELS: usize = 64;

/// The files that a command may change.
pub(crate) struct AffectedFiles {
    pub(crate) files: Vec<String>,
    /// How many of them, from the first on, the command is known to write or remove.
    pub(crate) known: usize,
    /// Whether there may be more.
    pub(crate) is_cut: bool,
}

impl AffectedFiles {
    /// Returns the files that the command of a proposal may change, those first that it is known to remove or write.
    /// Returns nothing if there is no command, or if it is proven to only read. Denied files are left out: the
    /// command cannot change them.
    pub(crate) fn of(proposal: &Proposal, ctx: &Ctx, denied: Option<&DeniedPaths>) -> Option<Self> {
        let reading = proposal.reading.as_ref()?;
        if reading.is_read_only() {
            return None;
        }
        let mut finder =
            Finder { files: Vec::new(), listed: 0, is_cut: false, proposal, ctx, denied };
        // The words below already include where each `cd` leads.
        let start = [proposal.start_directory().to_owned()];
        for word in &reading.removes {
            finder.add_all(&start, word, |finder, path| finder.add_tree(path, MOST_LEVELS));
        }
        for word in &reading.writes {
            finder.add_all(&start, word, Finder::add_file);
        }
        for word in &reading.writes {
            finder.add_all(&start, word, Finder::add_new);
        }
        let known = finder.files.len();
        // Wildcards in the middle of a path are not expanded.
        let is_open =
            |word: &String| word.rsplit_once('/').is_some_and(|(folder, _)| has_wildcard(folder));
        let is_open = reading.writes.iter().chain(&reading.removes).any(is_open);
        let candidates = proposal.candidates();
        for word in candidates.iter().flat_map(|candidates| &candidates.paths) {
            finder.add_all(proposal.directories(), word, Finder::add_file);
        }
        let is_beyond = candidates.is_some_and(|candidates| candidates.beyond.is_some());
        let is_cut = finder.is_cut || is_open || is_beyond;
        Some(Self { files: finder.files, known, is_cut })
    }
}

/// Returns how many files are deleted with what a word of a command names. Returns nothing if there may be more than
/// Toolcrib counts.
pub(crate) fn count_removed(
    word: &str,
    proposal: &Proposal,
    ctx: &Ctx,
    denied: Option<&DeniedPaths>,
) -> Option<usize> {
    let mut finder = Finder { files: Vec::new(), listed: 0, is_cut: false, proposal, ctx, denied };
    let start = [proposal.start_directory().to_owned()];
    finder.add_all(&start, word, |finder, path| finder.add_tree(path, MOST_LEVELS));
    (!finder.is_cut).then_some(finder.files.len())
}

/// Finds affected files, within the bounds above.
struct Finder<'a> {
    files: Vec<String>,
    /// How many directories were listed.
    listed: usize,
    is_cut: bool,
    proposal: &'a Proposal,
    ctx: &'a Ctx,
    denied: Option<&'a DeniedPaths>,
}

impl Finder<'_> {
    /// Adds the paths that a word could be, from any of these directories.
    fn add_all(&mut self, directories: &[String], word: &str, add: impl Fn(&mut Self, &str)) {
        for directory in directories {
            if self.is_full() {
                return;
            }
            let path = below(directory, word);
            let resolved = self.proposal.paths.resolve(&path);
            // Removing a link removes the link, not what it leads to.
            if resolved.has_links
                && let Some((folder, name)) = path.rsplit_once('/')
                && let folder = self.proposal.paths.resolve(folder)
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

    /// Returns whether a bound is reached.
    fn is_full(&mut self) -> bool {
        self.is_cut |= self.files.len() >= MOST_FILES;
        self.is_cut
    }

    fn is_denied(&self, path: &str) -> bool {
        let denied =
            |denied: &DeniedPaths| denied.rule(Path::new(path), PathAccess::Read).is_some();
        self.denied.is_some_and(denied)
    }

    fn add(&mut self, path: &str) {
        if !self.is_denied(path) && !self.is_full() && !self.files.iter().any(|known| known == path)
        {
            self.files.push(path.to_owned());
        }
    }

    /// Adds an existing file.
    fn add_file(&mut self, path: &str) {
        if self.kind(path) == Some(EntryKind::File) {
            self.add(path);
        }
    }

    /// Adds a file that exists or could be created.
    fn add_new(&mut self, path: &str) {
        if matches!(self.kind(path), Some(EntryKind::File) | None) && !has_wildcard(path) {
            self.add(path);
        }
    }

    /// Adds a file, or all files below a directory.
    fn add_tree(&mut self, path: &str, levels: usize) {
        match self.kind(path) {
            Some(EntryKind::File) => self.add(path),
            Some(EntryKind::Directory) if levels > 0 => {
                for (name, kind) in self.entries(path) {
                    let path = format!("{path}/{name}");
                    match kind {
                        EntryKind::File | EntryKind::Link => self.add(&path),
                        EntryKind::Directory => self.add_tree(&path, levels - 1),
                        EntryKind::Special => {}
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the paths that wildcards in the last part of a path stand for.
    fn expand(&mut self, path: &str) -> Vec<String> {
        let Some((folder, last)) = path.rsplit_once('/') else { return Vec::new() };
        if !has_wildcard(last) || has_wildcard(folder) {
            return Vec::new();
        }
        let entries = self.entries(folder).into_iter();
        let fitting = entries.filter(|(name, _)| {
            // A wildcard matches names that begin with a dot only if the pattern does, too.
            name.starts_with('.') == last.starts_with('.')
                && matches_wildcard(last.as_bytes(), name.as_bytes())
        });
        fitting.map(|(name, _)| format!("{folder}/{name}")).take(MOST_FILES).collect()
    }

    fn entries(&mut self, folder: &str) -> Vec<(String, EntryKind)> {
        self.listed += 1;
        if self.listed > MOST_DIRECTORIES || self.is_full() {
            self.is_cut = true;
            return Vec::new();
        }
        let listing = self.ctx.files.list(folder, MOST_ENTRIES).unwrap_or_default();
        self.is_cut |= listing.total() > MOST_ENTRIES;
        listing.entries.into_iter().map(|entry| (entry.name, entry.kind)).collect()
    }
}

/// Returns whether a name matches a shell pattern.
fn matches_wildcard(pattern: &[u8], name: &[u8]) -> bool {
    let (mut at, mut from) = (0, 0);
    // Where the last star is, and how much of the name it has taken.
    let mut star: Option<(usize, usize)> = None;
    while from < name.len() {
        match pattern.get(at) {
            Some(b'*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(b'[') if class_length(&pattern[at..], name[from]).is_some() => {
                at += class_length(&pattern[at..], name[from]).unwrap_or(1);
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

/// Returns the length of the character class at the start of a pattern, if this letter is in it.
fn class_length(pattern: &[u8], letter: u8) -> Option<usize> {
    let is_not = matches!(pattern.get(1), Some(b'!' | b'^'));
    let from = if is_not { 2 } else { 1 };
    // A `]` that comes first is a letter like any other.
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

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wildcards_match_what_a_shell_matches() {
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
            assert!(matches_wildcard(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
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
            assert!(!matches_wildcard(pattern.as_bytes(), name.as_bytes()), "{pattern} {name}");
        }
    }
}
