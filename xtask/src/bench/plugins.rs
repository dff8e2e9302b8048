//! Calls of a module in its sandboxed worker: beside a compiled tool, a bare pipe, and `node` started for each call. All
//! calls of ours come over the same pipes of `toolcrib mcp`.

use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::mcp_peer::RunningPeer;
use super::measure::{median, time};
use crate::tools::NPM_SERVERS;

/// How many calls of a kind a round has.
const CALLS: usize = 300;

/// How many rounds there are, in turn.
const ROUNDS: usize = 7;

/// How often `node` is started, and how often a module is called for the first time.
const STARTS: usize = 15;

/// How long an agent thinks between two calls, at the least.
const THINKING: Duration = Duration::from_millis(300);

/// How many calls are made for the calls per second.
const MANY_CALLS: usize = 4000;

/// How many modules are reloaded.
const MODULES: usize = 100;

/// What `node` runs for one call.
const NODE_CALL: &str =
    "process.stdout.write(JSON.stringify({text: JSON.parse(process.argv[1]).text}))";

fn module(name: &str) -> String {
    format!(
        "export const name = '{name}';\nexport const description = 'Echoes';\n\
         export const parameters = {{type: 'object', properties: {{text: {{type: 'string'}}}}}};\n\
         export async function execute(args) {{ return {{text: args.text}}; }}\n"
    )
}

/// Toolcrib in a scratch place.
struct Ours<'a> {
    program: &'a Path,
    folder: PathBuf,
    home: PathBuf,
}

impl Ours<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(self.program);
        command.args(words).current_dir(&self.folder).env("HOME", &self.home);
        command.env_remove("XDG_STATE_HOME").env_remove("XDG_CONFIG_HOME");
        command
    }

    fn load(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let file = format!("{name}.mjs");
        fs::write(self.folder.join(&file), module(name))?;
        time(&mut self.command(&["plugins", "propose", &file]))?;
        time(&mut self.command(&["--yes", "proposals", "approve", name]))?;
        Ok(())
    }

    fn serve(&self) -> Result<RunningPeer, Box<dyn Error>> {
        let toolset = "mcp.toolset=[\"plugins\",\"forgekeeper/echo\"]";
        let words = ["mcp", "-c", toolset].map(str::to_owned);
        RunningPeer::start(self.program, &words, &self.folder, &self.home)
    }
}

/// Compares the calls.
pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let (folder, home) = (scratch.path().join("work"), scratch.path().join("home"));
    fs::create_dir_all(&folder)?;
    fs::create_dir_all(&home)?;
    let ours = Ours { program, folder, home };
    ours.load("mirror")?;
    println!(
        "Calls of a module, over the pipes of `toolcrib mcp`; medians of {ROUNDS} rounds in turn\n"
    );
    let (warm, compiled) = warm_calls(&ours)?;
    let pipe = bare_pipe()?;
    let node = node_calls()?;
    let row = |what: &str, time: Duration| println!("| {what} | {:.0} µs |", micros(time));
    println!("| | |\n| --- | --- |");
    row("a module, warm", warm);
    row("a compiled tool (`echo`)", compiled);
    row("a bare pipe to a resident process (`cat`)", pipe);
    row("`node` started for the call", node);
    row("a module, its first call, right after the start of the server", first_calls(&ours)?);
    row("a module, its first call in a server that runs", cold_modules(&ours)?);
    println!("| calls of a module per second, 4 at a time | {:.0} |", calls_per_second(&ours)?);
    println!(
        "\nA warm call is {:.1} times a compiled tool, and `node` takes {:.0} times as long.",
        micros(warm) / micros(compiled),
        micros(node) / micros(warm)
    );
    for number in 0..MODULES {
        ours.load(&format!("tool_{number}"))?;
    }
    let mut reloads = Vec::new();
    for _ in 0..5 {
        reloads.push(time(&mut ours.command(&["plugins", "reload"]))?);
    }
    println!("Reload of {MODULES} modules: {:.0} ms\n", micros(median(&mut reloads)) / 1000.0);
    Ok(())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Measures warm calls of the module and of the compiled tool, in turn.
