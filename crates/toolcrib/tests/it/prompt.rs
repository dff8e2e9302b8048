//! A person at a real terminal is asked; anything but yes means no.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::always::always;
use crate::scratch::Scratch;

/// A terminal with the binary on it.
pub(crate) struct Session {
    pub(crate) child: Child,
    pub(crate) master: File,
    pub(crate) seen: String,
}

/// How the terminal of a session is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keys {
    /// Each key counts at once.
    Single,
    /// As on a dumb terminal, whole lines are read.
    Lines,
}

impl Session {
    pub(crate) fn start(scratch: &Scratch, words: &[&str], typed_before: &str) -> Self {
        Self::start_with(scratch, words, typed_before, Keys::Lines)
    }

    pub(crate) fn start_with(
        scratch: &Scratch,
        words: &[&str],
        typed_before: &str,
        keys: Keys,
    ) -> Self {
        let mut command = scratch.command();
        if keys == Keys::Single {
            // Tests answer faster than people read.
            command.env("TERM", "xterm").env("TOOLCRIB_ASK_DELAY_MS", "0");
        }
        command.env("NO_COLOR", "1").args(words);
        Self::on_terminal(command, typed_before)
    }

    /// Starts a command on a new terminal. The command gets the environment that it was given and nothing else.
    pub(crate) fn on_terminal(command: Command, typed_before: &str) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let open = || -> OwnedFd {
            let path = name.to_str().unwrap();
            File::options().read(true).write(true).open(path).unwrap().into()
        };
        let mut master = File::from(master);
        let (stdin, stdout, stderr) = (open(), open(), open());
        master.write_all(typed_before.as_bytes()).unwrap();
        let child = in_own_session(&command)
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::from(stdout))
            .stderr(Stdio::from(stderr))
            .spawn()
            .unwrap();
        Self { child, master, seen: String::new() }
    }

    /// Reads until `text` was shown.
    pub(crate) fn wait_for(&mut self, text: &str) {
        self.wait_for_any(&[text]);
    }

    /// Reads until one of `texts` was shown, and returns it.
    pub(crate) fn wait_for_any<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        let start = Instant::now();
        loop {
            if let Some(text) = texts.iter().find(|text| self.seen.contains(**text)) {
                return text;
            }
            assert!(start.elapsed() < Duration::from_mins(2), "never saw {texts:?}: {}", self.seen);
            let second = rustix::event::Timespec { tv_sec: 1, tv_nsec: 0 };
            let mut polls = [PollFd::new(&self.master, PollFlags::IN)];
            if !matches!(poll(&mut polls, Some(&second)), Ok(1)) {
                continue;
            }
            let mut buffer = [0; 4096];
            match self.master.read(&mut buffer) {
                Ok(got) if got > 0 => self.seen.push_str(&String::from_utf8_lossy(&buffer[..got])),
                _ => panic!("the terminal was closed before {texts:?}: {}", self.seen),
            }
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn answer(&mut self, text: &str) -> i32 {
        self.press(text);
        self.child.wait().unwrap().code().unwrap()
    }
}

/// Returns the command as the first process of a session that has its stdin as terminal, as a shell is. Otherwise it
/// would ask on the terminal that the tests were started on.
fn in_own_session(command: &Command) -> Command {
    let mut own = Command::new("setsid");
    own.arg("--ctty").arg(command.get_program()).args(command.get_args()).env_clear();
    own.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    own.current_dir(command.get_current_dir().unwrap());
    own
}

/// What the last row of a question has.
pub(crate) const KEYS: &str = " no (Enter)";

pub(crate) const CALL: [&str; 4] =
    ["call", "wink/create_file", "path=hello.py", "content=print('hello world')"];

