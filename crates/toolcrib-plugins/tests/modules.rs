//! Modules through the pool, in worker processes without a sandbox.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::VecDeque;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::command::{End, Usage};
use toolcrib_core::worker::{
    StartedWorker, WorkerControl, WorkerEnd, WorkerProgram, WorkerRequest, Workers,
};
use toolcrib_core::{Cancel, ErrorKind, Limits, LoadedTool, ToolError};
use toolcrib_plugins::host_uses::{HostUses, NoUses, UseError, UseKind};
use toolcrib_plugins::module_tool::ModuleTool;
use toolcrib_plugins::plugin_error::{PluginError, PluginErrorKind};
use toolcrib_plugins::worker_pool::{PoolLimits, WorkerPool};

/// Starts worker processes, and keeps their controls. Scripts that were put in come first.
#[derive(Default)]
struct Children {
    scripts: Mutex<VecDeque<String>>,
    started: Mutex<Vec<Arc<ChildControl>>>,
}

struct ChildControl(Mutex<(Child, Option<WorkerEnd>)>);

impl Children {
    fn of_scripts(scripts: &[&str]) -> Arc<Self> {
        let scripts = scripts.iter().map(|script| (*script).to_owned()).collect();
        Arc::new(Self { scripts: Mutex::new(scripts), ..Self::default() })
    }

    fn started(&self) -> usize {
        self.started.lock().unwrap().len()
    }

    fn alive(&self) -> usize {
        self.started.lock().unwrap().iter().filter(|control| control.end().is_none()).count()
    }
}

impl Workers for Children {
    fn start(&self, request: &WorkerRequest) -> Result<StartedWorker, ToolError> {
        assert_eq!(request.program, WorkerProgram::ModuleWorker);
        let mut command = match self.scripts.lock().unwrap().pop_front() {
            Some(script) if script == "no start" => {
                return Err(ToolError::new(ErrorKind::Unavailable, "there is no sandbox"));
            }
            Some(script) => {
                let mut command = Command::new("/bin/bash");
                command.args(["-c", &script]);
                command
            }
            None => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_toolcrib-plugins"));
                command.arg("__module_worker").env_clear();
                command
            }
        };
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let control = Arc::new(ChildControl(Mutex::new((child, None))));
        self.started.lock().unwrap().push(Arc::clone(&control));
        Ok(StartedWorker { input: input.into(), output: output.into(), control })
    }
}

impl WorkerControl for ChildControl {
    fn kill(&self) {
        let mut guard = self.0.lock().unwrap();
        if guard.1.is_none() {
            guard.0.kill().unwrap();
            guard.0.wait().unwrap();
            guard.1 = Some(WorkerEnd { end: End::Killed, limit: None });
        }
    }

    fn usage(&self) -> Usage {
        Usage::default()
    }

    fn printed(&self) -> String {
        String::new()
    }

    fn end(&self) -> Option<WorkerEnd> {
        use std::os::unix::process::ExitStatusExt;
        let mut guard = self.0.lock().unwrap();
        if guard.1.is_none()
            && let Some(status) = guard.0.try_wait().unwrap()
        {
            let end = match (status.code(), status.signal()) {
                (Some(code), _) => End::Exited(code),
                (None, signal) => End::Signalled(signal.unwrap_or(0)),
            };
            guard.1 = Some(WorkerEnd { end, limit: None });
        }
        guard.1
    }
}

/// A pool with few workers, and its processes.
struct Bench {
    children: Arc<Children>,
    pool: Arc<WorkerPool>,
}

impl Bench {
    fn new() -> Self {
        Self::with(Children::of_scripts(&[]), PoolLimits::default())
    }

    fn with(children: Arc<Children>, limits: PoolLimits) -> Self {
        let pool = WorkerPool::new(Arc::clone(&children) as Arc<dyn Workers>, limits);
        Self { children, pool }
    }

    fn describe(&self, source: &str) -> Result<Arc<ModuleTool>, PluginError> {
        let source: Arc<str> = source.into();
        let declaration = self.pool.describe("tool.mjs", &source, &Cancel::default())?;
        ModuleTool::new("0123456789ab", source, declaration, Arc::clone(&self.pool))
    }

