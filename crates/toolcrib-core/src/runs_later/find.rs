//! Finds the row that a path is on.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::row::{LaterLevel, LaterPlace, RunsLater};
use super::table::RUNS_LATER;
use crate::escape::{fold, unname};

impl RunsLater {
    /// Returns the row that a path is on, if it is on the list. The path is relative to the root of the workspace,
    /// has no links and is spelt as [`crate::escape::path`] spells it. If it is on several rows, the strictest counts.
    pub fn of(path: &str) -> Option<&'static Self> {
        let names = path.split('/').filter(|name| !name.is_empty()).map(unname);
        Self::of_names(names)
    }

    /// Returns the row that a path of these names is on, as [`Self::of`] does.
    pub fn of_names<'n>(names: impl Iterator<Item = Cow<'n, [u8]>>) -> Option<&'static Self> {
        let names: Vec<String> = names.map(|name| comparable(&name)).collect();
        let ends = (0..names.len()).map(|end| &names[..=end]);
        let rows = ends.flat_map(|start| {
            let is_whole = start.len() == names.len();
            let rows = LAST_NAMES.rows(start.last().map_or("", String::as_str));
            rows.filter(move |row| row.ends(start) && (is_whole || row.place == LaterPlace::Folder))
        });
        rows.max_by_key(|row| row.level)
    }

    /// Returns the names of the rows at a level, in the order of the list.
    pub fn names_at(level: LaterLevel) -> impl Iterator<Item = &'static str> {
        RUNS_LATER.iter().filter(move |row| row.level == level).map(|row| row.name)
    }

    /// Whether a path ends in this name.
    fn ends(&self, names: &[String]) -> bool {
        let own = self.name.split('/').count();
        let is_at_root = self.place == LaterPlace::FileAtRoot;
        let there = names.len().checked_sub(own).filter(|above| !is_at_root || *above == 0);
        there.is_some_and(|above| self.is_named(&names[above..]))
    }

    fn is_named(&self, names: &[String]) -> bool {
        let is_same = |(own, name): (&str, &String)| match own.strip_suffix('*') {
            Some(start) => {
                let there = name.as_bytes().get(..start.len());
                there.is_some_and(|there| there.eq_ignore_ascii_case(start.as_bytes()))
            }
            None => own.eq_ignore_ascii_case(name),
        };
        self.name.split('/').zip(names).all(is_same)
    }
}

/// The rows by the last part of their names, because a command can change very many files.
static LAST_NAMES: LazyLock<LastNames> = LazyLock::new(|| {
    let mut last_names = LastNames::default();
    for row in RUNS_LATER {
        let last = row.name.rsplit('/').next().unwrap_or(row.name);
        if last.ends_with('*') {
            last_names.open.push(row);
        } else {
            last_names.whole.entry(last.to_ascii_lowercase()).or_default().push(row);
        }
    }
    last_names
});

#[derive(Default)]
struct LastNames {
    whole: HashMap<String, Vec<&'static RunsLater>>,
    /// The rows whose names end in a star.
    open: Vec<&'static RunsLater>,
}

impl LastNames {
    /// Returns the rows that a path with this last name could be on.
    fn rows(&self, last: &str) -> impl Iterator<Item = &'static RunsLater> {
        let whole = self.whole.get(last).into_iter().flatten();
        whole.chain(&self.open).copied()
    }
}

/// Returns a name as the list is compared with it: names that look the same, or that a file system without letter
/// case would take for the same, are the same.
pub fn comparable(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    // Almost every name is plain.
    let mut folded = if name.is_ascii() && !name.contains(|c: char| c.is_ascii_control()) {
        name.to_ascii_lowercase()
    } else {
        fold(&name)
    };
    folded.truncate(folded.trim_end_matches(['.', ' ']).len());
    folded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runs_later::LaterReader;

    #[track_caller]
    fn check(path: &str, expect: Option<&str>) {
        assert_eq!(RunsLater::of(path).map(|row| row.name), expect, "{path}");
    }

    #[test]
    fn every_row_is_well_formed_once_there_and_has_a_reason() {
        for (number, row) in RUNS_LATER.iter().enumerate() {
            let name = row.name;
            assert!(name.is_ascii() && !name.starts_with('/') && !name.ends_with('/'), "{name}");
            let parts: Vec<&str> = name.split('/').collect();
            assert!(parts.iter().all(|part| !matches!(*part, "" | "." | "..")), "{name}");
            let stars = name.matches('*').count();
            assert!(stars == 0 || stars == 1 && name.ends_with('*'), "{name}");
            assert!(row.why.contains(' ') && !row.why.ends_with('.'), "{name}: {}", row.why);
            let is_same = |other: &&RunsLater| other.name.eq_ignore_ascii_case(name);
            assert!(RUNS_LATER[..number].iter().find(is_same).is_none(), "{name} is there twice");
            // Each row finds what it names.
            let there = name.replace('*', ".x");
            assert!(RunsLater::of(&there).is_some_and(|found| found.level >= row.level), "{name}");
            let deep = format!("a/b/{there}");
            let is_anywhere = row.place != LaterPlace::FileAtRoot;
            assert_eq!(RunsLater::of(&deep).is_some(), is_anywhere, "{name}");
        }
        // A protected name is a name at the root: the sandbox shields nothing else.
        let protected = RUNS_LATER.iter().filter(|row| row.level >= LaterLevel::Protected);
        assert!(protected.into_iter().all(|row| !row.name.contains(['/', '*'])));
        for reader in LaterReader::ALL {
            assert!(RUNS_LATER.iter().any(|row| row.reader == reader), "{reader:?}");
        }
    }

    #[test]
    fn paths_are_found_at_any_depth_and_in_any_spelling() {
        check(".vscode/tasks.json", Some(".vscode"));
        check(".vscode", Some(".vscode"));
        check("a/b/.VSCode/deep/x", Some(".vscode"));
        check("sub/\u{ff0e}vscode/tasks.json", Some(".vscode"));
        check(".vs\u{200b}code/tasks.json", Some(".vscode"));
        check("$'.vs\\u200bcode'/tasks.json", Some(".vscode"));
        check(".vscode./tasks.json", Some(".vscode"));
        check("x/.Cargo/Config.toml", Some(".cargo/config.toml"));
        check(".github/workflows/ci.yml", Some(".github/workflows"));
        check("makefile", Some("Makefile"));
        check(".aider.conf.yml", Some(".aider*"));
        check("HEAD", Some("HEAD"));
        check(".git/hooks/x", Some(".git"));
        // The strictest row counts.
        check(".vscode/Makefile", Some(".vscode"));
    }

    #[test]
    fn neighbours_are_not_on_the_list() {
        for path in [
            "src/main.rs",
            ".env",
            ".gitignore",
            ".github/ISSUE_TEMPLATE/bug.md",
            ".cargo/registry/x",
            "vscode/tasks.json",
            ".vscode2/tasks.json",
            "Makefile/x",
            "docs/Makefile.md",
            "a/HEAD",
            "workflows/ci.yml",
            ".aid",
            "",
        ] {
            check(path, None);
        }
    }
}
