//! Never stale: something happens to the tree, by us or by others, and the very next answer knows it.

use std::path::Path;
use std::process::{Command, Stdio};

use toolcrib_core::capability::WriteMode;
use toolcrib_core::{Files, Tree};

use crate::ask::{any_question, check, check_names, question};
use crate::chance::Chance;
use crate::ground::{Field, ROOMY};
use crate::rg;
use crate::wild;

/// Steps of each of the four walks through time: ten thousand in all.
const STEPS: usize = 2500;

#[test]
fn no_answer_is_stale_or_different_1() {
    live(1, STEPS);
}

#[test]
fn no_answer_is_stale_or_different_2() {
    live(2, STEPS);
}

#[test]
fn no_answer_is_stale_or_different_3() {
    live(3, STEPS);
}

#[test]
fn no_answer_is_stale_or_different_4() {
    live(4, STEPS);
}

/// Changes a tree step by step, and asks a question after each.
fn live(seed: u64, steps: usize) {
    let mut chance = Chance::new(seed);
    let mut field = Field::new(ROOMY);
    let root = field.root();
    wild::grow(&root, 150, &mut chance);
    for directory in wild::directories(&root) {
        // What nobody can list, nobody can change either.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(directory, open).unwrap();
    }
    git(&root, &["init", "-q"]);
    commit(&root);
    field.settle();
    let (mut found, mut answered) = (0, 0);
    for step in 0..steps {
        let what = format!("seed {seed} step {step}: {}", disturb(&field, &mut chance));
        if chance.one_in(5) {
            // Let the background get on with it; without this the index is always behind.
            field.settle();
        }
        let ask = if chance.one_in(3) { question("alpha") } else { any_question(&mut chance) };
        found += check(&field.index, &root, &ask, &mut chance, &what);
        if chance.one_in(10) {
            check_names(&field.index, &root, None, &what);
        }
        if chance.one_in(500) {
            answered += field.index.statuses()[0].1.answered;
            field.restart(ROOMY);
        }
    }
    answered += field.index.statuses()[0].1.answered;
    assert!(found > steps, "seed {seed}: only {found} lines in all");
    assert!(answered as usize > steps / 2, "seed {seed}: the index gave only {answered} answers");
}

/// Something happens: through our own tools, through git, or through anything else.
fn disturb(field: &Field, chance: &mut Chance) -> String {
    let root = field.root();
    match chance.below(20) {
        0..=3 => tool(field, chance),
        4 => {
            commit(&root);
            "committed".to_owned()
        }
        5 => {
            let back = 1 + chance.below(3);
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
            let words: Vec<String> = (0..20).map(|_| wild::disturb(&root, chance)).collect();
            format!("burst: {}", words.join("; "))
        }
        8 => {
            let exclude = root.join(".git/info/exclude");
            if let Some(folder) = exclude.parent().filter(|folder| folder.is_dir()) {
                wild::put(&exclude, wild::rules(chance).as_bytes());
                return format!("excludes in {}", folder.display());
            }
            "nothing".to_owned()
        }
        _ => wild::disturb(&root, chance),
    }
}

/// One of our own tools changes a file.
fn tool(field: &Field, chance: &mut Chance) -> String {
    let root = field.root();
    let files = wild::files(&root);
    let files: Vec<String> =
        files.iter().filter_map(|path| path.strip_prefix(&root).ok()).map(rg::spell_path).collect();
    let tool = field.tool();
    let path = match files.len() {
        0 => "new.txt".to_owned(),
        count => files[chance.below(count)].clone(),
    };
    let done = match chance.below(4) {
        0 => tool.remove(&path).map(|()| "removed"),
        1 => tool
            .update(&path, 10 << 20, &mut |before| Ok([before, b"edited alpha\n"].concat()))
            .map(|()| "edited"),
        2 => {
            tool.write(&format!("{path}-new"), b"tool alpha\n", WriteMode::Replace).map(|_| "made")
        }
        _ => tool.write(&path, &wild::text(chance), WriteMode::Replace).map(|_| "wrote"),
    };
    // No more is done to the file: a change of its owner would be an event of its own.
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
    rg::as_reader(&mut command);
    // Some things git refuses, such as to add a file it may not read: then nothing happens.
    let _ = command.status().unwrap();
}