#[test]
fn a_person_says_yes() {
    let scratch = Scratch::new();
    let mut session = Session::start(&scratch, &CALL, "");
    session.wait_for("Approve? (y/n/always): ");
    for shown in [
        "Tool: create_file\r\n",
        "Parameters:",
        "  path: hello.py",
        "  content: <20 bytes>",
        "Files affected: hello.py\r\n",
        "Location: ",
        "Risk level: safe_write",
        "Asked because: changes to files are asked about in standard mode",
        "+ print('hello world')",
    ] {
        assert!(session.seen.contains(shown), "{shown}: {}", session.seen);
    }
    assert_eq!(session.answer("y\n"), 0);
    assert_eq!(scratch.text("hello.py"), "print('hello world')");
    assert!(
        scratch.record().iter().any(|line| line["by"] == "terminal" && line["decision"] == "allow")
    );
}

#[test]
fn anything_else_is_no() {
    for answer in [
        "n\n",
        "\n",
        "\u{4}",
        "always\n\n",
        "always\nn\n",
        "e\n\n\n",
        "e\n1\nn\nn\n",
        "e\n99\n\u{4}",
    ] {
        let scratch = Scratch::new();
        let mut session = Session::start(&scratch, &CALL, "");
        session.wait_for("Approve? (y/n/always): ");
        assert_eq!(session.answer(answer), 3, "{answer:?}");
        assert!(!scratch.work().join("hello.py").exists(), "{answer:?}");
    }
}

#[test]
fn a_wrong_answer_is_asked_again_and_what_was_pasted_with_it_is_dropped() {
    let scratch = Scratch::new();
    let mut session = Session::start(&scratch, &CALL, "");
    session.wait_for("Approve? (y/n/always): ");
    for wrong in ["maybe\n", "yes please\n", "hello\nsome text\ny\nmore\n"] {
        session.seen.clear();
        session.master.write_all(wrong.as_bytes()).unwrap();
        session.wait_for("is not an answer");
    }
    assert_eq!(session.answer("n\n"), 3);
    assert!(!scratch.work().join("hello.py").exists());
}

#[test]
fn what_was_typed_before_the_question_is_no_answer() {
    let scratch = Scratch::new();
    let mut session = Session::start(&scratch, &CALL, "y\ny\n");
    session.wait_for("Approve? (y/n/always): ");
    assert_eq!(session.answer("n\n"), 3);
    assert!(!scratch.work().join("hello.py").exists());
}

#[test]
fn what_is_shown_cannot_mislead() {
    let scratch = Scratch::new();
    let call = ["call", "wink/create_file", "path=a\u{1b}[2Jb", "content=x\u{202e}y\u{200b}"];
    let mut session = Session::start(&scratch, &call, "");
    session.wait_for("Approve? (y/n/always): ");
    assert!(session.seen.contains("a\\u{1b}[2Jb"), "{}", session.seen);
    assert!(!session.seen.contains('\u{202e}') && !session.seen.contains("\u{1b}[2J"));
    assert_eq!(session.answer("n\n"), 3);
}

#[test]
fn a_file_that_changes_while_a_person_thinks_is_not_written() {
    for swap in ["content", "link"] {
        let scratch = Scratch::new();
        scratch.put("f", "old");
        scratch.put_at("outside/f", "old");
        let call = ["call", "clemini/write_file", "file_path=f", "content=new"];
        let mut session = Session::start(&scratch, &call, "");
        session.wait_for(KEYS);
        let path = scratch.work().join("f");
        std::fs::remove_file(&path).unwrap();
        if swap == "link" {
            std::os::unix::fs::symlink("../outside/f", &path).unwrap();
        } else {
            scratch.put("f", "someone else's");
        }
        assert_eq!(session.answer("y\n"), 1, "{swap}");
        assert_eq!(std::fs::read_to_string(scratch.path("outside/f")).unwrap(), "old");
        if swap == "content" {
            assert_eq!(scratch.text("f"), "someone else's");
        }
    }
}

#[test]
fn an_interrupt_at_the_question_ends_it() {
    let scratch = Scratch::new();
    let mut session = Session::start(&scratch, &CALL, "");
    session.wait_for("Approve? (y/n/always): ");
    let pid = session.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    assert_eq!(session.child.wait().unwrap().signal(), Some(2));
    assert!(!scratch.work().join("hello.py").exists());
}

