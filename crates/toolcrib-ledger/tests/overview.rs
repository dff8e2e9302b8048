//! The figures of tools by the minute, compared with a naive count, and with figures that are folded again.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use toolcrib_core::caller::{Principal, Role};
use toolcrib_core::{
    CallId, Caller, Door, Durability, Effect, ErrorKind, Event, Moment, Note, Recorder, SessionId,
    Usage,
};
use toolcrib_ledger::{
    Previews, RecordWriter, Redactor, StateFolder, Stats, TimeWindow, ToolActivity,
};

struct Place {
    _folder: tempfile::TempDir,
    state: StateFolder,
    recorder: RecordWriter,
}

/// A call to record.
#[derive(Clone, Copy)]
struct Made<'a> {
    id: &'a str,
    tool: &'a str,
    version: &'a str,
    caller: &'a str,
    at: Timestamp,
    elapsed_us: u64,
    error: Option<(ErrorKind, &'a str)>,
}

fn now() -> Timestamp {
    "2026-11-18T14:02:53Z".parse().unwrap()
}

fn ago(duration: SignedDuration) -> Timestamp {
    now().checked_sub(duration).unwrap()
}

fn seconds(seconds: i64) -> SignedDuration {
    SignedDuration::from_secs(seconds)
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self {
            id: "01A",
            tool: "clemini/grep",
            version: "aaaaaaa",
            caller: "ci",
            at: ago(seconds(100)),
            elapsed_us: 2000,
            error: None,
        }
    }
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = StateFolder::open(&folder.path().join("state")).unwrap();
        let recorder = RecordWriter::new(&state, Previews::On, Redactor::default(), &json!({}));
        Self { _folder: folder, state, recorder }
    }

    fn stats(&self) -> Stats {
        self.recorder.flush();
        let mut stats = Stats::open(&self.state).unwrap();
        stats.fold().unwrap();
        stats
    }

    fn record(&self, made: Made<'_>, moment: Moment<'_>) {
        let (id, session) = (CallId(made.id.to_owned()), SessionId("s".to_owned()));
        let tool = made.tool.into();
        let event =
            Event { at: made.at, call: &id, session: &session, trace: None, tool: &tool, moment };
        self.recorder.record(&event, Durability::Buffered).unwrap();
    }

    fn call(&self, made: Made<'_>) {
        let principal = Principal { name: made.caller.to_owned(), role: Role::Agent };
        let caller =
            Caller { principal, door: Door::Http, client: None, connection: None, via: None };
        let digest = "d".to_owned();
        let asked = Moment::Asked { args: "{}", digest, effect: Effect::Read, caller: &caller };
        self.record(made, asked);
        let ended = Moment::Ended {
            touched: None,
            network: None,
            error: made.error,
            elapsed_us: made.elapsed_us,
            version: Some(made.version),
            reply: "{}",
            saved_as: None,
            usage: Usage::default(),
            has_task: false,
            command_end: None,
        };
        self.record(made, ended);
    }

    fn note(&self, act: &str, event: &str, tool: &str, call: &str, detail: Value) {
        let note = Note {
            at: ago(seconds(10)),
            actor: "user",
            act,
            event,
            tool: Some(&tool.into()),
            call,
            detail,
        };
        self.recorder.note(&note).unwrap();
    }
}

/// Returns all that is shown, to be compared.
fn everything(stats: &Stats) -> Value {
    let windows = TimeWindow::ALL.map(|window| {
        let overview = stats.overview(window, now()).unwrap();
        let tools = overview.tools.iter();
        let series = tools.map(|it| stats.tool_series(&it.tool, window, now()).unwrap());
        json!({"series": series.collect::<Vec<_>>(), "overview": overview})
    });
    json!(windows)
}

fn tool<'a>(tools: &'a [ToolActivity], name: &str) -> &'a ToolActivity {
    tools.iter().find(|it| it.tool == name).unwrap()
}

