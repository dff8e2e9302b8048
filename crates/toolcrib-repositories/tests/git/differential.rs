//! The answers compared with those of `git ls-tree`, `git show` and `git grep`.

use std::collections::BTreeMap;
use std::path::Path;

use toolcrib_core::{Cancel, Tree, escape};
use toolcrib_repositories::GitRepository;

use crate::question::{all_files, await_whole_index, grep, lines};
use crate::sample::{Sample, git, init, run};

/// The files of a revision as `git ls-tree` tells them: the size of each by its path.
fn listed(folder: &Path, revision: &str) -> BTreeMap<Vec<u8>, u64> {
    let output = run(folder, &["ls-tree", "-r", "-z", "-l", "--full-tree", revision]);
    let entries = output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    let files = entries.filter(|entry| entry.starts_with(b"100"));
    files
        .map(|entry| {
            let tab = entry.iter().position(|byte| *byte == b'\t').unwrap();
            let head = String::from_utf8_lossy(&entry[..tab]).into_owned();
            let size = head.split_whitespace().last().unwrap().parse().unwrap();
            (entry[tab + 1..].to_vec(), size)
        })
        .collect()
}

/// Compares names, sizes and contents; of every so many files the content.
fn check_files(folder: &Path, revision: &str, every: usize) {
    let repository = GitRepository::open(folder, revision).unwrap();
    let files = repository.files_for(&Cancel::default());
    let listed = listed(folder, revision);
    let mut expect: Vec<String> = listed.keys().map(|path| escape::path("", path)).collect();
    expect.sort();
    assert_eq!(all_files(&files), expect, "{revision}");
    assert!(!listed.is_empty());
    for (number, (path, size)) in listed.iter().enumerate() {
        let shown = escape::path("", path);
        assert_eq!(files.stat(&shown).unwrap().size, *size, "{shown}");
        if number % every != 0 {
            continue;
        }
        let object = [revision.as_bytes(), b":", path].concat();
        let object = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&object);
        let output = git(folder).arg("show").arg(object).output().unwrap();
        assert!(output.status.success());
        let content = files.read(&shown, u64::MAX).unwrap();
        assert!(content.bytes == output.stdout, "{revision}:{shown}");
        assert_eq!(content.size, *size);
        let lines = files.count_lines(&shown).unwrap();
        let ends = memchr::memchr_iter(b'\n', &output.stdout).count() as u64;
        let is_open = output.stdout.last().is_some_and(|last| *last != b'\n');
        assert_eq!(lines, ends + u64::from(is_open), "{shown}");
    }
}

/// Compares the lines that have a text. `git grep` also searches hidden files.
fn check_grep(folder: &Path, repository: &GitRepository, revision: &str, text: &str) -> usize {
    let output = git(folder)
        .args([
            "grep",
            "-n",
            "-I",
            "-i",
            "-F",
            "-z",
            "--full-name",
            "--no-color",
            "-e",
            text,
            revision,
        ])
        .output()
        .unwrap();
    let mut expect = Vec::new();
    for line in output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let mut parts = line.splitn(3, |byte| *byte == 0);
        let path = parts.next().unwrap().strip_prefix(format!("{revision}:").as_bytes()).unwrap();
        let number = String::from_utf8_lossy(parts.next().unwrap()).into_owned();
        let text = String::from_utf8_lossy(parts.next().unwrap()).into_owned();
        let is_hidden = path.split(|byte| *byte == b'/').any(|name| name.starts_with(b"."));
        if !is_hidden && text.len() < 2000 {
            let text = text.strip_suffix('\r').unwrap_or(&text);
            expect.push(format!("{}:{number}:{text}", escape::path("", path)));
        }
    }
    let found = grep(repository, text);
    assert_eq!(found.skipped.count, 0);
    let mut got: Vec<String> =
        lines(&found).into_iter().filter(|line| !line.contains(" bytes …]")).collect();
    got.sort();
    expect.sort();
    let only = |a: &[String], b: &[String]| {
        a.iter().filter(|line| b.binary_search(line).is_err()).take(3).cloned().collect::<Vec<_>>()
    };
    assert!(
        got == expect,
        "{text}: only ours {:?}, only git's {:?}",
        only(&got, &expect),
        only(&expect, &got)
    );
    got.len()
}

