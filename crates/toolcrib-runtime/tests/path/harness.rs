//! Tools that misbehave, and a world without files for them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::ProposedCommand;
use toolcrib_core::capability::{self, EditFn, WriteMode, Written};
use toolcrib_core::catalogue::{CallKey, CatalogueSettings, RenderedError, Rendering, ReplyView};
use toolcrib_core::command::{self, CommandRequest, HostTraffic, NetworkAccount, Shell};
use toolcrib_core::command_reading::{ReadShell, Reading};
use toolcrib_core::material::Material;
use toolcrib_core::pin::FolderState;
use toolcrib_core::policy::grant::NoGrants;
use toolcrib_core::policy::{Answer, DeniedPaths, Policy};
use toolcrib_core::search::{Found, FoundPaths, Glob, Grep, Pattern, Scope, Search};
use toolcrib_core::{
    AnyTool, Call, CallId, CallTerms, Caller, Cancel, Catalogue, Change, Clock, Commands, Content,
    Ctx, Declaration, Effect, ErrorKind, Files, Limits, Listing, Meta, Meter, Mode, NoClient,
    Outcome, Outside, Plan, Recorder, SessionId, Tier, Tool, ToolError, ToolName, ToolSettings,
    Toolset, Tree, Usage,
};
use toolcrib_runtime::{
    AlwaysYes, AnswerFuture, Approver, Judge, Latest, Question, QuotaLimits, Runtime,
    SessionLimits, World,
};

use crate::guest::shelf;
pub(crate) use crate::memory::Memory;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    /// What to do
    act: Act,
    /// The tool that `call` calls
    tool: Option<String>,
    /// The arguments of that call
    with: Option<Value>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Act {
    Fine,
    /// Calls another tool, and replies with the reply.
    Call,
    PanicInCheck,
    PanicInRun,
    /// Plans until the call is told to stop, and then goes on.
    PlanTooLong,
    Hang,
    Wait,
    Large,
    RefuseInCheck,
    Count,
    Command,
    Send,
    Receive,
}

