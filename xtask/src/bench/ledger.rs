//! What the record costs: around a call that does nothing, for calls that must be on the disk before they run, and
//! with a million calls in it.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use toolcrib_core::{
    Caller, Durability, Effect, ErrorKind, Event, Moment, Note, RecordError, Recorder, SessionId,
    ToolName, Usage,
};
use toolcrib_ledger::{
    CallFilter, Previews, RecordWriter, Redactor, Spans, StateFolder, Stats, comparisons,
    find_calls, new_call_id, verify,
};

use super::measure::median;

/// How many calls the large record has.
const MANY: u64 = 1_000_000;

const TOOLS: [&str; 10] = [
    "wink/read_file",
    "wink/list_dir",
    "wink/grep_search",
    "clemini/read_file",
    "clemini/grep",
    "clemini/edit",
    "clemini/bash",
    "clemini/write_file",
    "nachos/calculator",
    "forgekeeper/echo",
];

/// Keeps nothing.
struct Nowhere;

impl Recorder for Nowhere {
    fn flush(&self) {}

    fn record(&self, _: &Event<'_>, _: Durability) -> Result<(), RecordError> {
        Ok(())
    }

    fn note(&self, _: &Note<'_>) -> Result<(), RecordError> {
        Ok(())
    }
}

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let scratch = tempfile::tempdir()?;
    reading(scratch.path())?;
    durable(scratch.path())?;
    many(scratch.path())
}

pub(super) fn recorder(folder: &Path, previews: Previews) -> Result<RecordWriter, Box<dyn Error>> {
    Ok(RecordWriter::new(&StateFolder::open(folder)?, previews, Redactor::default(), &json!({})))
}

/// The moments of one call that reads.
pub(super) fn one(
    recorder: &dyn Recorder,
    tool: &ToolName,
    at: Timestamp,
    number: u64,
) -> Result<(), RecordError> {
    let (id, session) = (new_call_id(), SessionId("bench".to_owned()));
    let caller = Caller::at_terminal("bench");
    let event = |moment| Event { at, call: &id, session: &session, trace: None, tool, moment };
    let args = r#"{"path":"src/main.rs"}"#;
    let digest = "55c570190d11c8beb58cba3a770a72daf2588b55615e7e5ab2b7044408b9d2d3".to_owned();
    let decided = Moment::Decided { verdict: "allow", rule: "tier 1 in mode standard", by: None };
    recorder.record(
        &event(Moment::Asked { args, digest, effect: Effect::Read, caller: &caller }),
        Durability::Buffered,
    )?;
    recorder.record(&event(decided), Durability::Buffered)?;
    let started = Moment::Started { places: &[], directory: None, terms: None };
    recorder.record(&event(started), Durability::Buffered)?;
    let error = number.is_multiple_of(50).then_some((ErrorKind::NotFound, "`x` does not exist"));
    let usage = Usage { cpu_us: 120 + number % 50, peak_memory: 65_536, ..Usage::default() };
    let ended = Moment::Ended {
        touched: None,
        network: None,
        has_task: false,
        command_end: None,
        error,
        elapsed_us: 400 + number * 7919 % 1000,
        version: Some("08c69669f62f"),
        reply: r#"{"success":true,"output":"Contents of src/main.rs"}"#,
        saved_as: None,
        usage,
    };
    recorder.record(&event(ended), Durability::Written)
}

/// What the record adds to a call that does nothing else.
fn reading(scratch: &Path) -> Result<(), Box<dyn Error>> {
    const ROUNDS: usize = 41;
    const CALLS: u32 = 500;
    let record = recorder(&scratch.join("reading"), Previews::On)?;
    let tool = ToolName::from(TOOLS[0]);
    let time = |recorder: &dyn Recorder| -> Result<Duration, RecordError> {
        let start = Instant::now();
        for number in 0..CALLS {
            one(recorder, &tool, Timestamp::now(), number.into())?;
        }
        Ok(start.elapsed() / CALLS)
    };
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        with.push(time(&record)?);
        without.push(time(&Nowhere)?);
    }
    let cost = median(&mut with).saturating_sub(median(&mut without));
    println!(
        "what the record adds to a call that reads, four lines, median of {ROUNDS} rounds:\n  \
         {:.2} µs   (goal: at most 10)\n",
        cost.as_secs_f64() * 1e6
    );
    Ok(())
}