#[test]
fn an_empty_record_has_an_overview_without_calls() {
    let place = Place::new();
    let stats = place.stats();
    for window in TimeWindow::ALL {
        let overview = stats.overview(window, now()).unwrap();
        assert_eq!(
            (overview.calls.total, overview.errors.percent, overview.p95.ms),
            (0, None, None)
        );
        assert_eq!(overview.calls.series.len(), overview.axis.points);
        assert!(overview.tools.is_empty());
    }
    let never = stats.tool_series(&"clemini/grep".into(), TimeWindow::Hour, now()).unwrap();
    assert!(never.is_none());
}

#[test]
fn calls_are_counted_as_a_naive_count_does_and_the_same_when_folded_again() {
    let place = Place::new();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut chance = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 8) % below
    };
    let tools = ["clemini/grep", "wink/read_file", "plugins/x"];
    let errors = [
        None,
        None,
        Some((ErrorKind::Timeout, "the call took longer than 30 ms")),
        Some((ErrorKind::Refused, "rule `x`")),
        Some((ErrorKind::Declined, "no")),
        Some((ErrorKind::ApprovalNeeded, "a person must answer")),
    ];
    let mut all = Vec::new();
    let mut at = ago(SignedDuration::from_hours(80));
    for number in 0..3000_u64 {
        at = at.checked_add(seconds(chance(190).cast_signed())).unwrap();
        let (id, size) = (format!("call-{number}"), chance(24));
        let tool = tools[chance(3) as usize];
        let made = Made {
            id: &id,
            tool,
            version: if number < 2000 { "aaaaaaa" } else { "bbbbbbb" },
            caller: ["ci", "review"][chance(2) as usize],
            at,
            elapsed_us: chance(1 << size),
            error: errors[chance(6) as usize],
        };
        place.call(made);
        all.push((tool, made.at, made.elapsed_us, made.error.map(|it| it.0)));
        // The record is folded in pieces of any size.
        if chance(100) == 0 {
            place.stats();
        }
    }
    let mut stats = place.stats();
    for window in TimeWindow::ALL {
        let overview = stats.overview(window, now()).unwrap();
        for name in tools {
            let found = tool(&overview.tools, name);
            let from = overview.axis.from;
            let length = overview.axis.step_seconds * i64::try_from(overview.axis.points).unwrap();
            let end = from.checked_add(seconds(length)).unwrap();
            let own: Vec<_> =
                all.iter().filter(|it| it.0 == name && it.1 >= from && it.1 < end).collect();
            let count = |is: &dyn Fn(Option<ErrorKind>) -> bool| {
                own.iter().filter(|it| is(it.3)).count() as u64
            };
            let ran = |kind: Option<ErrorKind>| kind.is_none_or(|kind| !kind.is_refusal());
            assert_eq!(found.totals.calls, count(&ran), "{name} {window:?}");
            assert_eq!(found.totals.failed, count(&|it| it == Some(ErrorKind::Timeout)));
            assert_eq!(found.totals.refused, count(&|it| it == Some(ErrorKind::Refused)));
            assert_eq!(found.totals.declined, count(&|it| it == Some(ErrorKind::Declined)));
            assert_eq!(found.series.calls.iter().sum::<u64>(), found.totals.calls);
            let mut times: Vec<u64> = own.iter().filter(|it| ran(it.3)).map(|it| it.2).collect();
            times.sort_unstable();
            let Some(last) = (times.len() * 95).div_ceil(100).checked_sub(1) else {
                assert_eq!(found.totals.p95_ms, None);
                continue;
            };
            let (expect, got) = (times[last] as f64 / 1e3, found.totals.p95_ms.unwrap());
            assert!((got - expect).abs() <= expect * 0.0101 + 0.002, "{window:?}: {got} {expect}");
        }
        let sum: u64 = overview.tools.iter().map(|it| it.totals.calls).sum();
        assert_eq!(overview.calls.total, sum, "{window:?}");
    }
    let before = everything(&stats);
    stats.rebuild().unwrap();
    assert_eq!(everything(&stats), before);
    let week = stats.tool_series(&"plugins/x".into(), TimeWindow::Week, now()).unwrap().unwrap();
    let callers: Vec<_> = week.callers.iter().map(|it| it.caller.principal.as_str()).collect();
    assert_eq!(callers.len(), 2, "{callers:?}");
    assert_eq!(week.versions.current.as_deref(), Some("bbbbbbb"));
    assert_eq!(week.versions.changes.len(), 2);
    assert_eq!(week.errors.len(), 1, "of one shape: {:?}", week.errors);
    assert!(!week.errors[0].is_new, "the version before failed so, too");
}