/// The commands that were parsed, and the paths that were resolved.
pub(crate) static PARSED: Mutex<Vec<String>> = Mutex::new(Vec::new());
pub(crate) static RESOLVED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// How often a tool was entered to count.
pub(crate) static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// Does as it is told, on this thread or on another.
pub(crate) struct Wild(pub(crate) &'static Declaration);

impl Tool for Wild {
    type Args = Args;
    type Reply = Value;

    fn declaration(&self) -> &'static Declaration {
        self.0
    }

    fn check(&self, ctx: &Ctx, args: &Args) -> Result<Plan, ToolError> {
        match args.act {
            Act::PlanTooLong => {
                while !ctx.cancel.is_cancelled() {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Ok(Plan::default())
            }
            Act::PanicInCheck => panic!("SECRET"),
            Act::RefuseInCheck => Err(ToolError::new(ErrorKind::BadArgs, "no")),
            Act::Command => Ok(Plan {
                command: Some(ProposedCommand {
                    shell: Shell::Bash,
                    text: "cat a b".to_owned(),
                    directory: None,
                }),
                ..Plan::default()
            }),
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
            Act::Send | Act::Receive => {
                let is_sent = matches!(args.act, Act::Send);
                let (bytes_up, bytes_down) = if is_sent { (100, 0) } else { (0, 100) };
                let host = HostTraffic { bytes_up, bytes_down, ..HostTraffic::default() };
                ctx.meter.set_network(NetworkAccount { hosts: vec![host] });
            }
            Act::Call => {
                let Some(calls) = &ctx.calls else { return Ok(json!({"calls": "none"})) };
                let tool = args.tool.unwrap().as_str().into();
                return Ok(json!({"inner": calls.call(tool, args.with.unwrap(), None).reply}));
            }
            Act::Large => return Ok(json!("x".repeat(10_000))),
            Act::Fine
            | Act::PanicInCheck
            | Act::PlanTooLong
            | Act::RefuseInCheck
            | Act::Command => {}
        }
        Ok(json!({"done": true}))
    }
}

pub(crate) const fn declare(name: &'static str, tier: Tier, effect: Effect) -> Declaration {
    // Longer than a busy machine takes for any call.
    let limits = Limits { deadline_ms: 60_000, output_bytes: 1000 };
    Declaration { name, summary: "Returns: {}", tier, effect, limits, examples: &[] }
}

pub(crate) static PURE: Declaration = declare("pure", Tier::Safe, Effect::None);
pub(crate) static READS: Declaration = declare("reads", Tier::Standard, Effect::Read);
pub(crate) static WRITES: Declaration = declare("writes", Tier::Elevated, Effect::Write);
pub(crate) static BLOCKED: Declaration = declare("blocked", Tier::Dangerous, Effect::Write);

/// Tools whose deadline comes soon.
pub(crate) static SHORT_READS: Declaration = short("short_reads", &READS);
pub(crate) static SHORT_WRITES: Declaration = short("short_writes", &WRITES);

const fn short(name: &'static str, like: &Declaration) -> Declaration {
    let limits = Limits { deadline_ms: 200, output_bytes: 1000 };
    Declaration { name, limits, ..declare(name, like.tier, like.effect) }
}

pub(crate) static TOOLS: [&Wild; 6] = [
    &Wild(&PURE),
    &Wild(&READS),
    &Wild(&WRITES),
    &Wild(&BLOCKED),
    &Wild(&SHORT_READS),
    &Wild(&SHORT_WRITES),
];

static CATALOGUE: Catalogue =
    catalogue("wild", &[TOOLS[0], TOOLS[1], TOOLS[2], TOOLS[3], TOOLS[4], TOOLS[5]]);

pub(crate) static COMPILED: &[&Catalogue] = &[&CATALOGUE];

pub(crate) const fn catalogue(
    name: &'static str,
    tools: &'static [&'static dyn AnyTool],
) -> Catalogue {
    Catalogue {
        name,
        about: "Tools that misbehave",
        tools,
        call_keys: &[("talk", CallKey::Conversation), ("number", CallKey::Ignored)],
        source_hashes: &[],
        settings: CatalogueSettings::NONE,
        reply: |_, reply, _| json!({"ok": reply}),
        error_reply: |failure| json!({"bad": failure.error.kind.as_str(), "why": failure.error.message}),
        error_code: None,
        saves_replies_above: None,
        view: ReplyView {
            render: |reply| Rendering::Fields { data: reply, exit_code: None },
            render_error: |_| RenderedError::default(),
            blocks: |_| None,
            schema: |reply| reply,
        },
        material: Material::NONE,
    }
}

/// A world without files: these tools use none.
pub(crate) struct Nowhere;

pub(crate) fn nothing<T>() -> Result<T, ToolError> {
    Err(ToolError::new(ErrorKind::NotFound, "nothing here"))
}

