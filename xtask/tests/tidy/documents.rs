//! Generated documents are up to date, and the README shows its picture.

use std::fs;

use xtask::docs::{pages, root};
use xtask::picture::{PICTURE, SHOWN};

#[test]
fn generated_docs_are_current() {
    for (path, text) in pages() {
        let found = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(found == text, "{path} is out of date: run `make docs`");
    }
}

#[test]
fn the_readme_shows_an_approval_a_stop_and_an_undo() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains(&format!("]({PICTURE})")), "the README does not show {PICTURE}");
    let picture = fs::read_to_string(root().join(PICTURE)).unwrap();
    for words in SHOWN {
        assert!(picture.contains(words), "{PICTURE} lacks `{words}`: run `make picture`");
    }
    // Nothing is loaded from elsewhere.
    let addresses: Vec<&str> = picture.matches("http").collect();
    assert_eq!(addresses.len(), 1, "only the name space of SVG");
}