/// Calls that must be on the disk as started before they run, from many threads at once.
fn durable(scratch: &Path) -> Result<(), Box<dyn Error>> {
    const TIME: Duration = Duration::from_secs(2);
    println!(
        "calls durably started, a second (goal: at least 5000 at 64 callers where the disk allows):"
    );
    let folder = scratch.join("durable");
    for callers in [1, 8, 64] {
        let record = Arc::new(recorder(&folder, Previews::On)?);
        let done = AtomicU64::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..callers {
                scope.spawn(|| {
                    while start.elapsed() < TIME && start_one(&record).is_ok() {
                        done.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
        let rate = done.into_inner() as f64 / start.elapsed().as_secs_f64();
        println!("  {callers:>3} callers   {rate:>9.0}");
    }
    // What the disk does on its own, one after the other.
    let mut file = fs::File::create(folder.join("alone"))?;
    let (start, mut count) = (Instant::now(), 0_u64);
    while start.elapsed() < TIME {
        std::io::Write::write_all(&mut file, &[b'x'; 1200])?;
        file.sync_data()?;
        count += 1;
    }
    println!(
        "  write and fdatasync alone   {:>9.0}\n",
        count as f64 / start.elapsed().as_secs_f64()
    );
    Ok(())
}

fn start_one(record: &RecordWriter) -> Result<(), RecordError> {
    let (id, session) = (new_call_id(), SessionId("bench".to_owned()));
    let tool = ToolName::from("clemini/write_file");
    let caller = Caller::at_terminal("bench");
    let event = |moment| Event {
        at: Timestamp::now(),
        call: &id,
        session: &session,
        trace: None,
        tool: &tool,
        moment,
    };
    let digest = "d".repeat(64);
    record.record(
        &event(Moment::Asked { args: "{}", digest, effect: Effect::Write, caller: &caller }),
        Durability::Buffered,
    )?;
    let decided = Moment::Decided { verdict: "allow", rule: "bench", by: None };
    record.record(&event(decided), Durability::Buffered)?;
    record.record(
        &event(Moment::Started { places: &[], directory: None, terms: None }),
        Durability::Synced,
    )
}

/// A record of a million calls, over a hundred hours.
fn many(scratch: &Path) -> Result<(), Box<dyn Error>> {
    const HOURS: u64 = 100;
    let folder = scratch.join("many");
    let record = recorder(&folder, Previews::Off)?;
    let state = StateFolder::open(&folder)?;
    let tools = TOOLS.map(ToolName::from);
    let now = Timestamp::now();
    let start = Instant::now();
    for number in 0..MANY {
        let ago = (MANY - number) * HOURS * 3600 / MANY;
        let at = now.checked_sub(SignedDuration::from_secs(ago.cast_signed()))?;
        one(&record, &tools[(number % 10) as usize], at, number)?;
    }
    let written = start.elapsed();
    let mut stats = Stats::open(&state)?;
    let (lines, folded) = timed(|| stats.fold())?;
    let (_, packed) = timed(|| stats.apply_retention(&record, now, 90))?;
    drop(stats);
    let (tools, read) = timed(|| -> Result<usize, Box<dyn Error>> {
        let mut stats = Stats::open(&state)?;
        stats.fold()?;
        let (tools, hours) = (stats.tools()?, stats.hours(0)?);
        Ok(comparisons(&tools, &hours, now, Spans::default()).len())
    })?;
    let hour = now.checked_sub(SignedDuration::from_hours(50))?;
    let wanted = CallFilter {
        tool: Some("clemini/grep".into()),
        since: Some(hour),
        until: Some(hour.checked_add(SignedDuration::from_hours(1))?),
        ..CallFilter::default()
    };
    let (found, searched) = timed(|| find_calls(&state, &wanted, 50))?;
    let (whole, verified) = timed(|| verify(&state))?;
    let size: u64 = size_of(&folder)?;
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    println!("{MANY} calls on the record, {lines} lines over {HOURS} hours, without previews:");
    println!(
        "  written in {:.1} s, folded in {:.1} s, packed in {:.1} s",
        written.as_secs_f64(),
        folded.as_secs_f64(),
        packed.as_secs_f64()
    );
    println!("  statistics of {tools} tools          {:>8.1} ms   (goal: at most 100)", ms(read));
    println!(
        "  search by tool and hour, {} found  {:>8.1} ms   (goal: at most 100)",
        found.len(),
        ms(searched)
    );
    println!("  verify of all, {} problems       {:>10.1} ms", whole.problems.len(), ms(verified));
    println!(
        "  state folder                     {:>8.0} bytes a call   (goal: at most 400)",
        size as f64 / MANY as f64
    );
    Ok(())
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
    let start = Instant::now();
    let done = work()?;
    Ok((done, start.elapsed()))
}

fn size_of(folder: &Path) -> std::io::Result<u64> {
    let mut size = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        size += if meta.is_dir() { size_of(&entry.path())? } else { meta.len() };
    }
    Ok(size)
}