    /// Makes a tool whose `execute` has this body, without a worker.
    fn tool(&self, body: &str) -> Arc<ModuleTool> {
        let declaration = json!({
            "name": "t", "description": "T.", "parameters": {}, "tier": 1,
            "permissions": {"tools": ["echo"]},
        });
        let declaration = serde_json::from_value(declaration).unwrap();
        let source = format!("export async function execute(args, ctx) {{ {body} }}");
        ModuleTool::new("0123456789ab", source.into(), declaration, Arc::clone(&self.pool)).unwrap()
    }
}

fn run(tool: &ModuleTool, args: Value) -> Result<Value, ToolError> {
    tool.run(&args, Limits::DEFAULT, &Cancel::default(), &NoUses)
}

fn run_within(tool: &ModuleTool, deadline_ms: u64) -> Result<Value, ToolError> {
    let limits = Limits { deadline_ms, ..Limits::DEFAULT };
    tool.run(&json!({}), limits, &Cancel::default(), &NoUses)
}

const HELLO: &str = "
export const name = 'hello', description = 'Greets.', securityTier = 0;
export const parameters = {type: 'object', properties: {who: {type: 'string'}}, required: ['who']};
export const output = {type: 'object', required: ['text']};
let calls = 0;
export async function execute(args, ctx) {
  calls += 1;
  if (args.who === 'nobody') return 'no object';
  return {text: `Hello, ${args.who}`, calls, uses: Object.keys(ctx)};
}";

#[test]
fn a_module_is_described_once_and_called_in_one_worker() {
    let bench = Bench::new();
    let tool = bench.describe(HELLO).unwrap();
    assert_eq!((bench.children.started(), bench.children.alive()), (1, 0));
    assert_eq!((tool.declaration().name, tool.version()), ("hello", "0123456789ab"));
    for _ in 0..3 {
        let result = run(&tool, json!({"who": "Ada"})).unwrap();
        assert_eq!(
            result,
            json!({"text": "Hello, Ada", "calls": 1, "uses": ["read", "write", "call", "fetch"]})
        );
    }
    assert_eq!((bench.children.started(), bench.children.alive()), (2, 1));
    assert!(Arc::clone(&tool).parse(&json!({"who": "Ada"})).is_ok());
    let Err(err) = Arc::clone(&tool).parse(&json!({"who": 1})) else { panic!("it has no number") };
    assert_eq!(err.kind, ErrorKind::BadArgs);
    let err = run(&tool, json!({"who": "nobody"})).unwrap_err();
    assert_eq!((err.kind, &err.context["reason"]), (ErrorKind::Failed, &json!("bad_result")));
    drop(tool);
    assert_eq!((bench.pool.running(), bench.children.alive()), (0, 0), "its worker goes with it");
}

#[test]
fn a_module_that_is_no_tool_is_told_with_its_place() {
    let bench = Bench::new();
    for (source, message, place) in [
        ("export const name = = 1;", "tool.mjs:1:21: SyntaxError", Some((1, 21))),
        ("\nthrow new Error('at load')", "Error: at load", Some((2, 11))),
        (
            "export const name = 'a';",
            "does not export `description`, `parameters`, `execute`",
            None,
        ),
        (
            "export const name = 'a'; export function execute() {}",
            "does not export `description`",
            None,
        ),
        ("await new Promise(() => {});", "nothing can settle", None),
        (&HELLO.replace("'Greets.'", "5"), "`description` must be a text", None),
        (&HELLO.replace("'Greets.'", "'\\ud800'"), "cannot be kept", None),
    ] {
        let Err(err) = bench.describe(source) else { panic!("{source}") };
        assert_eq!(err.kind, PluginErrorKind::BadModule, "{err:?}");
        assert!(err.message.contains(message) && err.hint.is_some(), "{err:?}");
        assert_eq!(err.place, place, "{err:?}");
    }
    let Err(err) = bench.describe(&"/".repeat(2 << 20)) else { panic!("it is too long") };
    assert_eq!(err.kind, PluginErrorKind::TooLarge);
    assert!(bench.describe(HELLO).is_ok());
    assert_eq!(bench.children.alive(), 0);
}

