//! The path of a call around tools that misbehave: none of them takes the process down.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![expect(clippy::panic, reason = "that is how these tools misbehave")]
#![expect(clippy::disallowed_methods, reason = "deadlines are measured from outside")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::capability;
use toolcrib_core::capability::{EditFn, WriteMode, Written};
use toolcrib_core::catalogue::{CatalogueSettings, RenderedError, Rendering};
use toolcrib_core::command::{self, CommandRequest};
use toolcrib_core::policy::grant::{Grant, Grants};
use toolcrib_core::policy::{Answer, Policy};
use toolcrib_core::reading::{ReadShell, Reading};
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope, Search};
use toolcrib_core::{
    Call, CallId, Cancel, Catalogue, Change, Clock, Commands, Content, Ctx, Declaration,
    Durability, Effect, ErrorKind, Event, Files, Limits, Listing, Meta, Meter, Mode, Moment, Note,
    Outcome, Plan, Recorder, SessionId, Tier, Tool, ToolError, ToolSettings, Toolset, Tree, Usage,
};
use toolcrib_runtime::{
    AlwaysYes, AnswerFuture, Approver, Judge, Nobody, Question, Runtime, World,
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    /// What to do
    act: Act,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Act {
    Fine,
    PanicInCheck,
    PanicInRun,
    Hang,
    Wait,
    Large,
    RefuseInCheck,
    Count,
}

/// How often a tool was entered to count.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// Does as it is told, on this thread or on another.
struct Wild(&'static Declaration);

impl Tool for Wild {
    type Args = Args;
    type Reply = Value;

    fn declaration(&self) -> &'static Declaration {
        self.0
    }

    fn check(&self, _: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        match args.act {
            Act::PanicInCheck => panic!("SECRET"),
            Act::RefuseInCheck => Err(ToolError::new(ErrorKind::BadArgs, "no")),
            _ => Ok(Plan::default()),
        }
    }

    async fn run(&self, ctx: &Ctx, args: Args) -> Result<Value, ToolError> {
        match args.act {
            Act::Count => {
                ENTERED.fetch_add(1, Ordering::Relaxed);
            }
            Act::PanicInRun => panic!("SECRET"),
            Act::Hang => std::thread::sleep(Duration::from_secs(3)),
            Act::Wait => loop {
                ctx.cancel.check()?;
                std::thread::sleep(Duration::from_millis(1));
            },
            Act::Large => return Ok(json!("x".repeat(10_000))),
            Act::Fine | Act::PanicInCheck | Act::RefuseInCheck => {}
        }
        Ok(json!({"done": true}))
    }
}

const fn declare(name: &'static str, tier: Tier, effect: Effect) -> Declaration {
    let limits = Limits { deadline_ms: 200, output_bytes: 1000 };
    Declaration { name, summary: "Returns: {}", tier, effect, limits, examples: &[] }
}

static PURE: Declaration = declare("pure", Tier::Safe, Effect::None);
static READS: Declaration = declare("reads", Tier::Standard, Effect::Read);
static WRITES: Declaration = declare("writes", Tier::Elevated, Effect::Write);
static BLOCKED: Declaration = declare("blocked", Tier::Dangerous, Effect::Write);

static CATALOGUE: Catalogue = Catalogue {
    name: "wild",
    about: "Tools that misbehave",
    tools: &[&Wild(&PURE), &Wild(&READS), &Wild(&WRITES), &Wild(&BLOCKED)],
    call_keys: &["sessionId"],
    source_hashes: &[],
    settings: CatalogueSettings::NONE,
    reply: |_, reply, _| json!({"ok": reply}),
    error_reply: |failure| json!({"bad": failure.error.kind.as_str(), "why": failure.error.message}),
    error_code: None,
    render: |reply| Rendering::Fields { data: reply, exit_code: None },
    render_error: |_| RenderedError::default(),
};

static SHELF: &[&Catalogue] = &[&CATALOGUE];

/// A world without files: these tools use none.
struct Nowhere;

fn nothing<T>() -> Result<T, ToolError> {
    Err(ToolError::new(ErrorKind::NotFound, "nothing here"))
}

impl Tree for Nowhere {
    fn stat(&self, _: &str) -> Result<Meta, ToolError> {
        nothing()
    }
    fn read(&self, _: &str, _: u64) -> Result<Content, ToolError> {
        nothing()
    }
    fn list(&self, _: &str, _: usize) -> Result<Listing, ToolError> {
        nothing()
    }
}

impl Files for Nowhere {
    fn absolute(&self, _: &str) -> Result<String, ToolError> {
        nothing()
    }
    fn check_write(&self, _: &str) -> Result<(), ToolError> {
        nothing()
    }
    fn check_remove(&self, _: &str) -> Result<(), ToolError> {
        nothing()
    }
    fn write(&self, _: &str, _: &[u8], _: WriteMode) -> Result<Written, ToolError> {
        nothing()
    }
    fn copy(&self, _: &str, _: &str, _: u64) -> Result<Written, ToolError> {
        nothing()
    }
    fn update(&self, _: &str, _: u64, _: &mut EditFn<'_>) -> Result<(), ToolError> {
        nothing()
    }
    fn make_directory(&self, _: &str) -> Result<Vec<String>, ToolError> {
        nothing()
    }
    fn remove(&self, _: &str) -> Result<(), ToolError> {
        nothing()
    }
    fn pin(&self, _: &[String]) -> Result<(), ToolError> {
        Ok(())
    }
    fn changes(&self) -> Vec<Change> {
        Vec::new()
    }
    fn resolve(&self, path: &str) -> capability::Resolved {
        capability::Resolved { path: path.to_owned(), is_inside: false, has_links: false }
    }
    fn take_snapshots(&self, _: &[String], _: usize) -> u64 {
        0
    }
    fn resolve_snapshots(&self) {}
}

impl Search for Nowhere {
    fn check(&self, _: Option<&Pattern>, _: &Scope) -> Result<(), ToolError> {
        Err(ToolError::new(ErrorKind::Outside, "nowhere"))
    }
    fn grep(&self, _: &Grep, _: &Cancel) -> Result<Found, ToolError> {
        Err(ToolError::new(ErrorKind::Outside, "nowhere"))
    }
    fn glob(&self, _: &Glob, _: &Cancel) -> Result<FoundPaths, ToolError> {
        Err(ToolError::new(ErrorKind::Outside, "nowhere"))
    }
}

struct TestClock;

impl Clock for TestClock {
    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
    fn used(&self) -> Usage {
        Usage::default()
    }
}

/// No tool of these tests runs commands.
impl Commands for Nowhere {
    fn check(&self, _: &CommandRequest) -> Result<(), ToolError> {
        unreachable!()
    }
    fn run(&self, _: &CommandRequest, _: &Cancel) -> Result<command::Ran, ToolError> {
        unreachable!()
    }
    fn reaches_network(&self) -> bool {
        false
    }
    fn terms(&self) -> String {
        String::new()
    }
    fn tasks(&self) -> Vec<command::TaskSpent> {
        Vec::new()
    }
    fn is_under_way(&self, _: &str) -> bool {
        false
    }

    fn start(&self, _: &CommandRequest) -> Result<(), ToolError> {
        unreachable!()
    }
    fn task(&self, _: &str) -> Result<command::Task, ToolError> {
        unreachable!()
    }
    fn wait(&self, _: &str, _: Duration, _: &Cancel) -> Result<command::Task, ToolError> {
        unreachable!()
    }
    fn kill(&self, _: &str) -> Result<bool, ToolError> {
        unreachable!()
    }
    fn last(&self) -> Option<command::LastCommand> {
        unreachable!()
    }
    fn read(
        &self,
        _: &str,
        _: command::Stream,
        _: command::Lines,
    ) -> Result<command::Excerpt, ToolError> {
        unreachable!()
    }
}

impl World for Nowhere {
    fn enter(&self, _: &str, _: &str, call: &Call, cancel: &Cancel) -> Ctx {
        Ctx {
            call: call.id.clone(),
            files: Arc::new(Self),
            search: Arc::new(Self),
            commands: Arc::new(Self),
            connection: None,
            clock: Arc::new(TestClock),
            cancel: cancel.clone(),
            settings: Arc::new(ToolSettings::default()),
            limits: Limits::DEFAULT,
            meter: Meter::default(),
            is_read_only: false,
        }
    }
}

/// Remembers what was recorded, or fails to.
#[derive(Default)]
struct Memory {
    lines: Mutex<Vec<String>>,
    is_full: bool,
}

impl Recorder for Memory {
    fn flush(&self) {}

    fn note(&self, _: &Note<'_>) -> Result<(), String> {
        Ok(())
    }

    fn record(&self, event: &Event<'_>, durability: Durability) -> Result<(), String> {
        if self.is_full {
            return Err("disk full".to_owned());
        }
        let line = match &event.moment {
            Moment::Asked { .. } => format!("{} asked in {}", event.tool, event.session),
            Moment::Decided { verdict, by, .. } => {
                format!("decided {verdict} by {}", by.unwrap_or("policy"))
            }
            Moment::Waits { .. } => "waits".to_owned(),
            Moment::Started { .. } => format!("started, {durability:?}"),
            Moment::TaskEnded { .. } => "task ended".to_owned(),
            Moment::Ended { error, .. } => {
                format!("ended {}", error.map_or("ok", |(kind, _)| kind.as_str()))
            }
        };
        self.lines.lock().unwrap().push(line);
        Ok(())
    }
}

/// Reads no commands.
struct Unread;

impl ReadShell for Unread {
    fn read(&self, _: &str) -> Reading {
        Reading::unread("nothing")
    }
}

/// Grants nothing.
struct NoGrants;

impl Grants for NoGrants {
    fn current(&self) -> Result<Vec<Grant>, String> {
        Ok(Vec::new())
    }

    fn add(&self, _: Grant) -> Result<(), String> {
        Err("nothing is granted here".to_owned())
    }

    fn used(&self, _: &str, _: jiff::Timestamp) {}
}

struct No;

impl Approver for No {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::No("someone".to_owned(), String::new()) })
    }
}