impl Tree for Nowhere {
    fn stat(&self, _: &str) -> Result<Meta, ToolError> {
        nothing()
    }
    fn read(&self, _: &str, _: u64) -> Result<Content, ToolError> {
        nothing()
    }
    fn count_lines(&self, _: &str) -> Result<u64, ToolError> {
        nothing()
    }
    fn list(&self, _: &str, _: usize) -> Result<Listing, ToolError> {
        nothing()
    }
    fn deny(&self, _: DeniedPaths) {}
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
    fn folder_state(&self, _: &str, _: usize) -> Result<FolderState, ToolError> {
        nothing()
    }
    fn hold(&self, _: Vec<(String, String)>) {}
    fn changes(&self) -> Vec<Change> {
        Vec::new()
    }
    fn resolve(&self, path: &str) -> capability::Resolved {
        RESOLVED.lock().unwrap().push(path.to_owned());
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

pub(crate) struct TestClock;

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
    fn ask_about_hosts(&self, _: Arc<dyn toolcrib_core::host_access::HostGate>) {}
    fn check(&self, _: &CommandRequest) -> Result<(), ToolError> {
        unreachable!()
    }
    fn run(&self, _: &CommandRequest, _: &Cancel) -> Result<command::Ran, ToolError> {
        unreachable!()
    }
    fn reachable_hosts(&self) -> Vec<String> {
        Vec::new()
    }
    fn terms(&self) -> String {
        String::new()
    }
    fn deny(&self, _: DeniedPaths) {}
    fn tasks(&self) -> Vec<command::TaskSpent> {
        Vec::new()
    }
    fn is_under_way(&self, _: &str) -> bool {
        false
    }

    fn home(&self) -> Option<String> {
        None
    }
    fn find_program(&self, _: &str) -> Option<command::ProgramFile> {
        None
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
    fn save_reply(&self, _: &str, _: &str) -> bool {
        false
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
    fn new_call_id(&self) -> CallId {
        CallId("inner".to_owned())
    }
    fn enter(&self, _: &ToolName, call: &Call, cancel: &Cancel) -> Ctx {
        Ctx {
            call: call.id.clone(),
            files: Arc::new(Self),
            search: Arc::new(Self),
            commands: Arc::new(Self),
            outside: Outside::nothing(),
            client: Arc::new(NoClient),
            clock: Arc::new(TestClock),
            cancel: cancel.clone(),
            settings: Arc::new(ToolSettings::default()),
            terms: CallTerms { limits: Limits::DEFAULT, is_read_only: false },
            meter: Meter::default(),
            calls: None,
        }
    }
}

/// Reads no commands.
pub(crate) struct Unread;

impl ReadShell for Unread {
    fn read(&self, command: &str) -> Reading {
        PARSED.lock().unwrap().push(command.to_owned());
        let words = command.split(' ').map(str::to_owned).collect();
        Reading { found: vec![words], ..Reading::unread("nothing") }
    }
}

pub(crate) struct No;

impl Approver for No {
    fn ask<'a>(&'a self, _: &'a Question) -> AnswerFuture<'a> {
        Box::pin(async { Answer::No("someone".to_owned(), String::new()) })
    }
}

pub(crate) struct Bench {
    pub(crate) runtime: Runtime,
    pub(crate) memory: Arc<Memory>,
}

pub(crate) fn bench(approver: Arc<dyn Approver>, memory: Memory) -> Bench {
    let memory = Arc::new(memory);
    let runtime = Runtime {
        toolset: Arc::new(Toolset::everything(shelf("one"))),
        judge: Arc::new(Judge::new(
            Arc::new(Policy::new(Mode::Standard, Vec::new())),
            Arc::new(Unread),
            Arc::new(NoGrants),
        )),
        world: Arc::new(Nowhere),
        approver,
        client: Arc::new(NoClient),
        dispatcher: None,
        recorder: Arc::clone(&memory) as Arc<dyn Recorder>,
        clock: Arc::new(TestClock),
        latest: Latest::default(),
    };
    Bench { runtime, memory }
}

/// A bench that answers yes, whose sessions may write so many bytes.
pub(crate) fn with_session_bytes(bytes: u64) -> Bench {
    let quota = QuotaLimits { session_bytes: Some(bytes), ..QuotaLimits::default() };
    let mut bench = yes();
    let judge = Judge::new(
        Arc::new(Policy::new(Mode::Standard, Vec::new())),
        Arc::new(Unread),
        Arc::new(NoGrants),
    );
    bench.runtime.judge =
        Arc::new(judge.with_limits(SessionLimits { quota, ..SessionLimits::default() }));
    bench
}

pub(crate) fn yes() -> Bench {
    bench(Arc::new(AlwaysYes("test".to_owned())), Memory::default())
}

pub(crate) fn asked(tool: &str, args: Value) -> Call {
    let (id, session) = (CallId("call".to_owned()), SessionId("session".to_owned()));
    Call::new(id, session, Arc::new(Caller::at_terminal("test")), tool.into(), args)
}

impl Bench {
    pub(crate) fn call(&self, tool: &str, args: Value) -> Outcome {
        self.cancelled_call(tool, args, Cancel::default())
    }

    pub(crate) fn cancelled_call(&self, tool: &str, args: Value, cancel: Cancel) -> Outcome {
        let events = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let outcome = events.block_on(self.runtime.call(asked(tool, args), cancel));
        events.shutdown_background();
        outcome
    }

    #[track_caller]
    pub(crate) fn check(&self, tool: &str, act: &str, expect: Option<ErrorKind>) {
        let outcome = self.call(tool, json!({"act": act}));
        assert_eq!(outcome.error.map(|err| err.kind), expect, "{tool} {act}");
        let ended = format!("ended {}", expect.map_or("ok", ErrorKind::as_str));
        assert_eq!(self.memory.lines.lock().unwrap().last(), Some(&ended), "{tool} {act}");
    }
}