#[test]
fn the_time_a_person_takes_is_not_the_calls() {
    let scratch = Scratch::new();
    let mut session = Session::start(&scratch, &CALL, "");
    session.wait_for("Approve? (y/n/always): ");
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!(session.answer("y\n"), 0);
    let record = scratch.record();
    let elapsed = record.last().unwrap()["elapsed_ms"].as_f64().unwrap();
    assert!(elapsed < 1500.0, "{elapsed}");
}

#[test]
fn without_a_terminal_nobody_is_asked() {
    let scratch = Scratch::new();
    let ran = scratch.run(CALL);
    assert_eq!(ran.code, 4);
    assert!(ran.stderr.contains("needs a person's approval"), "{}", ran.stderr);
    assert!(!scratch.work().join("hello.py").exists());
}

#[test]
fn a_path_can_be_granted_and_a_refusal_has_words() {
    let scratch = Scratch::new();
    let write = |path: &str| {
        scratch.run(["call", "wink/create_file", &format!("path={path}"), "content=x"]).code
    };
    let call = ["call", "wink/create_file", "path=a.txt", "content=one"];
    let (code, seen) = always(&scratch, &call, "a\na\n");
    assert_eq!(code, 0, "{seen}");
    std::fs::remove_file(scratch.work().join("a.txt")).unwrap();
    assert_eq!((write("b.txt"), write("a.txt")), (4, 0));
    let mut session = Session::start(&scratch, &CALL, "");
    session.wait_for("Approve? (y/n/always): ");
    assert_eq!(session.answer("n write it to src instead\n"), 3);
    let mut rest = String::new();
    let _ = session.master.read_to_string(&mut rest);
    assert!((session.seen + &rest).contains("not run: you said no (\"write it to src instead\")"));
}

#[test]
fn nobody_answering_in_time_means_no() {
    let scratch = Scratch::new();
    let call = [&["-c", "policy.approval_seconds=1"], &CALL[..]].concat();
    let mut session = Session::start(&scratch, &call, "");
    session.wait_for("not run: nobody answered within 1 s");
    assert_eq!(session.child.wait().unwrap().code(), Some(3));
    assert!(!scratch.work().join("hello.py").exists());
}

#[test]
fn another_process_can_answer() {
    for (words, code) in [(["approve"].as_slice(), 0), (&["deny"], 3)] {
        let scratch = Scratch::new();
        let mut session = Session::start(&scratch, &CALL, "");
        session.wait_for("Approve? (y/n/always): ");
        let listed = scratch.run(["approvals", "list", "--json"]).json();
        let id = listed[0]["id"].as_str().unwrap();
        assert_eq!(listed[0]["status"], "pending", "{listed}");
        // A yes without a terminal is refused, because an agent could give it that way.
        assert_eq!(scratch.run(["approvals", "approve", id]).code, 1);
        let yes: &[&str] = if words[0] == "approve" { &["--yes"] } else { &[] };
        assert_eq!(scratch.run([yes, &["approvals", words[0], id]].concat()).code, 0);
        assert_eq!(session.child.wait().unwrap().code(), Some(code), "{words:?}");
        assert_eq!(scratch.work().join("hello.py").exists(), code == 0);
        assert_eq!(scratch.run(["--yes", "approvals", "approve", id]).code, 1, "it is answered");
    }
}

#[test]
fn what_is_not_ended_by_enter_is_no_answer() {
    const EOF: &str = "\u{4}";
    for typed in [format!("y{EOF}"), format!("y{EOF}{EOF}"), EOF.to_owned()] {
        let scratch = Scratch::new();
        let call = [&["-c", "policy.approval_seconds=2"], &CALL[..]].concat();
        let mut session = Session::start(&scratch, &call, "");
        session.wait_for("Approve? (y/n/always): ");
        assert_eq!(session.answer(&typed), 3, "{typed:?}");
        assert!(!scratch.work().join("hello.py").exists());
    }
}

