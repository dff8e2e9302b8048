//! The bundle that is committed, and the sources that it is made of.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::browser::{node, packages};
use crate::running_server::RunningServer;
use crate::scratch::Scratch;

fn page_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../toolcrib-serve/page")
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (entry, name) = entry.map(|it| (it.path(), it.file_name())).unwrap();
        if name == "node_modules" {
            continue;
        }
        if entry.is_dir() {
            copy(&entry, &to.join(name));
        } else {
            std::fs::copy(&entry, to.join(name)).unwrap();
        }
    }
}

/// Copies the sources of the page to where their packages are found.
fn copied(scratch: &Scratch) -> PathBuf {
    let folder = scratch.path("page");
    copy(&page_folder(), &folder);
    std::os::unix::fs::symlink(packages().join("node_modules"), folder.join("node_modules"))
        .unwrap();
    folder
}

#[track_caller]
fn run(scratch: &Scratch, folder: &Path, words: &[&str]) -> (bool, String) {
    let output = node(scratch).current_dir(folder).args(words).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn the_bundle_is_what_the_sources_give() {
    let scratch = Scratch::new();
    let folder = copied(&scratch);
    let (is_current, said) = run(&scratch, &folder, &["build.mjs", "--check"]);
    assert!(is_current, "{said}");
    // The control: a source that has changed is noticed.
    let source = folder.join("src/format.ts");
    let text = std::fs::read_to_string(&source).unwrap();
    std::fs::write(&source, text.replace("\"en-US\"", "\"en-GB\"")).unwrap();
    let (is_current, said) = run(&scratch, &folder, &["build.mjs", "--check"]);
    assert!(!is_current && said.contains("npm run build"), "{said}");
}

#[test]
fn the_types_are_those_of_the_specification() {
    let scratch = Scratch::new();
    let folder = copied(&scratch);
    let server = RunningServer::start(&scratch);
    let (status, mut specification) = server.get(&server.token("admin"), "/api/openapi.json");
    assert_eq!(status, 200, "{specification}");
    let check = |specification: &Value| {
        let path = scratch.path("specification.json");
        std::fs::write(&path, specification.to_string()).unwrap();
        let mut command = node(&scratch);
        command.current_dir(&folder).args(["types.mjs", "--check"]);
        let output = command.stdin(File::open(path).unwrap()).output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (is_current, said) = check(&specification);
    assert!(is_current, "{said}");
    // The control: a path that is gone is noticed.
    specification["paths"].as_object_mut().unwrap().remove("/api/version").unwrap();
    let (is_current, said) = check(&specification);
    assert!(!is_current && said.contains("make it again"), "{said}");
}

#[test]
fn the_sources_have_no_type_errors() {
    let scratch = Scratch::new();
    let folder = copied(&scratch);
    let (is_good, said) = run(&scratch, &folder, &["node_modules/typescript/bin/tsc", "--noEmit"]);
    assert!(is_good, "{said}");
    std::fs::write(folder.join("src/wrong.ts"), "export const wrong: number = \"text\";\n")
        .unwrap();
    let (is_good, said) = run(&scratch, &folder, &["node_modules/typescript/bin/tsc", "--noEmit"]);
    assert!(!is_good && said.contains("src/wrong.ts"), "{said}");
}

/// Reads the ranges of a character class of JavaScript that is written in escapes only.
fn ranges_of(class: &str) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    let mut is_end = false;
    for part in class.split_inclusive('-').flat_map(|it| it.split("\\u")) {
        let digits: String = part.chars().filter(char::is_ascii_hexdigit).collect();
        if let Ok(code) = u32::from_str_radix(&digits, 16) {
            match ranges.last_mut() {
                Some(range) if is_end => range.1 = code,
                _ => ranges.push((code, code)),
            }
            is_end = part.ends_with('-');
        }
    }
    ranges
}

#[test]
fn the_page_spells_out_the_characters_that_a_terminal_is_not_shown() {
    let source = std::fs::read_to_string(page_folder().join("src/format.ts")).unwrap();
    let (_, rest) = source.split_once("const HIDDEN =\n  /[").unwrap();
    let (class, _) = rest.split_once("]/gu").unwrap();
    let ranges = ranges_of(class);
    let differs = |c: &char| {
        let is_spelt_out = ranges.iter().any(|(from, to)| (*from..=*to).contains(&(*c as u32)));
        let text = c.to_string();
        // A mark at the beginning of a text is on no letter, and is shown.
        is_spelt_out != (toolcrib_core::escape::lines(&text) != text)
    };
    let wrong: Vec<char> = ('\0'..=char::MAX).filter(differs).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    assert!(ranges.contains(&(0x2800, 0x2800)) && ranges.len() > 20, "{ranges:?}");
}
