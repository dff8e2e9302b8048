//! The path of a call, in process and through `call --batch`: what it adds around a tool that does nothing, and what
//! a read and a write cost next to bare system calls.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::wiring::{Crib, OpenOptions, call_at_terminal, session};
use toolcrib_core::catalogue::{CatalogueSettings, RenderedError, Rendering, ReplyView};
use toolcrib_core::material::Material;
use toolcrib_core::{
    Cancel, Catalogue, Ctx, Declaration, Effect, Limits, Tier, Tool, ToolError, Toolset,
};
use toolcrib_runtime::{AlwaysYes, Runtime, Watchdog};

use super::batch_door::BatchDoor;
use super::measure::{median, switches};

/// How many rounds are measured, and how many calls a round has.
const ROUNDS: usize = 41;
const CALLS: u32 = 500;

struct Nothing;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// Anything
    #[serde(rename = "text")]
    _text: String,
}

#[derive(Serialize, JsonSchema)]
struct Reply {
    done: bool,
}

static DECLARATION: Declaration = Declaration {
    name: "nothing",
    summary: "Do nothing. Returns: {done}",
    tier: Tier::Safe,
    effect: Effect::None,
    limits: Limits::DEFAULT,
    examples: &[],
};

impl Tool for Nothing {
    type Args = Args;
    type Reply = Reply;

    fn declaration(&self) -> &'static Declaration {
        &DECLARATION
    }

    async fn run(&self, _: &Ctx, _: Args) -> Result<Reply, ToolError> {
        Ok(Reply { done: true })
    }
}

static CATALOGUE: Catalogue = Catalogue {
    name: "bench",
    about: "A tool that does nothing",
    tools: &[&Nothing],
    call_keys: &[],
    source_hashes: &[],
    settings: CatalogueSettings::NONE,
    reply: |_, reply, _| reply,
    error_reply: |failure| json!({"error": failure.error.message}),
    error_code: None,
    saves_replies_above: None,
    view: ReplyView {
        render: |reply| Rendering::Fields { data: reply, exit_code: None },
        render_error: |_| RenderedError::default(),
        blocks: |_| None,
        schema: |reply| reply,
    },
    material: Material::NONE,
};

static SHELF: &[&Catalogue] = &[&CATALOGUE];