/// Makes a field of so many files, all with `foo` in them, and waits for its index.
fn field(files: &[&str]) -> Field {
    let field = Field::new(ROOMY);
    for file in files {
        let path = field.root().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        wild::put(&path, b"foo\n");
    }
    rg::give_all(&field.root());
    field.settle();
    field
}

#[track_caller]
fn check_foo(field: &Field, what: &str) {
    let mut chance = Chance::new(1);
    for text in ["foo", "bar"] {
        check(&field.index, &field.root(), &question(text), &mut chance, what);
    }
    check_names(&field.index, &field.root(), None, what);
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
        let field = field(&files);
        let root = field.root();
        exchange(&root.join(one), &root.join(other));
        check_foo(&field, &format!("{one} and {other}"));
        field.settle();
        for name in ["current/new", "d/new", ".staging/new"] {
            let path = root.join(name);
            if path.parent().unwrap().is_dir() {
                wild::put(&path, b"bar\n");
            }
        }
        check_foo(&field, &format!("{one} and {other}, and files after that"));
    }
}

#[test]
fn a_folder_that_opens_is_entered() {
    let field = field(&["p/q/c", "z"]);
    let root = field.root();
    let mode = |mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(root.join("p/q"), mode).unwrap();
    };
    for round in 0..3 {
        mode(0o000);
        check_foo(&field, &format!("closed, round {round}"));
        let found = toolcrib_core::Search::grep(
            &field.index,
            &question("foo"),
            &toolcrib_core::Cancel::default(),
        );
        let skipped = found.unwrap().skipped;
        assert_eq!(skipped.sentence().unwrap(), "not searched: p/q/ (permission denied)");
        field.settle();
        mode(0o755);
        check_foo(&field, &format!("open, round {round}"));
        field.settle();
    }
}

#[test]
fn rules_behind_a_link_are_followed_to_where_they_are() {
    let field = field(&["a", "b"]);
    let root = field.root();
    wild::put(&root.join("rules.txt"), b"a\n");
    std::os::unix::fs::symlink("rules.txt", root.join(".ignore")).unwrap();
    check_foo(&field, "linked");
    field.settle();
    wild::put(&root.join("rules.txt"), b"b\n");
    check_foo(&field, "changed where it leads");
    // A link that leads nowhere makes no repository.
    std::os::unix::fs::symlink("nowhere", root.join(".git")).unwrap();
    wild::put(&root.join(".gitignore"), b"a\n");
    check_foo(&field, "no repository");
}

#[test]
fn a_pipe_among_the_rules_holds_nobody() {
    let field = field(&["a", "b"]);
    let root = field.root();
    std::fs::create_dir_all(root.join(".git/info")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let kind = rustix::fs::FileType::Fifo;
    for name in [".git/info/exclude", ".gitignore", ".ignore"] {
        rustix::fs::mknodat(rustix::fs::CWD, root.join(name), kind, mode, 0).unwrap();
    }
    let start = std::time::Instant::now();
    for engine in [&field.scan, &field.index] {
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
    let field = field(&["a"]);
    let root = field.root();
    let flags = rustix::fs::OFlags::TMPFILE | rustix::fs::OFlags::WRONLY;
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let file = rustix::fs::openat(rustix::fs::CWD, &root, flags, mode).unwrap();
    rustix::io::write(&file, b"foo\n").unwrap();
    let own = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file));
    let follow = rustix::fs::AtFlags::SYMLINK_FOLLOW;
    rustix::fs::linkat(rustix::fs::CWD, own, rustix::fs::CWD, root.join("late"), follow).unwrap();
    check_foo(&field, "named");
    field.settle();
    rustix::io::write(&file, b"bar\n").unwrap();
    check_foo(&field, "written after that");
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
    if !rg::is_root() {
        // Only root can mount.
        return;
    }
    let field = field(&["a", "target"]);
    let outside = field.folder.path().join("outside");
    wild::put(&outside, b"foo\n");
    let target = field.root().join("target");
    let done = Command::new("mount").arg("--bind").args([&outside, &target]).status().unwrap();
    assert!(done.success(), "root could not mount");
    let mounted = Mounted(target);
    check_foo(&field, "mounted");
    field.settle();
    wild::put(&outside, b"bar\n");
    check_foo(&field, "changed where it comes from");
    drop(mounted);
    check_foo(&field, "unmounted");
}
