//! Behaviours of search.

use std::time::Duration;

use toolcrib_core::search::{Found, Glob, Grep, Page, Pattern, Scope, Sort, Want};
use toolcrib_core::{Cancel, ErrorKind};

use crate::random_tree::{Random, random_question, random_sample};
use crate::repository::{KINDS, Repository, each_kind};
use crate::sample::Sample;
use crate::tree::denied;

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

fn grep(repository: &Repository, ask: &Grep) -> Found {
    let found = repository.connect().search.grep(ask, &Cancel::default());
    found.unwrap_or_else(|err| panic!("{:?}: {err} {ask:?}", repository.kind))
}

/// Returns the paths and numbers of the lines that an answer has.
fn lines(found: &Found) -> Vec<(&str, u64)> {
    let files = found.files.iter();
    files.flat_map(|file| file.lines.iter().map(|line| (file.path.as_str(), line.number))).collect()
}

fn sample() -> Sample {
    let long = format!("{}needle{}\n", "a".repeat(5000), "b".repeat(5000));
    let late = [&b"needle\n".repeat(60_000)[..], b"\0 needle\n"].concat();
    Sample::default()
        .file(".gitignore", "ignored/\n*.log\n!keep.log\n")
        .file(".ignore", "also-ignored.txt\n")
        .file("a.rs", "Needle one\nnothing\nneedle two\n")
        .file("b/c.rs", "needle\r\n")
        .file("b/.gitignore", "local.txt\n/deep\n")
        .file("b/local.txt", "needle\n")
        .file("b/deep/x", "needle\n")
        .file("b/inner/deep/x", "needle\n")
        .file("ignored/x", "needle\n")
        .file("x.log", "needle\n")
        .file("keep.log", "needle\n")
        .file("also-ignored.txt", "needle\n")
        .file(".hidden", "needle\n")
        .file(".hidden-folder/x", "needle\n")
        .file("binary", b"needle\0needle\n")
        .file("late-binary", late)
        .file("long", long)
        .file("utf16", b"\xff\xfen\0e\0e\0d\0l\0e\0\n\0")
        .file("marked", b"\xef\xbb\xbfneedle\n")
        .file("latin1", b"caf\xe9 needle\n")
        .file(b"\xff.txt", "needle\n")
        .file("no-end", "needle")
        .file("empty", "")
        .link("link", "a.rs")
        .file("kelvin", "\u{212a}elvin\n")
}

#[test]
fn lines_are_found_in_text_files_that_rules_let_a_search_see() {
    each_kind(&sample(), |repository| {
        let found = grep(repository, &question("needle"));
        let late = found.files.iter().find(|file| file.path == "late-binary").unwrap();
        assert!(late.count > 1000, "{:?}", repository.kind);
        let others: Vec<_> = lines(&found).into_iter().filter(|it| it.0 != "late-binary").collect();
        assert_eq!(
            others,
            [
                ("a.rs", 1),
                ("a.rs", 3),
                ("b/c.rs", 1),
                ("b/inner/deep/x", 1),
                ("keep.log", 1),
                ("latin1", 1),
                ("long", 1),
                ("marked", 1),
                ("no-end", 1),
                ("utf16", 1),
                ("$'\\xff.txt'", 1),
            ],
            "{:?}",
            repository.kind
        );
        assert_eq!(grep(repository, &question("kelvin")).lines, 1);
        assert!(grep(repository, &question("absent")).files.is_empty());
    });
}

#[test]
fn filters_narrow_a_search() {
    each_kind(&sample(), |repository| {
        let with = |scope: Scope| {
            let found = grep(repository, &Grep { scope, ..question("needle") });
            lines(&found).iter().map(|it| it.0.to_owned()).collect::<Vec<_>>()
        };
        let glob = |glob: &str| Scope { glob: Some(glob.to_owned()), ..Scope::default() };
        assert_eq!(with(glob("*.rs")), ["a.rs", "a.rs", "b/c.rs"]);
        assert_eq!(with(glob("b/*")), ["b/c.rs"]);
        let root = repository.root.to_str().unwrap();
        assert_eq!(with(glob(&format!("{root}/b/*"))), ["b/c.rs"]);
        let within =
            |directory: &str| Scope { directory: Some(directory.to_owned()), ..Scope::default() };
        assert_eq!(with(within("b")), ["b/c.rs", "b/inner/deep/x"], "{:?}", repository.kind);
        assert_eq!(with(within("ignored")), ["ignored/x"], "{:?}", repository.kind);
        assert_eq!(with(within(".hidden-folder")), [".hidden-folder/x"]);
        assert_eq!(with(Scope { depth: Some(1), ..within("b") }), ["b/c.rs"]);
        assert_eq!(with(Scope { kind: Some("rust".to_owned()), ..Scope::default() }).len(), 3);
    });
}

