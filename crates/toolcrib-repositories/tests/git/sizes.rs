//! Repositories of many files, of large ones, and of more than memory holds.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use toolcrib_core::search::{Grep, Page};
use toolcrib_core::{Cancel, ErrorKind, Tree};
use toolcrib_repositories::{GitRepository, GitRepositoryOptions};

use crate::question::{await_whole_index, grep, lines, question};
use crate::sample::{Sample, import, init, run};

/// Makes a commit of so many files, which share a few contents.
fn many_files(folder: &Path, files: usize, per_directory: usize) {
    init(folder, &["--bare"]);
    let mut stream = Vec::new();
    for mark in 1..=10 {
        let text = format!("content {mark}\nthe same needle\n");
        write!(stream, "blob\nmark :{mark}\ndata {}\n{text}\n", text.len()).unwrap();
    }
    stream.extend_from_slice(b"commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\nm\n");
    for number in 0..files {
        let (directory, mark) = (number / per_directory, number % 10 + 1);
        writeln!(stream, "M 100644 :{mark} d{directory}/f{number}.txt").unwrap();
    }
    stream.extend_from_slice(b"M 100644 inline one/of/its/kind.txt\ndata 7\nunique\n\n");
    import(folder, &stream);
}

fn with_memory(path: &Path, max_index_bytes: usize) -> GitRepository {
    let options = GitRepositoryOptions { max_index_bytes, ..GitRepositoryOptions::default() };
    GitRepository::open_with(path, "main", options, &Cancel::default()).unwrap()
}

#[test]
fn two_hundred_thousand_files_are_listed_read_and_searched() {
    let folder = tempfile::tempdir().unwrap();
    many_files(folder.path(), 200_000, 4000);
    let repository = with_memory(folder.path(), 512 << 20);
    let files = repository.files_for(&Cancel::default());
    let listed = files.list("d1", 10).unwrap();
    assert_eq!((listed.total(), listed.entries.len()), (4000, 10));
    assert_eq!(files.read("d49/f199999.txt", 9).unwrap().bytes, b"content 1");
    let found = grep(&repository, "unique");
    assert_eq!(lines(&found), ["one/of/its/kind.txt:1:unique"]);
    assert_eq!(found.files_searched, 200_001);
    assert_eq!(repository.index_status().unwrap().files, 200_001);
    let page = Page { most: 20, ..Page::ALL };
    let ask = Grep { page, count_limit: 0, counts_files: false, ..question("needle") };
    let found = repository.search().grep(&ask, &Cancel::default()).unwrap();
    assert_eq!((found.returned, found.is_cut), (20, true));
}

#[test]
fn a_tree_that_holds_itself_over_and_over_is_too_large_and_its_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &["--bare"]);
    Sample::default().file("f", "needle\n").commit(path, "main");
    let id = |args: &[&str]| String::from_utf8(run(path, args)).unwrap().trim().to_owned();
    // Thirty levels of ten directories each, all of them the same.
    let mut tree = id(&["rev-parse", "main^{tree}"]);
    for _ in 0..30 {
        let entries: String = (0..10).map(|at| format!("040000 tree {tree}\td{at}\n")).collect();
        let mut command = crate::sample::git(path);
        command
            .arg("mktree")
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(entries.as_bytes()).unwrap();
        tree =
            String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap().trim().to_owned();
    }
    let commit = id(&["commit-tree", "-m", "bomb", &tree]);
    run(path, &["update-ref", "refs/heads/main", &commit]);
    let repository = with_memory(path, 32 << 20);
    let files = repository.files_for(&Cancel::default());
    let deep = "d3/".repeat(30) + "f";
    assert_eq!(files.read(&deep, 9).unwrap().bytes, b"needle\n");
    assert_eq!(files.list("d1/d2", 99).unwrap().total(), 10);
    let err = repository.search().grep(&question("needle"), &Cancel::default()).unwrap_err();
    assert_eq!(err.kind, ErrorKind::TooLarge);
    assert!(err.hint.unwrap().contains("search.memory_bytes"));
}

#[test]
fn answers_are_the_same_with_any_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &["--bare"]);
    let mut sample = Sample::default();
    for number in 0..400_usize {
        let text: String =
            (0..300).map(|line| format!("{} line {line}\n", number * 7919 % (line + 3))).collect();
        sample = sample.file(format!("d{}/f{number}.txt", number % 7), text);
    }
    sample.commit(path, "main");
    let ample = with_memory(path, 256 << 20);
    let all = grep(&ample, "5 line 77");
    assert!(all.lines > 0 && ample.index_status().unwrap().keeps_texts);
    await_whole_index(&ample);
    for (memory, keeps_postings) in [(2 << 20, true), (600 << 10, false)] {
        let small = with_memory(path, memory);
        assert_eq!(grep(&small, "5 line 77"), all, "{memory}");
        await_whole_index(&small);
        for (text, count_limit) in
            [("5 line 77", 5), ("line", 100), ("LINE 299", 1), ("77", 9), ("no such text", 3)]
        {
            for (skip, most) in [(0, 5), (40, 7), (4000, 200)] {
                let page = Page { skip, most, ..Page::ALL };
                let part = Grep { page, count_limit, ..question(text) };
                let answer = |of: &GitRepository| {
                    let found = of.search().grep(&part, &Cancel::default()).unwrap();
                    // How many there are is counted up to the limit, and may be known beyond it.
                    (found.lines.min(count_limit), lines(&found))
                };
                assert_eq!(answer(&small), answer(&ample), "{text} {skip} {most} {memory}");
            }
        }
        let status = small.index_status().unwrap();
        assert!(!status.keeps_texts && status.bytes <= memory, "{status:?}");
        assert_eq!(status.keeps_postings, keeps_postings, "{status:?}");
    }
}

#[test]
fn a_file_that_is_too_large_to_search_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &["--bare"]);
    let mut large = vec![b'x'; 65 << 20];
    large.extend_from_slice(b"\nneedle\n");
    let mut middle = vec![b'y'; 9 << 20];
    middle.extend_from_slice(b"\nneedle\n");
    Sample::default()
        .file("a-large", &large)
        .file("b-middle", &middle)
        .file("c-small", "needle\n")
        .commit(path, "main");
    let repository = with_memory(path, 256 << 20);
    let found = grep(&repository, "needle");
    assert_eq!(lines(&found), ["b-middle:2:needle", "c-small:1:needle"]);
    let (name, why) = found.skipped.first.unwrap();
    assert_eq!((found.skipped.count, name.as_str()), (1, "a-large"));
    assert_eq!(why, "it is larger than 64 MB");
}

#[test]
fn a_question_without_time_says_how_far_the_files_are_read() {
    let folder = tempfile::tempdir().unwrap();
    many_files(folder.path(), 50_000, 1000);
    let repository = with_memory(folder.path(), 256 << 20);
    let ask = Grep { time: Duration::ZERO, ..question("unique") };
    let err = repository.search().grep(&ask, &Cancel::default()).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Timeout);
    assert!(err.message.contains("still being read"), "{err}");
    assert_eq!(grep(&repository, "unique").lines, 1);
}
