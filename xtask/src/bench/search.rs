//! Search beside ripgrep and fd: the same questions, the same tree, in one run.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use toolcrib::wiring::{Crib, OpenOptions};
use toolcrib_core::search::{Found, Glob, Grep, Page, Pattern, Scope, Search, Sort, Want};
use toolcrib_core::{Cancel, ToolError};
use toolcrib_search::{Engine, IndexStatus, Phase};

use super::corpus;
use super::measure::{mean, median, rg_output, spread};
use crate::tools::{FD, RIPGREP};

/// How often each question is put to each.
const ROUNDS: usize = 9;

/// How many lines a first page has.
const PAGE: usize = 250;

/// A question, for ripgrep and for us.
struct Class {
    name: &'static str,
    text: String,
    is_literal: bool,
    want: Want,
    glob: Option<&'static str>,
}

/// What was measured of one question.
#[derive(Default)]
struct SearchTimes {
    rg: Vec<Duration>,
    cold: Vec<Duration>,
    page: Vec<Duration>,
    full: Vec<Duration>,
}

/// Runs the comparison and prints it.
pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let rg = RIPGREP.install()?;
    let fd = FD.install()?;
    let scratch = tempfile::tempdir()?;
    let tree = corpus::tree(scratch.path())?;
    let open = |state: &str, is_long_lived| {
        let state = Some(scratch.path().join(state));
        let assignments = vec!["search.memory_bytes=2147483648".to_owned()];
        let workspace = Some(tree.clone());
        Crib::open(&OpenOptions {
            workspace,
            state,
            assignments,
            is_long_lived,
            ..OpenOptions::default()
        })
        .map_err(|err| err.to_string())
    };
    let (cold, warm) = (open("cold", false)?, open("warm", true)?);
    println!("search, {}:", describe(&tree, &rg)?);
    println!();
    let built = build(&rg, &tree, warm.search())?;
    let classes = classes(warm.search());
    compare(&rg, &tree, cold.search(), warm.search(), &classes)?;
    in_a_row(warm.search(), &classes)?;
    globs(&fd, &tree, warm.search())?;
    print_index(&built, warm.search(), &tree)?;
    Ok(())
}

fn describe(tree: &Path, rg: &Path) -> Result<String, Box<dyn Error>> {
    let files = Command::new(rg).arg("--files").current_dir(tree).output()?.stdout;
    let paths = files.split(|byte| *byte == b'\n').filter(|path| !path.is_empty());
    let (mut count, mut bytes) = (0, 0);
    for path in paths {
        use std::os::unix::ffi::OsStrExt;
        count += 1;
        let path = tree.join(std::ffi::OsStr::from_bytes(path));
        bytes += std::fs::metadata(path).map_or(0, |meta| meta.len());
    }
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{count} files, {} MB of text, {cores} cores, warm cache", bytes / 1_000_000))
}

/// How the index was built.
struct Built {
    ready: Duration,
    scan: Duration,
    status: IndexStatus,
}

fn build(rg: &Path, tree: &Path, warm: &Engine) -> Result<Built, Box<dyn Error>> {
    let mut scans = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        rg_output(rg, tree, &["-F", "zqxjkvw_not_there"])?;
        scans.push(start.elapsed());
    }
    let start = Instant::now();
    warm.start();
    let status = wait(warm)?;
    Ok(Built { ready: start.elapsed(), scan: median(&mut scans), status })
}

