//! A git repository at a revision: list, read and search through hikai's tools, beside git itself.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::search::{Grep, Page, Pattern, Scope, Want};
use toolcrib_core::{Cancel, EntryKind, Tree};
use toolcrib_repositories::GitRepository;

use super::batch_door::BatchDoor;
use super::made_repository::{FILES_PER_DIRECTORY, MadeRepository, NEEDLE, path};
use super::measure::{median, spread};

/// How many files the repository has.
const FILES: usize = 60_000;

/// How often a short question is put to each, in turn.
const MANY: usize = 41;

/// How often a long one is.
const FEW: usize = 5;

/// A word that is on many lines.
const COMMON: &str = "compute_7";

/// A text that is nowhere.
const NOWHERE: &str = "nothing like this";

/// How many lines a reply of a search has if the call does not say.
const REPLY_LINES: usize = 20;

/// Runs the comparison and prints it.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let repository = MadeRepository::make(&scratch.path().join("made.git"), FILES)?;
    let cores = std::thread::available_parallelism()?;
    println!(
        "a bare git repository of {FILES} files at a revision, {cores} cores, medians in turn:"
    );
    let door = HikaiDoor { program: program.to_owned(), scratch: scratch.path().to_owned() };
    through_the_tools(&door, &repository)?;
    below_the_tools(&repository)?;
    println!();
    Ok(())
}

/// Starts Toolcrib with the repository connected.
struct HikaiDoor {
    program: PathBuf,
    scratch: PathBuf,
}

impl HikaiDoor {
    fn open(&self, repository: &MadeRepository) -> Result<BatchDoor, Box<dyn Error>> {
        let (work, home) = (self.scratch.join("work"), self.scratch.join("home"));
        fs::create_dir_all(&work)?;
        fs::create_dir_all(&home)?;
        let connection = format!("hikai.connection=git:{}#main", repository.folder.display());
        let mut command = Command::new(&self.program);
        command.args(["-c", &connection, "call", "--batch"]).current_dir(work).env("HOME", home);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        BatchDoor::start(&mut command)
    }
}

/// Makes a call of a tool, and returns its reply.
fn call(door: &mut BatchDoor, tool: &str, args: &Value) -> Result<Value, Box<dyn Error>> {
    let answer = door.ask(&line(tool, args))?;
    let mut answer: Value = serde_json::from_str(&answer)?;
    match answer["reply"].take() {
        Value::Null => Err(answer.to_string().into()),
        reply if reply.get("error").is_some() => Err(reply.to_string().into()),
        reply => Ok(reply),
    }
}

fn line(tool: &str, args: &Value) -> String {
    format!("{}\n", json!({"id": 1, "tool": format!("hikai/{tool}"), "args": args}))
}

/// One row: what is done, how often, and what is wanted.
struct GitRow<'a> {
    what: &'a str,
    rounds: usize,
    goal: Option<f64>,
}

impl GitRow<'_> {
    /// Measures git and us in turn, and prints the ratio.
    fn compare(
        &self,
        mut git: impl FnMut(usize) -> Result<(), Box<dyn Error>>,
        mut ours: impl FnMut(usize) -> Result<(), Box<dyn Error>>,
    ) -> Result<(), Box<dyn Error>> {
        let (mut their_times, mut our_times) = (Vec::new(), Vec::new());
        for round in 0..self.rounds {
            let start = Instant::now();
            git(round)?;
            their_times.push(start.elapsed());
            let start = Instant::now();
            ours(round)?;
            our_times.push(start.elapsed());
        }
        self.print(&mut their_times, &mut our_times);
        Ok(())
    }

    fn print(&self, git: &mut [Duration], ours: &mut [Duration]) {
        let noisy = if spread(git) > 1.5 { " (noisy)" } else { "" };
        let (git, ours) = (median(git).as_secs_f64() * 1e3, median(ours).as_secs_f64() * 1e3);
        let ratio = git / ours;
        let goal = match self.goal {
            None => String::new(),
            Some(goal) if ratio < goal => format!("   (goal: at least {goal}: not met)"),
            Some(goal) => format!("   (goal: at least {goal})"),
        };
        let what = self.what;
        println!(
            "  {what:<52} git {git:>8.2} ms{noisy}   ours {ours:>8.3} ms   {ratio:>8.1} x{goal}"
        );
    }
}

