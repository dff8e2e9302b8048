//! Pages of the web as Markdown: ours beside `curl` with an extractor of Python, and beside the reference server of MCP.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::batch_door::BatchDoor;
use super::mcp_peer::RunningPeer;
use super::measure::{median, spread, time};
use super::{apart, mcp_peer};
use crate::tools::{HTML_TO_MARKDOWN, MCP_SERVER_FETCH, PythonPackage, TRAFILATURA};

mod made_page;
mod page_server;

use made_page::{LAST_SENTENCE, made_page};
use page_server::PageServer;

/// How many turns each of them has.
const ROUNDS: usize = 11;

/// How often one that is fast fetches the page in a turn.
const REPEATS: usize = 5;

/// One that takes longer fetches it once.
const SHORT_TURN: Duration = Duration::from_millis(100);

/// How large the page is at least, in bytes.
const PAGE_BYTES: usize = 200_000;

/// What reads pages in Python.
const EXTRACT: &str = include_str!("web/extract.py");

/// What Node.js part of the reference server is found by.
const HAVE_NODE: &str = "from readabilipy.simple_json import have_node; print(have_node())";

/// Installs the peers, and runs the comparison in a network of its own.
pub(super) fn run() -> Result<(), Box<dyn Error>> {
    for package in [&MCP_SERVER_FETCH, &TRAFILATURA, &HTML_TO_MARKDOWN] {
        if let Err(err) = package.install() {
            println!("{}: left out: {err}", package.name());
        }
    }
    // Its first call downloads what it runs in Node.js, which the network of its own does not have.
    if MCP_SERVER_FETCH.folder().exists() {
        let mut prepare = Command::new(python()?);
        prepare.args(["-c", HAVE_NODE]).env("PYTHONPATH", MCP_SERVER_FETCH.folder());
        prepare.stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    }
    apart::run("web")
}

/// One way to get the page.
struct FetchedPage {
    label: String,
    way: ReadingWay,
    goal: PageGoal,
    times: Vec<Duration>,
    text_bytes: usize,
}

/// How a page is got.
enum ReadingWay {
    /// A tool of an MCP server that runs.
    Server(Box<RunningPeer>, &'static str, Value),
    /// `curl`, which starts anew, and then a process that runs.
    Curl(Option<BatchDoor>),
    /// A process from exec to exit.
    Process(Box<dyn Fn() -> Command>),
}

/// What is wanted of ours, next to a reader.
#[derive(Clone, Copy)]
enum PageGoal {
    None,
    /// At most so many times as long.
    AtMost(f64),
    /// At least so many times as fast.
    Faster(f64),
}

/// Compares, inside of the network.
pub(super) fn run_inside(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let place = FetchPlace::make(program, scratch.path())?;
    let page = made_page(PAGE_BYTES);
    let bytes = page.len();
    let server = PageServer::start(apart::ADDRESS, page)?;
    let mut readers = readers(&place, &server.url())?;
    for round in 0..=ROUNDS {
        for turn in 0..readers.len() {
            let at = (turn + round) % readers.len();
            let reader = &mut readers[at];
            let (took, text) = reader.fetch(&place, &server.url())?;
            // The first is for what is only done once.
            if round == 0 {
                reader.text_bytes = text.len();
                if !text.is_empty() && !text.contains(LAST_SENTENCE) {
                    return Err(format!("{}: the page is not whole", reader.label).into());
                }
                continue;
            }
            reader.times.push(took);
            let repeats = if took < SHORT_TURN { REPEATS } else { 1 };
            for _ in 1..repeats {
                let (took, _) = reader.fetch(&place, &server.url())?;
                reader.times.push(took);
            }
        }
    }
    println!("a page of {} KB as Markdown, medians of {ROUNDS} turns:", bytes / 1000);
    print(&mut readers);
    Ok(())
}

/// Where toolcrib runs, and what is allowed there.
struct FetchPlace {
    program: PathBuf,
    work: PathBuf,
    home: PathBuf,
    /// What `curl` writes.
    saved: PathBuf,
}

impl FetchPlace {
    fn make(program: &Path, scratch: &Path) -> Result<Self, Box<dyn Error>> {
        let (work, home) = (scratch.join("work"), scratch.join("home"));
        fs::create_dir(&work)?;
        fs::create_dir_all(home.join(".config/toolcrib"))?;
        // A page is asked about, unless a rule allows its host. Every fetch is one, and waits for none.
        let rule = format!("[[rule]]\neffect = \"allow\"\nhosts = [\"{}\"]\n", apart::ADDRESS);
        fs::write(home.join(".config/toolcrib/rules.toml"), rule)?;
        let settings = "[web]\npace_ms = 0\ncache_bytes = 0\n";
        fs::write(home.join(".config/toolcrib/config.toml"), settings)?;
        Ok(Self { program: program.to_owned(), work, home, saved: scratch.join("page.html") })
    }

    fn ours(&self, toolset: &str) -> Result<Box<RunningPeer>, Box<dyn Error>> {
        let words = ["mcp", "-c", &format!("mcp.toolset=[\"{toolset}\"]")].map(str::to_owned);
        RunningPeer::start(&self.program, &words, &self.work, &self.home).map(Box::new)
    }