#[test]
fn what_a_module_does_wrong_is_told_and_the_next_call_works() {
    let bench = Bench::new();
    for (body, kind, message) in [
        ("null.x", ErrorKind::Failed, "t.mjs:1:43: TypeError: cannot read property 'x' of null"),
        ("throw 'words'", ErrorKind::Failed, "t.mjs: the module threw `words`"),
        ("const a = []; for (;;) a.push(new Array(1000).fill(1))", ErrorKind::Failed, "memory"),
        ("const f = () => f() + 1; return f()", ErrorKind::Failed, "stack"),
        ("return 'x'.repeat(1 << 20)", ErrorKind::OutputTooLarge, "longer than 262144 bytes"),
        ("const a = {}; a.a = a; return a", ErrorKind::Failed, "circular"),
        ("return {get a() { throw new Error('sly') }}", ErrorKind::Failed, "sly"),
        ("return '\\ud800'", ErrorKind::Failed, "cannot be kept"),
        ("await new Promise(() => {})", ErrorKind::Failed, "nothing can settle"),
    ] {
        let tool = bench.tool(body);
        let err = run(&tool, json!({})).expect_err(body);
        assert_eq!(err.kind, kind, "{body}: {err:?}");
        assert!(err.message.contains(message) && err.hint.is_some(), "{body}: {err:?}");
        let good = bench.tool("return ({}).evil === undefined");
        assert_eq!(run(&good, json!({})).unwrap(), json!(true), "after {body}");
    }
}

#[test]
fn what_a_failing_module_printed_is_told() {
    let bench = Bench::new();
    let tool = bench.tool("console.warn('before', 1); throw new Error('x')");
    let err = run(&tool, json!({})).unwrap_err();
    assert_eq!(err.context["console"], json!([{"level": "warn", "text": "before 1"}]));
}

#[test]
fn a_loop_ends_at_its_time_in_the_module_and_in_native_code() {
    let bench = Bench::new();
    for body in [
        "for (;;) {}",
        "for (;;) await null",
        // The engine does not look at its time in here, so only the kill ends it.
        "return new Array(2 ** 30).join('').length",
    ] {
        let tool = bench.tool(body);
        let begin = Instant::now();
        let err = run_within(&tool, 200).expect_err(body);
        assert_eq!(
            (err.kind, &err.context["limit_ms"]),
            (ErrorKind::Timeout, &json!(200)),
            "{err:?}"
        );
        assert!(begin.elapsed() >= Duration::from_millis(200), "{body}");
        assert_eq!(bench.children.alive(), 0, "{body}");
        assert_eq!(run(&bench.tool("return 1"), json!({})).unwrap(), json!(1));
    }
}

#[test]
fn a_cancelled_call_ends_at_once_and_its_worker_is_killed() {
    let bench = Bench::new();
    let (tool, cancel) = (bench.tool("for (;;) {}"), Cancel::default());
    let other = cancel.clone();
    let canceller = std::thread::spawn(move || other.cancel());
    let limits = Limits { deadline_ms: 600_000, ..Limits::DEFAULT };
    let err = tool.run(&json!({}), limits, &cancel, &NoUses).unwrap_err();
    canceller.join().unwrap();
    assert_eq!((err.kind, bench.children.alive()), (ErrorKind::Cancelled, 0));
}

/// Reads the module and the call, as every worker does, and says that it is up.
const UP: &str = r#"echo '{"ready":{"protocol":1}}'; read -r load; read -r call; "#;