/// Puts the same questions to git, and to one process that answers calls.
fn through_the_tools(door: &HikaiDoor, repository: &MadeRepository) -> Result<(), Box<dyn Error>> {
    println!(" through hikai's tools, in one process (`toolcrib call --batch`):");
    let directory = repository.directories().nth(1).ok_or("no directory")?;
    let listed = json!({"path": directory, "limit": 100});
    let below = format!("{directory}/");
    let one = ["ls-tree", "-l", "main", &below];
    let row = |what, rounds, goal| GitRow { what, rounds, goal };
    row("a process from exec to exit, for one directory", FEW, None).compare(
        |_| repository.git(&one).map(drop),
        |_| call(&mut door.open(repository)?, "list_files", &listed).map(drop),
    )?;
    let mut tools = door.open(repository)?;
    check(&mut tools, repository)?;
    row("list one directory, with sizes", MANY, Some(1.0)).compare(
        |_| repository.git(&one).map(drop),
        |_| tools.ask(&line("list_files", &listed)).map(drop),
    )?;
    let every: Vec<String> = repository
        .directories()
        .map(|path| line("list_files", &json!({"path": path, "limit": 100})))
        .collect();
    let what = format!("list everything, with sizes, in {} calls", every.len());
    row(&what, FEW, None).compare(
        |_| repository.git(&["ls-tree", "-r", "-l", "main"]).map(drop),
        |_| every.iter().try_for_each(|line| tools.ask(line).map(drop)),
    )?;
    let number = |round: usize| (round + 1) * 977 % FILES;
    row("read a file", MANY, Some(5.0)).compare(
        |round| repository.git(&["show", &format!("main:{}", path(number(round)))]).map(drop),
        |round| tools.ask(&line("read_file", &json!({"path": path(number(round))}))).map(drop),
    )?;
    searches(&mut tools, repository)
}

/// Fails unless the tools reply with what git prints.
fn check(tools: &mut BatchDoor, repository: &MadeRepository) -> Result<(), Box<dyn Error>> {
    let read = call(tools, "read_file", &json!({"path": path(17)}))?;
    let shown = repository.git(&["show", &format!("main:{}", path(17))])?;
    if read["content"].as_str().map(str::as_bytes) != Some(shown.as_slice()) {
        return Err("not the content that git shows".into());
    }
    let directory = repository.directories().nth(1).ok_or("no directory")?;
    let listed = call(tools, "list_files", &json!({"path": directory, "limit": 100}))?;
    if listed["files"].as_array().map(Vec::len) != Some(FILES_PER_DIRECTORY) {
        return Err(format!("not the files that git lists: {listed}").into());
    }
    Ok(())
}

/// Compares searches. Git prints all lines, and an agent gets the first ones.
fn searches(tools: &mut BatchDoor, repository: &MadeRepository) -> Result<(), Box<dyn Error>> {
    let search = |text: &str| line("search_code", &json!({"query": text, "limit": REPLY_LINES}));
    let start = Instant::now();
    let found = call(tools, "search_code", &json!({"query": NEEDLE, "limit": REPLY_LINES}))?;
    let first = start.elapsed();
    let start = Instant::now();
    let output = repository.git(&grep_words(NEEDLE))?;
    let (git, first) = (start.elapsed().as_secs_f64() * 1e3, first.as_secs_f64() * 1e3);
    println!(
        "  {:<52} git {git:>8.2} ms   ours {first:>8.1} ms",
        "first search, which reads everything"
    );
    let lines = lines_of(&output);
    if found.as_array().map(|found| found.len() as u64) != Some(lines) {
        return Err(format!("not the {lines} lines that git finds: {found}").into());
    }
    let row = |what, rounds| GitRow { what, rounds, goal: Some(20.0) };
    for (what, text) in [
        ("search, 12 matches", NEEDLE),
        ("search, no match", NOWHERE),
        ("search, a common word, first 20 lines", COMMON),
    ] {
        row(what, FEW).compare(
            |_| repository.git(&grep_words(text)).map(drop),
            |_| tools.ask(&search(text)).map(drop),
        )?;
    }
    // Git is ended as soon as it has printed as many lines.
    GitRow { what: "the same, `git grep` ended after 20 lines", rounds: FEW, goal: None }
        .compare(|_| first_lines(repository), |_| tools.ask(&search(COMMON)).map(drop))
}

