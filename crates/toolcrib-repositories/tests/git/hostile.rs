//! Repositories that would do harm, are damaged, or change while they are read.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use toolcrib_core::{Cancel, EntryKind, ErrorKind, Tree};
use toolcrib_repositories::GitRepository;

use crate::question::{grep, lines};
use crate::sample::{Sample, git, init, run};

fn text(folder: &Path, args: &[&str]) -> String {
    String::from_utf8(run(folder, args)).unwrap().trim().to_owned()
}

/// Writes an object as it is, however wrong.
fn write_object(folder: &Path, kind: &str, content: &[u8]) -> String {
    use std::io::Write;
    let mut command = git(folder);
    command.args(["hash-object", "-t", kind, "-w", "--literally", "--stdin"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(content).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn bytes_of(id: &str) -> Vec<u8> {
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap()).collect()
}

fn tree(folder: &Path, entries: &[(&str, &[u8], &str)]) -> String {
    let mut raw = Vec::new();
    for (mode, name, id) in entries {
        raw.extend_from_slice(mode.as_bytes());
        raw.push(b' ');
        raw.extend_from_slice(name);
        raw.push(0);
        raw.extend_from_slice(&bytes_of(id));
    }
    write_object(folder, "tree", &raw)
}

/// Commits a tree to `main`.
fn commit_tree(folder: &Path, tree: &str) {
    let commit = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nm\n");
    let commit = write_object(folder, "commit", commit.as_bytes());
    run(folder, &["update-ref", "refs/heads/main", &commit]);
}

#[test]
fn a_branch_that_is_replaced_by_force_changes_nothing_for_who_reads_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &["--bare"]);
    Sample::default()
        .file("a/x.txt", "old needle\n")
        .file("gone.txt", "old needle\n")
        .commit(path, "main");
    let before = GitRepository::open(path, "main").unwrap();
    let files = before.files_for(&Cancel::default());
    assert_eq!(files.read("a/x.txt", 99).unwrap().bytes, b"old needle\n");
    Sample::default().file("a/x.txt", "new needle\n").commit(path, "main");
    assert_eq!(files.read("gone.txt", 99).unwrap().bytes, b"old needle\n");
    assert_eq!(files.list(".", 9).unwrap().total(), 2);
    assert_eq!(lines(&grep(&before, "needle")), ["a/x.txt:1:old needle", "gone.txt:1:old needle"]);
    let after = GitRepository::open(path, "main").unwrap();
    assert_eq!(lines(&grep(&after, "needle")), ["a/x.txt:1:new needle"]);
    assert_ne!(before.commit(), after.commit());
}

#[test]
fn objects_that_were_pruned_are_named_in_the_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &["--bare"]);
    Sample::default()
        .file("a/x.txt", "old needle\n")
        .file("b/y.txt", "other\n")
        .commit(path, "main");
    let repository = GitRepository::open(path, "main").unwrap();
    let files = repository.files_for(&Cancel::default());
    files.read("b/y.txt", 99).unwrap();
    let lost = text(path, &["rev-parse", "main:a/x.txt"]);
    for pack in std::fs::read_dir(path.join("objects/pack")).unwrap().flatten() {
        let moved = path.join("moved.pack");
        if pack.path().extension().is_some_and(|it| it == "pack") {
            std::fs::rename(pack.path(), &moved).unwrap();
            let mut command = git(path);
            let input = std::fs::File::open(&moved).unwrap();
            assert!(
                command.args(["unpack-objects", "-q"]).stdin(input).status().unwrap().success()
            );
        } else {
            std::fs::remove_file(pack.path()).unwrap();
        }
    }
    let loose = path.join("objects").join(&lost[..2]).join(&lost[2..]);
    std::fs::remove_file(loose).unwrap();
    let fresh = GitRepository::open(path, "main").unwrap();
    let files = fresh.files_for(&Cancel::default());
    let err = files.read("a/x.txt", 99).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Unavailable);
    assert!(err.message.contains(&lost) && err.hint.unwrap().contains("partial clone"));
    assert!(files.read("b/y.txt", 99).is_ok());
    let found = grep(&fresh, "other");
    assert_eq!(lines(&found), ["b/y.txt:1:other"]);
    assert_eq!(found.skipped.count, 1);
}

