//! Every row of what programs do is tried on its own examples.

use std::collections::HashMap;

use toolcrib_core::command_reading::Reading;
use toolcrib_core::hosts::hosts_named;
use toolcrib_core::program::{
    self, Fact, PrintsTo, Shows, caveat, driving_files, new_flag, path_words, reads_any_words,
    removed_by, runs_input, script_words, wrapper_directories, written_by,
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
                Shows::DrivenBy(files) => {
                    assert_eq!(driving_files(&words), Some(files), "{command}");
                }
                Shows::Scripts(expected) => {
                    let found = script_words(&words);
                    let paths: Vec<&str> = found.iter().map(|it| it.paths[0].as_str()).collect();
                    assert_eq!(paths, expected, "{command}");
                }
                Shows::NotDriven => assert_eq!(driving_files(&words), None, "{command}"),
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

#[track_caller]
fn check_new_flag(granted: &str, command: &str, expect: Option<&str>) {
    let words = words(command);
    let count = granted.split(' ').count();
    assert_eq!(new_flag(&words, count).map(String::as_str), expect, "{granted}: {command}");
}

#[test]
fn a_new_flag_of_an_unknown_program_is_not_covered() {
    check_new_flag("svn diff", "svn diff --diff-cmd=./evil", Some("--diff-cmd=./evil"));
    check_new_flag("eslint .", "eslint . --rulesdir evil", Some("--rulesdir"));
    check_new_flag("mocha test", "mocha test --require ./evil", Some("--require"));
    check_new_flag("gradle build", "gradle build -I evil.gradle", Some("-I"));
    check_new_flag("cmake .", "cmake . -P evil", Some("-P"));
    check_new_flag("scons all", "scons all SHELL=./evil", Some("SHELL=./evil"));
    check_new_flag("rake x", "rake x A:=b", Some("A:=b"));
    check_new_flag("javac A", "javac A @args", Some("@args"));
    check_new_flag("vimdiff a", "vimdiff a +!evil", Some("+!evil"));
    // A flag that was granted with one value is not granted with another.
    check_new_flag(
        "eslint --rulesdir good .",
        "eslint --rulesdir good . --rulesdir evil",
        Some("--rulesdir"),
    );
    check_new_flag("gh pr", "gh pr --web", Some("--web"));
    check_new_flag("ld -o", "ld -o a -plugin evil", Some("-plugin"));
}

#[test]
fn further_operands_and_known_flags_are_covered() {
    check_new_flag("svn diff", "svn diff", None);
    check_new_flag("svn diff", "svn diff a b/c https://x.example/?a=b", None);
    check_new_flag("eslint --fix", "eslint --fix src --fix", None);
    check_new_flag("gradle -Pa=b x", "gradle -Pa=b x -Pa=b y", None);
    check_new_flag("cargo test", "cargo test --lib", None);
    check_new_flag("git log", "git log --oneline -5", None);
    check_new_flag("ls", "ls -la", None);
    check_new_flag("touch", "touch -r a b", None);
}

#[test]
fn what_reads_any_words_has_no_flag_that_does_more() {
    let names = program::all().flat_map(|row| row.names.iter().map(move |name| (*name, row)));
    let mut known = 0;
    for (name, row) in names.filter(|(name, _)| reads_any_words(name)) {
        assert!(row.is(Fact::ReadOnly) && !row.is(Fact::HasMoreFlags), "{name}");
        assert_eq!(written_by(&words(&format!("{name} a b -o x --output=x"))), [""; 0], "{name}");
        known += 1;
    }
    assert!(known > 20, "{known}");
    assert!(!reads_any_words("sort") && !reads_any_words("rm") && !reads_any_words("rg"));
}

#[test]
fn short_and_long_flags_with_which_git_signs_or_checks_have_the_same_answer() {
    for (short, long) in [
        ("git am -S x", "git am --gpg-sign x"),
        ("git cherry-pick -S x", "git cherry-pick --gpg-sign x"),
        ("git cherry-pick -xS y", "git cherry-pick -x --gpg-sign y"),
        ("git commit -S", "git commit --gpg-sign"),
        ("git commit -Skey", "git commit --gpg-sign=key"),
        ("git commit -qaS", "git commit -qa --gpg-s"),
        ("git commit-tree -S x", "git commit-tree --gpg-sign x"),
        ("git merge -S x", "git merge --gpg-sign x"),
        ("git pull origin -S", "git pull origin --gpg-sign"),
        ("git revert -S x", "git revert --gpg-sign x"),
        ("git tag -s v1", "git tag --sign v1"),
        ("git tag -as v1", "git tag -a --sign v1"),
        ("git tag -u key v1", "git tag --local-user=key v1"),
        ("git tag -v v1", "git tag --verify v1"),
        ("git verify-tag v1", "git push origin --signed"),
        ("git verify-commit x", "git push origin --signed=if-asked"),
    ] {
        assert!(caveat(&words(short)).is_some(), "{short}");
        assert!(caveat(&words(long)).is_some(), "{long}");
    }
}

#[test]
fn flags_that_only_look_as_if_git_signed_have_no_caveat() {
    for command in [
        "git commit -m S",
        "git commit -mSubject",
        "git commit -am Subject",
        "git commit -amSubject",
        "git commit -s -m x",
        "git commit --signoff -m x",
        "git commit -CS",
        "git merge -mSubject x",
        "git merge --signoff x",
        "git revert -m1 x",
        "git tag v1",
        "git tag -a -m signed v1",
        "git tag -n5",
        "git tag -d v1",
        "git tag --list",
        "git push -u origin x",
        "git push origin v1",
    ] {
        assert_eq!(caveat(&words(command)), None, "{command}");
    }
}