#[test]
fn a_worker_that_misbehaves_is_replaced() {
    for (script, kind, message) in [
        ("echo garbage; sleep 600", ErrorKind::Failed, "its answer is not one of a worker"),
        (
            "echo '{\"end\":{\"id\":99,\"how\":{\"done\":1}}}'; sleep 600",
            ErrorKind::Failed,
            "another task",
        ),
        (
            "echo '{\"described\":{\"id\":1,\"exports\":{}}}'; sleep 600",
            ErrorKind::Failed,
            "another task",
        ),
        (
            "echo '{\"use\":{\"id\":1,\"number\":7,\"kind\":\"call\",\"args\":[]}}'; sleep 600",
            ErrorKind::Failed,
            "another task",
        ),
        ("echo '{\"ready\":{\"protocol\":1}}'; sleep 600", ErrorKind::Failed, "another task"),
        ("exec tr '\\0' x < /dev/zero", ErrorKind::Failed, "too long"),
        ("exit 3", ErrorKind::Failed, "exited with code 3"),
        ("kill -ABRT $$", ErrorKind::Failed, "signal 6"),
        ("exec sleep 600", ErrorKind::Timeout, "longer than 300 ms"),
    ] {
        let bench =
            Bench::with(Children::of_scripts(&[&format!("{UP}{script}")]), PoolLimits::default());
        let tool = bench.tool("return args");
        let err = run_within(&tool, 300).expect_err(script);
        assert_eq!(err.kind, kind, "{script}: {err:?}");
        assert!(err.message.contains(message) && err.hint.is_some(), "{script}: {err:?}");
        assert_eq!((bench.pool.running(), bench.children.alive()), (0, 0), "{script}");
        assert_eq!(run(&tool, json!({"a": 1})).unwrap(), json!({"a": 1}), "{script}");
    }
    let bench = Bench::with(
        Children::of_scripts(&["echo '{\"ready\":{\"protocol\":2}}'; sleep 600"]),
        PoolLimits::default(),
    );
    let err = run(&bench.tool("return 1"), json!({})).unwrap_err();
    assert!(err.message.contains("another version"), "{err:?}");
    let bench = Bench::with(Children::of_scripts(&["no start"]), PoolLimits::default());
    let tool = bench.tool("return 1");
    assert_eq!(run(&tool, json!({})).unwrap_err().kind, ErrorKind::Unavailable);
    assert_eq!(run(&tool, json!({})).unwrap(), json!(1), "its seat is free again");
}

#[test]
fn an_answer_that_comes_twice_or_a_worker_that_dies_idle_harms_no_later_call() {
    let end = r#"{"end":{"id":1,"how":{"done":"first"}}}"#;
    for script in [
        format!("{UP} printf '%s\\n%s\\n' '{end}' '{end}'; sleep 600"),
        format!("{UP} echo '{end}'; exit"),
        format!("{UP} echo '{end}'; read -r call; exit"),
    ] {
        let bench = Bench::with(Children::of_scripts(&[&script]), PoolLimits::default());
        let tool = bench.tool("return 'second'");
        assert_eq!(run(&tool, json!({})).unwrap(), json!("first"));
        assert_eq!(run(&tool, json!({})).unwrap(), json!("second"), "{script}");
        assert_eq!((bench.children.started(), bench.children.alive()), (2, 1));
    }
}

/// Answers `call` with its arguments, and counts.
#[derive(Default)]
struct Echo(Mutex<u64>);

impl HostUses for Echo {
    fn answer(&self, kind: UseKind, args: &Value) -> Result<Value, UseError> {
        assert_eq!(kind, UseKind::Call);
        *self.0.lock().unwrap() += 1;
        Ok(args.clone())
    }

    fn waited(&self) -> Duration {
        Duration::from_hours(1) * u32::try_from(*self.0.lock().unwrap()).unwrap()
    }
}

#[test]
fn uses_are_answered_by_the_host_within_a_budget() {
    let bench =
        Bench::with(Children::of_scripts(&[]), PoolLimits { uses: 3, ..PoolLimits::default() });
    let tool = bench.tool(
        "let all = []; for (let i = 0; i < 5; i++) all.push(await ctx.call('echo', {i}).catch(e => e.code)); return [Object.keys(ctx), all]",
    );
    let echo = Echo::default();
    let result = tool.run(&json!({}), Limits::DEFAULT, &Cancel::default(), &echo).unwrap();
    let spent = "use_budget_spent";
    let all = json!([["echo", {"i": 0}], ["echo", {"i": 1}], ["echo", {"i": 2}], spent, spent]);
    assert_eq!(result, json!([["read", "write", "call", "fetch"], all]));
    assert_eq!(*echo.0.lock().unwrap(), 3);
    let result =
        run(&bench.tool("return await ctx.call('x').catch(e => [e.code, e.message])"), json!({}));
    assert_eq!(result.unwrap(), json!(["use_unavailable", "`ctx.call` cannot be used here"]));
}