#[test]
fn the_settings_of_a_repository_run_no_program() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("repository");
    init(&path, &[]);
    Sample::default().file("a.txt", "needle\n").file("lost.txt", "gone\n").commit(&path, "main");
    run(&path, &["reset", "--quiet", "--hard"]);
    let lost = text(&path, &["rev-parse", "main:lost.txt"]);
    let (mark, script) = (folder.path().join("mark"), folder.path().join("script"));
    std::fs::write(&script, format!("#!/bin/sh\ntouch '{}'\n", mark.display())).unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let script = script.display();
    let settings = format!(
        "\n[core]\n\tfsmonitor = {script}\n\tpager = {script}\n\tsshCommand = {script}\n\thooksPath = {}\n\
         [extensions]\n\tpartialClone = origin\n[remote \"origin\"]\n\turl = \"ext::{script}\"\n\tpromisor = true\n\
         [protocol \"ext\"]\n\tallow = always\n[protocol]\n\tallow = always\n[alias]\n\tcat-file = !{script}\n\
         [diff \"x\"]\n\ttextconv = {script}\n[filter \"x\"]\n\tsmudge = {script}\n",
        folder.path().display()
    );
    let config = path.join(".git/config");
    let before = std::fs::read_to_string(&config).unwrap();
    std::fs::write(
        &config,
        before.replace("repositoryformatversion = 0", "repositoryformatversion = 1") + &settings,
    )
    .unwrap();
    std::fs::write(path.join(".gitattributes"), "* diff=x filter=x\n").unwrap();
    // The object is missing, so that git would fetch it.
    remove_object(&path, &lost);
    std::fs::remove_file(&mark).ok();
    let repository = GitRepository::open(&path, "main").unwrap();
    let files = repository.files_for(&Cancel::default());
    assert_eq!(files.read("a.txt", 99).unwrap().bytes, b"needle\n");
    assert!(files.read("lost.txt", 99).is_err());
    assert!(files.stat("lost.txt").is_err());
    assert_eq!(grep(&repository, "needle").lines, 1);
    assert!(GitRepository::open(&path, &"1".repeat(40)).is_err());
    assert!(!mark.exists(), "a program was run");
    // The same settings do run it where nothing holds them back.
    let _ = git(&path).args(["status"]).output();
    assert!(mark.exists(), "the test tests nothing");
}

/// Removes an object: everything else is unpacked.
fn remove_object(path: &Path, id: &str) {
    let packs = path.join(".git/objects/pack");
    for pack in std::fs::read_dir(&packs).into_iter().flatten().flatten() {
        if pack.path().extension().is_some_and(|it| it == "pack") {
            let moved = path.join(".git/moved.pack");
            std::fs::rename(pack.path(), &moved).unwrap();
            let input = std::fs::File::open(&moved).unwrap();
            let _ = git(path).args(["unpack-objects", "-q"]).stdin(input).output();
        } else {
            std::fs::remove_file(pack.path()).unwrap();
        }
    }
    std::fs::remove_file(path.join(".git/objects").join(&id[..2]).join(&id[2..])).unwrap();
}

#[test]
fn names_that_lead_out_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &[]);
    let blob = write_object(path, "blob", b"needle\n");
    let inner = tree(path, &[("100644", b"f", &blob)]);
    let root = tree(
        path,
        &[
            ("100644", b"..", &blob),
            ("40000", b".", &inner),
            ("100644", b"a/../../etc", &blob),
            ("100644", b"plain", &blob),
            ("100644", b"plain", &inner),
            ("40000", b".git", &inner),
        ],
    );
    commit_tree(path, &root);
    let repository = GitRepository::open(path, "main").unwrap();
    let files = repository.files_for(&Cancel::default());
    let listed = files.list(".", 9).unwrap();
    let names: Vec<&str> = listed.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert_eq!(names, [".git", "plain"]);
    assert_eq!(files.read("plain", 99).unwrap().bytes, b"needle\n");
    assert_eq!(lines(&grep(&repository, "needle")), ["plain:1:needle"]);
}

#[test]
fn damaged_objects_are_errors_and_not_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &[]);
    let blob = write_object(path, "blob", b"needle\n");
    let broken = write_object(path, "tree", b"100644 no end");
    let root = tree(
        path,
        &[
            ("40000", b"a-blob", &blob),
            ("40000", b"broken", &broken),
            ("100644", b"a-tree", &broken),
            ("100644", b"fine", &blob),
            ("40000", b"missing", &"1".repeat(40)),
            ("7", b"odd", &blob),
        ],
    );
    commit_tree(path, &root);
    let repository = GitRepository::open(path, "main").unwrap();
    let files = repository.files_for(&Cancel::default());
    assert_eq!(files.list(".", 9).unwrap().total(), 6);
    for directory in ["broken", "a-blob"] {
        let err = files.list(directory, 9).unwrap_err();
        assert_eq!(err.kind, ErrorKind::Io, "{directory}: {err}");
    }
    assert_eq!(files.list("missing", 9).unwrap_err().kind, ErrorKind::Unavailable);
    assert_eq!(files.read("a-tree", 9).unwrap_err().kind, ErrorKind::Io);
    assert_eq!(files.stat("odd").unwrap_err().kind, ErrorKind::Unavailable);
    assert_eq!(files.read("fine", 9).unwrap().bytes, b"needle\n");
}

#[test]
fn submodules_and_lfs_pointers_are_named_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    init(path, &[]);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n";
    Sample::default()
        .file("big.bin", pointer)
        .file("notes.txt", format!("{pointer}{}", "x".repeat(2000)))
        .submodule("module")
        .commit(path, "main");
    let repository = GitRepository::open(path, "main").unwrap();
    let files = repository.files_for(&Cancel::default());
    for most in [0, 10, 1000] {
        let err = files.read("big.bin", most).unwrap_err();
        assert_eq!(
            err.message,
            "`big.bin` is a Git LFS pointer; its content is not in the repository"
        );
    }
    assert!(files.count_lines("big.bin").is_err());
    assert!(files.read("notes.txt", 10).is_ok());
    for path in ["module", "module/inner"] {
        let err = files.stat(path).unwrap_err();
        assert!(err.message.contains("submodule"), "{err}");
        assert_eq!(err.context["submodule_commit"], "5".repeat(40));
    }
    let listed = files.list(".", 9).unwrap();
    assert_eq!(listed.entries[1].kind, EntryKind::Directory);
}
