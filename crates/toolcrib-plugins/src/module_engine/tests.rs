//! Modules of every kind in an engine in this process, without a worker.

use std::cell::RefCell;
use std::time::Instant;

use serde_json::value::to_raw_value;
use serde_json::{Value as Json, json};

use super::*;
use crate::host_uses::{UseError, UseKind};
use crate::worker_line::{Console, EngineLimits, ModuleUse, Thrown, UseAnswer, UseOutcome};

const LIMITS: EngineLimits = EngineLimits { memory: 32 << 20, stack: 256 << 10, console: 200 };

/// Gives an engine one task, and keeps what it tells. A use of `call` succeeds with its own arguments, others fail.
#[derive(Default)]
struct OneEngineTask {
    task: RefCell<Option<EngineTask>>,
    told: RefCell<Vec<FromWorker>>,
}

impl ModuleHost for OneEngineTask {
    fn next_task(&self) -> Option<EngineTask> {
        self.task.take()
    }

    fn answer(&self, asked: ModuleUse) -> Option<UseAnswer> {
        let outcome = match asked.kind {
            UseKind::Call => UseOutcome::Value(asked.args),
            UseKind::Read | UseKind::Write | UseKind::Fetch => {
                let (code, message) = ("refused".to_owned(), "not this one".to_owned());
                UseOutcome::Error(UseError { code, message })
            }
        };
        Some(UseAnswer { number: asked.number, more_ms: 0, outcome })
    }

    fn finish(&self, line: FromWorker) {
        self.told.borrow_mut().push(line);
    }
}

fn told(source: &str, task: EngineTask) -> FromWorker {
    let load =
        ModuleLoad { file: "tool.mjs".to_owned(), source: source.to_owned(), limits: LIMITS };
    let host =
        Rc::new(OneEngineTask { task: RefCell::new(Some(task)), ..OneEngineTask::default() });
    let seen: Rc<dyn ModuleHost> = Rc::clone(&host) as Rc<dyn ModuleHost>;
    assert_eq!(run_once(&load, &seen), AfterRun::GoOn);
    let mut told = host.told.take();
    assert_eq!(told.len(), 1, "there is one end");
    told.remove(0)
}

fn end_within(time_ms: u64, source: &str, args: Json) -> (EndKind, Console) {
    let uses = vec![UseKind::Call, UseKind::Read];
    let args = to_raw_value(&args).unwrap();
    let call = ModuleCall { id: 7, args, time_ms, result: 1000, uses };
    match told(source, EngineTask::Call(call)) {
        FromWorker::End(ModuleEnd { id: 7, how, console, .. }) => (how, console),
        other => panic!("{other:?}"),
    }
}

fn end(source: &str) -> EndKind {
    end_within(20_000, source, json!({})).0
}

/// Returns the result of a body of `execute`.
fn result(body: &str) -> Json {
    match end(&format!("export async function execute(args, ctx) {{ {body} }}")) {
        EndKind::Done(result) => serde_json::from_str(result.get()).unwrap(),
        other => panic!("{body}: {other:?}"),
    }
}

fn thrown(source: &str) -> Thrown {
    match end(source) {
        EndKind::Threw(thrown) => thrown,
        other => panic!("{source}: {other:?}"),
    }
}