fn lines_of(output: &[u8]) -> u64 {
    output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count() as u64
}

fn grep_words(text: &str) -> [&str; 8] {
    ["grep", "-n", "-I", "-i", "-F", "-e", text, "main"]
}

/// Runs `git grep` for the common word until it has printed as many lines as a reply has.
fn first_lines(repository: &MadeRepository) -> Result<(), Box<dyn Error>> {
    use std::io::BufRead;
    let mut grep = repository.command(&grep_words(COMMON));
    let mut child = grep.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let output = std::io::BufReader::new(child.stdout.take().ok_or("no stdout")?);
    for line in output.lines().take(REPLY_LINES) {
        line?;
    }
    child.kill()?;
    child.wait()?;
    Ok(())
}

/// Compares what the tools do not offer in one call.
fn below_the_tools(repository: &MadeRepository) -> Result<(), Box<dyn Error>> {
    println!(" below the tools, in process:");
    let open = || GitRepository::open(&repository.folder, "main");
    let everything = ["ls-tree", "-r", "-t", "-z", "main"];
    let row = |what, goal| GitRow { what, rounds: FEW, goal: Some(goal) };
    GitRow { what: "list everything, with opening the repository", rounds: FEW, goal: None }
        .compare(
            |_| repository.git(&everything).map(drop),
            |_| list_everything(&open()?.files_for(&Cancel::default())),
        )?;
    let opened = open()?;
    let files = opened.files_for(&Cancel::default());
    list_everything(&files)?;
    row("list everything, warm", 1.0)
        .compare(|_| repository.git(&everything).map(drop), |_| list_everything(&files))?;
    count_lines(&opened, NEEDLE)?;
    // The words are collected after the first answer.
    let status = loop {
        let status = opened.index_status().ok_or("no index")?;
        if status.is_complete {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    println!("  the index has {} MB for {} files", status.bytes >> 20, status.files);
    for (what, text) in [
        ("search, a word of some lines, all of them", "value_77 ="),
        ("search, a common word, all lines", "compute_77("),
    ] {
        let found = count_lines(&opened, text)?;
        let output = repository.git(&grep_words(text))?;
        let lines = lines_of(&output);
        if found != lines {
            return Err(format!("{text}: {found} lines, and git finds {lines}").into());
        }
        let what = format!("{what} ({lines})");
        GitRow { what: &what, rounds: FEW, goal: Some(20.0) }.compare(
            |_| repository.git(&grep_words(text)).map(drop),
            |_| count_lines(&opened, text).map(drop),
        )?;
    }
    Ok(())
}

/// Lists every directory.
fn list_everything(files: &dyn Tree) -> Result<(), Box<dyn Error>> {
    let (mut count, mut rest) = (0, vec![".".to_owned()]);
    while let Some(directory) = rest.pop() {
        for entry in files.list(&directory, usize::MAX)?.entries {
            if entry.kind == EntryKind::Directory {
                rest.push(format!("{directory}/{}", entry.name));
            } else {
                count += 1;
            }
        }
    }
    if count == FILES { Ok(()) } else { Err(format!("{count} files are listed").into()) }
}

/// Searches for a text, and returns how many lines have it.
fn count_lines(repository: &GitRepository, text: &str) -> Result<u64, Box<dyn Error>> {
    let ask = Grep {
        pattern: Pattern { text: text.to_owned(), is_literal: true, ignores_case: true },
        scope: Scope::default(),
        want: Want::Lines { before: 0, after: 0 },
        page: Page::ALL,
        count_limit: u64::MAX,
        counts_files: false,
        time: Duration::from_mins(10),
    };
    Ok(repository.search().grep(&ask, &Cancel::default())?.lines)
}