struct Bench {
    runtime: Runtime,
    memory: Arc<Memory>,
}

fn bench(approver: Arc<dyn Approver>, memory: Memory) -> Bench {
    let memory = Arc::new(memory);
    let runtime = Runtime {
        toolset: Toolset::everything(SHELF),
        judge: Arc::new(Judge::new(
            Arc::new(Policy::new(Mode::Standard, Vec::new())),
            Arc::new(Unread),
            Arc::new(NoGrants),
        )),
        world: Arc::new(Nowhere),
        approver,
        recorder: Arc::clone(&memory) as Arc<dyn Recorder>,
        clock: Arc::new(TestClock),
    };
    Bench { runtime, memory }
}

fn yes() -> Bench {
    bench(Arc::new(AlwaysYes("test".to_owned())), Memory::default())
}

impl Bench {
    fn call(&self, tool: &str, args: Value) -> Outcome {
        self.cancelled_call(tool, args, Cancel::default())
    }

    fn cancelled_call(&self, tool: &str, args: Value, cancel: Cancel) -> Outcome {
        let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let call = Call {
            id: CallId("call".to_owned()),
            session: SessionId("session".to_owned()),
            conversation: None,
            tool: tool.to_owned(),
            args,
        };
        let outcome = events.block_on(self.runtime.call(call, cancel));
        events.shutdown_background();
        outcome
    }