    /// Starts the reference server of MCP, which finds programs in `path`.
    fn reference(&self, path: &str) -> Result<Box<RunningPeer>, Box<dyn Error>> {
        let modules = format!("PYTHONPATH={}", MCP_SERVER_FETCH.folder().display());
        let path = format!("PATH={path}");
        let python = python()?.display().to_string();
        // Without this, it asks for the robots.txt before each page; ours asks once an hour.
        let server = ["-m", "mcp_server_fetch", "--ignore-robots-txt"];
        let words = [&[modules.as_str(), &path, &python][..], &server].concat();
        let words: Vec<String> = words.into_iter().map(str::to_owned).collect();
        RunningPeer::start(Path::new("/usr/bin/env"), &words, &self.work, &self.home).map(Box::new)
    }
}

/// Returns everything that fetches the page, ours first.
fn readers(place: &FetchPlace, url: &str) -> Result<Vec<FetchedPage>, Box<dyn Error>> {
    let reader = |label: &str, goal, way| FetchedPage {
        label: label.to_owned(),
        way,
        goal,
        times: Vec::new(),
        text_bytes: 0,
    };
    let args = json!({"url": url});
    let fetch = ReadingWay::Server(place.ours("clemini")?, "web_fetch", args.clone());
    let webpage = ReadingWay::Server(place.ours("wink")?, "fetch_webpage", args);
    let mut all = vec![
        reader("ours, clemini/web_fetch", PageGoal::None, fetch),
        reader("ours, wink/fetch_webpage", PageGoal::None, webpage),
        reader("curl alone", PageGoal::None, ReadingWay::Curl(None)),
    ];
    for package in [&TRAFILATURA, &HTML_TO_MARKDOWN] {
        if let Some(extractor) = extractor(package)? {
            let label = format!("curl and {}", package.name());
            all.push(reader(&label, PageGoal::AtMost(1.3), ReadingWay::Curl(Some(extractor))));
        }
    }
    if MCP_SERVER_FETCH.folder().exists() {
        let args = json!({"url": url, "max_length": 999_999});
        let usual = std::env::var("PATH")?;
        for (with, path) in [("with Node.js", usual.as_str()), ("without Node.js", "/nonexistent")]
        {
            let peer = place.reference(path)?;
            let label = format!("mcp-server-fetch, {with}");
            let way = ReadingWay::Server(peer, "fetch", args.clone());
            all.push(reader(&label, PageGoal::Faster(5.0), way));
        }
    }
    let (program, work, home) = (place.program.clone(), place.work.clone(), place.home.clone());
    let url = format!("url={url}");
    let whole = move || {
        let mut command = Command::new(&program);
        command.args(["call", "clemini/web_fetch", &url, "--json"]);
        command.current_dir(&work).env("HOME", &home);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command
    };
    let label = "ours, `toolcrib call` from exec to exit";
    all.push(reader(label, PageGoal::None, ReadingWay::Process(Box::new(whole))));
    Ok(all)
}

/// Starts a process of Python that reads the pages whose paths it is sent.
fn extractor(package: &PythonPackage) -> Result<Option<BatchDoor>, Box<dyn Error>> {
    if !package.folder().exists() {
        return Ok(None);
    }
    let mut command = Command::new(python()?);
    command.args(["-c", EXTRACT, package.name()]).env("PYTHONPATH", package.folder());
    Ok(Some(BatchDoor::start(&mut command)?))
}

/// Returns the Python that the packages were installed for, wherever home is.
fn python() -> Result<PathBuf, Box<dyn Error>> {
    let output =
        Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output()?;
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

impl FetchedPage {
    /// Fetches the page. Returns how long that took, and the text if there is one.
    fn fetch(
        &mut self,
        place: &FetchPlace,
        url: &str,
    ) -> Result<(Duration, String), Box<dyn Error>> {
        let start = Instant::now();
        match &mut self.way {
            ReadingWay::Server(peer, tool, args) => {
                let line = peer.call(tool, args)?;
                let took = start.elapsed();
                Ok((took, mcp_peer::text_of(&line)?))
            }
            ReadingWay::Curl(extractor) => {
                let mut curl = Command::new("curl");
                curl.args(["--silent", "--fail", "--output"]).arg(&place.saved).arg(url);
                time(&mut curl)?;
                let Some(extractor) = extractor else {
                    return Ok((start.elapsed(), String::new()));
                };
                let text = extractor.ask(&format!("{}\n", place.saved.display()))?;
                let took = start.elapsed();
                Ok((took, serde_json::from_str(&text)?))
            }
            ReadingWay::Process(command) => Ok((time(&mut command())?, String::new())),
        }
    }
}

fn print(readers: &mut [FetchedPage]) {
    let ours = median(&mut readers[0].times).as_secs_f64();
    for reader in readers {
        let noisy = if spread(&reader.times) > 1.5 { " (noisy)" } else { "" };
        let took = median(&mut reader.times).as_secs_f64();
        let ratio = match reader.goal {
            PageGoal::None => format!("{:>6.2} x ours", took / ours),
            PageGoal::AtMost(most) => {
                format!(
                    "{:>6.2} x ours; ours is {:.2} of it (goal: at most {most})",
                    took / ours,
                    ours / took
                )
            }
            PageGoal::Faster(least) => {
                format!("{:>6.2} x ours (goal: at least {least})", took / ours)
            }
        };
        let text = match reader.text_bytes {
            0 => String::new(),
            bytes => format!("{} KB", bytes / 1000),
        };
        let label = &reader.label;
        println!("  {label:<40} {:>8.2} ms{noisy}   {text:>6}   {ratio}", took * 1e3);
    }
    println!();
}
