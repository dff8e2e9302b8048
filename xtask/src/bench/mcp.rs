//! Servers of MCP over pipes, with one client: the start, calls that do nothing, reads, listings and searches. The floor is
//! a program of C that answers without checks, decisions or a record.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::corpus;
use super::mcp_peer::RunningPeer;
use super::measure::median;
use super::questions::wait_for_index;
use crate::tools::{NPM_SERVERS, RIPGREP, RUST_MCP_SERVER};

/// How often a server is started.
const STARTS: usize = 15;

/// How many calls of a kind a server answers in a round.
const CALLS: usize = 300;

/// How long a round of a slow server lasts.
const ROUND_TIME: Duration = Duration::from_millis(500);

/// How many rounds each server has, in turn.
const ROUNDS: usize = 7;

/// How often to check whether a search has ended.
const MOST_LOOKS: usize = 100_000;

/// What the searches look for: a word that the made-up tree has in few places, and one that is nowhere. One of our peers
/// takes minutes for a common one.
const WORDS: [&str; 2] = ["quaintly_rare_identifier", "nowhere_to_be_found"];

/// A server that is measured, and how its tools are called.
struct MeasuredServer {
    name: &'static str,
    program: PathBuf,
    words: Vec<String>,
    /// The calls that it has. Without one, it is not measured there.
    noop: Option<(&'static str, Value)>,
    read: Option<(&'static str, &'static str)>,
    list: Option<(&'static str, Value)>,
    search: Option<SearchCall>,
    /// Whether it searches by an index, which is built after the first search.
    has_index: bool,
}

/// Returns the tool and the arguments that search a tree for a word.
type SearchCall = fn(&Path, &str) -> ToolCall;

/// A tool, and its arguments.
type ToolCall = (&'static str, Value);

/// Compares the servers.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let (folder, home) = (scratch.path().join("work"), scratch.path().join("home"));
    fs::create_dir_all(folder.join("many"))?;
    fs::create_dir_all(&home)?;
    fs::write(folder.join("10k.txt"), "0123456789abcdef 0123456789abcdef\n".repeat(301))?;
    fs::write(folder.join("100k.txt"), "0123456789abcdef 0123456789abcdef\n".repeat(3012))?;
    for number in 0..100 {
        fs::write(folder.join(format!("many/file{number:03}.txt")), "x\n")?;
    }
    let servers = servers(program, scratch.path(), &folder)?;
    println!("MCP servers over pipes, one client; medians of {ROUNDS} rounds in turn\n");
    print_rows(&servers, &[starts(&servers, &folder, &home)?]);
    let running = started(&servers, &folder, &home)?;
    print_rows(&servers, &calls(&servers, running, &folder)?);
    print_rows(&servers, &searches(&servers, scratch.path(), &home)?);
    Ok(())
}

/// A row of the table: what was done, and how long each server took.
struct TimedRow {
    what: String,
    times: Vec<Option<Duration>>,
}

fn servers(
    program: &Path,
    scratch: &Path,
    folder: &Path,
) -> Result<Vec<MeasuredServer>, Box<dyn Error>> {
    NPM_SERVERS.install()?;
    RUST_MCP_SERVER.install()?;
    RIPGREP.install()?;
    let modules = NPM_SERVERS.folder().join("node_modules");
    let node = modules.join(".bin/node");
    // Its own script would download it from elsewhere.
    let bin = modules.join("@vscode/ripgrep/bin");
    fs::create_dir_all(&bin)?;
    fs::copy(RIPGREP.path(), bin.join("rg"))?;
    let floor = scratch.join("floor");
    let source = scratch.join("floor.c");
    fs::write(&source, include_str!("mcp_floor.c"))?;
    let built = Command::new("cc").arg("-O2").arg("-o").arg(&floor).arg(&source).status()?;
    if !built.success() {
        return Err("the floor could not be compiled".into());
    }
    let text = |path: &Path| path.display().to_string();
    let toolset = "mcp.toolset=[\"clemini\",\"forgekeeper/echo\",\"forgekeeper/read_dir\"]";
    Ok(vec![
        MeasuredServer {
            name: "floor (C)",
            program: floor,
            words: Vec::new(),
            noop: Some(("noop", json!({}))),
            read: Some(("read_file", "path")),
            list: None,
            search: None,
            has_index: false,
        },
        MeasuredServer {
            name: "Toolcrib",
            program: program.to_owned(),
            words: ["mcp", "-c", toolset].map(str::to_owned).to_vec(),
            noop: Some(("echo", json!({"text": "hello"}))),
            read: Some(("read_file", "file_path")),
            list: Some(("read_dir", json!({"path": "many"}))),
            search: Some(|_, word| ("grep", json!({"pattern": word, "head_limit": 250}))),
            has_index: true,
        },
        MeasuredServer {
            name: "rust-mcp-filesystem",
            program: RUST_MCP_SERVER.path(),
            words: vec![text(folder), text(scratch)],
            noop: None,
            read: Some(("read_text_file", "path")),
            list: Some(("list_directory", json!({"path": folder.join("many")}))),
            search: None,
            has_index: false,
        },
        MeasuredServer {
            name: "server-filesystem (TypeScript)",
            program: node.clone(),
            words: vec![
                text(&modules.join("@modelcontextprotocol/server-filesystem/dist/index.js")),
                text(folder),
            ],
            noop: Some(("list_allowed_directories", json!({}))),
            read: Some(("read_text_file", "path")),
            list: Some(("list_directory", json!({"path": folder.join("many")}))),
            search: None,
            has_index: false,
        },
        MeasuredServer {
            name: "Desktop Commander",
            program: node,
            words: vec![text(&modules.join("@wonderwhy-er/desktop-commander/dist/index.js"))],
            noop: Some(("get_usage_stats", json!({}))),
            read: Some(("read_file", "path")),
            list: Some(("list_directory", json!({"path": folder.join("many"), "depth": 1}))),
            search: Some(|tree, word| {
                let args = json!({
                    "path": tree, "pattern": word, "searchType": "content", "maxResults": 250,
                    "literalSearch": true, "timeout_ms": 60_000,
                });
                ("start_search", args)
            }),
            has_index: false,
        },
    ])
}

/// Measures from the start of the process to its first answer.
fn starts(
    servers: &[MeasuredServer],
    folder: &Path,
    home: &Path,
) -> Result<TimedRow, Box<dyn Error>> {
    let mut times = vec![Vec::new(); servers.len()];
    for _ in 0..STARTS {
        for (server, times) in servers.iter().zip(&mut times) {
            let start = Instant::now();
            let running = RunningPeer::start(&server.program, &server.words, folder, home)?;
            times.push(start.elapsed());
            drop(running);
        }
    }
    let times = times.iter_mut().map(|times| Some(median(times))).collect();
    Ok(TimedRow { what: "start to first answer".to_owned(), times })
}

/// Starts all servers, and prints the memory that they need while idle.
fn started(
    servers: &[MeasuredServer],
    folder: &Path,
    home: &Path,
) -> Result<Vec<RunningPeer>, Box<dyn Error>> {
    let mut all = Vec::new();
    for server in servers {
        let mut peer = RunningPeer::start(&server.program, &server.words, folder, home)?;
        // Some answer first and open the rest afterwards.
        let _ = peer.request("tools/list", &json!({}))?;
        let (own, with_shared) = peer.memory()?;
        let name = server.name;
        println!(
            "{name:32} {own:6.1} MB of its own while idle, {with_shared:.1} with shared pages"
        );
        all.push(peer);
    }
    println!();
    Ok(all)
}

/// Measures calls that do nothing, reads and listings.
fn calls(
    servers: &[MeasuredServer],
    mut running: Vec<RunningPeer>,
    folder: &Path,
) -> Result<Vec<TimedRow>, Box<dyn Error>> {
    let read = |server: &MeasuredServer, file: &str| {
        server.read.map(|(tool, key)| (tool, json!({key: folder.join(file)})))
    };
    let kinds: [(&str, Vec<Option<ToolCall>>); 4] = [
        ("a call that does nothing", servers.iter().map(|it| it.noop.clone()).collect()),
        ("read of 10 KB", servers.iter().map(|it| read(it, "10k.txt")).collect()),
        ("read of 100 KB", servers.iter().map(|it| read(it, "100k.txt")).collect()),
        ("listing of 100 files", servers.iter().map(|it| it.list.clone()).collect()),
    ];
    let mut rows = Vec::new();
    for (what, wanted) in kinds {
        let mut times = vec![Vec::new(); servers.len()];
        for _ in 0..ROUNDS {
            for ((peer, call), times) in running.iter_mut().zip(&wanted).zip(&mut times) {
                let Some((tool, args)) = call else { continue };
                let began = Instant::now();
                for _ in 0..CALLS {
                    let start = Instant::now();
                    peer.call(tool, args)?;
                    times.push(start.elapsed());
                    if began.elapsed() > ROUND_TIME {
                        break;
                    }
                }
            }
        }
        let times = times.iter_mut().map(|it| (!it.is_empty()).then(|| median(it))).collect();
        rows.push(TimedRow { what: what.to_owned(), times });
    }
    Ok(rows)
}

/// Measures searches of a large tree that was searched before.
fn searches(
    servers: &[MeasuredServer],
    scratch: &Path,
    home: &Path,
) -> Result<Vec<TimedRow>, Box<dyn Error>> {
    let tree = corpus::tree(scratch)?;
    let mut all = vec![vec![None; servers.len()]; WORDS.len()];
    for (place, server) in servers.iter().enumerate() {
        let Some(search) = server.search else { continue };
        let mut peer = RunningPeer::start(&server.program, &server.words, &tree, home)?;
        let mut look = |word: &str| -> Result<Duration, Box<dyn Error>> {
            let (tool, args) = search(&tree, word);
            let start = Instant::now();
            let line = peer.call(tool, &args)?;
            finish_search(&mut peer, &line)?;
            Ok(start.elapsed())
        };
        look(WORDS[0])?;
        if server.has_index {
            let mut status = Command::new(&server.program);
            status.current_dir(&tree).env("HOME", home);
            wait_for_index(&mut status)?;
        }
        for (word, row) in WORDS.iter().zip(&mut all) {
            let times: Result<Vec<Duration>, _> = (0..ROUNDS).map(|_| look(word)).collect();
            row[place] = Some(median(&mut times?));
        }
    }
    let row = |(word, times): (&&str, Vec<Option<Duration>>)| {
        let what = format!("search of a large warm tree for `{word}`");
        TimedRow { what, times }
    };
    Ok(WORDS.iter().zip(all).map(row).collect())
}

/// Waits for a search that goes on after its call, as those of Desktop Commander do.
fn finish_search(peer: &mut RunningPeer, line: &str) -> Result<(), Box<dyn Error>> {
    let Some((_, rest)) = line.split_once("session: ") else { return Ok(()) };
    let session: String =
        rest.chars().take_while(|it| it.is_alphanumeric() || "_-".contains(*it)).collect();
    if !line.contains("RUNNING") {
        return Ok(());
    }
    for _ in 0..MOST_LOOKS {
        let args = json!({"sessionId": session, "offset": 0, "length": 250});
        let more = peer.call("get_more_search_results", &args)?;
        if !more.contains("IN PROGRESS") && !more.contains("RUNNING") {
            return Ok(());
        }
    }
    Err(format!("the search {session} does not end").into())
}

fn print_rows(servers: &[MeasuredServer], rows: &[TimedRow]) {
    for row in rows {
        println!("{}", row.what);
        let ours = row.times[1].unwrap_or_default();
        for (server, time) in servers.iter().zip(&row.times) {
            let Some(time) = time else { continue };
            let ratio = time.as_secs_f64() / ours.as_secs_f64();
            let micros = time.as_secs_f64() * 1e6;
            println!("    {:32} {micros:12.1} µs   {ratio:8.2}x ours", server.name);
        }
    }
}
