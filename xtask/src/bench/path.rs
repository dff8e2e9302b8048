//! The path of a call, in process: what it adds around a tool that does nothing, and what a read and
//! a write cost next to bare system calls.

use std::error::Error;
use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib::wiring::{Crib, OpenOptions, session};
use toolcrib_core::catalogue::{CatalogueSettings, RenderedError, Rendering};
use toolcrib_core::{
    Call, Cancel, Catalogue, Ctx, Declaration, Effect, Limits, Tier, Tool, ToolError, Toolset,
};
use toolcrib_runtime::{AlwaysYes, Runtime};

use super::measure::median;

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

#[derive(Serialize)]
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
    render: |reply| Rendering::Fields { data: reply, exit_code: None },
    render_error: |_| RenderedError::default(),
};

static SHELF: &[&Catalogue] = &[&CATALOGUE];

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    let work = scratch.path().join("work");
    fs::create_dir(&work)?;
    let text = "All work and no play makes a dull file.\n".repeat(256);
    let file = work.join("ten.txt");
    fs::write(&file, &text)?;
    let crib = open(scratch.path(), &work)?;
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let yes = || Arc::new(AlwaysYes("bench".to_owned()));

    let wire = || crib.runtime(yes()).map_err(|err| err.to_string());
    let runtime = wire()?;
    let bare = Runtime { toolset: Toolset::everything(SHELF), ..wire()? };
    let nothing =
        |calls| events.block_on(call(&bare, "bench/nothing", &json!({"text": "x"}), calls));
    let read = |calls| {
        let args = json!({"file_path": "ten.txt"});
        events.block_on(call(&runtime, "clemini/read_file", &args, calls))
    };
    let raw_read = |calls: u32| -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(fs::read(&file)?);
        }
        Ok(start.elapsed() / calls)
    };
    let (mut path, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        path.push(nothing(CALLS)?);
        ours.push(read(CALLS / 5)?);
        theirs.push(raw_read(CALLS)?);
    }
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("in process, median of {ROUNDS} rounds:");
    let path = median(&mut path);
    println!(
        "  a call of a tool that does nothing, recorded   {:>8.2} µs   (goal: at most 15)",
        micros(path)
    );
    row("read of a 10 KB file", "std::fs::read", median(&mut ours), median(&mut theirs));
    writes(&runtime, &events, &work, &text)
}

/// Compares a write with bare system calls that are as careful: temporary file, fsync, rename, fsync.
fn writes(
    runtime: &Runtime,
    events: &tokio::runtime::Runtime,
    work: &Path,
    text: &str,
) -> Result<(), Box<dyn Error>> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let content = format!("{round}\n{text}");
        let args = json!({"file_path": "ours.txt", "content": content});
        ours.push(events.block_on(call(runtime, "clemini/write_file", &args, 1))?);
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
        "write of a 10 KB file, undo kept",
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

async fn call(
    runtime: &Runtime,
    tool: &str,
    args: &Value,
    calls: u32,
) -> Result<Duration, Box<dyn Error>> {
    let session = session();
    let start = Instant::now();
    for _ in 0..calls {
        let call = Call {
            id: toolcrib_ledger::new_call_id(),
            session: session.clone(),
            conversation: None,
            tool: tool.into(),
            args: args.clone(),
        };
        let outcome = runtime.call(call, Cancel::default()).await;
        if let Some(err) = black_box(outcome).error {
            return Err(err.message.into());
        }
    }
    Ok(start.elapsed() / calls)
}
