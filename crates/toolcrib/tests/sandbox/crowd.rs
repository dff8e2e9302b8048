//! Many commands, at once and in a row, leave nothing behind.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::ground::{LONGEST_WAIT, Session, eventually, for_all};

/// What is there when only the launcher is: bubblewrap goes, and covers do, a moment after the answer.
fn at_rest(session: &Session, work: &Path) -> Left {
    eventually("rest", || left(session, work).children.len() == 1);
    Left { files: BTreeSet::new(), ..left(session, work) }
}

/// Waits until nothing is left that was not there before.
#[track_caller]
fn check_gone(session: &Session, work: &Path, before: &Left) {
    let mut now = left(session, work);
    let until = Instant::now() + LONGEST_WAIT;
    while Instant::now() < until {
        // The session closes a few descriptors of the first command only later.
        now.descriptors = now.descriptors.max(before.descriptors);
        if now == *before {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
        now = left(session, work);
    }
    assert_eq!(now, *before);
}

/// What could be left behind, as seen now.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    descriptors: usize,
    children: BTreeSet<String>,
    mounts: usize,
    files: BTreeSet<String>,
}

fn left(session: &Session, work: &Path) -> Left {
    let process = format!("/proc/{}", session.id());
    let mut children = BTreeSet::new();
    for thread in std::fs::read_dir(format!("{process}/task")).unwrap().flatten() {
        let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(list.split_whitespace().map(str::to_owned));
    }
    // And below the launcher.
    for child in children.clone() {
        let list = std::fs::read_to_string(format!("/proc/{child}/task/{child}/children"));
        children.extend(list.unwrap_or_default().split_whitespace().map(str::to_owned));
    }
    let names = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.unwrap().file_name().to_string_lossy().into_owned()
    };
    // Other programs mount what they like elsewhere.
    let place = work.parent().unwrap().to_str().unwrap().to_owned();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    Left {
        descriptors: descriptors(&process),
        children,
        mounts: mounts.lines().filter(|line| line.contains(&place)).count(),
        files: std::fs::read_dir(work).unwrap().map(names).collect(),
    }
}

/// The open descriptors of a process, without the one by which each of its threads reads its own
/// count of bytes: threads of the pool come and go.
fn descriptors(process: &str) -> usize {
    let open = std::fs::read_dir(format!("{process}/fd")).unwrap().flatten();
    let targets = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let of_thread = |target: &Path| target.starts_with("/proc") && target.ends_with("io");
    targets.filter(|target| !of_thread(target)).count()
}

#[test]
fn five_hundred_at_once() {
    for_all(|scratch| {
        let mut sessions: Vec<Session> = (0..2).map(|_| Session::start(scratch, &[])).collect();
        for session in &mut sessions {
            session.bash("touch warm && rm warm");
        }
        let before: Vec<Left> =
            sessions.iter().map(|session| at_rest(session, &scratch.work())).collect();
        for session in &mut sessions {
            for number in 0..250 {
                let command = format!(
                    "sleep 0.{}; echo {number}; echo .{number} > f{}",
                    number % 10,
                    number % 7
                );
                session.ask("clemini/bash", json!({"command": command, "timeout_seconds": 300}));
            }
        }
        for session in &mut sessions {
            for _ in 0..250 {
                let (id, reply) = session.hear();
                assert_eq!(reply["stdout"], format!("{}\n", id - 2), "{reply}");
            }
        }
        std::process::Command::new("rm")
            .args(["-f"])
            .args((0..7).map(|n| scratch.work().join(format!("f{n}"))))
            .status()
            .unwrap();
        for (session, before) in sessions.iter().zip(&before) {
            check_gone(session, &scratch.work(), before);
        }
        sessions.into_iter().for_each(Session::end);
    });
}

#[test]
fn five_thousand_in_a_row() {
    // As whoever tests: the other user's way through the same code is tried above.
    let scratch = crate::scratch::Scratch::of(crate::scratch::User::Own);
    let mut session = Session::start(&scratch, &[]);
    session.bash("touch warm && rm warm");
    let before = at_rest(&session, &scratch.work());
    // A few at a time, so that both cores work.
    let (mut asked, mut heard) = (0, 0);
    while heard < 5000 {
        while asked < 5000 && asked - heard < 6 {
            session.ask("clemini/bash", json!({"command": "echo x"}));
            asked += 1;
        }
        let (_, reply) = session.hear();
        assert_eq!(reply["stdout"], "x\n", "after {heard}: {reply}");
        heard += 1;
    }
    check_gone(&session, &scratch.work(), &before);
    session.end();
    let kept = std::fs::read_dir(scratch.state().join("output")).unwrap().count();
    assert!(kept <= 1100, "old output is removed: {kept}");
}