/// Makes a repository with some history: files change, move and go, and most objects are deltas in a pack.
fn history(folder: &Path) -> Vec<String> {
    init(folder, &[]);
    let mut revisions = Vec::new();
    for round in 0..6_usize {
        let mut sample = Sample::default()
            .file("empty", "")
            .file(b"bytes\xff/\xfename.txt", format!("round {round}\nneedle"))
            .file("with space/\ttab.txt", "Needle in a tab\r\nand more\r\n")
            .link("link", "empty")
            .submodule("module");
        for number in 0..200_usize {
            if (number + round) % 17 == 0 {
                continue;
            }
            let depth = "sub/".repeat(number % 5);
            let mut text = String::new();
            for line in 0..number * 2 {
                let changes =
                    if line % 40 == round { format!(" changed in {round}") } else { String::new() };
                text.push_str(&format!("line {line} of file {number}{changes}\n"));
                if (line * number) % 97 == 3 {
                    text.push_str("here is a nEEdle, and [brackets] (too)\n");
                }
            }
            sample = sample.file(format!("{depth}file-{number}.txt"), text);
        }
        sample = sample.file("long.bin", vec![b'x'; 3_000_000 + round]);
        sample.commit(folder, "main");
        revisions.push(
            String::from_utf8(run(folder, &["rev-parse", "main"])).unwrap().trim().to_owned(),
        );
        if round == 3 {
            run(folder, &["gc", "--quiet"]);
        }
    }
    revisions
}

#[test]
fn files_and_lines_are_those_that_git_shows() {
    let folder = tempfile::tempdir().unwrap();
    let revisions = history(folder.path());
    for revision in [&revisions[0], &revisions[4], "main", &revisions[2]] {
        check_files(folder.path(), revision, 5);
        let repository = GitRepository::open(folder.path(), revision).unwrap();
        let texts =
            ["needle", "line 7", "changed in", "[brackets] (too)", "e", "round", "no such text"];
        let check = || {
            let found = texts.map(|text| check_grep(folder.path(), &repository, revision, text));
            assert!(found.iter().sum::<usize>() > 1000);
        };
        check();
        await_whole_index(&repository);
        check();
    }
}

#[test]
fn a_repository_with_long_ids_is_read_as_git_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), &["--object-format=sha256"]);
    std::fs::create_dir(folder.path().join("a")).unwrap();
    std::fs::write(folder.path().join("a/b.txt"), "needle\n").unwrap();
    std::fs::write(folder.path().join("c.txt"), "no match\n").unwrap();
    run(folder.path(), &["add", "."]);
    run(folder.path(), &["commit", "--quiet", "-m", "first"]);
    check_files(folder.path(), "HEAD", 1);
    let repository = GitRepository::open(folder.path(), "HEAD").unwrap();
    assert_eq!(repository.commit().len(), 64);
    assert_eq!(check_grep(folder.path(), &repository, "HEAD", "needle"), 1);
}

#[test]
fn this_project_is_read_as_git_shows_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let repository = match GitRepository::open(&folder, "HEAD") {
        Ok(repository) => repository,
        Err(err) => {
            // The sources can come without their history.
            eprintln!("skipped: {err}");
            return;
        }
    };
    let revision = repository.commit();
    check_files(&folder, &revision, 40);
    for text in
        ["trigram", "fn open(", "trigram", "unwrap_or_else(PoisonError::into_inner)", "Übung"]
    {
        check_grep(&folder, &repository, &revision, text);
        await_whole_index(&repository);
    }
}
