//! What rules on paths, and the sweep after a command, cost: the same calls with and without them, in turn.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::runtime::Runtime as Executor;
use toolcrib::wiring::{Crib, OpenOptions, call_at_terminal, session};
use toolcrib_core::Cancel;
use toolcrib_runtime::{AlwaysYes, Runtime};
use toolcrib_search::Phase;

use super::measure::median;

/// The tree: this many folders, with this many files in each.
const FOLDERS: usize = 10_000;
const FILES: usize = 6;

/// How many globs the rules have.
const GLOBS: usize = 1000;

/// How often each call is made.
const ROUNDS: usize = 41;

/// One way to open the same tree.
struct OpenedTree {
    label: &'static str,
    runtime: Runtime,
    crib: Crib,
    times: Vec<Duration>,
}

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    fs::set_permissions(scratch.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    grow(&scratch.path().join("work"))?;
    let executor = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    println!(
        "rules on paths and the sweep, {FOLDERS} folders with {FILES} files each, through the tool, median of {ROUNDS}:"
    );
    let anchored = rules(|number| format!("private/{number}/**"))?;
    let roaming = rules(|number| format!("**/*.secret{number}"))?;
    let open = |label, rules: &str, setting: &str| {
        opened(scratch.path(), &executor, label, rules, setting)
    };
    let mut all = vec![
        open("no rules", "", "record.previews=on")?,
        open("1,000 globs below a folder", &anchored, "record.previews=on")?,
        open("1,000 globs anywhere", &roaming, "record.previews=on")?,
    ];
    let bash = |command: &str| ("clemini/bash", json!({"command": command}));
    let (tool, args) = bash("ls");
    compare(
        &executor,
        &mut all,
        "a command that only reads (goal: at most 2 ms more)",
        tool,
        &args,
    )?;
    let args = json!({"pattern": "needle", "output_mode": "content"});
    compare(&executor, &mut all, "a search (goal: at most 1.2 x)", "clemini/grep", &args)?;
    let mut all = vec![
        open("without a sweep", "", r#"sandbox.unprotected=[".git"]"#)?,
        open("with the sweep", "", "record.previews=on")?,
    ];
    let (tool, args) = bash("touch f1/written");
    compare(&executor, &mut all, "a command that writes (goal: at most 10 ms more)", tool, &args)?;
    println!();
    Ok(())
}

/// Makes the tree.
fn grow(work: &Path) -> Result<(), Box<dyn Error>> {
    for folder in 0..FOLDERS {
        // A hundred folders at the root, each with ten, each with ten.
        let folder = work.join(format!("f{}/g{}/h{folder}", folder % 100, folder / 100 % 10));
        fs::create_dir_all(&folder)?;
        for file in 0..FILES {
            fs::write(
                folder.join(format!("{file}.txt")),
                format!("{} {file}\n", folder.display()),
            )?;
        }
    }
    Ok(fs::write(work.join("f1/found.txt"), "a needle\n")?)
}

fn rules(glob: impl Fn(usize) -> String) -> Result<String, Box<dyn Error>> {
    let mut text = String::new();
    for number in 0..GLOBS {
        let glob = glob(number);
        writeln!(
            text,
            "[[rule]]\nid = \"deny-{number}\"\neffect = \"deny\"\npaths = [\"{glob}\"]"
        )?;
    }
    Ok(text)
}

fn opened(
    scratch: &Path,
    executor: &Executor,
    label: &'static str,
    rules: &str,
    setting: &str,
) -> Result<OpenedTree, Box<dyn Error>> {
    let home = scratch.join(label.replace([' ', ','], "-"));
    fs::create_dir_all(home.join(".config/toolcrib"))?;
    fs::write(home.join(".config/toolcrib/rules.toml"), rules)?;
    let environment = [("PATH", "/usr/bin:/bin".into()), ("HOME", home.clone().into())];
    let environment = environment.map(|(name, value)| (name.to_owned(), value));
    let crib = Crib::open(&OpenOptions {
        workspace: Some(scratch.join("work")),
        state: Some(home.join("state")),
        environment: Some(BTreeMap::from(environment)),
        assignments: vec![setting.to_owned()],
        is_long_lived: true,
        ..OpenOptions::default()
    })
    .map_err(|err| err.to_string())?;
    let _inside = executor.enter();
    let runtime =
        crib.runtime(Arc::new(AlwaysYes("bench".to_owned()))).map_err(|err| err.to_string())?;
    Ok(OpenedTree { label, runtime, crib, times: Vec::new() })
}

/// Makes the same call in every way, in turn, and prints the medians.
fn compare(
    executor: &Executor,
    all: &mut [OpenedTree],
    what: &str,
    tool: &str,
    args: &Value,
) -> Result<(), Box<dyn Error>> {
    for opened in all.iter_mut() {
        opened.times.clear();
        // Once for what is only done once.
        call(executor, opened, tool, args)?;
        let is_ready = |phase: &Phase| matches!(phase, Phase::Asleep | Phase::Ready);
        while !opened.crib.search().statuses().iter().all(|(_, status)| is_ready(&status.phase)) {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    for _ in 0..ROUNDS {
        for opened in all.iter_mut() {
            let took = call(executor, opened, tool, args)?;
            opened.times.push(took);
        }
    }
    println!("  {what}:");
    let mut first = None;
    for opened in all {
        let in_ms = |time: Duration| time.as_secs_f64() * 1e3;
        // On a busy machine the least says more than the median.
        let least = in_ms(opened.times.iter().min().copied().unwrap_or_default());
        let middle = in_ms(median(&mut opened.times));
        let (base, base_least) = *first.get_or_insert((middle, least));
        let label = opened.label;
        println!(
            "    {label:<28} {middle:>7.2} ms   {:>+6.2} ms   {:.2} x   least {least:>7.2} ms   {:>+6.2} ms   {:.2} x",
            middle - base,
            middle / base,
            least - base_least,
            least / base_least
        );
    }
    Ok(())
}

fn call(
    executor: &Executor,
    opened: &OpenedTree,
    tool: &str,
    args: &Value,
) -> Result<Duration, Box<dyn Error>> {
    let call = call_at_terminal(session(), tool, args.clone());
    let start = Instant::now();
    let outcome = executor.block_on(opened.runtime.call(call, Cancel::default()));
    let took = start.elapsed();
    if outcome.error.is_some() {
        return Err(format!("{}: {outcome:?}", opened.label).into());
    }
    Ok(took)
}
