//! A repository that changes while it is read.

use toolcrib_core::{Cancel, ErrorKind};

use crate::sample::{Sample, run};
use crate::served::{Served, grep, list_all, read};

#[test]
fn a_branch_that_is_replaced_by_force_changes_nothing_until_the_repository_is_opened_again() {
    let old = Sample::default().file("a.txt", "old needle\n").file("same/b.txt", "same\n");
    let served = Served::new(&old);
    let repository = served.open();
    let commit = repository.commit();
    run(&served.path(), &["update-ref", "-d", "refs/heads/main"]);
    let new = Sample::default().file("a.txt", "new needle\n").file("same/b.txt", "same\n");
    served.commit(&new, "main");
    assert_eq!(read(&repository, "a.txt").unwrap(), "old needle\n");
    assert_eq!(grep(&repository, "old needle").unwrap(), 1);
    let again = repository.open_again(&Cancel::default()).unwrap();
    assert_ne!(again.commit(), commit);
    assert_eq!(read(&again, "a.txt").unwrap(), "new needle\n");
    assert_eq!((grep(&again, "new").unwrap(), grep(&again, "old").unwrap()), (1, 0));
    served.taken();
    assert_eq!(read(&again, "same/b.txt").unwrap(), "same\n");
    assert_eq!(served.taken(), 0, "what is in both commits is not asked for again");
}

#[test]
fn objects_that_are_gone_after_a_forced_push_are_told() {
    let served = Served::new(&Sample::default().file("d/a.txt", "text\n"));
    let repository = served.open();
    list_all(&repository);
    served.server.forget_objects();
    let err = read(&repository, "d/a.txt").unwrap_err();
    assert_eq!(err.kind, ErrorKind::Unavailable);
    assert!(err.message.contains("no longer has the object"), "{err}");
    assert!(err.hint.unwrap().contains("connect the repository again"));
    served.server.reload();
    assert_eq!(read(&repository, "d/a.txt").unwrap(), "text\n");
}

#[test]
fn a_renamed_repository_is_followed_and_told() {
    let served = Served::new(&Sample::default().file("a.txt", "needle\n"));
    assert!(served.open().notices().is_empty());
    {
        let mut plan = served.server.plan();
        plan.name = "octo-org/demo-2".to_owned();
        plan.old_name = Some("octo/demo".to_owned());
    }
    let repository = served.open();
    assert_eq!(repository.name(), "octo-org/demo-2");
    assert_eq!(
        repository.notices(),
        ["the repository `octo/demo` is now called `octo-org/demo-2`"]
    );
    assert!(repository.root().ends_with("octo-org/demo-2"));
    served.taken();
    assert_eq!(read(&repository, "a.txt").unwrap(), "needle\n");
    assert_eq!(grep(&repository, "needle").unwrap(), 1);
    let seen = served.server.take_seen();
    assert!(seen.iter().all(|it| it.path.contains("octo-org/demo-2")), "{seen:?}");
}

#[test]
fn revisions_are_branches_tags_and_commits() {
    let mut served = Served::new(&Sample::default().file("a.txt", "main\n"));
    served.commit(
        &Sample::default().file("a.txt", "feature\n"),
        "feature/x y#1".replace(' ', "-").as_str(),
    );
    run(&served.path(), &["tag", "-a", "-m", "m", "v1", "main"]);
    served.server.reload();
    for (revision, text) in
        [(None, "main\n"), (Some("v1"), "main\n"), (Some("feature/x-y#1"), "feature\n")]
    {
        served.revision = revision;
        assert_eq!(read(&served.open(), "a.txt").unwrap(), text, "{revision:?}");
    }
    served.revision = None;
    let commit = served.open().commit();
    served.revision = Some(commit.leak());
    assert_eq!(read(&served.open(), "a.txt").unwrap(), "main\n");
    served.revision = Some("mian");
    let err = served.try_open().unwrap_err();
    assert_eq!(err.kind, ErrorKind::NotFound);
    assert_eq!(err.message, "the repository `octo/demo` has no revision `mian`");
    assert_eq!(err.hint.unwrap(), "did you mean `main`?");
    served.taken();
    for revision in ["", "-x", "a..b", "a\nb", "^main", "../../../user"] {
        served.revision = Some(revision);
        assert_eq!(served.try_open().unwrap_err().kind, ErrorKind::BadArgs, "{revision:?}");
    }
    assert_eq!(served.taken(), 0);
}

#[test]
fn submodules_and_lfs_pointers_are_named() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n";
    let sample = Sample::default().submodule("sub").file("large.bin", pointer).file("a", "x");
    let served = Served::new(&sample);
    let repository = served.open();
    let err = read(&repository, "sub/file").unwrap_err();
    assert!(err.message.contains("submodule"), "{err}");
    let err = read(&repository, "large.bin").unwrap_err();
    assert!(err.message.contains("Git LFS pointer"), "{err}");
    assert_eq!(read(&repository, "a").unwrap(), "x");
}
