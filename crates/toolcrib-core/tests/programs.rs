//! Every row of what programs do is tried on its own examples.

use std::collections::HashMap;

use toolcrib_core::command_reading::Reading;
use toolcrib_core::hosts::hosts_named;
use toolcrib_core::program::{
    self, Fact, PrintsTo, Shows, caveat, path_words, removed_by, runs_input,
    wrapper_directories, written_by,
};

fn words(command: &str) -> Vec<String> {
    command.split(' ').map(str::to_owned).collect()
}

#[test]
fn every_example_holds() {
    for row in program::all() {
        for example in row.examples {
            let (command, words) = (example.command, words(example.command));
            match example.shows {
                Shows::Plain => assert_eq!(caveat(&words), None, "{command}"),
                Shows::Caveat => assert!(caveat(&words).is_some(), "{command}"),
                Shows::RunsInput => assert!(runs_input(&words), "{command}"),
                Shows::KeepsInput => assert!(!runs_input(&words), "{command}"),
                Shows::Directories(expected) => {
                    let all = wrapper_directories(&words);
                    let all: Vec<&str> = all.into_iter().map(|it| it.1).collect();
                    assert_eq!(all, expected, "{command}");
                }
                Shows::Writes(files) => assert_eq!(written_by(&words), files, "{command}"),
                Shows::Removes(files) => assert_eq!(removed_by(&words), files, "{command}"),
                Shows::Paths(paths) => {
                    assert_eq!(path_words(&words, PrintsTo::Screen), paths, "{command}");
                }
                Shows::Hosts(hosts) => {
                    let reading = Reading { found: vec![words], ..Reading::unread("") };
                    assert_eq!(hosts_named(&reading).unwrap(), hosts, "{command}");
                }
            }
        }
    }
}

#[test]
fn every_row_has_names_and_examples_of_its_own() {
    let mut seen = HashMap::new();
    for row in program::all() {
        assert!(!row.names.is_empty());
        assert!(!row.examples.is_empty(), "{:?}", row.names);
        for name in row.names {
            assert_eq!(seen.insert(*name, row.names), None, "`{name}` has two rows");
            assert!(std::ptr::eq(program::find(name).unwrap(), row), "{name}");
        }
    }
}

#[test]
fn a_program_that_only_reads_writes_nothing_without_a_caveat() {
    for row in program::all().filter(|row| row.is(Fact::ReadOnly)) {
        for example in row.examples {
            let words = words(example.command);
            let is_plain = caveat(&words).is_none();
            assert!(!is_plain || written_by(&words).is_empty(), "{}", example.command);
            assert!(removed_by(&words).is_empty(), "{}", example.command);
        }
    }
}

#[test]
fn an_unknown_program_says_nothing_either_way() {
    let unknown = words("some-tool a b");
    assert_eq!(caveat(&unknown), None);
    assert!(written_by(&unknown).is_empty());
    assert!(!program::file_effects(&unknown).knows_writes);
    // The control: a known one does.
    assert!(program::file_effects(&words("cat a")).knows_writes);
}