fn limit(time_ms: u64, source: &str) -> EngineLimit {
    match end_within(time_ms, source, json!({})).0 {
        EndKind::Limit(limit) => limit,
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn a_result_is_what_execute_returns() {
    let (how, _) = end_within(
        20_000,
        "const greet = who => `Hello, ${who}`;\nexport async function execute(args) { return {text: greet(args.who)}; }",
        json!({"who": "Ada ☺"}),
    );
    assert!(
        matches!(&how, EndKind::Done(result) if result.get() == r#"{"text":"Hello, Ada ☺"}"#),
        "{how:?}"
    );
    let plain = end("export function execute() { return [1, 2.5, 1e300, null]; }");
    assert!(
        matches!(&plain, EndKind::Done(result) if result.get() == "[1,2.5,1e+300,null]"),
        "{plain:?}"
    );
    assert_eq!(result("return undefined"), Json::Null);
    assert_eq!(result("return () => 1"), Json::Null);
    assert_eq!(result("return {then(done) { done(5) }}"), json!(5));
    assert_eq!(
        result("await null; let a = await Promise.all([1, Promise.resolve(2)]); return a"),
        json!([1, 2])
    );
    assert_eq!(result("return 'lone \\ud800'.length"), json!(6));
    let late = end("const two = await Promise.resolve(2); export const execute = async () => two;");
    assert!(matches!(&late, EndKind::Done(result) if result.get() == "2"), "{late:?}");
}

#[test]
fn errors_have_the_place_in_the_module() {
    let syntax = thrown("export const a = 1;\nexport const b = = 2;\n");
    assert_eq!((syntax.name.as_str(), syntax.place), ("SyntaxError", Some((2, 18))), "{syntax:?}");
    let top = thrown("\n\nnull.x;\nexport function execute() {}");
    assert_eq!((top.name.as_str(), top.place.map(|it| it.0)), ("TypeError", Some(3)), "{top:?}");
    let inner = thrown(
        "function f() {\n  throw new RangeError('too far');\n}\nexport async function execute() {\n  await null;\n  f();\n}",
    );
    assert_eq!((inner.name.as_str(), inner.message.as_str()), ("RangeError", "too far"));
    assert_eq!(inner.place.map(|it| it.0), Some(2), "{inner:?}");
    assert!(inner.stack.contains("execute (tool.mjs:6"), "{inner:?}");
    let nul = thrown("export function execute() { return '\0' }");
    assert_eq!((nul.name.as_str(), nul.place), ("SyntaxError", None));
}

#[test]
fn anything_can_be_thrown() {
    for (what, message) in [
        ("'words'", "words"),
        ("undefined", "undefined"),
        ("{a: 1}", r#"{"a":1}"#),
        ("Symbol('s')", "[a value that cannot be printed]"),
        ("new Proxy({}, {get() { throw 1 }})", "[a value that cannot be printed]"),
        ("Object.defineProperty(new Error('x'), 'message', {get() { throw 2 }})", ""),
    ] {
        let found = thrown(&format!("export async function execute() {{ throw {what}; }}"));
        assert_eq!(found.message, message, "{what}");
    }
    let null = "export async function execute() { throw null }";
    assert_eq!(limit(20_000, null), EngineLimit::MemoryOrNull);
    let long = thrown("export async function execute() { throw new Error('x'.repeat(1e6)); }");
    assert!(long.message.len() < 3000 && long.stack.len() < 5000, "{}", long.message.len());
}

#[test]
fn an_endless_loop_ends_at_its_time_wherever_it_is() {
    for source in [
        "while (true) {}",
        "export async function execute() { for (;;) { try { for (;;) {} } catch {} finally { continue } } }",
        "export async function execute() { for (;;) await null; }",
        "export async function execute() { return {get a() { for (;;) {} }} }",
        "export async function execute() { return {toJSON() { for (;;) {} }} }",
        "export async function execute() { throw {toJSON() { for (;;) {} }} }",
        "export async function execute() { throw Object.defineProperty(new Error(), 'message', {get() { for (;;) {} }}) }",
        "export async function execute() { console.log({get a() { for (;;) {} }}); return 1 }",
        "export async function execute() { return /(a+)+$/.test('a'.repeat(100) + 'b') }",
        "const f = () => Promise.resolve().then(f); f(); await new Promise(() => {}); export async function execute() {}",
    ] {
        let begin = Instant::now();
        assert_eq!(limit(100, source), EngineLimit::Time, "{source}");
        assert!(begin.elapsed() >= Duration::from_millis(100), "{source}");
    }
}

#[test]
fn memory_and_stack_have_limits() {
    for source in [
        "const all = []; for (;;) all.push(new Array(1000).fill(0));",
        "export async function execute() { return new Uint8Array(100 << 20).length }",
        "export async function execute() { const all = []; for (;;) { try { all.push('x'.repeat(1e6) + all.length) } catch (e) { throw e } } }",
    ] {
        assert_eq!(limit(20_000, source), EngineLimit::Memory, "{source}");
    }
    let deep = "const f = n => 1 + f(n + 1); export async function execute() { return f(0) }";
    assert_eq!(limit(20_000, deep), EngineLimit::Stack);
    assert_eq!(result("return new Uint8Array(10 << 20).length"), json!(10 << 20));
    assert_eq!(result("const f = n => n ? 1 + f(n - 1) : 0; return f(100)"), json!(100));
}

#[test]
fn results_have_a_size_and_a_depth_and_no_circles() {
    assert_eq!(result("return 'x'.repeat(998)").as_str().map(str::len), Some(998));
    assert_eq!(
        limit(20_000, "export async function execute() { return 'x'.repeat(999) }"),
        EngineLimit::Result
    );
    let nest = |depth: u32| {
        format!(
            "export async function execute() {{ let a = 1; for (let i = 0; i < {depth}; i++) a = [a]; return a }}"
        )
    };
    assert!(matches!(end(&nest(64)), EndKind::Done(_)));
    assert_eq!(limit(20_000, &nest(65)), EngineLimit::Depth);
    for (body, message) in [
        ("const a = {}; a.a = a; return a", "circular reference"),
        ("return 10n", "BigInt"),
        ("return {get a() { throw new Error('no') }}", "no"),
    ] {
        let found = thrown(&format!("export async function execute() {{ {body} }}"));
        assert!(found.message.contains(message), "{body}: {found:?}");
    }
    assert_eq!(result("return '[[\\\\\"[['"), json!("[[\\\"[["), "brackets in a text are no depth");
}

#[test]
fn a_promise_that_nothing_settles_is_told_at_once() {
    for source in [
        "export async function execute() { await new Promise(() => {}) }",
        "export function execute() { return new Promise(() => {}) }",
        "await new Promise(() => {}); export function execute() {}",
        "export function execute() { return {then() {}} }",
    ] {
        assert_eq!(limit(600_000, source), EngineLimit::NeverSettles, "{source}");
    }
}

#[test]
fn a_module_has_nothing_of_its_host() {
    let names = "process, require, fetch, setTimeout, setInterval, std, os, Deno, Bun, WebAssembly, performance, gc, print, scriptArgs, XMLHttpRequest, Worker, navigator";
    let kinds =
        names.split(", ").map(|name| format!("typeof {name}")).collect::<Vec<_>>().join(",");
    let kinds = result(&format!("return [{kinds}]"));
    assert!(kinds.as_array().unwrap().iter().all(|kind| kind == "undefined"), "{names}: {kinds}");
    assert_eq!(
        result("return [typeof Map, typeof RegExp, typeof Uint8Array]"),
        json!(["function", "function", "function"])
    );
    let import = thrown("import fs from 'fs';\nexport function execute() {}");
    assert!(import.message.contains("fs"), "{import:?}");
    let dynamic = thrown("export async function execute() { await import('/etc/passwd') }");
    assert!(dynamic.message.contains("passwd"), "{dynamic:?}");
    let wait = thrown(
        "export async function execute() { Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0) }",
    );
    assert_eq!(wait.name, "TypeError", "{wait:?}");
}

#[test]
fn what_a_module_changes_is_gone_after_the_call() {
    let pollute = "Object.prototype.evil = 1; JSON.stringify = () => 'x'; Promise.prototype.then = null; Array.prototype.push = null; return {a: 1}";
    assert_eq!(result(pollute), json!({"a": 1}));
    assert_eq!(
        result("return [({}).evil === undefined, typeof JSON.stringify({}), typeof [].push]"),
        json!([true, "string", "function"])
    );
}

#[test]
fn ctx_has_what_was_given_and_nothing_else() {
    assert_eq!(result("return Object.keys(ctx).sort()"), json!(["call", "read"]));
    assert_eq!(
        result("return await ctx.call('echo', {a: [1]}, undefined)"),
        json!(["echo", {"a": [1]}, null])
    );
    assert_eq!(
        result(
            "try { await ctx.read('x') } catch (e) { return [e.code, e.message, e instanceof Error] }"
        ),
        json!(["refused", "not this one", true])
    );
    assert_eq!(
        result("return await ctx.call('x'.repeat(2 << 20)).catch(e => e.code)"),
        json!("too_large")
    );
    assert_eq!(
        result("let all = await Promise.all([1, 2, 3].map(n => ctx.call(n))); return all"),
        json!([[1], [2], [3]])
    );
    let thrown = thrown("export async function execute(args, ctx) {\n  await ctx.read('x');\n}");
    assert_eq!(
        (thrown.message.as_str(), thrown.place.map(|it| it.0)),
        ("not this one", Some(2)),
        "{thrown:?}"
    );
}

#[test]
fn the_console_is_kept_up_to_its_limit() {
    let print = "export async function execute() { console.log('a', {b: 1}, undefined); console.error(new TypeError('t')); console.warn({get a() { throw 1 }}); return 1 }";
    let (_, console) = end_within(20_000, print, json!({}));
    let texts: Vec<_> =
        console.messages.iter().map(|(level, text)| (level.as_str(), text.as_str())).collect();
    assert_eq!(
        texts,
        [("log", r#"a {"b":1} undefined"#), ("error", "TypeError: t"), ("warn", "[object Object]")]
    );
    assert!(!console.is_cut);
    for flood in ["for (;;) console.log('')", "for (;;) console.log('x'.repeat(1e5))"] {
        let (how, console) =
            end_within(100, &format!("export async function execute() {{ {flood} }}"), json!({}));
        assert!(matches!(how, EndKind::Limit(EngineLimit::Time)));
        let length: usize = console.messages.iter().map(|(_, text)| text.len()).sum();
        assert!(console.is_cut && length <= 210 && console.messages.len() <= 20, "{length}");
    }
}

#[test]
fn a_module_without_execute_is_told_so() {
    for (source, message) in [
        ("export const name = 'x';", "`execute` must be a function, and is missing"),
        ("export const execute = 5;", "`execute` must be a function, and is a number"),
    ] {
        assert!(matches!(end(source), EndKind::BadExport(found) if found == message), "{source}");
    }
}

#[test]
fn exports_are_described_as_data() {
    let describe = |source: &str| told(source, EngineTask::Describe { id: 3, time_ms: 20_000 });
    let good = "export const name = 'a', description = 'b', parameters = {type: 'object'}, securityTier = 2, extra = 1n;\nexport async function execute() { throw 1 }";
    let FromWorker::Described { id: 3, exports } = describe(good) else { panic!() };
    assert_eq!(
        exports.get(),
        r#"{"name":"a","description":"b","parameters":{"type":"object"},"securityTier":2}"#
    );
    for (change, message) in [
        (("name = 'a', ", ""), "the module does not export `name`"),
        (
            ("description = 'b'", "description = () => 1"),
            "`description` must be data, and is a function",
        ),
        (("async function execute", "async function run"), "the module does not export `execute`"),
    ] {
        let FromWorker::End(ModuleEnd { id: 3, how: EndKind::BadExport(found), .. }) =
            describe(&good.replace(change.0, change.1))
        else {
            panic!("{change:?}")
        };
        assert_eq!(found, message);
    }
    let getter = good.replace("{type: 'object'}", "{get type() { throw new Error('sly') }}");
    let FromWorker::End(ModuleEnd { how: EndKind::Threw(thrown), .. }) = describe(&getter) else {
        panic!()
    };
    assert_eq!((thrown.message.as_str(), thrown.place.map(|it| it.0)), ("sly", Some(1)));
    let huge = good.replace("'b'", "'b'.repeat(1e6)");
    assert!(matches!(
        describe(&huge),
        FromWorker::End(ModuleEnd { how: EndKind::Limit(EngineLimit::Result), .. })
    ));
}