fn warm_calls(ours: &Ours<'_>) -> Result<(Duration, Duration), Box<dyn Error>> {
    let mut peer = ours.serve()?;
    let args = json!({"text": "hello"});
    let mut times: [Vec<Duration>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (tool, times) in ["mirror", "echo"].iter().zip(&mut times) {
            for _ in 0..CALLS {
                let start = Instant::now();
                peer.call(tool, &args)?;
                times.push(start.elapsed());
            }
        }
    }
    let [warm, compiled] = &mut times;
    Ok((median(warm), median(compiled)))
}

/// Measures the first call of a module in a server that has just started.
fn first_calls(ours: &Ours<'_>) -> Result<Duration, Box<dyn Error>> {
    let args = json!({"text": "hello"});
    let mut times = Vec::new();
    for _ in 0..STARTS {
        let mut peer = ours.serve()?;
        // The server is open when it has answered this.
        peer.call("echo", &args)?;
        let start = Instant::now();
        peer.call("mirror", &args)?;
        times.push(start.elapsed());
    }
    Ok(median(&mut times))
}

/// Measures the first calls of modules in a server that runs, as an agent makes them that thinks between its calls.
fn cold_modules(ours: &Ours<'_>) -> Result<Duration, Box<dyn Error>> {
    let names: Vec<String> = (0..STARTS).map(|number| format!("cold_{number}")).collect();
    names.iter().try_for_each(|name| ours.load(name))?;
    let args = json!({"text": "hello"});
    let mut peer = ours.serve()?;
    let mut times = Vec::new();
    for name in &names {
        std::thread::sleep(THINKING);
        let start = Instant::now();
        peer.call(name, &args)?;
        times.push(start.elapsed());
    }
    Ok(median(&mut times))
}

/// Measures one line to a resident process and back.
fn bare_pipe() -> Result<Duration, Box<dyn Error>> {
    let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("no stdin")?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
    let mut times = Vec::new();
    for _ in 0..ROUNDS * CALLS {
        let (start, mut line) = (Instant::now(), String::new());
        input.write_all(b"{\"text\":\"hello\"}\n")?;
        output.read_line(&mut line)?;
        times.push(start.elapsed());
    }
    drop(input);
    child.wait()?;
    Ok(median(&mut times))
}

/// Measures `node` for one call, from its start to its end.
fn node_calls() -> Result<Duration, Box<dyn Error>> {
    NPM_SERVERS.install()?;
    let node = NPM_SERVERS.folder().join("node_modules/.bin/node");
    let mut times = Vec::new();
    for _ in 0..STARTS {
        times.push(time(Command::new(&node).args(["-e", NODE_CALL, "{\"text\":\"hello\"}"]))?);
    }
    Ok(median(&mut times))
}

/// Measures many calls of the module, several at a time.
fn calls_per_second(ours: &Ours<'_>) -> Result<f64, Box<dyn Error>> {
    let args = json!({"text": "hello"});
    let calls = (0..MANY_CALLS).map(|id| json!({"id": id, "tool": "plugins/mirror", "args": args}));
    let lines: Vec<String> = calls.map(|call| call.to_string()).collect();
    let lines = lines.join("\n");
    let mut command = ours.command(&["call", "--batch", "--jobs", "4"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut input = child.stdin.take().ok_or("no stdin")?;
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let mut output = BufReader::new(child.stdout.take().ok_or("no stdout")?).lines();
    // The first replies come while workers start.
    let mut next = || output.next().ok_or("the batch ended early");
    for _ in 0..MANY_CALLS / 10 {
        next()??;
    }
    let start = Instant::now();
    for _ in MANY_CALLS / 10..MANY_CALLS {
        next()??;
    }
    let elapsed = start.elapsed();
    writer.join().map_err(|_| "the calls could not be written")??;
    child.wait()?;
    Ok((MANY_CALLS - MANY_CALLS / 10) as f64 / elapsed.as_secs_f64())
}