    #[track_caller]
    fn check(&self, tool: &str, act: &str, expect: Option<ErrorKind>) {
        let outcome = self.call(tool, json!({"act": act}));
        assert_eq!(outcome.error.map(|err| err.kind), expect, "{tool} {act}");
        let ended = format!("ended {}", expect.map_or("ok", ErrorKind::as_str));
        assert_eq!(self.memory.lines.lock().unwrap().last(), Some(&ended), "{tool} {act}");
    }
}

const TOOLS: [&str; 3] = ["wild/pure", "wild/reads", "wild/writes"];

#[test]
fn one_bad_tool_never_takes_the_process_down() {
    let bench = yes();
    for tool in TOOLS {
        for act in ["panic_in_check", "panic_in_run"] {
            let outcome = bench.call(tool, json!({"act": act}));
            assert_eq!(outcome.reply["bad"], "internal_error", "{tool} {act}");
            assert!(!outcome.text.contains("SECRET"), "{}", outcome.text);
        }
        bench.check(tool, "fine", None);
    }
}

#[test]
fn a_call_ends_at_its_deadline_even_if_the_tool_does_not() {
    for tool in ["wild/reads", "wild/writes"] {
        let start = Instant::now();
        yes().check(tool, "hang", Some(ErrorKind::Timeout));
        assert!(start.elapsed() < Duration::from_millis(2500), "{:?}", start.elapsed());
    }
    let outcome = yes().call("wild/writes", json!({"act": "hang"}));
    assert_eq!(outcome.error.unwrap().context["outcome"], "unknown");
    yes().check("wild/writes", "wait", Some(ErrorKind::Timeout));
}

