//! Runs the commands of `docs/operations.md`. They print what the page shows, except for ids, times and
//! sizes.

use crate::scratch::{Ran, Scratch};

/// Returns the words of a line, without those that differ from run to run.
fn words(line: &str) -> Vec<String> {
    let is_number = |word: &str| {
        let word = word.trim_matches(|c: char| "+,%>|".contains(c));
        word.is_empty() || word.parse::<f64>().is_ok()
    };
    let is_unit = |word: &str| {
        matches!(word.trim_end_matches(','), "ms" | "µs" | "s" | "KiB" | "MiB" | "bytes")
    };
    let is_id = |word: &str| {
        let word = word.trim_start_matches("cli-");
        // Lists show the beginning of an id.
        word.starts_with("01")
            && (10..=26).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
    };
    let is_time = |word: &str| word.len() >= 20 && word.ends_with('Z') && word.starts_with("20");
    let is_hash =
        |word: &str| word.len() == 12 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_bar = |word: &str| word.chars().all(|c| ('▁'..='█').contains(&c));
    line.split_whitespace()
        .filter(|word| !is_number(word) && !is_unit(word) && !is_bar(word))
        .map(|word| match word {
            word if is_id(word) => "ID".to_owned(),
            word if is_time(word) => "TIME".to_owned(),
            word if is_hash(word) => "VERSION".to_owned(),
            word => word.to_owned(),
        })
        .collect()
}

#[test]
fn the_page_for_operators_is_true() {
    let scratch = Scratch::new();
    scratch.put("shopping.txt", "milk\nbread\n");
    let edit = r#"{"file_path": "shopping.txt", "old_string": "bread", "new_string": "rye"}"#;
    scratch.call("clemini/edit", edit);
    for path in ["missing.txt", "other.txt", "shopping.txt"] {
        scratch.run(["call", "wink/read_file", &format!("path={path}")]);
    }
    scratch.put("fruit.txt", "pear\napple\n");
    scratch.put("count.sh", "wc -l fruit.txt > count.txt\n");
    let command = r#"{"command": "sort -o fruit.txt fruit.txt; sh count.sh"}"#;
    scratch.call("clemini/bash", command);
    scratch.run(["call", "clemini/write_file", "file_path=x", "content=y"]);
    let ids: Vec<String> = ["edit", "bash"]
        .map(|tool| scratch.run(["audit", "search", "--tool", tool, "--json"]).json())
        .map(|found| found["call"].as_str().unwrap().to_owned())
        .into();

    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operations.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (mut expected, mut got, mut commands, mut is_in) = (Vec::new(), Vec::new(), 0, false);
    // The ids of the calls, in the order in which the page shows them.
    let mut ids = ids.iter();
    for line in page.lines() {
        if line.starts_with("```") {
            is_in = line == "```console";
        } else if let Some(command) = line.strip_prefix("$ toolcrib ").filter(|_| is_in) {
            commands += 1;
            let is_call = |word: &&str| word.starts_with("01");
            let words_of = command.split(' ').map(|word| match word {
                word if is_call(&word) => ids.next().unwrap(),
                word => word,
            });
            let ran: Ran = scratch.run(words_of);
            assert_eq!(ran.code, 0, "{command}: {}", ran.stderr);
            let project = scratch.work().display().to_string();
            got.extend(ran.stdout.replace(&project, "PROJECT").lines().map(words));
        } else if is_in {
            expected.push(words(line));
        }
    }
    assert_eq!(commands, 10);
    assert_eq!(got, expected);
}
