//! Workspaces that somebody else prepared: whatever their git settings, links and names are, usual commands that only
//! read start no program but those that they name, and print nothing that a rule denies. `TOOLCRIB_SEEDS=100` tries
//! that many workspaces for each user, `TOOLCRIB_SEEDS=7..8` only that of seed 7.

mod commands;
mod workspace;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use self::commands::COMMANDS;
use self::workspace::{DENY, make_calm, make_hostile, needle};
use crate::ground::{Session, for_all, outside};
use crate::privilege::skip;
use crate::scratch::{Scratch, User};

/// What a program of the workspace writes when it runs, and the file that it writes it to.
const RAN: &str = "EVIL-RAN";

/// The program that traces which programs run.
const TRACER: &str = "/usr/bin/strace";

/// Workspaces for each user, unless the environment says how many.
const USUAL_SEEDS: u64 = 3;

/// Commands that must run where there are no traps. The others are asked about, and nobody answers.
const LEAST_RAN: usize = 90;

/// A session whose programs are traced, if the machine can do that.
struct Traced {
    session: Session,
    trace: Option<PathBuf>,
}

impl Traced {
    /// Starts a session in which nobody answers, with folders of the workspace at the beginning of `PATH`.
    fn start(scratch: &Scratch, name: &str, words: &[&str]) -> Self {
        let mut command = scratch.command();
        let trace = Path::new(TRACER).exists().then(|| scratch.path(&format!("outside/{name}")));
        if let Some(trace) = &trace {
            let program = command.get_program().to_owned();
            command = Command::new(TRACER);
            command.args(["-f", "--seccomp-bpf", "-qq", "-e", "trace=execve,execveat", "-o"]);
            command.arg(trace).arg(program).current_dir(scratch.work()).env_clear();
            command.env("HOME", scratch.path("home")).env("TOOLCRIB_STATE", scratch.state());
            if scratch.user == User::Nobody {
                command.uid(65534).gid(65534);
            }
        }
        let work = scratch.work();
        let work = work.display();
        command.env("PATH", format!("{work}/bin:{work}/node_modules/.bin:bin:.:/usr/bin:/bin"));
        command.args(words).args(["call", "--batch", "--jobs", "3"]);
        Self { session: Session::over(command), trace }
    }

    /// Runs commands, several at once, and returns each with its reply.
    fn run<'a>(&mut self, commands: &[&'a str]) -> Vec<(&'a str, Value)> {
        let mut replies = Vec::new();
        for part in commands.chunks(32) {
            let ask = |command: &&'a str| {
                (self.session.ask("clemini/bash", json!({"command": command})), *command)
            };
            let asked: Vec<_> = part.iter().map(ask).collect();
            for _ in &asked {
                let (id, reply) = self.session.hear();
                let (_, command) = asked.iter().find(|it| it.0 == id).unwrap();
                replies.push((*command, reply));
            }
        }
        replies
    }

    /// Ends the session, and returns the programs that ran in it.
    fn end(self) -> Option<BTreeSet<String>> {
        self.session.end();
        let trace = self.trace.map(|trace| fs::read_to_string(trace).unwrap())?;
        let started = trace.lines().filter(|line| line.ends_with(" = 0"));
        let program = |line: &str| {
            let (_, call) = line.split_once("execve")?;
            Some(call.split('"').nth(1)?.to_owned())
        };
        Some(started.filter_map(program).collect())
    }
}

/// What a workspace is called in a failure.
struct Told<'a> {
    seed: u64,
    traps: &'a [&'a str],
}

impl Told<'_> {
    fn at(&self, what: &str) -> String {
        format!("seed {}, {:?}: {what}", self.seed, self.traps)
    }

    /// Asserts that nothing but programs of the system ran, and only those that the commands name.
    #[track_caller]
    fn ran_only_what_is_named(&self, scratch: &Scratch, programs: Option<&BTreeSet<String>>) {
        let ran = fs::read_to_string(scratch.work().join(RAN)).unwrap_or_default();
        assert_eq!(ran, "", "{}", self.at("a program of the workspace ran"));
        let own = env!("CARGO_BIN_EXE_toolcrib");
        let text = COMMANDS.join(" ");
        let named: BTreeSet<&str> = text.split([' ', '|', ';']).chain(["bash", "bwrap"]).collect();
        for program in programs.into_iter().flatten() {
            let is_own = program == own || program.starts_with("/proc/self/fd/");
            let is_system = program.starts_with("/usr/") || program.starts_with("/bin/");
            let name = program.rsplit('/').next().unwrap_or_default();
            assert!(is_own || is_system && named.contains(name), "{}", self.at(program));
        }
    }

    /// Asserts that no reply has a text.
    #[track_caller]
    fn said_nothing_with(&self, replies: &[(&str, Value)], text: &str) {
        for (command, reply) in replies {
            let said = reply.to_string();
            assert!(!said.contains(text), "{}", self.at(&format!("{command}: {said}")));
        }
    }
}