#[test]
fn an_error_that_the_version_before_did_not_have_is_new_until_errors_are_cleared() {
    let place = Place::new();
    let old = Some((ErrorKind::NotFound, "`x` does not exist"));
    let new = Some((ErrorKind::Failed, "`y` is no report"));
    let at = |second| ago(seconds(second));
    place.call(Made { id: "1", at: at(3000), error: old, ..Made::default() });
    place.call(Made { id: "2", at: at(900), error: old, version: "bbbbbbb", ..Made::default() });
    place.call(Made { id: "3", at: at(800), error: new, version: "bbbbbbb", ..Made::default() });
    let series = |stats: &Stats| {
        stats.tool_series(&"clemini/grep".into(), TimeWindow::Hour, now()).unwrap().unwrap()
    };
    let found = series(&place.stats());
    let groups: Vec<_> = found
        .errors
        .iter()
        .map(|it| (it.group.code.as_str(), it.group.count, it.is_new, it.group.call.as_str()))
        .collect();
    assert_eq!(groups, [("not_found", 2, false, "2"), ("failed", 1, true, "3")]);
    assert_eq!(found.errors[1].group.version, "bbbbbbb");
    let overview = place.stats().overview(TimeWindow::Hour, now()).unwrap();
    let last = tool(&overview.tools, "clemini/grep").last_error.clone().unwrap();
    assert_eq!((last.code.as_str(), last.call.as_str()), ("failed", "3"));
    place.note("statistics", "cleared", "clemini/grep", "", json!({"what": "errors"}));
    let mut stats = place.stats();
    assert!(series(&stats).errors.is_empty());
    assert_eq!(series(&stats).versions.called.len(), 2, "the rest is kept");
    let before = everything(&stats);
    stats.rebuild().unwrap();
    assert_eq!(everything(&stats), before);
}

#[test]
fn a_call_that_waits_counts_when_it_has_its_answer() {
    let place = Place::new();
    let waits = Some((ErrorKind::ApprovalNeeded, "a person must answer"));
    place.call(Made { id: "1", error: waits, ..Made::default() });
    let total = |place: &Place| {
        let overview = place.stats().overview(TimeWindow::Hour, now()).unwrap();
        overview.tools.first().map(|it| (it.totals.calls, it.totals.refused, it.totals.declined))
    };
    assert_eq!(total(&place), None);
    place.note("approval", "denied", "clemini/grep", "1", json!({"by": "ada"}));
    assert_eq!(total(&place), Some((0, 0, 1)));
    // A call whose agent waits ends by itself when somebody declines, and is counted once.
    let no = Some((ErrorKind::Declined, "no"));
    let caller = Caller::at_terminal("user 0");
    let made = Made { id: "2", error: no, ..Made::default() };
    let digest = "d".to_owned();
    let asked = Moment::Asked { args: "{}", digest, effect: Effect::Read, caller: &caller };
    place.record(made, asked);
    place.note("approval", "denied", "clemini/grep", "2", json!({"by": "ada"}));
    assert_eq!(total(&place), Some((0, 0, 1)));
    place.call(made);
    assert_eq!(total(&place), Some((0, 0, 2)));
}

