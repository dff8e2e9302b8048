//! Generated documents are up to date.

use std::fs;

use xtask::docs::{pages, root};

#[test]
fn generated_docs_are_current() {
    for (path, text) in pages() {
        let found = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(found == text, "{path} is out of date: run `make docs`");
    }
}