fn count_ran(replies: &[(&str, Value)]) -> usize {
    replies.iter().filter(|(_, reply)| reply["exit_code"].is_number()).count()
}

/// Returns the commands that run git.
fn git_commands() -> Vec<&'static str> {
    COMMANDS.iter().copied().filter(|command| command.contains("git ")).collect()
}

fn put_rules(scratch: &Scratch, rules: &str) {
    scratch.put_at("home/.config/toolcrib/rules.toml", rules);
}

/// Starts a session before there are rules, and one afterwards.
fn start_both(scratch: &Scratch) -> (Traced, Traced) {
    put_rules(scratch, "");
    let mut free = Traced::start(scratch, "free", &[]);
    // It has read the rules by the time it answers.
    free.run(&["true"]);
    put_rules(scratch, DENY);
    (free, Traced::start(scratch, "bound", &[]))
}

/// Whether a file below a folder has this text.
fn holds(folder: &Path, text: &str) -> bool {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).any(|path| {
        if path.is_dir() && !path.is_symlink() {
            return holds(&path, text);
        }
        let bytes = fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

/// Returns the seeds to try.
fn seeds() -> Range<u64> {
    let Ok(asked) = std::env::var("TOOLCRIB_SEEDS") else { return 0..USUAL_SEEDS };
    let number = |text: &str| text.parse::<u64>().unwrap_or_else(|err| panic!("{asked}: {err}"));
    match asked.split_once("..") {
        Some((first, end)) => number(first)..number(end),
        None => 0..number(&asked),
    }
}

#[test]
fn where_nobody_set_a_trap_usual_commands_run_and_the_trace_sees_programs() {
    if !Path::new(TRACER).exists() {
        skip("hostile", "the programs that run are not traced: there is no strace");
    }
    for_all(|scratch| {
        make_calm(scratch, 0);
        let told = Told { seed: 0, traps: &[] };
        let (mut free, mut bound) = start_both(scratch);
        let replies = free.run(COMMANDS);
        let ran = count_ran(&replies);
        assert!(ran >= LEAST_RAN, "{ran} of {} ran, {:?}", COMMANDS.len(), replies[0]);
        // The control: where no rule denies anything, the commands find it.
        let found = replies.iter().filter(|it| it.1.to_string().contains(&needle(0))).count();
        assert!(found >= 10, "{found} found it");
        told.ran_only_what_is_named(scratch, free.end().as_ref());

        let replies = bound.run(COMMANDS);
        let ran = count_ran(&replies);
        assert!(ran >= LEAST_RAN * 3 / 4, "{ran} of {} ran, {:?}", COMMANDS.len(), replies[0]);
        told.said_nothing_with(&replies, &needle(0));
        told.ran_only_what_is_named(scratch, bound.end().as_ref());

        // The control: a program of the workspace that a person approves.
        let mut approved = Traced::start(scratch, "approved", &["--yes"]);
        let replies = approved.run(&["./bin/ls"]);
        assert!(replies[0].1["stdout"].as_str().unwrap().contains(RAN), "{replies:?}");
        let programs = approved.end();
        let is_seen = |all: &BTreeSet<String>| all.iter().any(|it| it.ends_with("bin/ls"));
        assert!(programs.as_ref().is_none_or(is_seen), "{programs:?}");
        assert!(scratch.work().join(RAN).exists());
    });
}

/// What the tries come to.
#[derive(Default)]
struct Tally {
    workspaces: Cell<usize>,
    ran: Cell<usize>,
    refused: Cell<usize>,
    /// Workspaces in which git runs a program outside of the sandbox.
    set_off: Cell<usize>,
}

impl Tally {
    fn add(&self, replies: &[(&str, Value)]) {
        let ran = count_ran(replies);
        self.ran.set(self.ran.get() + ran);
        self.refused.set(self.refused.get() + replies.len() - ran);
    }

    fn add_workspace(&self, scratch: &Scratch) {
        self.workspaces.set(self.workspaces.get() + 1);
        self.set_off.set(self.set_off.get() + usize::from(sets_off(scratch)));
    }
}

/// Whether the git commands of the list run a program of the workspace if they run outside.
fn sets_off(scratch: &Scratch) -> bool {
    let text = git_commands().join("\n");
    outside(scratch, &format!("({text}\n) >/dev/null 2>&1; true"));
    scratch.work().join(RAN).exists()
}

#[test]
fn no_workspace_makes_usual_commands_run_or_print_anything_else() {
    let tally = Tally::default();
    for_all(|scratch| {
        for seed in seeds() {
            let traps = make_hostile(scratch, seed);
            let told = Told { seed, traps: &traps };
            let (mut free, mut bound) = start_both(scratch);
            // Without the rule, git is not asked about for what it could print.
            let replies = free.run(&git_commands());
            told.said_nothing_with(&replies, RAN);
            tally.add(&replies);
            let replies = bound.run(COMMANDS);
            told.said_nothing_with(&replies, RAN);
            told.said_nothing_with(&replies, &needle(seed));
            tally.add(&replies);
            for session in [free, bound] {
                told.ran_only_what_is_named(scratch, session.end().as_ref());
            }
            let records = scratch.state().join("context_log");
            assert!(!holds(&records, &needle(seed)), "{}", told.at("the record has it"));
            tally.add_workspace(scratch);
        }
    });
    let Tally { workspaces, ran, refused, set_off } = &tally;
    let (workspaces, set_off) = (workspaces.get(), set_off.get());
    let (ran, refused) = (ran.get(), refused.get());
    if std::env::var_os("TOOLCRIB_SEEDS").is_some() {
        let told = format!(
            "\n{workspaces} workspaces, {set_off} with a trap that works outside; \
             {ran} commands ran, {refused} were refused\n"
        );
        std::io::stderr().write_all(told.as_bytes()).unwrap();
    }
    assert!(ran > workspaces * LEAST_RAN / 2, "{ran} commands ran, {refused} were refused");
    // The control: outside, most traps make git run a program.
    assert!(set_off * 2 >= workspaces, "{set_off} of {workspaces}");
}

/// Exchanges a folder with a link to a denied one until told to stop. Returns how often.
fn exchange(work: &Path, stop: &AtomicBool) -> usize {
    let (folder, link) = (work.join("d"), work.join("d-link"));
    symlink("secrets", &link).unwrap();
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        renameat_with(CWD, &folder, CWD, &link, RenameFlags::EXCHANGE).unwrap();
        count += 1;
        // The commands need a processor too.
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
    count
}

#[test]
fn no_race_makes_usual_commands_print_what_is_denied() {
    for_all(|scratch| {
        make_calm(scratch, 1);
        let told = Told { seed: 1, traps: &["a race"] };
        let (mut free, mut bound) = start_both(scratch);
        let racing: Vec<&str> = COMMANDS
            .iter()
            .copied()
            .filter(|it| it.contains("d/key") || it.contains(" d"))
            .collect();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let exchanging = scope.spawn(|| exchange(&scratch.work(), &stop));
            let (mut ran, mut found) = (0, 0);
            for _ in 0..2 {
                let replies = bound.run(&racing);
                ran += count_ran(&replies);
                told.said_nothing_with(&replies, &needle(1));
                let replies = free.run(&racing);
                found += replies.iter().filter(|it| it.1.to_string().contains(&needle(1))).count();
            }
            stop.store(true, Ordering::Relaxed);
            let count = exchanging.join().unwrap();
            assert!(ran > 0 && count > 100, "{ran} ran, {count} exchanges");
            // The control: without the rule, some find it behind the link.
            assert!(found > 0, "{count} exchanges");
        });
        for session in [free, bound] {
            told.ran_only_what_is_named(scratch, session.end().as_ref());
        }
    });
}
