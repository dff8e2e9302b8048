//! What a machine can check of the house rules.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use xtask::docs::{pages, root};

/// The line each crate stands on. Dependencies point down, and crates on one line do not know each
/// other. Places are kept for the crates to come.
const LINES: &[(&str, u8)] = &[
    ("xtask", 5),
    ("toolcrib", 4),
    ("toolcrib-serve", 3),
    ("toolcrib-runtime", 2),
    ("toolcrib-tools", 2),
    ("toolcrib-plugins", 2),
    ("toolcrib-host", 2),
    ("toolcrib-search", 2),
    ("toolcrib-shell", 2),
    ("toolcrib-ledger", 2),
    ("toolcrib-core", 1),
    ("toolcrib-inside", 1),
];

fn manifests() -> BTreeMap<String, toml::Table> {
    let mut folders: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).unwrap().map(|folder| folder.unwrap().path()).collect();
    folders.push(root().join("xtask"));
    let manifest = |folder: PathBuf| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let name = folder.canonicalize().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        (name, text.parse().unwrap())
    };
    folders.into_iter().map(manifest).collect()
}

fn sources() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join("crates"), &mut found);
    walk(&root().join("xtask"), &mut found);
    assert!(found.len() > 50, "the walk found only {} files", found.len());
    found
}

#[test]
fn dependencies_point_down() {
    let line = |name: &str| LINES.iter().find(|(known, _)| *known == name).map(|(_, line)| *line);
    for (name, manifest) in manifests() {
        let own = line(&name).unwrap_or_else(|| panic!("`{name}` has no line"));
        for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
            let Some(table) = manifest.get(table).and_then(toml::Value::as_table) else { continue };
            for dependency in table.keys().filter(|it| it.starts_with("toolcrib")) {
                let below = line(dependency).unwrap();
                assert!(below < own, "`{name}` (line {own}) uses `{dependency}` (line {below})");
            }
        }
    }
}

#[test]
fn folders_have_the_names_of_their_crates() {
    for (folder, manifest) in manifests() {
        assert_eq!(manifest["package"]["name"].as_str(), Some(folder.as_str()));
    }
}

#[test]
fn every_crate_follows_the_workspace_lints() {
    for (name, manifest) in manifests() {
        assert_eq!(manifest["lints"]["workspace"].as_bool(), Some(true), "{name}");
    }
}

#[test]
fn files_are_one_idea_long() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").count();
        assert!(lines <= 500, "{} has {lines} lines before its tests", path.display());
    }
}

#[test]
fn files_begin_with_what_they_are_and_are_named_for_it() {
    for path in sources() {
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("//! "), "{} does not say what it is", path.display());
        let name = path.file_stem().unwrap().to_str().unwrap();
        for bag in ["mod", "utils", "util", "helpers", "common", "misc", "types"] {
            assert_ne!(name, bag, "{}", path.display());
        }
    }
}

#[test]
fn only_what_runs_around_commands_may_be_unsafe() {
    for path in sources().iter().filter(|path| !path.to_str().unwrap().contains("toolcrib-inside"))
    {
        let text = fs::read_to_string(path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_unsafe = |line: &str| line.contains(concat!("unsafe", " {"));
        assert!(!code.into_iter().any(is_unsafe), "{}", path.display());
    }
}

#[test]
fn generated_docs_are_current() {
    for (path, text) in pages() {
        let found = fs::read_to_string(root().join(path)).unwrap_or_default();
        assert!(found == text, "{path} is out of date: run `make docs`");
    }
}

#[test]
fn licences_and_sources_are_allowed() {
    let rules: toml::Table = fs::read_to_string(root().join("deny.toml")).unwrap().parse().unwrap();
    let allowed: Vec<&str> = rules["licenses"]["allow"]
        .as_array()
        .unwrap()
        .iter()
        .map(|licence| licence.as_str().unwrap())
        .collect();
    let banned: Vec<&str> = rules["bans"]["deny"]
        .as_array()
        .unwrap()
        .iter()
        .map(|ban| ban["crate"].as_str().unwrap())
        .collect();
    // Packages for other systems are not even downloaded.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 50, "only {} packages", packages.len());
    for package in packages {
        let name = package["name"].as_str().unwrap();
        assert!(!banned.contains(&name), "{name} is banned");
        if let Some(source) = package["source"].as_str() {
            assert!(source.starts_with("registry+"), "{name} comes from {source}");
        }
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &allowed), "{name}: {licence}");
    }
}

/// Whether a licence expression can be met by allowed licences: one side of each OR, every side of
/// each AND.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    let expression = expression.replace('/', " OR ");
    expression.split(" AND ").all(|part| {
        let part = part.trim().trim_start_matches('(').trim_end_matches(')');
        part.split(" OR ")
            .any(|one| allowed.contains(&one.trim().trim_start_matches('(').trim_end_matches(')')))
    })
}

#[test]
fn licence_expressions_are_read_strictly() {
    let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"];
    assert!(is_allowed("GPL-3.0 OR MIT", &allowed));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
    assert!(!is_allowed("MIT AND GPL-3.0", &allowed));
    assert!(!is_allowed("", &allowed));
}