#[test]
fn a_clock_that_was_wrong_takes_no_figures_away() {
    let place = Place::new();
    for hour in 0..60 {
        let at = ago(SignedDuration::from_hours(60 - hour));
        place.call(Made { id: &format!("{hour}"), at, ..Made::default() });
    }
    place.call(Made {
        id: "ahead",
        at: "2099-01-01T00:00:00Z".parse().unwrap(),
        ..Made::default()
    });
    place.stats();
    place.call(Made { id: "back", at: ago(seconds(30)), ..Made::default() });
    place.call(Made { id: "far back", at: Timestamp::from_second(0).unwrap(), ..Made::default() });
    let mut stats = place.stats();
    let calls = |stats: &Stats, window| stats.overview(window, now()).unwrap().calls.total;
    assert_eq!(calls(&stats, TimeWindow::QuarterHour), 1);
    assert_eq!(calls(&stats, TimeWindow::Day), 23 + 1);
    assert_eq!(calls(&stats, TimeWindow::Week), 60 + 1);
    let before = everything(&stats);
    stats.rebuild().unwrap();
    assert_eq!(everything(&stats), before);
}

#[test]
fn minutes_are_forgotten_after_a_while_and_hours_after_five_weeks() {
    let place = Place::new();
    for hour in (0..40 * 24).rev() {
        let at = ago(SignedDuration::from_hours(hour));
        place.call(Made { id: &format!("{hour}"), at, ..Made::default() });
        if hour % 100 == 0 {
            place.stats();
        }
    }
    let stats = place.stats();
    let day = stats.overview(TimeWindow::Day, now()).unwrap();
    assert_eq!((day.calls.total, day.calls.total_before), (24, 24));
    let minute = day.calls.series.iter().filter(|rate| **rate > 0.0).count();
    assert_eq!(minute, 24, "each in the quarter of an hour in which it ended");
    drop(stats);
    let path = place.state.folder().join("stats.db");
    let database = rusqlite::Connection::open(path).unwrap();
    let count = |sql: &str| database.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM activity WHERE tool = ''"), 35 * 24);
    assert_eq!(count("SELECT count(*) FROM activity WHERE is_detailed"), 2 * 50);
}

#[test]
fn a_tool_may_have_any_name() {
    let place = Place::new();
    let letters = "<b>\"\u{202e}ü\u{1f600}%_'\\";
    let name = format!("odd/{}", letters.repeat(20).chars().take(128).collect::<String>());
    place.call(Made { tool: &name, ..Made::default() });
    place.call(Made { tool: "odd/%", ..Made::default() });
    let stats = place.stats();
    let overview = stats.overview(TimeWindow::Hour, now()).unwrap();
    let names: Vec<&str> = overview.tools.iter().map(|it| it.tool.as_str()).collect();
    assert_eq!(names, ["odd/%", name.as_str()]);
    let series = stats.tool_series(&name.as_str().into(), TimeWindow::Hour, now()).unwrap();
    assert_eq!(series.unwrap().total.calls, 1);
}

#[test]
fn calls_at_once_are_those_that_ran_in_the_same_minute() {
    let place = Place::new();
    // Two calls that ran for all of a minute and the next one, which are over.
    for id in ["1", "2"] {
        let at = "2026-11-18T13:59:00Z".parse().unwrap();
        place.call(Made { id, at, elapsed_us: 120_000_000, ..Made::default() });
    }
    let overview = place.stats().overview(TimeWindow::QuarterHour, now()).unwrap();
    let busy: Vec<f64> = overview.at_once.iter().copied().filter(|it| *it > 0.0).collect();
    assert_eq!(busy, [2.0, 2.0]);
    // A call that claims to have run for ages is cut.
    place.call(Made { id: "3", elapsed_us: u64::MAX / 2, ..Made::default() });
    let overview = place.stats().overview(TimeWindow::Hour, now()).unwrap();
    assert!(overview.at_once.iter().all(|it| *it <= 3.0), "{:?}", overview.at_once);
}
