//! The page with a large record behind it: what its figures cost the server, and what they cost a browser.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use toolcrib_core::ToolName;
use toolcrib_ledger::{Previews, StateFolder, Stats, TimeWindow};

use super::ledger::{one, recorder};
use super::measure::median;
use super::server::ServerProcess;

/// How many calls are on the record.
const CALLS: u64 = 1_000_000;

/// How many tools they are of.
const TOOLS: u64 = 200;

/// How many hours they are spread over.
const HOURS: u64 = 24;

/// What scripts of the page begin with.
const PRELUDE: &str = include_str!("../../../crates/toolcrib/tests/page/prelude.js");

pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let state = scratch.path().join("state");
    write_record(&state)?;
    figures(&state)?;
    browser(program, scratch.path())
}

fn write_record(folder: &Path) -> Result<(), Box<dyn Error>> {
    let record = recorder(folder, Previews::Off)?;
    let tools: Vec<ToolName> =
        (0..TOOLS).map(|number| format!("plugins/tool_{number}").into()).collect();
    let now = Timestamp::now();
    for number in 0..CALLS {
        let ago = (CALLS - number) * HOURS * 3600 / CALLS;
        let at = now.checked_sub(SignedDuration::from_secs(ago.cast_signed()))?;
        one(&record, &tools[(number % TOOLS) as usize], at, number)?;
    }
    Ok(())
}

/// What the figures of the overview cost the server.
fn figures(folder: &Path) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 21;
    let state = StateFolder::open(folder)?;
    let mut stats = Stats::open(&state)?;
    let start = Instant::now();
    let lines = stats.fold()?;
    let folded = start.elapsed();
    println!("{CALLS} calls of {TOOLS} tools on the record, over {HOURS} hours:");
    println!("  {lines} lines folded in {:.1} s", folded.as_secs_f64());
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    for window in TimeWindow::ALL {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            stats.fold()?;
            std::hint::black_box(stats.overview(window, Timestamp::now())?);
            times.push(start.elapsed());
        }
        let name = window.as_str();
        println!(
            "  the overview of {name:<3}                   {:>8.1} ms   (goal: at most 20)",
            ms(median(&mut times))
        );
    }
    Ok(())
}

/// What the page costs a browser.
fn browser(program: &Path, scratch: &Path) -> Result<(), Box<dyn Error>> {
    let packages = PathBuf::from("target/tools/npm_page");
    let node = fs::canonicalize("target/tools/npm/node_modules/.bin/node");
    let (Ok(node), true) = (node, Path::new("/usr/bin/chromium").exists()) else {
        println!("  the browser is left out: `make test` installs it");
        return Ok(());
    };
    let (work, home) = (scratch.join("work"), scratch.join("home"));
    fs::create_dir(&work)?;
    fs::create_dir(&home)?;
    let mut serve = Command::new(program);
    serve.args(["serve", "--address", "127.0.0.1:0"]).current_dir(&work);
    serve.env("TOOLCRIB_STATE", scratch.join("state")).env("HOME", &home);
    serve.env_remove("XDG_CONFIG_HOME").stderr(Stdio::null());
    let server = ServerProcess::start(&mut serve)?;
    let token = fs::read_to_string(scratch.join("state/first_tokens/admin"))?;
    let script = format!("{PRELUDE}\n{}", include_str!("page.js"));
    let status = Command::new(node)
        .args(["-e", &script])
        .current_dir(packages)
        .env("PAGE_URL", format!("http://{}", server.address))
        .env("ADMIN_TOKEN", token.trim())
        .status()?;
    if status.success() { Ok(()) } else { Err(format!("the browser failed: {status}").into()) }
}