#[test]
fn the_time_that_people_take_does_not_count() {
    let bench = Bench::new();
    let tool = bench.tool("await ctx.call('echo'); const end = Date.now() + 400; while (Date.now() < end) {} return 1");
    let limits = Limits { deadline_ms: 300, ..Limits::DEFAULT };
    let result = tool.run(&json!({}), limits, &Cancel::default(), &Echo::default());
    assert_eq!(result.unwrap(), json!(1), "the host says that an hour was waited");
    let err = tool.run(&json!({}), limits, &Cancel::default(), &NoUses).unwrap_err();
    assert_eq!(err.kind, ErrorKind::Failed, "without an answer, the module throws");
}

#[test]
fn calls_share_few_workers_and_too_many_are_refused() {
    let limits = PoolLimits { workers: 2, ..PoolLimits::default() };
    let bench = Bench::with(Children::of_scripts(&[]), limits);
    let tools: Vec<_> = (0..4).map(|at| bench.tool(&format!("return {at}"))).collect();
    std::thread::scope(|scope| {
        for at in 0..16 {
            let tool = &tools[at % 4];
            scope.spawn(move || {
                for _ in 0..5 {
                    assert_eq!(run(tool, json!({})).unwrap(), json!(at % 4));
                }
            });
        }
    });
    assert!(bench.pool.running() <= 2 && bench.children.alive() <= 2);

    let bench = Bench::with(Children::of_scripts(&[]), PoolLimits { workers: 1, ..limits });
    let (slow, cancel) = (bench.tool("for (;;) {}"), Cancel::default());
    let long = Limits { deadline_ms: 600_000, ..Limits::DEFAULT };
    let kinds: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..20)
            .map(|_| scope.spawn(|| slow.run(&json!({}), long, &cancel, &NoUses).unwrap_err().kind))
            .collect();
        // One runs, sixteen wait, three are refused. The others end when they are cancelled.
        while calls.iter().filter(|call| call.is_finished()).count() < 3 {
            std::thread::yield_now();
        }
        cancel.cancel();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    assert_eq!(kinds.iter().filter(|kind| **kind == ErrorKind::Unavailable).count(), 3);
    assert_eq!(kinds.iter().filter(|kind| **kind == ErrorKind::Cancelled).count(), 17);
    assert_eq!(run(&bench.tool("return 1"), json!({})).unwrap(), json!(1));
}

#[test]
fn a_worker_is_replaced_after_its_calls_and_none_is_left_when_the_pool_closes() {
    let limits = PoolLimits { calls_per_worker: 3, ..PoolLimits::default() };
    let bench = Bench::with(Children::of_scripts(&[]), limits);
    let tool = bench.tool("return 1");
    for _ in 0..7 {
        run(&tool, json!({})).unwrap();
    }
    assert_eq!((bench.children.started(), bench.children.alive()), (3, 1));
    bench.pool.warm();
    assert_eq!((bench.pool.running(), bench.children.alive()), (2, 2));
    bench.pool.close();
    assert_eq!((bench.pool.running(), bench.children.alive()), (0, 0));
    assert_eq!(run(&tool, json!({})).unwrap_err().kind, ErrorKind::Unavailable);
}

#[test]
fn a_spare_worker_serves_a_module_that_is_called_for_the_first_time() {
    let bench = Bench::new();
    bench.pool.warm();
    bench.pool.warm();
    assert_eq!(bench.children.started(), 1, "one spare is enough");
    assert_eq!(run(&bench.tool("return 1"), json!({})).unwrap(), json!(1));
    assert_eq!(bench.children.started(), 1);
}