pub(super) fn run(program: &Path) -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let work = scratch.path().join("work");
    fs::create_dir(&work)?;
    let text = "All work and no play makes a dull file.\n".repeat(256);
    let file = work.join("ten.txt");
    fs::write(&file, &text)?;
    let crib = open(scratch.path(), &work)?;
    // Calls are made as a batch makes them: on the thread of the caller, in the context of an event loop.
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _events = events.enter();
    let watchdog = Watchdog::default();
    let yes = || Arc::new(AlwaysYes("bench".to_owned()));

    let wire = || crib.runtime(yes()).map_err(|err| err.to_string());
    let runtime = wire()?;
    let bare = Runtime { toolset: Arc::new(Toolset::everything(SHELF)), ..wire()? };
    let nothing = |calls| call(&bare, &watchdog, "bench/nothing", &json!({"text": "x"}), calls);
    let read = |calls| {
        let args = json!({"file_path": "ten.txt"});
        call(&runtime, &watchdog, "clemini/read_file", &args, calls)
    };
    let raw_read = |calls: u32| -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(fs::read(&file)?);
        }
        Ok(start.elapsed() / calls)
    };
    let (mut path, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    let mut switched = 0;
    for _ in 0..ROUNDS {
        path.push(nothing(CALLS)?);
        let before = switches("self")?;
        ours.push(read(CALLS)?);
        switched += switches("self")?.saturating_sub(before);
        theirs.push(raw_read(CALLS)?);
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("in process, median of {ROUNDS} rounds:");
    let path = median(&mut path);
    println!(
        "  a call of a tool that does nothing, recorded   {:>8.2} µs   (goal: at most 15)",
        micros(path)
    );
    row(
        "read of a 10 KB file (goal: at most 40 µs)",
        "std::fs::read",
        median(&mut ours),
        median(&mut theirs),
    );
    let a_call = switched as f64 / (ROUNDS as f64 * f64::from(CALLS));
    println!("    context switches of the process, a read   {a_call:>8.2}      (goal: at most 1)");
    through_a_batch(program, scratch.path(), &work)?;
    writes(&runtime, &watchdog, &work, &text)
}

/// Compares reads through `call --batch`, each asked for when the one before is answered, with `cat`, which echoes as
/// many bytes over the same pipes.
fn through_a_batch(program: &Path, scratch: &Path, work: &Path) -> Result<(), Box<dyn Error>> {
    let mut batch = Command::new(program);
    batch.arg("-C").arg(work).args(["call", "--batch"]);
    batch.env("TOOLCRIB_STATE", scratch.join("batch-state"));
    let mut ours = BatchDoor::start(&mut batch)?;
    let mut theirs = BatchDoor::start(&mut Command::new("cat"))?;
    let line = json!({"id": 1, "tool": "clemini/read_file", "args": {"file_path": "ten.txt"}});
    let line = format!("{line}\n");
    let echoed = ours.ask(&line)?;
    let (mut our_times, mut their_times, mut switched) = (Vec::new(), Vec::new(), 0);
    for _ in 0..ROUNDS {
        let before = switches(&ours.id())?;
        our_times.push(ours.time(&line, CALLS / 5)?);
        switched += switches(&ours.id())?.saturating_sub(before);
        their_times.push(theirs.time(&echoed, CALLS / 5)?);
    }
    row(
        "the same through `call --batch`",
        "`cat` of the reply",
        median(&mut our_times),
        median(&mut their_times),
    );
    let a_call = switched as f64 / (ROUNDS as f64 * f64::from(CALLS / 5));
    println!("    context switches of the process, a read   {a_call:>8.2}      (goal: at most 1)");
    Ok(())
}

/// Compares a write with bare system calls that are as careful: temporary file, fsync, rename, fsync.
fn writes(
    runtime: &Runtime,
    watchdog: &Watchdog,
    work: &Path,
    text: &str,
) -> Result<(), Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let content = format!("{round}\n{text}");
        let args = json!({"file_path": "ours.txt", "content": content});
        ours.push(call(runtime, watchdog, "clemini/write_file", &args, 1)?);
        let start = Instant::now();
        let temporary = work.join("theirs.tmp");
        let mut file = fs::File::create(&temporary)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, work.join("theirs.txt"))?;
        fs::File::open(work)?.sync_all()?;
        theirs.push(start.elapsed());
    }
    row(
        "write of a 10 KB file, undo kept (goal: 3 ×)",
        "temp, fsync, rename",
        median(&mut ours),
        median(&mut theirs),
    );
    Ok(())
}

fn row(what: &str, peer: &str, ours: Duration, theirs: Duration) {
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let ratio = ours.as_secs_f64() / theirs.as_secs_f64();
    println!(
        "  {what:<46} {:>8.2} µs   {peer}: {:.2} µs   {ratio:.2} ×",
        micros(ours),
        micros(theirs)
    );
}

fn open(scratch: &Path, work: &Path) -> Result<Crib, Box<dyn Error>> {
    let state = scratch.join("state");
    let options = OpenOptions {
        workspace: Some(work.to_owned()),
        state: Some(state),
        ..OpenOptions::default()
    };
    Crib::open(&options).map_err(|err| err.to_string().into())
}

fn call(
    runtime: &Runtime,
    watchdog: &Watchdog,
    tool: &str,
    args: &Value,
    calls: u32,
) -> Result<Duration, Box<dyn Error>> {
    let session = session();
    let start = Instant::now();
    for _ in 0..calls {
        let call = call_at_terminal(session.clone(), tool, args.clone());
        let outcome = runtime.call_here(call, &Cancel::default(), watchdog, Arc::new(|_| {}));
        if let Some(err) = black_box(outcome).ok_or("the call did not end")?.error {
            return Err(err.message.into());
        }
    }
    Ok(start.elapsed() / calls)
}
