//! Freshness: whatever changes the tree, our tools or other programs, the very next answer knows it.

use std::path::Path;
use std::process::{Command, Stdio};

use toolcrib_core::capability::WriteMode;
use toolcrib_core::{Files, Tree};

use crate::fixture::{AMPLE_MEMORY, Fixture};
use crate::privilege::may_mount;
use crate::question::{check, check_names, question, random_question};
use crate::random::Random;
use crate::random_tree;
use crate::ripgrep;

/// The number of changes to each of four trees: ten thousand in all.
const CHANGES_PER_TREE: usize = 2500;

#[test]
fn no_answer_is_stale_or_different_after_ten_thousand_changes() {
    std::thread::scope(|scope| {
        let trees = (1..=4).map(|seed| scope.spawn(move || change_and_ask(seed, CHANGES_PER_TREE)));
        // A failed tree has said why by itself; the test fails with the first of them.
        trees.collect::<Vec<_>>().into_iter().for_each(|tree| tree.join().unwrap());
    });
}

/// Changes a tree step by step, and asks a question after each step.
fn change_and_ask(seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let mut fixture = Fixture::new(AMPLE_MEMORY);
    let root = fixture.root();
    random_tree::make_random_tree(&root, 150, &mut random);
    for directory in random_tree::directories(&root) {
        // A directory that cannot be listed cannot be changed either.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory, open).unwrap();
    }
    git(&root, &["init", "-q"]);
    commit(&root);
    fixture.wait_until_ready();
    let (mut found, mut answered) = (0, 0);
    for step in 0..steps {
        let what = format!("seed {seed} step {step}: {}", change_at_random(&fixture, &mut random));
        if random.one_in(5) {
            // The indexer needs time now and then; without it the index is always behind.
            fixture.wait_until_ready();
        }
        let ask = if random.one_in(3) { question("alpha") } else { random_question(&mut random) };
        found += check(&fixture.index, &root, &ask, &mut random, &what);
        if random.one_in(10) {
            check_names(&fixture.index, &root, None, &what);
        }
        if random.one_in(500) {
            answered += fixture.index.statuses()[0].1.answered;
            fixture.restart(AMPLE_MEMORY);
        }
    }
    answered += fixture.index.statuses()[0].1.answered;
    assert!(found > steps, "seed {seed}: only {found} lines in all");
    assert!(answered as usize > steps / 2, "seed {seed}: the index gave only {answered} answers");
}

/// Changes the tree: through our own tools, through git, or through other programs. Returns what was done.
fn change_at_random(fixture: &Fixture, random: &mut Random) -> String {
    let root = fixture.root();
    match random.below(20) {
        0..=3 => tool(fixture, random),
        4 => {
            commit(&root);
            "committed".to_owned()
        }
        5 => {
            let back = 1 + random.below(3);
            let spot = format!("HEAD~{back}");
            git(&root, &["checkout", "-q", "-f", &spot]);
            format!("checked out {spot}")
        }
        6 => {
            git(&root, &["checkout", "-q", "-f", "work"]);
            "checked out the branch".to_owned()
        }
        7 => {
            // A burst, as a formatter or a generator makes one.
            let words: Vec<String> =
                (0..20).map(|_| random_tree::change_at_random(&root, random)).collect();
            format!("burst: {}", words.join("; "))
        }
        8 => {
            let exclude = root.join(".git/info/exclude");
            if let Some(folder) = exclude.parent().filter(|folder| folder.is_dir()) {
                random_tree::put(&exclude, random_tree::rules(random).as_bytes());
                return format!("excludes in {}", folder.display());
            }
            "nothing".to_owned()
        }
        _ => random_tree::change_at_random(&root, random),
    }
}

/// Changes a file through one of our own tools. Returns what was done.
fn tool(fixture: &Fixture, random: &mut Random) -> String {
    let root = fixture.root();
    let files = random_tree::files(&root);
    let files: Vec<String> = files
        .iter()
        .filter_map(|path| path.strip_prefix(&root).ok())
        .map(ripgrep::spell_path)
        .collect();
    let tool = fixture.tool();
    let path = match files.len() {
        0 => "new.txt".to_owned(),
        count => files[random.below(count)].clone(),
    };
    let done = match random.below(4) {
        0 => tool.remove(&path).map(|()| "removed"),
        1 => tool
            .update(&path, 10 << 20, &mut |before| Ok([before, b"edited alpha\n"].concat()))
            .map(|()| "edited"),
        2 => {
            tool.write(&format!("{path}-new"), b"tool alpha\n", WriteMode::Replace).map(|_| "made")
        }
        _ => tool.write(&path, &random_tree::text(random), WriteMode::Replace).map(|_| "wrote"),
    };
    // Nothing more is done to the file, because a change of its owner would be an event of its own.
    let there = tool.stat(&path).is_ok();
    match done {
        Ok(what) => format!("tool {what} {path}, there now: {there}"),
        Err(err) => format!("tool failed on {path}: {err}"),
    }
}

fn commit(root: &Path) {
    git(root, &["add", "-A"]);
    git(root, &["commit", "-q", "--allow-empty", "-m", "x"]);
    git(root, &["branch", "-q", "-f", "work"]);
}

fn git(root: &Path, words: &[&str]) {
    let mut command = Command::new("git");
    let identity = ["-c", "user.name=x", "-c", "user.email=x", "-c", "safe.directory=*"];
    command
        .args(identity)
        .args(["-c", "gc.auto=0", "-c", "core.excludesFile=", "-c", "advice.detachedHead=false"])
        .args(words)
        .current_dir(root)
        .env("HOME", root.parent().unwrap())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    ripgrep::as_reader(&mut command);
    // Git refuses some things, such as adding a file that it may not read: then nothing changes.
    let _ = command.status().unwrap();
}