#[test]
fn what_is_not_shown_does_not_run_by_one_yes() {
    let hidden = format!("echo {}; touch made; echo {}", "a ".repeat(3000), "b ".repeat(3000));
    let call = ["call", "clemini/bash", &format!("command={hidden}")];
    for (answers, code) in [("y\nn\n", 3), ("y\ny\n", 0), ("v\ny\n", 0)] {
        let scratch = Scratch::new();
        let mut session = Session::start(&scratch, &call, "");
        session.wait_for("rows not shown");
        session.wait_for(KEYS);
        assert!(!session.seen.contains("touch made; echo"), "{}", session.seen);
        // The test reads while the binary writes; otherwise the terminal fills up and both wait.
        let mut master = session.master.try_clone().unwrap();
        let reader = std::thread::spawn(move || {
            let mut rest = Vec::new();
            let _ = master.read_to_end(&mut rest);
            String::from_utf8_lossy(&rest).into_owned()
        });
        assert_eq!(session.answer(answers), code, "{answers:?}");
        let rest = reader.join().unwrap();
        assert_eq!(rest.contains("touch made; echo"), answers.starts_with('v'), "{answers:?}");
        assert_eq!(scratch.work().join("made").exists(), code == 0);
    }
}

#[test]
fn what_scrolls_off_the_screen_does_not_run_by_one_yes() {
    let command = format!("{}touch made", "true; ".repeat(500));
    for (typed, code) in [("y\nn\n", 3), ("y\ny\n", 0)] {
        let scratch = Scratch::new();
        let call = ["call", "clemini/bash", &format!("command={command}")];
        let mut session = Session::start(&scratch, &call, "");
        session.wait_for(KEYS);
        let rows: Vec<&str> = session.seen.lines().collect();
        assert!(rows.len() <= 24, "{}", session.seen);
        assert!(rows.iter().all(|row| row.chars().count() <= 90), "{}", session.seen);
        assert!(session.seen.contains("rows not shown"), "{}", session.seen);
        assert!(rows[0].contains("wants to run a command"), "{rows:?}");
        assert_eq!(session.answer(typed), code, "{typed:?}");
        assert_eq!(scratch.work().join("made").exists(), code == 0);
    }
}

#[test]
fn a_script_that_changes_during_the_question_is_not_run() {
    for (changed, code) in [("touch other", 1), ("touch made", 0)] {
        let scratch = Scratch::new();
        scratch.put("run.sh", "touch made");
        let mut session =
            Session::start(&scratch, &["call", "clemini/bash", "command=sh run.sh"], "");
        session.wait_for(KEYS);
        scratch.put("run.sh", changed);
        assert_eq!(session.answer("y\n"), code, "{changed}");
        assert_eq!(scratch.work().join("made").exists(), code == 0);
        assert!(!scratch.work().join("other").exists());
    }
}

#[test]
fn blanks_push_nothing_out_of_sight() {
    let scratch = Scratch::new();
    let command = format!("command=make all '{}Risk level: safe'", " ".repeat(2000));
    let mut session = Session::start(&scratch, &["call", "clemini/bash", &command], "");
    session.wait_for(KEYS);
    assert!(session.seen.contains("[… 2000 blanks …]"), "{}", session.seen);
    assert!(!session.seen.contains(&" ".repeat(50)), "{}", session.seen);
    session.answer("n\n");
}

#[test]
fn lines_are_shown_as_lines() {
    let scratch = Scratch::new();
    let args = r#"{"command": "true # x\\nrm\ntouch y"}"#;
    let mut session = Session::start(&scratch, &["call", "clemini/bash", args], "");
    session.wait_for(KEYS);
    assert!(session.seen.contains("│ true # x\\nrm\r\n  │ touch y\r\n"), "{}", session.seen);
    assert_eq!(session.answer("n\n"), 3);
}

#[test]
fn a_person_who_makes_the_call_is_asked_at_once() {
    let scratch = Scratch::new();
    scratch.put("old", "");
    let call = ["call", "clemini/bash", "command=rm old"];
    // The control: without a terminal, an agent has to confirm it first.
    let told = scratch.run(call);
    assert!(told.code != 0 && told.stderr.contains("confirm"), "{}", told.stderr);
    let mut session = Session::start(&scratch, &call, "");
    session.wait_for(KEYS);
    assert_eq!(session.answer("y\n"), 0);
    assert!(!scratch.work().join("old").exists());
}
