//! Search through the tool, beside ripgrep: questions made of a tree's own words, put to one long-lived process.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::corpus::{self, Chance};
use super::measure::{mean, median, rg_output};
use crate::tools::RIPGREP;

/// How many questions are asked.
const QUESTIONS: usize = 500;

/// How often each is put to each. All others are asked in between, so that nothing is still at hand.
const ROUNDS: usize = 3;

/// How many results a page has.
const PAGE: usize = 250;

/// How many of the questions with the lowest ratios are printed.
const SHOWN: usize = 5;

/// How often to check whether an index is ready.
const MOST_LOOKS: usize = 12_000;

/// A question, and what was measured of it.
struct SearchQuestion {
    args: Value,
    rg: Vec<String>,
    theirs: Vec<Duration>,
    ours: Vec<Duration>,
    lines: usize,
    /// Whether the total is ripgrep's, as far as it is exact.
    is_same: bool,
}

/// Runs the comparison and prints it.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let rg = RIPGREP.install()?;
    let scratch = tempfile::tempdir()?;
    let tree = corpus::tree(scratch.path())?;
    let mut questions = questions(&tree, &rg)?;
    let mixed = MixedFiles::find(&rg, &tree)?;
    let mut batch = BatchProcess::start(program, &tree, scratch.path())?;
    for round in 1..=ROUNDS {
        println!("round {round} of {ROUNDS}: {QUESTIONS} questions, each to ripgrep and to us");
        for question in &mut questions {
            let start = Instant::now();
            let words: Vec<&str> = question.rg.iter().map(String::as_str).collect();
            let output = rg_output(&rg, &tree, &words)?;
            question.theirs.push(start.elapsed());
            let start = Instant::now();
            let answer = batch.call(&question.args)?;
            question.ours.push(start.elapsed());
            question.lines = matched_lines(&output);
            question.is_same = mixed.is_same(&answer, &output, &words)?;
        }
    }
    batch.end()?;
    print(&mut questions);
    Ok(())
}

/// Returns how many lines ripgrep found. Of a file that is not text, it says that it matches and not where.
fn matched_lines(output: &[u8]) -> usize {
    let output = String::from_utf8_lossy(output);
    let remarks = [": binary file matches (found", ": WARNING: stopped searching binary file"];
    let is_remark = |line: &&str| remarks.iter().any(|remark| line.contains(remark));
    output.lines().filter(|line| !is_remark(line)).count()
}

/// Files of text with a NUL somewhere. How many of their lines ripgrep finds differs from run to run: it stops at the
/// NUL, and reads as far ahead as the longest line so far of its thread has made its buffer.
struct MixedFiles<'a> {
    rg: &'a Path,
    tree: &'a Path,
    paths: Vec<String>,
}

impl<'a> MixedFiles<'a> {
    fn find(rg: &'a Path, tree: &'a Path) -> Result<Self, Box<dyn Error>> {
        let paths = rg_output(rg, tree, &["--text", "--files-with-matches", r"\x00"])?;
        let paths = String::from_utf8_lossy(&paths).lines().map(str::to_owned).collect();
        Ok(Self { rg, tree, paths })
    }

    /// Whether a reply has as many results as ripgrep found, whatever is found in these files.
    fn is_same(&self, answer: &str, output: &[u8], words: &[&str]) -> Result<bool, Box<dyn Error>> {
        let answer: Value = serde_json::from_str(answer)?;
        let reply = &answer["reply"];
        let total = reply["total_found"].as_u64().ok_or_else(|| answer.to_string())? as usize;
        let lines = matched_lines(output);
        let is_exact = reply["total_is_at_least"] != true;
        if total == lines && is_exact || total < lines && !is_exact {
            return Ok(true);
        }
        if self.paths.is_empty() {
            return Ok(false);
        }
        let found = String::from_utf8_lossy(output);
        let is_other = |line: &&str| {
            let path = line.split_once(':').map_or("", |(path, _)| path);
            self.paths.iter().all(|mixed| mixed != path)
        };
        let others = found.lines().filter(is_other).count();
        let mut words = [words, &["--text"]].concat();
        words.extend(self.paths.iter().map(String::as_str));
        let most = others + matched_lines(&rg_output(self.rg, self.tree, &words)?);
        Ok(if is_exact { (others..=most).contains(&total) } else { total < most })
    }
}

fn print(questions: &mut [SearchQuestion]) {
    let mut rows: Vec<(f64, f64, f64, &SearchQuestion)> = Vec::new();
    for question in questions.iter_mut() {
        let theirs = median(&mut question.theirs).as_secs_f64() * 1e3;
        let ours = median(&mut question.ours).as_secs_f64() * 1e3;
        rows.push((theirs / ours, theirs, ours, question));
    }
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ratios: Vec<f64> = rows.iter().map(|row| row.0).collect();
    let differing = rows.iter().filter(|row| !row.3.is_same).count();
    println!(
        "{QUESTIONS} questions of the tree's own words, first {PAGE} results of clemini/grep through `toolcrib call --batch`, median of {ROUNDS}:"
    );
    println!(
        "  geometric mean {:.0}× rg (goal 100), least {:.1}× (goal 3), median {:.0}×; {differing} totals differ from rg's",
        mean(&ratios),
        ratios[0],
        ratios[ratios.len() / 2],
    );
    let share = |times: &mut Vec<f64>, percent: usize| {
        times.sort_unstable_by(f64::total_cmp);
        times[times.len() * percent / 100]
    };
    let mut theirs: Vec<f64> = rows.iter().map(|row| row.1).collect();
    let mut ours: Vec<f64> = rows.iter().map(|row| row.2).collect();
    println!(
        "  rg: median {:.1} ms, 95 % within {:.1} ms; ours: median {:.2} ms, 95 % within {:.2} ms",
        share(&mut theirs, 50),
        share(&mut theirs, 95),
        share(&mut ours, 50),
        share(&mut ours, 95)
    );
    println!("  the {SHOWN} lowest ratios:");
    for (ratio, theirs, ours, question) in rows.iter().take(SHOWN) {
        println!(
            "    {ratio:>7.1}×   rg {theirs:>6.1} ms   ours {ours:>7.2} ms   {:>7} lines   {}",
            question.lines, question.args
        );
    }
    println!();
}

