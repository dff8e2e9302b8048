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
    let there = tool.look(&path).is_ok();
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
