//! Compares figures with a naive count of the same calls, and with figures that are folded again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod call_search;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::json;
use toolcrib_core::{
    CallId, Caller, Durability, Effect, ErrorKind, Event, Moment, Note, Recorder, SessionId, Usage,
};
use toolcrib_ledger::{
    CallFilter, CallOutcome, Previews, RecordWriter, Redactor, StateFolder, Stats, find_calls,
};

/// Random numbers, the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 8) % limit
    }
}

struct Place {
    _folder: tempfile::TempDir,
    state: StateFolder,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        Self { _folder: folder, state }
    }

    fn recorder(&self) -> RecordWriter {
        RecordWriter::new(&self.state, Previews::On, Redactor::default(), &json!({}))
    }

    fn stats(&self) -> Stats {
        Stats::open(&self.state).unwrap()
    }
}

/// The naive count.
#[derive(Default)]
struct Naive {
    times: Vec<u64>,
    errors: u64,
    refused: u64,
    kinds: BTreeMap<String, u64>,
    cpu: u64,
}

static USER: LazyLock<Caller> = LazyLock::new(|| Caller::at_terminal("user 0"));

/// Records a call that ended in this way.
fn call(
    recorder: &RecordWriter,
    number: u64,
    tool: &str,
    version: &str,
    elapsed_us: u64,
    error: Option<(ErrorKind, &str)>,
) -> Usage {
    let (id, session) = (CallId(format!("call-{number}")), SessionId("s".to_owned()));
    let start: jiff::Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let at = start.checked_add(jiff::SignedDuration::from_secs(number.cast_signed() * 40)).unwrap();
    let tool = tool.into();
    let event =
        |moment| Event { at, call: &id, session: &session, trace: None, tool: &tool, moment };
    let args = json!({"number": number}).to_string();
    let digest = "d".to_owned();
    recorder
        .record(
            &event(Moment::Asked { args: &args, digest, effect: Effect::Read, caller: &USER }),
            Durability::Buffered,
        )
        .unwrap();
    let usage = Usage { cpu_us: elapsed_us / 2, peak_memory: number, ..Usage::default() };
    let ended = Moment::Ended {
        touched: None,
        network: None,
        error,
        elapsed_us,
        version: Some(version),
        reply: "{}",
        saved_as: None,
        usage,
        has_task: false,
        command_end: None,
    };
    recorder.record(&event(ended), Durability::Written).unwrap();
    usage
}

const ERRORS: [Option<(ErrorKind, &str)>; 6] = [
    None,
    None,
    None,
    Some((ErrorKind::NotFound, "`x` does not exist")),
    Some((ErrorKind::Timeout, "the call took longer than 30 ms")),
    Some((ErrorKind::Refused, "no")),
];

#[test]
fn figures_are_those_of_a_naive_count_and_the_same_when_folded_again() {
    for seed in 1..6 {
        let place = Place::new();
        let recorder = place.recorder();
        let mut chance = Chance(seed * 0x9e37_79b9);
        let mut naive: BTreeMap<&str, Naive> = BTreeMap::new();
        for number in 0..600 {
            let tool =
                ["wink/read_file", "clemini/bash", "nachos/calculator"][chance.below(3) as usize];
            let error = ERRORS[chance.below(6) as usize];
            let size = chance.below(20);
            let elapsed = chance.below(16 << size);
            let version = if number < 300 { "a" } else { "b" };
            let used = call(&recorder, number, tool, version, elapsed, error);
            let count = naive.entry(tool).or_default();
            match error {
                Some((ErrorKind::Refused, _)) => count.refused += 1,
                error => {
                    count.times.push(elapsed);
                    count.cpu += used.cpu_us;
                    count.errors += u64::from(error.is_some());
                    if let Some((kind, _)) = error {
                        *count.kinds.entry(kind.as_str().to_owned()).or_default() += 1;
                    }
                }
            }
            // The record is folded in pieces of any size.
            if chance.below(50) == 0 {
                place.stats().fold().unwrap();
            }
        }
        let mut stats = place.stats();
        stats.fold().unwrap();
        let (tools, hours) = (stats.tools().unwrap(), stats.hours(0).unwrap());
        assert_eq!(tools.len(), naive.len());
        for (name, figures) in &tools {
            let count = naive.get_mut(name.as_str()).unwrap();
            count.times.sort_unstable();
            assert_eq!(figures.errors.calls, count.times.len() as u64, "{name}");
            assert_eq!(figures.errors.errors, count.errors, "{name}");
            assert_eq!(figures.errors.refused, count.refused, "{name}");
            assert_eq!(figures.errors.kinds, count.kinds, "{name}");
            assert_eq!(figures.resources.cpu.total, count.cpu, "{name}");
            let own = hours.iter().filter(|(key, _)| key.tool == *name);
            let sum: u64 = own.clone().map(|(_, hour)| hour.sum_us).sum();
            assert_eq!(sum, count.times.iter().sum::<u64>(), "{name}");
            let mut latency = toolcrib_ledger::Histogram::default();
            own.for_each(|(_, hour)| latency.merge(&hour.latency));
            for share in [50, 95, 99] {
                let rank = (count.times.len() * share).div_ceil(100);
                let (expect, got) =
                    (count.times[rank - 1] as f64, latency.quantile(share as f64 / 100.0));
                assert!((got - expect).abs() <= expect * 0.0101 + 0.5, "{share}: {got} {expect}");
            }
        }
        stats.rebuild().unwrap();
        assert_eq!(stats.tools().unwrap(), tools);
        assert_eq!(stats.hours(0).unwrap(), hours);
        assert!(toolcrib_ledger::verify(&place.state).unwrap().problems.is_empty());
    }
}