/// Makes questions of the words of random files.
fn questions(tree: &Path, rg: &Path) -> Result<Vec<SearchQuestion>, Box<dyn Error>> {
    let files = rg_output(rg, tree, &["--files", "--sort", "path"])?;
    let files = String::from_utf8_lossy(&files);
    let files: Vec<&str> = files.lines().collect();
    let types = rg_output(rg, tree, &["--type-list"])?;
    let types = String::from_utf8_lossy(&types);
    let types: Vec<&str> = types.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut questions = Vec::new();
    while questions.len() < QUESTIONS {
        let path = files[chance.below(files.len())];
        let Ok(text) = std::fs::read_to_string(tree.join(path)) else { continue };
        let words: Vec<&str> = text
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| word.len() > 2 && word.len() < 60)
            .collect();
        if words.is_empty() || text.contains('\0') {
            continue;
        }
        let at = chance.below(words.len());
        let word = words[at];
        let extension = Path::new(path).extension().and_then(|it| it.to_str());
        let mut args = json!({"pattern": word, "head_limit": PAGE});
        let mut rg = vec!["-n".to_owned()];
        match (chance.below(10), words.get(at + 1), extension) {
            (0, ..) => args["pattern"] = json!(format!(r"\b{word}\b")),
            (1, ..) => {
                args["case_insensitive"] = json!(true);
                rg.push("-i".to_owned());
            }
            (2, Some(next), _) => args["pattern"] = json!(format!(r"{word}\W+{next}")),
            (3, _, Some(extension)) => {
                let glob = format!("*.{extension}");
                args["file_pattern"] = json!(glob);
                // To ripgrep, a glob names hidden files, too.
                rg.extend(["-g".to_owned(), glob, "-g".to_owned(), "!.*".to_owned()]);
            }
            (4, _, Some(extension)) if extension.chars().all(char::is_alphanumeric) => {
                args["type"] = json!(extension);
                if types.contains(&extension) {
                    rg.push(format!("-t{extension}"));
                } else {
                    rg.extend([format!("--type-add=other:*.{extension}"), "-tother".to_owned()]);
                }
            }
            _ => {}
        }
        rg.extend(["-e".to_owned(), args["pattern"].as_str().unwrap_or_default().to_owned()]);
        questions.push(SearchQuestion {
            args,
            rg,
            theirs: Vec::new(),
            ours: Vec::new(),
            lines: 0,
            is_same: true,
        });
    }
    Ok(questions)
}

/// Waits until a process that searched the tree once has its index. `toolcrib` starts Toolcrib where that process runs.
pub(super) fn wait_for_index(toolcrib: &mut Command) -> Result<(), Box<dyn Error>> {
    toolcrib.args(["search", "status", "--json"]);
    for _ in 0..MOST_LOOKS {
        let status: Value = serde_json::from_slice(&toolcrib.output()?.stdout)?;
        match status["live"][0]["phase"].as_str() {
            Some("ready") => return Ok(()),
            Some("off") => return Err(format!("the index is off: {status}").into()),
            // A process lists its index some time after its first search.
            Some(_) | None => std::thread::sleep(Duration::from_millis(50)),
        }
    }
    Err("the index is not ready after ten minutes".into())
}

/// A process that answers many calls.
struct BatchProcess {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl BatchProcess {
    /// Starts the process, and waits until its index is ready.
    fn start(program: &Path, tree: &Path, scratch: &Path) -> Result<Self, Box<dyn Error>> {
        let home: PathBuf = scratch.join("home");
        std::fs::create_dir(&home)?;
        let command = |words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).current_dir(tree).env_clear();
            command.env("PATH", "/usr/bin:/bin").env("HOME", &home);
            command
        };
        let mut child = command(&["--yes", "call", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut batch = Self { child, stdin, stdout };
        batch.call(&json!({"pattern": "zqxjkvw_not_there"}))?;
        wait_for_index(&mut command(&[]))?;
        Ok(batch)
    }

    /// Makes a call and returns the line that answers it.
    fn call(&mut self, args: &Value) -> Result<String, Box<dyn Error>> {
        let line = json!({"id": 1, "tool": "clemini/grep", "args": args});
        self.stdin.write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        self.stdout.read_line(&mut answer)?;
        Ok(answer)
    }

    fn end(self) -> Result<(), Box<dyn Error>> {
        let Self { mut child, stdin, .. } = self;
        drop(stdin);
        if child.wait()?.success() { Ok(()) } else { Err("the process failed".into()) }
    }
}
