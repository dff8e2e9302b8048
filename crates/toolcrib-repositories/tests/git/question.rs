//! Questions, and plain forms of their answers.

use std::time::Duration;

use toolcrib_core::search::{Found, Grep, Page, Pattern, Scope, Want};
use toolcrib_core::{Cancel, EntryKind, Tree};
use toolcrib_repositories::GitRepository;

/// Asks for all lines with a text, whatever its case.
pub(crate) fn question(text: &str) -> Grep {
    Grep {
        pattern: Pattern { text: text.to_owned(), is_literal: true, ignores_case: true },
        scope: Scope::default(),
        want: Want::Lines { before: 0, after: 0 },
        page: Page::ALL,
        count_limit: u64::MAX,
        counts_files: true,
        time: Duration::from_mins(10),
    }
}

/// Finds all lines with a text.
pub(crate) fn grep(repository: &GitRepository, text: &str) -> Found {
    repository.search().grep(&question(text), &Cancel::default()).unwrap()
}

/// Waits until the index of a repository that was searched has everything that it will ever have.
pub(crate) fn await_whole_index(repository: &GitRepository) {
    while !repository.index_status().unwrap().is_complete {
        std::thread::yield_now();
    }
}

/// Returns the path, the number and the text of each line of an answer.
pub(crate) fn lines(found: &Found) -> Vec<String> {
    let lines = found.files.iter().flat_map(|file| {
        file.lines.iter().map(move |line| format!("{}:{}:{}", file.path, line.number, line.text))
    });
    lines.collect()
}

/// Returns the paths of all files, in order.
pub(crate) fn all_files(files: &dyn Tree) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), vec![String::new()]);
    while let Some(directory) = rest.pop() {
        let path = if directory.is_empty() { "." } else { &directory };
        let listing = match files.list(path, usize::MAX) {
            Ok(listing) => listing,
            // A submodule has no files here.
            Err(err) if err.context.contains_key("submodule_commit") => continue,
            Err(err) => panic!("{path}: {err}"),
        };
        for entry in listing.entries {
            let path =
                format!("{directory}{}{}", if directory.is_empty() { "" } else { "/" }, entry.name);
            match entry.kind {
                EntryKind::Directory => rest.push(path),
                EntryKind::File => found.push(path),
                EntryKind::Link | EntryKind::Special => {}
            }
        }
    }
    found.sort();
    found
}