#[test]
fn the_last_failure_has_its_arguments_and_clearing_is_on_the_record() {
    let place = Place::new();
    let recorder = place.recorder();
    call(&recorder, 1, "wink/read_file", "a", 10, ERRORS[3]);
    // The call is asked for in one fold and ends in another.
    place.stats().fold().unwrap();
    call(&recorder, 2, "wink/read_file", "a", 10, ERRORS[4]);
    let mut stats = place.stats();
    stats.fold().unwrap();
    let figures = stats.tools().unwrap().remove(0).1;
    let (first, last) = (figures.errors.first.unwrap(), figures.errors.last.unwrap());
    assert_eq!((first.args.as_deref(), first.kind.as_str()), (Some("{\"number\":1}"), "not_found"));
    assert_eq!((last.args.as_deref(), last.kind.as_str()), (Some("{\"number\":2}"), "timeout"));
    assert_eq!(figures.resources.violations["timeoutExceeded"], 1);

    let note = Note {
        at: "2026-11-02T00:00:00Z".parse().unwrap(),
        actor: "user",
        act: "statistics",
        event: "cleared",
        tool: Some(&"wink/read_file".into()),
        call: "",
        detail: json!({"what": "errors"}),
    };
    recorder.note(&note).unwrap();
    call(&recorder, 3, "wink/read_file", "a", 10, None);
    stats.fold().unwrap();
    let after = stats.tools().unwrap();
    assert_eq!((after[0].1.errors.calls, after[0].1.errors.errors), (1, 0));
    assert_eq!(after[0].1.resources.calls, 3);
    stats.rebuild().unwrap();
    assert_eq!(stats.tools().unwrap(), after);
}

#[test]
fn what_was_refused_is_the_same_in_a_search_and_in_the_figures() {
    for kind in ErrorKind::ALL {
        let place = Place::new();
        call(&place.recorder(), 1, "wink/read_file", "a", 10, Some((kind, "no")));
        call(&place.recorder(), 2, "wink/read_file", "a", 10, None);
        let mut stats = place.stats();
        stats.fold().unwrap();
        let found = |outcome| {
            let wanted = CallFilter { outcome: Some(outcome), ..CallFilter::default() };
            find_calls(&place.state, &wanted, 10).unwrap().len() as u64
        };
        let figures = stats.tools().unwrap().remove(0).1.errors;
        let counted = (figures.refused, figures.errors, figures.calls - figures.errors);
        assert_eq!(
            counted,
            (found(CallOutcome::Refused), found(CallOutcome::Failed), found(CallOutcome::Ok)),
            "{kind:?}"
        );
        assert_eq!(figures.refused == 1, kind.is_refusal(), "{kind:?}");
    }
}

#[test]
fn a_line_that_is_there_twice_is_counted_once() {
    let place = Place::new();
    call(&place.recorder(), 1, "wink/read_file", "a", 10, None);
    let log = place.state.folder().join("context_log");
    let file = std::fs::read_dir(log).unwrap().map(|it| it.unwrap().path());
    let file = file.into_iter().find(|it| it.extension().is_some_and(|it| it == "jsonl")).unwrap();
    let text = std::fs::read_to_string(&file).unwrap();
    let last = text.lines().last().unwrap();
    std::fs::write(&file, format!("{text}{last}\n{last}\n")).unwrap();
    let mut stats = place.stats();
    stats.fold().unwrap();
    assert_eq!(stats.tools().unwrap()[0].1.errors.calls, 1);
}

