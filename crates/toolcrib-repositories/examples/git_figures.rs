//! Measures a git repository of 60,000 files at a revision against git itself, in one run. Run it with
//! `cargo run --release -p toolcrib-repositories --example git_figures`.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement tells its figures, or fails"
)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib_core::search::{Grep, Page, Pattern, Scope, Want};
use toolcrib_core::{Cancel, EntryKind, Tree};
use toolcrib_repositories::GitRepository;

const FILES: usize = 60_000;
const FILES_PER_DIRECTORY: usize = 60;

fn git(folder: &Path, args: &[&str]) -> Vec<u8> {
    let output = Command::new("git").arg("-C").arg(folder).args(args).output().unwrap();
    // `git grep` without a match ends with 1.
    assert!(output.status.code().is_some_and(|code| code <= 1), "{args:?}");
    output.stdout
}

fn path(number: usize) -> String {
    let directory = number / FILES_PER_DIRECTORY;
    format!("part{}/dir{}/module_{number}.rs", directory % 25, directory)
}

/// Makes the repository: sources of a few hundred words each, in one pack.
fn make(folder: &Path) {
    git(folder, &["init", "--quiet", "--bare"]);
    let mut input = Command::new("git");
    input.arg("-C").arg(folder).args(["fast-import", "--quiet"]);
    let mut child = input.stdin(Stdio::piped()).spawn().unwrap();
    let mut stream = std::io::BufWriter::new(child.stdin.take().unwrap());
    write!(stream, "commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\nm\n").unwrap();
    let mut state = 1_u64;
    let mut random = |limit: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % limit
    };
    for number in 0..FILES {
        let mut text =
            format!("//! Module {number}.\n\nuse crate::module_{};\n\n", random(FILES as u64));
        for _ in 0..20 + random(80) {
            let (a, b, c) = (random(5000), random(300), random(900));
            let line = format!("    let value_{a} = compute_{b}(input_{c}, \"text {a}\");\n");
            text.push_str(&line);
        }
        if number % 6000 == 17 {
            text.push_str("// the quaint needle\n");
        }
        write!(stream, "M 100644 inline {}\ndata {}\n{text}\n", path(number), text.len()).unwrap();
    }
    drop(stream.into_inner().unwrap());
    assert!(child.wait().unwrap().success());
}

/// Returns the shortest of some runs: what else the machine does only makes a run longer.
fn shortest(runs: usize, mut run: impl FnMut()) -> Duration {
    let times = (0..runs).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    });
    times.min().unwrap()
}

fn tell(what: &str, ours: Duration, gits: Duration, goal: f64) {
    let ratio = gits.as_secs_f64() / ours.as_secs_f64();
    let mark = if ratio >= goal { "" } else { "  BELOW THE GOAL" };
    println!("{what:44} ours {ours:>10.1?}  git {gits:>10.1?}  {ratio:>8.1}x (goal {goal}x){mark}");
}

fn list_all(files: &dyn Tree) -> usize {
    let (mut count, mut rest) = (0, vec![".".to_owned()]);
    while let Some(directory) = rest.pop() {
        for entry in files.list(&directory, usize::MAX).unwrap().entries {
            count += 1;
            if entry.kind == EntryKind::Directory {
                rest.push(format!("{directory}/{}", entry.name));
            }
        }
    }
    count
}

fn grep(repository: &GitRepository, text: &str, most: usize) -> u64 {
    let ask = Grep {
        pattern: Pattern { text: text.to_owned(), is_literal: true, ignores_case: true },
        scope: Scope::default(),
        want: Want::Lines { before: 0, after: 0 },
        page: Page { most, ..Page::ALL },
        count_limit: if most == usize::MAX { u64::MAX } else { 0 },
        counts_files: false,
        time: Duration::from_mins(10),
    };
    repository.search().grep(&ask, &Cancel::default()).unwrap().lines
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    make(at);
    let cancel = Cancel::default();
    println!("{FILES} files, {} threads", std::thread::available_parallelism().unwrap());

    let gits = shortest(5, || drop(git(at, &["ls-tree", "-r", "-t", "-z", "main"])));
    let ours = shortest(5, || {
        let repository = GitRepository::open(at, "main").unwrap();
        assert!(list_all(&repository.files_for(&cancel)) > FILES);
    });
    tell("list all, with opening the repository", ours, gits, 1.0);
    let repository = GitRepository::open(at, "main").unwrap();
    let files = repository.files_for(&cancel);
    list_all(&files);
    let ours = shortest(5, || assert!(list_all(&files) > FILES));
    tell("list all, warm", ours, gits, 1.0);
    let gits = shortest(20, || drop(git(at, &["ls-tree", "-z", "-l", "main", "part1/dir1/"])));
    let ours = shortest(20, || {
        for entry in files.list("part1/dir1", 100).unwrap().entries {
            files.stat(&format!("part1/dir1/{}", entry.name)).unwrap();
        }
    });
    tell("list one directory, with sizes", ours, gits, 1.0);

    let mut number = 0;
    let gits = shortest(50, || {
        number = (number + 977) % FILES;
        drop(git(at, &["show", &format!("main:{}", path(number))]));
    });
    let ours = shortest(50, || {
        number = (number + 977) % FILES;
        files.read(&path(number), 1 << 20).unwrap();
    });
    tell("read one file", ours, gits, 5.0);

    let begun = Instant::now();
    grep(&repository, "the quaint needle", usize::MAX);
    println!("first search, with building the index: {:.1?}", begun.elapsed());
    let status = repository.index_status().unwrap();
    println!("the index has {} MB for {} files", status.bytes >> 20, status.files);
    for (what, text, most) in [
        ("search, 10 matches", "the quaint needle", usize::MAX),
        ("search, no match", "nothing like this", usize::MAX),
        ("search, a common word, first 20 lines", "compute_7", 20),
        ("search, a common word, all lines", "compute_77(", usize::MAX),
    ] {
        let args = ["grep", "-n", "-I", "-i", "-F", "-e", text, "main"];
        let gits = shortest(3, || drop(git(at, &args)));
        let ours = shortest(10, || {
            grep(&repository, text, most);
        });
        tell(what, ours, gits, 20.0);
    }
}
