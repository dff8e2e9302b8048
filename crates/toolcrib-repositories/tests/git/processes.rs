//! The processes of git that a repository has: they are replaced when they die, given up when they hang, and gone when
//! the repository is.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use toolcrib_core::{Cancel, ErrorKind, Tree};
use toolcrib_repositories::{GitRepository, GitRepositoryOptions};

use crate::question::grep;
use crate::sample::{Sample, init};

/// Returns the processes of git that work with a repository.
fn children(repository: &Path) -> Vec<Pid> {
    let shown = std::fs::canonicalize(repository).unwrap().display().to_string();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<i32>() else { continue };
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).into_owned();
        if line.contains("cat-file") && line.contains(&shown) {
            found.extend(Pid::from_raw(pid));
        }
    }
    found
}

fn opened(path: &Path, patience: Duration) -> GitRepository {
    init(path, &[]);
    let mut sample = Sample::default().file("big", vec![b'x'; 40 << 20]);
    for number in 0..100 {
        sample = sample.file(format!("d{number}/f.txt"), format!("needle {number}\n"));
    }
    sample.commit(path, "main");
    let options = GitRepositoryOptions { patience, ..GitRepositoryOptions::default() };
    GitRepository::open_with(path, "main", options, &Cancel::default()).unwrap()
}

#[test]
fn two_processes_answer_many_questions_and_end_with_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let repository = opened(folder.path(), Duration::from_secs(20));
    let files = repository.files_for(&Cancel::default());
    files.read("d1/f.txt", 99).unwrap();
    files.stat("d1/f.txt").unwrap();
    let first = children(folder.path());
    for number in 0..100 {
        files.read(&format!("d{number}/f.txt"), 99).unwrap();
    }
    // One tells contents, and one tells sizes.
    assert_eq!(first.len(), 2);
    assert_eq!(children(folder.path()), first);
    files.stat("d1/f.txt").unwrap();
    assert_eq!(grep(&repository, "needle").lines, 100);
    assert!(children(folder.path()).len() <= 4);
    drop((files, repository));
    assert_eq!(children(folder.path()), []);
}

#[test]
fn a_repository_that_is_closed_while_its_words_are_collected_leaves_no_process() {
    let folder = tempfile::tempdir().unwrap();
    init(folder.path(), &[]);
    let words: String = (0..1_000_000).map(|word| format!("word{word} ")).collect();
    let sample = Sample::default().file("words.txt", words);
    sample.commit(folder.path(), "main");
    let options = GitRepositoryOptions::default();
    let repository =
        GitRepository::open_with(folder.path(), "main", options, &Cancel::default()).unwrap();
    assert_eq!(grep(&repository, "word79 ").lines, 1);
    assert!(!children(folder.path()).is_empty());
    drop(repository);
    assert_eq!(children(folder.path()), []);
}

#[test]
fn a_process_that_died_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let repository = opened(folder.path(), Duration::from_secs(20));
    let files = repository.files_for(&Cancel::default());
    for number in 0..5 {
        let path = format!("d{number}/f.txt");
        files.stat(&path).unwrap();
        files.read(&path, 99).unwrap();
        let killed = children(folder.path());
        assert!(!killed.is_empty());
        for pid in killed {
            kill_process(pid, Signal::KILL).unwrap();
        }
    }
    assert_eq!(files.read("d50/f.txt", 99).unwrap().bytes, b"needle 50\n");
    assert_eq!(files.stat("d51/f.txt").unwrap().size, 10);
}

#[test]
fn a_process_that_hangs_is_given_up_and_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let repository = opened(folder.path(), Duration::from_millis(300));
    let files = repository.files_for(&Cancel::default());
    files.read("d1/f.txt", 99).unwrap();
    for pid in children(folder.path()) {
        kill_process(pid, Signal::STOP).unwrap();
    }
    let err = files.read("d2/f.txt", 99).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Io);
    assert!(err.message.contains("said nothing"), "{err}");
    assert_eq!(files.read("d2/f.txt", 99).unwrap().bytes, b"needle 2\n");
}

#[test]
fn a_cancelled_call_does_not_wait_for_a_process() {
    let folder = tempfile::tempdir().unwrap();
    let repository = opened(folder.path(), Duration::from_mins(2));
    let cancel = Cancel::default();
    let files = repository.files_for(&cancel);
    files.read("d1/f.txt", 99).unwrap();
    for pid in children(folder.path()) {
        kill_process(pid, Signal::STOP).unwrap();
    }
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| files.read("d2/f.txt", 99).unwrap_err().kind);
        cancel.cancel();
        assert_eq!(call.join().unwrap(), ErrorKind::Cancelled);
    });
    assert!(begun.elapsed() < Duration::from_mins(1));
    let other = repository.files_for(&Cancel::default());
    assert!(other.read("d2/f.txt", 99).is_ok());
}

#[test]
fn the_beginning_of_a_large_file_is_read_without_the_rest() {
    let folder = tempfile::tempdir().unwrap();
    let repository = opened(folder.path(), Duration::from_secs(20));
    let files = repository.files_for(&Cancel::default());
    let content = files.read("big", 10).unwrap();
    assert_eq!((content.bytes.as_slice(), content.size), (&b"xxxxxxxxxx"[..], 40 << 20));
    assert_eq!(files.count_lines("big").unwrap(), 1);
    assert_eq!(files.read("d3/f.txt", 99).unwrap().bytes, b"needle 3\n");
}
