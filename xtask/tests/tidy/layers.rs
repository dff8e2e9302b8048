//! Which crate may use which, and what each crate may do.

use std::collections::BTreeMap;
use std::fs;

use crate::source::{all_paths, crates};

/// The line each crate stands on. Dependencies point down, and crates on one line do not know each
/// other. Places are kept for the crates to come.
const LINES: &[(&str, u8)] = &[
    ("xtask", 5),
    ("toolcrib", 4),
    ("toolcrib-serve", 3),
    ("toolcrib-agent", 3),
    ("toolcrib-nats", 3),
    ("toolcrib-repositories", 3),
    ("toolcrib-runtime", 2),
    ("toolcrib-tools", 2),
    ("toolcrib-plugins", 2),
    ("toolcrib-host", 2),
    ("toolcrib-search", 2),
    ("toolcrib-shell", 2),
    ("toolcrib-ledger", 2),
    ("toolcrib-core", 1),
    ("toolcrib-inside", 1),
    ("toolcrib-web", 1),
];

fn manifests() -> BTreeMap<String, toml::Table> {
    let manifest = |(name, folder): (String, std::path::PathBuf)| {
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        (name, text.parse().unwrap())
    };
    crates().into_iter().map(manifest).collect()
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
fn only_what_runs_around_commands_may_be_unsafe() {
    for path in all_paths() {
        if path.to_str().unwrap().contains("toolcrib-inside") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let is_unsafe = |line: &str| line.contains(concat!("unsafe", " {"));
        assert!(!code.into_iter().any(is_unsafe), "{}", path.display());
    }
}
