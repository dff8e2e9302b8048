//! The same lines as ripgrep in a real checkout: this one, or the one that `SEARCH_CHECKOUT` names, asked
//! `SEARCH_QUERIES` questions made of its own words.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fixture::{AMPLE_MEMORY, Fixture, engine, wait_until_ready, workspace};
use crate::question::{check, check_names, question};
use crate::random::Random;
use crate::{random_tree, ripgrep};

#[test]
fn a_real_checkout_gives_the_same_lines() {
    let queries = std::env::var("SEARCH_QUERIES").map_or(250, |count| count.parse().unwrap());
    let fixture = Fixture::new(AMPLE_MEMORY);
    let root = match std::env::var_os("SEARCH_CHECKOUT") {
        Some(given) => PathBuf::from(given),
        None => copy(&fixture.root()),
    };
    let workspace = workspace(&root);
    let index = engine(&workspace, 1 << 30, None);
    let scan = toolcrib_search::Engine::new(crate::fixture::trees(&workspace));
    index.start();
    wait_until_ready(&index);
    check_names(&index, &root, None, "names");
    let files = ripgrep::files(&root, None);
    let files: Vec<&String> = files.iter().filter(|file| !file.contains('$')).collect();
    let mut random = Random::new(42);
    let mut found = 0;
    for number in 0..queries {
        let file = files[random.below(files.len())];
        let Ok(content) = std::fs::read_to_string(root.join(file)) else { continue };
        let Some(text) = pattern(&content, &mut random) else { continue };
        let mut ask = question(&text);
        ask.pattern.is_literal = random.one_in(4);
        ask.pattern.ignores_case = random.one_in(3);
        if toolcrib_core::Search::check(&index, Some(&ask.pattern), &ask.scope).is_err() {
            continue;
        }
        found += check(&index, &root, &ask, &mut random, &format!("question {number}, index"));
        if random.one_in(10) {
            check(&scan, &root, &ask, &mut random, &format!("question {number}, scan"));
        }
    }
    assert!(found > queries, "only {found} lines in all");
}

/// Makes a pattern of a line's words: as they stand, or with something between or around them.
fn pattern(content: &str, random: &mut Random) -> Option<String> {
    let lines: Vec<&str> = content.lines().filter(|line| line.trim().len() > 3).collect();
    let line = lines.get(random.below(lines.len().max(1)))?;
    let words: Vec<&str> =
        line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|it| it.len() > 1).collect();
    let word = words.get(random.below(words.len().max(1)))?;
    let escaped = |text: &str| text.replace(|c: char| !c.is_alphanumeric() && c != '_', ".");
    Some(match random.below(8) {
        0 => escaped(line.trim()),
        1 => format!(r"\b{word}\b"),
        2 => format!("{}.*{}", word, words.last()?),
        3 => format!("{word}|{}", words.first()?),
        4 => format!(r"{word}\s*\("),
        5 => format!("^\\s*{word}"),
        6 => word.chars().map(|c| if random.one_in(4) { '.' } else { c }).collect(),
        _ => (*word).to_owned(),
    })
}

/// Copies this checkout, with a repository around it so that its rules hold.
fn copy(to: &Path) -> PathBuf {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for part in
        ["crates", "xtask", "docs", "README.md", "ARCHITECTURE.md", "Cargo.lock", ".gitignore"]
    {
        let done = Command::new("cp").arg("-r").arg(from.join(part)).arg(to).status().unwrap();
        assert!(done.success(), "{part}");
    }
    std::fs::create_dir_all(to.join(".git/info")).unwrap();
    ripgrep::give_all_to_reader(to);
    assert!(random_tree::files(to).len() > 200);
    to.to_owned()
}