#[test]
fn a_cancelled_call_ends() {
    let bench = yes();
    let cancel = Cancel::default();
    let later = cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        later.cancel();
    });
    let outcome = bench.cancelled_call("wild/reads", json!({"act": "wait"}), cancel);
    canceller.join().unwrap();
    assert_eq!(outcome.error.unwrap().kind, ErrorKind::Cancelled);
}

#[test]
fn a_reply_over_the_limit_is_refused_with_its_size() {
    for tool in TOOLS {
        let outcome = yes().call(tool, json!({"act": "large"}));
        let error = outcome.error.unwrap();
        assert_eq!(error.kind, ErrorKind::OutputTooLarge, "{tool}");
        assert_eq!(error.context["limit_bytes"], 1000);
        assert!(outcome.text.len() < 1000);
    }
}

#[test]
fn nobody_is_asked_about_a_call_that_would_fail_anyway() {
    let bench = bench(Arc::new(No), Memory::default());
    bench.check("wild/writes", "refuse_in_check", Some(ErrorKind::BadArgs));
    assert!(!bench.memory.lines.lock().unwrap().iter().any(|line| line.contains("someone")));
    bench.check("wild/writes", "fine", Some(ErrorKind::Declined));
    assert!(
        bench.memory.lines.lock().unwrap().iter().any(|line| line == "decided deny by someone")
    );
}

#[test]
fn without_a_yes_nothing_is_entered() {
    let nobody = bench(Arc::new(Nobody), Memory::default());
    nobody.check("wild/writes", "count", Some(ErrorKind::ApprovalNeeded));
    bench(Arc::new(No), Memory::default()).check("wild/writes", "count", Some(ErrorKind::Declined));
    yes().check("wild/blocked", "count", Some(ErrorKind::Refused));
    assert_eq!(ENTERED.load(Ordering::Relaxed), 0);
    yes().check("wild/writes", "count", None);
    assert_eq!(ENTERED.load(Ordering::Relaxed), 1, "the control");
}

#[test]
fn every_call_is_on_the_record_from_asked_to_ended() {
    let bench = yes();
    bench.call("wild/writes", json!({"act": "fine", "sessionId": "theirs"}));
    bench.call("wild/pure", json!({"act": "nonsense"}));
    bench.call("wild/nope", json!({}));
    let expect = [
        "wild/writes asked in theirs",
        "waits",
        "decided allow by test",
        "started, Synced",
        "ended ok",
        "wild/pure asked in session",
        "ended bad_args",
        "wild/nope asked in session",
        "ended no_tool",
    ];
    assert_eq!(*bench.memory.lines.lock().unwrap(), expect);
}

#[test]
fn what_cannot_be_recorded_is_not_written_and_still_read() {
    let full = || Memory { is_full: true, ..Memory::default() };
    let call = |tool: &str| {
        let bench = bench(Arc::new(AlwaysYes("test".to_owned())), full());
        bench.call(tool, json!({"act": "fine"})).error.map(|err| err.kind)
    };
    assert_eq!(call("wild/writes"), Some(ErrorKind::Unrecorded));
    assert_eq!(call("wild/reads"), None);
    assert_eq!(call("wild/pure"), None);
}

#[test]
fn a_preview_decides_and_does_not_enter() {
    let bench = bench(Arc::new(Nobody), Memory::default());
    let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let call = |tool: &str| Call {
        id: CallId("call".to_owned()),
        session: SessionId("session".to_owned()),
        conversation: None,
        tool: tool.to_owned(),
        args: json!({"act": "panic_in_run"}),
    };
    let preview = events.block_on(bench.runtime.preview(call("wild/writes"), Cancel::default()));
    let preview = preview.ok().unwrap();
    assert_eq!(preview.decision.to_string(), "ask (tier 2 in mode standard)");
    let preview = events.block_on(bench.runtime.preview(call("wild/blocked"), Cancel::default()));
    assert_eq!(preview.ok().unwrap().decision.verdict().as_str(), "deny");
}