#[test]
fn a_broken_database_is_set_aside_and_made_anew() {
    let place = Place::new();
    call(&place.recorder(), 1, "wink/read_file", "a", 10, None);
    let mut stats = place.stats();
    stats.fold().unwrap();
    let before = stats.tools().unwrap();
    drop(stats);
    let path = place.state.folder().join("stats.db");
    for damage in [&b"this is no database, and never was one"[..], &[0; 5000]] {
        std::fs::write(&path, damage).unwrap();
        let mut stats = place.stats();
        assert!(stats.warnings[0].contains("were moved to"), "{:?}", stats.warnings);
        stats.fold().unwrap();
        assert_eq!(stats.tools().unwrap(), before);
    }
    rusqlite::Connection::open(&path).unwrap().execute_batch("DROP TABLE hours").unwrap();
    let mut stats = place.stats();
    assert!(stats.warnings[0].contains("no table `hours`"), "{:?}", stats.warnings);
    stats.fold().unwrap();
    assert_eq!(stats.tools().unwrap(), before);
    // The database is whole, but its content is not what it should be.
    for damage in [
        "UPDATE tools SET errors = '{broken'",
        "UPDATE tools SET violations = ''",
        "UPDATE amounts SET sketch = x'ff'",
        "UPDATE hours SET latency = x'00ff'",
        "UPDATE hours SET squares = x'00'",
        "UPDATE histories SET versions = '{broken'",
        "UPDATE activity SET counts = x'ff'",
        "PRAGMA user_version = 0",
        "UPDATE folded SET size = 'zz'",
        "ALTER TABLE tools RENAME COLUMN calls TO other",
    ] {
        drop(stats);
        rusqlite::Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        stats = place.stats();
        assert!(stats.warnings[0].contains("were moved to"), "{damage}: {:?}", stats.warnings);
        stats.fold().unwrap();
        assert_eq!(stats.tools().unwrap(), before, "{damage}");
    }
    let names = std::fs::read_dir(place.state.folder()).unwrap();
    let aside =
        names.filter(|it| it.as_ref().unwrap().file_name().to_string_lossy().contains("broken"));
    assert_eq!(aside.count(), 13);
}

#[test]
fn lines_whose_writer_died_before_it_could_say_so_make_no_other_record() {
    let place = Place::new();
    call(&place.recorder(), 1, "wink/read_file", "a", 10, None);
    let head = place.state.folder().join("context_log/head");
    let before = std::fs::read(&head).unwrap();
    call(&place.recorder(), 2, "wink/read_file", "a", 10, None);
    std::fs::write(&head, before).unwrap();
    for _ in 0..2 {
        let mut stats = place.stats();
        stats.fold().unwrap();
        assert!(stats.warnings.is_empty(), "{:?}", stats.warnings);
        assert_eq!(stats.tools().unwrap()[0].1.errors.calls, 2);
    }
}

#[test]
fn a_record_that_is_begun_anew_is_folded_anew() {
    let place = Place::new();
    for number in 0..5 {
        call(&place.recorder(), number, "wink/read_file", "a", 10, None);
    }
    place.stats().fold().unwrap();
    std::fs::remove_dir_all(place.state.folder().join("context_log")).unwrap();
    std::fs::remove_file(place.state.folder().join("record.key")).unwrap();
    StateFolder::open(place.state.folder()).unwrap();
    call(&place.recorder(), 1, "wink/read_file", "a", 10, None);
    let mut stats = place.stats();
    stats.fold().unwrap();
    assert!(stats.warnings[0].contains("the record is new"), "{:?}", stats.warnings);
    assert_eq!(stats.tools().unwrap()[0].1.errors.calls, 1);
}

#[test]
fn a_database_of_a_later_version_is_left_alone() {
    let place = Place::new();
    drop(place.stats());
    let path = place.state.folder().join("stats.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);
    let refused = Stats::open(&place.state).err().unwrap().to_string();
    assert!(refused.contains("later version"), "{refused}");
}

#[test]
fn many_write_and_fold_at_once() {
    let place = Place::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let place = &place;
            scope.spawn(move || {
                let recorder = place.recorder();
                for number in 0..100 {
                    call(&recorder, writer * 1000 + number, "wink/read_file", "a", 10, None);
                }
            });
        }
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..20 {
                    place.stats().fold().unwrap();
                }
            });
        }
    });
    let mut stats = place.stats();
    stats.fold().unwrap();
    assert_eq!(stats.tools().unwrap()[0].1.errors.calls, 400);
    let verified = toolcrib_ledger::verify(&place.state).unwrap();
    assert_eq!((verified.problems, verified.lines), (Vec::new(), 801));
}

#[test]
fn a_call_that_was_lost_is_open_no_longer() {
    let place = Place::new();
    let recorder = place.recorder();
    let (id, session) = (CallId("lost".to_owned()), SessionId("s".to_owned()));
    let at: jiff::Timestamp = "2026-11-01T00:00:00Z".parse().unwrap();
    let asked =
        Moment::Asked { args: "{}", digest: "d".to_owned(), effect: Effect::Write, caller: &USER };
    let tool = "clemini/bash".into();
    let event = Event { at, call: &id, session: &session, trace: None, tool: &tool, moment: asked };
    recorder.record(&event, Durability::Written).unwrap();
    let open = || {
        let mut stats = place.stats();
        stats.fold().unwrap();
        drop(stats);
        let database = rusqlite::Connection::open(place.state.folder().join("stats.db")).unwrap();
        database
            .query_row("SELECT count(*) FROM open_calls", [], |row| row.get::<_, i64>(0))
            .unwrap()
    };
    assert_eq!(open(), 1);
    let (act, event, tool) = ("tool_call", "lost", Some(&tool));
    let detail = json!({"outcome": "unknown"});
    let note = Note { at, actor: "system", act, event, tool, call: &id.0, detail };
    recorder.note(&note).unwrap();
    assert_eq!(open(), 0);
}