/// Makes a tree of these files, all with `foo` in them, and waits for its index.
fn fixture(files: &[&str]) -> Fixture {
    let fixture = Fixture::new(AMPLE_MEMORY);
    for file in files {
        let path = fixture.root().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        random_tree::put(&path, b"foo\n");
    }
    ripgrep::give_all_to_reader(&fixture.root());
    fixture.wait_until_ready();
    fixture
}

#[track_caller]
fn check_foo(fixture: &Fixture, what: &str) {
    let mut random = Random::new(1);
    for text in ["foo", "bar"] {
        check(&fixture.index, &fixture.root(), &question(text), &mut random, what);
    }
    check_names(&fixture.index, &fixture.root(), None, what);
}

fn exchange(a: &Path, b: &Path) {
    let cwd = rustix::fs::CWD;
    rustix::fs::renameat_with(cwd, a, cwd, b, rustix::fs::RenameFlags::EXCHANGE).unwrap();
}

#[test]
fn two_that_change_places_are_both_seen() {
    let files = ["a", "b", ".c", "d/e", "d/f/g", "current/x", ".staging/x", ".staging/y/z"];
    for (one, other) in [
        ("a", "b"),
        (".c", "a"),
        ("a", "d"),
        ("d", "a"),
        (".staging", "current"),
        ("d/f", "current"),
    ] {
        let fixture = fixture(&files);
        let root = fixture.root();
        exchange(&root.join(one), &root.join(other));
        check_foo(&fixture, &format!("{one} and {other}"));
        fixture.wait_until_ready();
        for name in ["current/new", "d/new", ".staging/new"] {
            let path = root.join(name);
            if path.parent().unwrap().is_dir() {
                random_tree::put(&path, b"bar\n");
            }
        }
        check_foo(&fixture, &format!("{one} and {other}, and files after that"));
    }
}

#[test]
fn a_folder_that_opens_is_entered() {
    let fixture = fixture(&["p/q/c", "z"]);
    let root = fixture.root();
    let mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(root.join("p/q"), mode).unwrap();
    };
    for round in 0..3 {
        mode(0o000);
        check_foo(&fixture, &format!("closed, round {round}"));
        let found = toolcrib_core::Search::grep(
            &fixture.index,
            &question("foo"),
            &toolcrib_core::Cancel::default(),
        );
        let skipped = found.unwrap().skipped;
        assert_eq!(skipped.sentences().next().unwrap(), "not searched: p/q/ (permission denied)");
        fixture.wait_until_ready();
        mode(0o755);
        check_foo(&fixture, &format!("open, round {round}"));
        fixture.wait_until_ready();
    }
}

#[test]
fn rules_behind_a_link_are_followed_to_where_they_are() {
    let fixture = fixture(&["a", "b"]);
    let root = fixture.root();
    random_tree::put(&root.join("rules.txt"), b"a\n");
    std::os::unix::fs::symlink("rules.txt", root.join(".ignore")).unwrap();
    check_foo(&fixture, "linked");
    fixture.wait_until_ready();
    random_tree::put(&root.join("rules.txt"), b"b\n");
    check_foo(&fixture, "changed where it leads");
    // A dangling link makes no repository.
    std::os::unix::fs::symlink("nowhere", root.join(".git")).unwrap();
    random_tree::put(&root.join(".gitignore"), b"a\n");
    check_foo(&fixture, "no repository");
}

#[test]
fn a_pipe_among_the_rules_holds_nobody() {
    let fixture = fixture(&["a", "b"]);
    let root = fixture.root();
    std::fs::create_dir_all(root.join(".git/info")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    for name in [".git/info/exclude", ".gitignore", ".ignore"] {
        rustix::fs::mknodat(rustix::fs::CWD, root.join(name), kind, mode, 0).unwrap();
    }
    let start = std::time::Instant::now();
    for engine in [&fixture.scan, &fixture.index] {
        let found = toolcrib_core::Search::grep(
            engine,
            &question("foo"),
            &toolcrib_core::Cancel::default(),
        );
        assert_eq!(found.unwrap().lines, 2);
    }
    assert!(start.elapsed() < std::time::Duration::from_secs(20), "held by a pipe");
}

#[test]
fn a_file_that_gets_its_name_late_is_watched_like_any_other() {
    let fixture = fixture(&["a"]);
    let root = fixture.root();
    let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::WRONLY;
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let file = rustix::fs::openat(rustix::fs::CWD, &root, flags, mode).unwrap();
    rustix::io::write(&file, b"foo\n").unwrap();
    let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let follow = rustix::fs::AtFlags::SYMLINK_FOLLOW;
    rustix::fs::linkat(rustix::fs::CWD, own, rustix::fs::CWD, root.join("late"), follow).unwrap();
    check_foo(&fixture, "named");
    fixture.wait_until_ready();
    rustix::io::write(&file, b"bar\n").unwrap();
    check_foo(&fixture, "written after that");
}

/// A file mounted onto a name, undone at the end.
struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_file_that_is_mounted_is_never_taken_for_known() {
    if !may_mount("freshness::a_file_that_is_mounted_is_never_taken_for_known") {
        return;
    }
    let fixture = fixture(&["a", "target"]);
    let outside = fixture.folder.path().join("outside");
    random_tree::put(&outside, b"foo\n");
    let target = fixture.root().join("target");
    let done = Command::new("mount").arg("--bind").args([&outside, &target]).status().unwrap();
    assert!(done.success(), "could not mount");
    let mounted = Mounted(target);
    check_foo(&fixture, "mounted");
    fixture.wait_until_ready();
    random_tree::put(&outside, b"bar\n");
    check_foo(&fixture, "changed where it comes from");
    drop(mounted);
    check_foo(&fixture, "unmounted");
}
