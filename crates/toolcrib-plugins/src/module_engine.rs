//! The JavaScript engine for one run of a module: a `QuickJS` runtime of its own, without files, processes or network,
//! within limits of time, memory and stack.

use std::cell::Cell;
use std::fmt::Write;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::context::intrinsic;
use rquickjs::module::{Declared, Evaluated};
use rquickjs::promise::PromiseState;
use rquickjs::{Context, Ctx, Error, Function, Module, Promise, Runtime, Value};
use serde_json::value::RawValue;
use toolcrib_core::json;

use crate::module_clock::RunClock;
use crate::module_ctx::{
    ConsoleTape, EngineTask, ModuleHost, UseScope, console_object, ctx_object,
};
use crate::module_error::RunPlace;
use crate::worker_line::{EndKind, EngineLimit, FromWorker, ModuleCall, ModuleEnd, ModuleLoad};

/// The exports of a module that are data.
const DATA_EXPORTS: [&str; 7] =
    ["name", "description", "parameters", "output", "securityTier", "permissions", "examples"];

/// The exports without which a module is no tool.
const NEEDED_EXPORTS: [&str; 4] = ["name", "description", "parameters", "execute"];

/// The most bytes of all exports together, as JSON.
const MAX_EXPORT_BYTES: usize = 512 << 10;

/// What the language itself has: no clock finer than milliseconds, and nothing of a host.
type Language = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
    intrinsic::WeakRef,
);

/// Whether a worker goes on after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterRun {
    /// Another run may follow.
    GoOn,
    /// There was no task, or the host is gone.
    NoTask,
}

/// Makes an engine, parses the module, waits for a task and does it. Then the engine is gone, and with it all that the
/// module changed. The engine is made before the task comes, and goes after the end was told: both take longer than most
/// calls.
pub(crate) fn run_once(load: &ModuleLoad, host: &Rc<dyn ModuleHost>) -> AfterRun {
    let clock = Rc::new(RunClock::default());
    let tape = Rc::new(ConsoleTape::default());
    let made = Runtime::new().and_then(|runtime| {
        Context::custom::<Language>(&runtime).map(|context| (runtime, context))
    });
    let Ok((runtime, context)) = made else {
        let Some(task) = host.next_task() else { return AfterRun::NoTask };
        let how = EndKind::Limit(EngineLimit::Memory);
        let (id, console) = (task_id(&task), tape.take());
        host.finish(FromWorker::End(ModuleEnd { id, how, console, cpu_us: 0 }));
        return AfterRun::GoOn;
    };
    // Only now, because a context that cannot get memory while it is made is half made.
    runtime.set_memory_limit(load.limits.memory);
    runtime.set_max_stack_size(load.limits.stack);
    let asked = Rc::clone(&clock);
    runtime.set_interrupt_handler(Some(Box::new(move || asked.is_over())));
    context.with(|ctx| {
        let run = EngineRun { ctx: &ctx, load, host, clock: &clock };
        let prepared = run.prepare(&tape);
        let Some(task) = host.next_task() else { return AfterRun::NoTask };
        let line = run.line_for(task, prepared, &tape);
        host.finish(line);
        AfterRun::GoOn
    })
}

fn task_id(task: &EngineTask) -> u64 {
    match task {
        EngineTask::Describe { id, .. } => *id,
        EngineTask::Call(call) => call.id,
    }
}

/// One run of a module in one engine.
struct EngineRun<'a, 'js> {
    ctx: &'a Ctx<'js>,
    load: &'a ModuleLoad,
    host: &'a Rc<dyn ModuleHost>,
    clock: &'a Rc<RunClock>,
}