#[test]
fn bad_questions_are_refused() {
    each_kind(&sample(), |repository| {
        let search = repository.connect().search;
        let check = |ask: &Grep| search.check(Some(&ask.pattern), &ask.scope).unwrap_err().kind;
        let ask = question("needle");
        assert!(search.check(Some(&ask.pattern), &ask.scope).is_ok());
        let within = |directory: &str| {
            let scope = Scope { directory: Some(directory.to_owned()), ..Scope::default() };
            Grep { scope, ..question("needle") }
        };
        assert_eq!(check(&question("a\nb")), ErrorKind::BadRegex);
        assert_eq!(check(&within("missing")), ErrorKind::NotFound);
        assert_eq!(check(&within("..")), ErrorKind::Outside);
        assert_eq!(check(&within("a.rs")), ErrorKind::NotDirectory);
        let scope = Scope { glob: Some("[a".to_owned()), ..Scope::default() };
        assert_eq!(check(&Grep { scope, ..question("needle") }), ErrorKind::BadGlob);
        let cancel = Cancel::default();
        cancel.cancel();
        assert_eq!(search.grep(&ask, &cancel).unwrap_err().kind, ErrorKind::Cancelled);
    });
}

#[test]
fn denied_files_are_neither_searched_nor_found() {
    each_kind(&sample(), |repository| {
        let scope =
            Scope { denied: Some(denied(repository, "\"a.rs\", \"**/c.rs\"")), ..Scope::default() };
        let found = grep(repository, &Grep { scope: scope.clone(), ..question("needle") });
        assert!(found.files.iter().all(|file| !["a.rs", "b/c.rs"].contains(&file.path.as_str())));
        assert!(found.lines > 1000 && found.skipped.denied == 2, "{:?}", repository.kind);
        let glob = Glob { scope, sort: Sort::Name, page: Page::ALL };
        let paths = repository.connect().search.glob(&glob, &Cancel::default()).unwrap();
        assert!(!paths.paths.contains(&"a.rs".to_owned()) && paths.denied == 2);
    });
}

/// Returns what an answer says, without its lines.
fn summary(found: &Found) -> (Vec<(&str, u64)>, Found) {
    let files = found.files.iter().map(|file| (file.path.as_str(), file.count)).collect();
    (files, Found { files: Vec::new(), ..found.clone() })
}

#[test]
fn every_kind_gives_the_same_answers_to_random_questions() {
    let mut random = Random::new(7);
    for round in 0..6 {
        let sample = random_sample(&mut random);
        let repositories = KINDS.map(|kind| Repository::new(kind, &sample));
        for _ in 0..60 {
            let ask = random_question(&mut random);
            let [folder, others @ ..] = &repositories;
            let counted = |found: Found| {
                let files_searched = if ask.counts_files { found.files_searched } else { 0 };
                Found { files_searched, ..found }
            };
            let expect = counted(grep(folder, &ask));
            for other in others {
                let found = counted(grep(other, &ask));
                let (ours, theirs) = (summary(&found), summary(&expect));
                assert!(ours == theirs, "{round} {:?} {ask:?}\n{ours:?}\n{theirs:?}", other.kind);
                assert!(found == expect, "{round} {:?} {ask:?}", other.kind);
            }
            let glob = Glob {
                scope: ask.scope.clone(),
                sort: if random.below(2) == 0 { Sort::Name } else { Sort::Size },
                page: ask.page,
            };
            let find = |it: &Repository| it.connect().search.glob(&glob, &Cancel::default());
            for other in others {
                assert_eq!(find(other).unwrap(), find(folder).unwrap(), "{round} {glob:?}");
            }
        }
    }
}
