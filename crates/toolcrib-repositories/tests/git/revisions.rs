//! What a repository and a revision can be, and what is said of those that are none.

use std::path::Path;

use toolcrib_core::{Cancel, ErrorKind, ToolError, Tree};
use toolcrib_repositories::{GitRepository, GitRepositoryOptions};

use crate::sample::{Sample, init, run};

fn read(path: &Path, revision: &str) -> String {
    let repository = GitRepository::open(path, revision)
        .unwrap_or_else(|err| panic!("{}@{revision}: {err} ({:?})", path.display(), err.hint));
    let files = repository.files_for(&Cancel::default());
    String::from_utf8(files.read("a.txt", 100).unwrap().bytes).unwrap()
}

#[track_caller]
fn check(path: &Path, revision: &str, kind: ErrorKind, message: &str, hint: &str) {
    check_error(&GitRepository::open(path, revision).unwrap_err(), kind, message, hint);
}

#[track_caller]
fn check_error(err: &ToolError, kind: ErrorKind, message: &str, hint: &str) {
    let told = err.hint.clone().unwrap_or_default();
    assert_eq!(err.kind, kind, "{err} ({told})");
    assert!(err.message.contains(message), "{} lacks {message}", err.message);
    assert!(told.contains(hint), "{told} lacks {hint}");
}

/// Makes a repository with two commits on `main`, a tag on the first, and a branch with a slash.
fn repository(path: &Path) {
    init(path, &[]);
    Sample::default().file("a.txt", "first").commit(path, "main");
    run(path, &["tag", "-a", "-m", "v1", "v1.0"]);
    run(path, &["branch", "topic/x"]);
    // A commit of fast-import that names no parent would replace the branch.
    std::fs::write(path.join("a.txt"), "second").unwrap();
    run(path, &["add", "a.txt"]);
    run(path, &["commit", "--quiet", "-m", "second"]);
}

#[test]
fn a_revision_is_anything_that_leads_to_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    repository(path);
    let id = String::from_utf8(run(path, &["rev-parse", "v1.0^{commit}"])).unwrap();
    let id = id.trim();
    for revision in ["v1.0", "topic/x", "HEAD~1", "main^", id, &id[..10], "refs/tags/v1.0", ":/^m"]
    {
        assert_eq!(read(path, revision), "first", "{revision}");
    }
    for revision in ["HEAD", "main", "@", "heads/main"] {
        assert_eq!(read(path, revision), "second", "{revision}");
    }
    let opened = GitRepository::open(path, "v1.0").unwrap();
    assert_eq!(opened.commit(), id);
    assert_eq!(opened.root(), std::fs::canonicalize(path).unwrap());
}

#[test]
fn a_repository_is_a_work_tree_a_bare_one_or_its_git_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("work");
    repository(&path);
    let at = |name: &str| folder.path().join(name);
    let shown = |name: &str| at(name).display().to_string();
    run(&path, &["clone", "--quiet", "--bare", ".", &shown("bare.git")]);
    run(&path, &["worktree", "add", "--quiet", &shown("linked"), "topic/x"]);
    assert_eq!(read(&at("bare.git"), "main"), "second");
    assert_eq!(read(&path.join(".git"), "main"), "second");
    assert_eq!(read(&at("linked"), "HEAD"), "first");
    let root = |path: &Path| GitRepository::open(path, "main").unwrap().root();
    assert_eq!(root(&path.join(".git")), std::fs::canonicalize(&path).unwrap());
    assert_eq!(root(&at("linked")), std::fs::canonicalize(at("linked")).unwrap());
    std::os::unix::fs::symlink(&path, at("link")).unwrap();
    assert_eq!(read(&at("link"), "main"), "second");
}

#[test]
fn a_file_named_git_cannot_choose_a_repository() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("private");
    repository(&path);
    let lure = folder.path().join("lure");
    std::fs::create_dir(&lure).unwrap();
    for pointer in ["gitdir: ../private/.git\n", "gitdir: /nowhere\n", "nonsense", ""] {
        std::fs::write(lure.join(".git"), pointer).unwrap();
        let err = GitRepository::open(&lure, "HEAD").unwrap_err();
        assert_eq!(err.kind, ErrorKind::Unavailable, "{pointer}: {err}");
    }
}

#[test]
fn what_is_no_repository_is_told_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    check(&path.join("missing"), "HEAD", ErrorKind::NotFound, "cannot be opened", "existing");
    check(path, "HEAD", ErrorKind::Unavailable, "is not a git repository", "`.git`");
    let inner = path.join("repository");
    repository(&inner);
    std::fs::create_dir(inner.join("below")).unwrap();
    let above = inner.display().to_string();
    check(&inner.join("below"), "HEAD", ErrorKind::Unavailable, "is not a git repository", &above);
    let none = path.join("none");
    init(&none, &[]);
    for revision in ["HEAD", "main"] {
        check(&none, revision, ErrorKind::Unavailable, "has no commits yet", "commit something");
    }
    let options = GitRepositoryOptions {
        program_path: "bin:/nonexistent".into(),
        ..GitRepositoryOptions::default()
    };
    let err = GitRepository::open_with(&inner, "HEAD", options, &Cancel::default()).unwrap_err();
    check_error(&err, ErrorKind::Unavailable, "`git` is missing", "install git");
    assert_eq!(read(&inner, "HEAD"), "second");
    std::fs::write(inner.join(".git/config"), "[core]\nrepositoryformatversion = 99\n").unwrap();
    check(&inner, "HEAD", ErrorKind::Unavailable, "git cannot open the repository", "newer git");
}

#[test]
fn a_revision_that_is_none_is_told_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    repository(path);
    run(path, &["branch", "release", "HEAD~1"]);
    run(path, &["tag", "release", "HEAD"]);
    run(path, &["update-ref", "refs/remotes/origin/feature", "HEAD"]);
    let bad = ErrorKind::BadArgs;
    check(path, "mian", ErrorKind::NotFound, "has no revision `mian`", "`main`");
    check(path, "feature", ErrorKind::NotFound, "has no revision", "`origin/feature`");
    check(path, &"0".repeat(40), ErrorKind::NotFound, "has no revision", "git fetch");
    check(path, "release", bad, "is ambiguous", "refs/heads/release");
    check(
        path,
        "HEAD:a.txt",
        bad,
        "leads to a blob, and not to a commit",
        "a branch, a tag or a commit",
    );
    check(path, "main..v1.0", bad, "means several commits", "branch");
    check(path, "--all", bad, "begins with a dash", "branch");
    check(path, "-x", bad, "begins with a dash", "branch");
    check(path, "", bad, "is empty", "branch");
    check(path, "a\nb", bad, "control character", "branch");
    check(path, &"n".repeat(2000), bad, "is too long", "branch");
    assert_eq!(read(path, "refs/heads/release"), "first");
    assert_eq!(read(path, "refs/tags/release"), "second");
}