fn wait(warm: &Engine) -> Result<IndexStatus, Box<dyn Error>> {
    loop {
        let (_, status) = warm.statuses().pop().ok_or("there is no index")?;
        match status.phase {
            Phase::Ready => return Ok(status),
            Phase::Off(why) => return Err(why.into()),
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// The questions. On a tree of somebody else's, words of it are chosen that are rare and common there.
fn classes(warm: &Engine) -> Vec<Class> {
    let lines = Want::Lines { before: 0, after: 0 };
    let class = |name, text: &str, is_literal, want, glob| Class {
        name,
        text: text.to_owned(),
        is_literal,
        want,
        glob,
    };
    let count = |text: &str| {
        let mut ask = ask(&class("", text, true, Want::Files, None));
        ask.time = Duration::from_secs(20);
        warm.grep(&ask, &Cancel::default()).map_or(0, |found| found.files_matched)
    };
    let rare = ["quaintly_rare_identifier", "upvar_is_local_variable", "blk_mq_hctx_has_pending"];
    let rare = rare.into_iter().find(|word| count(word) > 0).unwrap_or("seldom_used");
    let common = ["ErrorResult", "DefId", "mutex_lock", "PodSpec"];
    let common = common.into_iter().max_by_key(|word| count(word)).unwrap_or("Error");
    vec![
        class("rare literal", rare, true, lines, None),
        class("common literal", common, true, lines, None),
        class("regex with literal", r"fn\s+\w+_handler", false, lines, None),
        class("case-insensitive word", r"(?i)\bmutex\b", false, lines, None),
        class("no match", "zqxjkvw_not_there", true, lines, None),
        class("very common", "the", true, lines, None),
        class("files only", common, true, Want::Files, None),
        class("count", common, true, Want::Counts, None),
        class("glob filter", common, true, lines, Some("*.rs")),
    ]
}

fn ask(class: &Class) -> Grep {
    Grep {
        pattern: Pattern {
            text: class.text.clone(),
            is_literal: class.is_literal,
            ignores_case: false,
        },
        scope: Scope { glob: class.glob.map(str::to_owned), ..Scope::default() },
        want: class.want,
        page: Page::ALL,
        count_limit: u64::MAX,
        counts_files: false,
        time: Duration::from_mins(10),
    }
}

fn compare(
    rg: &Path,
    tree: &Path,
    cold: &Engine,
    warm: &Engine,
    classes: &[Class],
) -> Result<(), Box<dyn Error>> {
    println!(
        "| question | lines | rg, ms | our scan, ms | × rg | first {PAGE}, ms | faster | all, ms | faster | same lines |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let (mut pages, mut fulls, mut colds) = (Vec::new(), Vec::new(), Vec::new());
    for class in classes {
        let mut times = SearchTimes::default();
        let whole = ask(class);
        let page = Grep { page: Page { most: PAGE, ..Page::ALL }, count_limit: 0, ..whole.clone() };
        let words = rg_words(class);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut theirs = Vec::new();
        let (mut scanned, mut indexed) = (Found::default(), Found::default());
        for round in 0..ROUNDS {
            for turn in 0..4 {
                let start = Instant::now();
                match (turn + round) % 4 {
                    0 => {
                        theirs = rg_output(rg, tree, &words)?;
                        times.rg.push(start.elapsed());
                    }
                    1 => {
                        let found = cold.grep(&whole, &Cancel::default())?;
                        times.cold.push(start.elapsed());
                        scanned = found;
                    }
                    2 => {
                        repeat(&mut times.page, || warm.grep(&page, &Cancel::default()).map(drop))?;
                    }
                    _ => {
                        repeat(&mut times.full, || {
                            indexed = warm.grep(&whole, &Cancel::default())?;
                            Ok(())
                        })?;
                    }
                }
            }
        }
        let spread = spread(&times.rg);
        let [rg, cold, page, full] = [
            median(&mut times.rg),
            median(&mut times.cold),
            median(&mut times.page),
            median(&mut times.full),
        ]
        .map(|time| time.as_secs_f64() * 1e3);
        let expect = lines_of(&theirs);
        let same = [&scanned, &indexed].into_iter().all(|found| ours(class, found) == expect);
        pages.push(rg / page);
        fulls.push(rg / full);
        colds.push(cold / rg);
        println!(
            "| {}: `{}` | {} | {rg:.1}{} | {cold:.1} | {:.2} | {page:.3} | {:.0}× | {full:.3} | {:.1}× | {} |",
            class.name,
            class.text.replace('|', "\\|"),
            expect.len(),
            if spread > 1.5 { " (noisy)" } else { "" },
            cold / rg,
            rg / page,
            rg / full,
            if same { "yes" } else { "NO" },
        );
        if !same {
            return Err(format!("{}: not the lines that ripgrep gives", class.name).into());
        }
    }
    println!(
        "\ngeometric means: first page {:.0}× rg (goal 100), everything {:.0}× rg (goal 40), scan {:.2} of rg's time (goal 1.1)\n",
        mean(&pages),
        mean(&fulls),
        mean(&colds)
    );
    Ok(())
}

/// Measures something a few times in a row: what is short would else mostly be waiting for memory that
/// the long ones before it have taken.
fn repeat(
    times: &mut Vec<Duration>,
    mut work: impl FnMut() -> Result<(), ToolError>,
) -> Result<(), ToolError> {
    let begun = Instant::now();
    for round in 0..15 {
        let start = Instant::now();
        work()?;
        times.push(start.elapsed());
        if round >= 2 && begun.elapsed() > Duration::from_millis(50) {
            break;
        }
    }
    Ok(())
}

fn rg_words(class: &Class) -> Vec<String> {
    let mut words = vec![match class.want {
        Want::Lines { .. } => "-n".to_owned(),
        Want::Files => "-l".to_owned(),
        Want::Counts => "-c".to_owned(),
    }];
    if class.is_literal {
        words.push("-F".to_owned());
    }
    if let Some(glob) = class.glob {
        words.extend(["-g".to_owned(), glob.to_owned()]);
    }
    words.extend(["-e".to_owned(), class.text.clone()]);
    words
}

fn lines_of(output: &[u8]) -> Vec<String> {
    let lines = output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let lines = lines
        .filter(|line| line.len() < 1900)
        .map(|line| String::from_utf8_lossy(line.strip_suffix(b"\r").unwrap_or(line)).into_owned());
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    lines
}

fn ours(class: &Class, found: &Found) -> Vec<String> {
    let mut lines = Vec::new();
    for file in &found.files {
        match class.want {
            Want::Files => lines.push(file.path.clone()),
            Want::Counts => lines.push(format!("{}:{}", file.path, file.count)),
            Want::Lines { .. } => lines.extend(
                file.lines
                    .iter()
                    .map(|line| format!("{}:{}:{}", file.path, line.number, line.text)),
            ),
        }
    }
    lines.retain(|line| line.len() < 1900);
    lines.sort_unstable();
    lines
}

/// Measures the two shortest questions without anything in between.
fn in_a_row(warm: &Engine, classes: &[Class]) -> Result<(), Box<dyn Error>> {
    const TIMES: u32 = 1000;
    let mut each = Vec::new();
    for name in ["rare literal", "no match"] {
        let class = classes.iter().find(|class| class.name == name).ok_or("no such question")?;
        let whole = ask(class);
        let start = Instant::now();
        for _ in 0..TIMES {
            std::hint::black_box(warm.grep(&whole, &Cancel::default())?);
        }
        each.push(start.elapsed().as_secs_f64() * 1e6 / f64::from(TIMES));
    }
    println!(
        "{TIMES} in a row: rare literal {:.0} µs each (goal 200), no match {:.0} µs each (goal 20)\n",
        each[0], each[1]
    );
    Ok(())
}

fn globs(fd: &Path, tree: &Path, warm: &Engine) -> Result<(), Box<dyn Error>> {
    println!("| names | files | fd, ms | ours, ms | faster |");
    println!("| --- | --- | --- | --- | --- |");
    for glob in ["*visit*", "*.rs", "*"] {
        let question = Glob {
            scope: Scope { glob: Some(format!("**/{glob}")), ..Scope::default() },
            sort: Sort::Name,
            page: Page::ALL,
        };
        let (mut theirs, mut mine) = (Vec::new(), Vec::new());
        let mut counts = (0, 0);
        for _ in 0..ROUNDS {
            let start = Instant::now();
            let output = Command::new(fd)
                .args(["-s", "-t", "f", "--color", "never", "--glob", glob])
                .current_dir(tree)
                .stdin(Stdio::null())
                .output()?;
            theirs.push(start.elapsed());
            let start = Instant::now();
            let names = warm.glob(&question, &Cancel::default())?;
            mine.push(start.elapsed());
            counts = (lines_of(&output.stdout).len(), names.paths.len());
        }
        let (theirs, mine) = (median(&mut theirs).as_secs_f64(), median(&mut mine).as_secs_f64());
        println!(
            "| `{glob}` | {}{} | {:.1} | {:.3} | {:.0}× |",
            counts.1,
            if counts.0 == counts.1 { String::new() } else { format!(" (fd: {})", counts.0) },
            theirs * 1e3,
            mine * 1e3,
            theirs / mine
        );
    }
    println!();
    Ok(())
}

fn print_index(built: &Built, warm: &Engine, tree: &Path) -> Result<(), Box<dyn Error>> {
    let status = &built.status;
    let text = status.memory.texts.max(1) as f64;
    println!(
        "index: ready in {:.2} s, {:.1} × one rg scan (goal 10), by {} thread(s)",
        built.ready.as_secs_f64(),
        built.ready.as_secs_f64() / built.scan.as_secs_f64(),
        (std::thread::available_parallelism()?.get() / 2).max(1)
    );
    println!(
        "postings: {:.1} MB, {:.1} % of the {:.0} MB of text that is kept (goal 15 %)",
        status.memory.postings as f64 / 1e6,
        status.memory.postings as f64 / text * 100.0,
        text / 1e6
    );
    // The words are collected after the index is ready, while the questions above are asked.
    let words = warm.statuses().pop().map_or(0, |(_, status)| status.memory.words) as f64;
    println!("words: {:.1} MB, {:.1} % of that text", words / 1e6, words / text * 100.0);
    if std::env::var_os("BENCH_CORPUS").is_none() {
        println!("one changed file: indexed in {:.0} µs (goal 1000)", one_file(warm, tree)?);
    }
    println!("idle: {:.3} ms of processor time in 3 s (goal 0)\n", idle()?);
    Ok(())
}

/// Changes one file, and returns how long indexing it took.
fn one_file(warm: &Engine, tree: &Path) -> Result<f64, Box<dyn Error>> {
    let mut times = Vec::new();
    for round in 0..9 {
        let path = tree.join("bench_changed.rs");
        std::fs::write(&path, format!("// {round}\n").repeat(300) + "fn changed() {}\n")?;
        let mut ask = ask(&Class {
            name: "",
            text: "fn changed()".to_owned(),
            is_literal: true,
            want: Want::Files,
            glob: None,
        });
        ask.page = Page { most: 1, ..Page::ALL };
        warm.grep(&ask, &Cancel::default())?;
        std::thread::sleep(Duration::from_millis(60));
        times.push(wait(warm)?.last_update);
    }
    std::fs::remove_file(tree.join("bench_changed.rs"))?;
    Ok(median(&mut times).as_secs_f64() * 1e6)
}

/// Returns the milliseconds of processor time that the upkeep takes in three seconds of nothing.
fn idle() -> Result<f64, Box<dyn Error>> {
    let used = || -> Result<BTreeMap<String, u64>, Box<dyn Error>> {
        let mut used = BTreeMap::new();
        for task in std::fs::read_dir("/proc/self/task")? {
            let task = task?.path();
            let name = std::fs::read_to_string(task.join("comm"))?;
            let times = std::fs::read_to_string(task.join("schedstat"))?;
            if name.starts_with("toolcrib-index") {
                let time = times.split(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
                used.insert(task.display().to_string(), time);
            }
        }
        Ok(used)
    };
    std::thread::sleep(Duration::from_millis(500));
    let before: u64 = used()?.values().sum();
    std::thread::sleep(Duration::from_secs(3));
    let after: u64 = used()?.values().sum();
    Ok(after.saturating_sub(before) as f64 / 1e6)
}