impl<'js> EngineRun<'_, 'js> {
    /// Parses the module. None of its code runs.
    fn prepare(&self, tape: &Rc<ConsoleTape>) -> Result<Module<'js, Declared>, EndKind> {
        let ModuleLoad { file, source, limits } = self.load;
        let module = console_object(self.ctx, tape, limits.console)
            .and_then(|console| self.ctx.globals().set("console", console))
            .and_then(|()| Module::declare(self.ctx.clone(), file.as_str(), source.as_str()));
        module.map_err(|error| self.end_of(error))
    }

    fn line_for(
        &self,
        task: EngineTask,
        module: Result<Module<'js, Declared>, EndKind>,
        tape: &ConsoleTape,
    ) -> FromWorker {
        let id = task_id(&task);
        let how = match task {
            EngineTask::Describe { time_ms, .. } => {
                self.clock.start(Duration::from_millis(time_ms));
                match module.and_then(|module| self.describe(module)) {
                    Ok(exports) => return FromWorker::Described { id, exports },
                    Err(how) => how,
                }
            }
            EngineTask::Call(call) => {
                self.clock.start(Duration::from_millis(call.time_ms));
                match module.and_then(|module| self.call(module, &call)) {
                    Ok(result) => EndKind::Done(result),
                    Err(how) => how,
                }
            }
        };
        FromWorker::End(ModuleEnd { id, how, console: tape.take(), cpu_us: 0 })
    }

    /// Runs the top level, and returns the exports that are data.
    fn describe(&self, module: Module<'js, Declared>) -> Result<Box<RawValue>, EndKind> {
        let module = self.evaluate(module)?;
        let mut missing: Vec<String> = Vec::new();
        for name in NEEDED_EXPORTS {
            if self.export(&module, name)?.is_undefined() {
                missing.push(format!("`{name}`"));
            }
        }
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Err(EndKind::BadExport(format!("the module does not export {missing}")));
        }
        let exported = self.export(&module, "execute")?;
        if !exported.is_function() {
            return Err(EndKind::BadExport(format!(
                "`execute` must be a function, and is {}",
                kind_of(&exported)
            )));
        }
        let mut json = String::from("{");
        for name in DATA_EXPORTS {
            let value = self.export(&module, name)?;
            if value.is_undefined() {
                continue;
            }
            let text = self.json_of(&value, MAX_EXPORT_BYTES)?.ok_or_else(|| {
                EndKind::BadExport(format!("`{name}` must be data, and is {}", kind_of(&value)))
            })?;
            if json.len() > 1 {
                json.push(',');
            }
            let _ = write!(json, "\"{name}\":{}", text.get());
        }
        json.push('}');
        if json.len() > MAX_EXPORT_BYTES {
            return Err(EndKind::Limit(EngineLimit::Result));
        }
        RawValue::from_string(json).map_err(|_| EndKind::Limit(EngineLimit::Depth))
    }

    /// Runs the top level, calls `execute`, and returns what it returned as JSON.
    fn call(
        &self,
        module: Module<'js, Declared>,
        call: &ModuleCall,
    ) -> Result<Box<RawValue>, EndKind> {
        let module = self.evaluate(module)?;
        let execute = self.export(&module, "execute")?;
        let kind = kind_of(&execute);
        let execute = execute.into_function().ok_or_else(|| {
            EndKind::BadExport(format!("`execute` must be a function, and is {kind}"))
        })?;
        let returned = self.start(&execute, call).map_err(|error| self.end_of(error))?;
        let result = self.settled(&returned)?;
        match self.json_of(&result, call.result)? {
            Some(json) => Ok(json),
            // `undefined`, a function or a symbol: JSON knows none of them.
            None => RawValue::from_string("null".to_owned())
                .map_err(|_| EndKind::Limit(EngineLimit::Result)),
        }
    }

    fn start(&self, execute: &Function<'js>, call: &ModuleCall) -> Result<Promise<'js>, Error> {
        let scope = UseScope {
            id: call.id,
            host: Rc::clone(self.host),
            clock: Rc::clone(self.clock),
            count: Cell::new(0),
        };
        let args = self.ctx.json_parse(call.args.get())?;
        let ctx = ctx_object(self.ctx, &Rc::new(scope), &call.uses)?;
        let returned: Value<'js> = execute.call((args, ctx))?;
        if let Some(promise) = returned.as_promise() {
            return Ok(promise.clone());
        }
        let (promise, resolve, _) = self.ctx.promise()?;
        resolve.call::<_, ()>((returned,))?;
        Ok(promise)
    }

    fn evaluate(&self, module: Module<'js, Declared>) -> Result<Module<'js, Evaluated>, EndKind> {
        let (module, promise) = module.eval().map_err(|error| self.end_of(error))?;
        self.settled(&promise)?;
        Ok(module)
    }

    /// Runs the jobs of the engine until the promise is settled. If no job is left before, nothing can settle it: there
    /// are no timers, and every use of `ctx` is answered at once.
    fn settled(&self, promise: &Promise<'js>) -> Result<Value<'js>, EndKind> {
        loop {
            if self.clock.is_over() {
                return Err(EndKind::Limit(EngineLimit::Time));
            }
            match promise.state() {
                PromiseState::Pending if self.ctx.execute_pending_job() => {}
                PromiseState::Pending if self.clock.is_over() => {}
                PromiseState::Pending => return Err(EndKind::Limit(EngineLimit::NeverSettles)),
                PromiseState::Resolved | PromiseState::Rejected => {
                    let result = promise.result().unwrap_or(Err(Error::WouldBlock));
                    return result.map_err(|error| self.end_of(error));
                }
            }
        }
    }

    fn export(&self, module: &Module<'js, Evaluated>, name: &str) -> Result<Value<'js>, EndKind> {
        module.get(name).map_err(|error| self.end_of(error))
    }

    /// Returns a value as JSON, by the engine's own function, whatever the module did to `JSON`. There is none for a
    /// function, a symbol and `undefined`.
    fn json_of(
        &self,
        value: &Value<'js>,
        most_bytes: usize,
    ) -> Result<Option<Box<RawValue>>, EndKind> {
        let text = self.ctx.json_stringify(value.clone()).map_err(|error| self.end_of(error))?;
        let Some(text) = text else { return Ok(None) };
        let text = text.to_cstring().map_err(|error| self.end_of(error))?;
        if text.len() > most_bytes {
            return Err(EndKind::Limit(EngineLimit::Result));
        }
        if depth_of(text.as_str()) > json::MAX_DEPTH {
            return Err(EndKind::Limit(EngineLimit::Depth));
        }
        let raw = RawValue::from_string(text.as_str().to_owned());
        raw.map(Some).map_err(|_| EndKind::Limit(EngineLimit::Depth))
    }

    fn end_of(&self, error: Error) -> EndKind {
        RunPlace { file: &self.load.file, clock: self.clock }.end_of(self.ctx, error)
    }
}

/// Returns the deepest nesting of a JSON text.
fn depth_of(json: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let mut is_text = false;
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' if is_text => {
                bytes.next();
            }
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns what a value is, with its article.
fn kind_of(value: &Value<'_>) -> &'static str {
    match value.type_name() {
        "undefined" | "uninitialized" => "missing",
        "null" => "null",
        "bool" => "a boolean",
        "int" | "float" => "a number",
        "string" => "a text",
        "symbol" => "a symbol",
        "array" => "an array",
        "function" | "constructor" => "a function",
        "promise" => "a promise",
        "bigint" | "big_int" => "a BigInt",
        _ => "an object",
    }
}

#[cfg(test)]
mod tests;
