//! What a module finds around itself: `console`, and `ctx` with the functions that it may use.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use rquickjs::function::Rest;
use rquickjs::{Ctx, Error, Exception, Function, IntoJs, Object, Promise, Value};
use serde_json::value::RawValue;

use crate::host_uses::{UseError, UseKind};
use crate::module_clock::RunClock;
use crate::module_error::{cut, printed};
use crate::worker_line::{
    Console, ConsoleLevel, FromWorker, ModuleCall, ModuleUse, UseAnswer, UseOutcome,
};

/// The most bytes of the arguments of one use, as JSON.
pub(crate) const MAX_USE_BYTES: usize = 1 << 20;

/// The other side of a worker: whoever gives it tasks and answers the uses of its module.
pub(crate) trait ModuleHost {
    /// Waits for the next task. Without one, the engine is not needed any more.
    fn next_task(&self) -> Option<EngineTask>;

    /// Asks the host for a use, and waits for the answer. Without one, the host is gone.
    fn answer(&self, asked: ModuleUse) -> Option<UseAnswer>;

    /// Tells the host how the task ended.
    fn finish(&self, line: FromWorker);
}

/// What an engine is to do.
pub(crate) enum EngineTask {
    /// Run the top level, and tell the exports.
    Describe { id: u64, time_ms: u64 },
    /// Call `execute`.
    Call(ModuleCall),
}

/// What the module printed so far.
#[derive(Default)]
pub(crate) struct ConsoleTape {
    console: RefCell<Console>,
    length: Cell<usize>,
}

impl ConsoleTape {
    /// Returns what was printed.
    pub(crate) fn take(&self) -> Console {
        self.console.take()
    }

    fn add(&self, level: ConsoleLevel, text: &str, most_bytes: usize) {
        let mut console = self.console.borrow_mut();
        let room = most_bytes.saturating_sub(self.length.get());
        // A message costs a little beside its text, so that empty ones have an end too.
        self.length.set(self.length.get() + text.len() + 16);
        if console.is_cut || room == 0 {
            console.is_cut = true;
            return;
        }
        console.is_cut = text.len() > room;
        console.messages.push((level, cut(text, room)));
    }
}

/// Returns the object `console`, whose functions print to the tape.
pub(crate) fn console_object<'js>(
    ctx: &Ctx<'js>,
    tape: &Rc<ConsoleTape>,
    most_bytes: usize,
) -> Result<Object<'js>, Error> {
    let console = Object::new(ctx.clone())?;
    for level in ConsoleLevel::ALL {
        let tape = Rc::clone(tape);
        let print = move |ctx: Ctx<'js>, values: Rest<Value<'js>>| {
            let texts: Vec<String> = values.0.iter().map(|value| printed(&ctx, value)).collect();
            tape.add(level, &texts.join(" "), most_bytes);
        };
        console.set(level.as_str(), Function::new(ctx.clone(), print)?)?;
    }
    Ok(console)
}

/// The call that `ctx` belongs to.
pub(crate) struct UseScope {
    pub(crate) id: u64,
    pub(crate) host: Rc<dyn ModuleHost>,
    pub(crate) clock: Rc<RunClock>,
    /// The number of uses so far.
    pub(crate) count: Cell<u64>,
}

/// Returns the object `ctx`, which has exactly the functions that the call was given.
pub(crate) fn ctx_object<'js>(
    ctx: &Ctx<'js>,
    scope: &Rc<UseScope>,
    uses: &[UseKind],
) -> Result<Object<'js>, Error> {
    let object = Object::new(ctx.clone())?;
    for kind in uses.iter().copied() {
        let scope = Rc::clone(scope);
        let function =
            move |ctx: Ctx<'js>, args: Rest<Value<'js>>| scope.promise(&ctx, kind, &args.0);
        object.set(kind.as_str(), Function::new(ctx.clone(), function)?)?;
    }
    Ok(object)
}

impl UseScope {
    /// Returns a promise that is settled already: the worker has nothing else to do while the host works.
    fn promise<'js>(
        &self,
        ctx: &Ctx<'js>,
        kind: UseKind,
        args: &[Value<'js>],
    ) -> Result<Promise<'js>, Error> {
        let args = args_json(ctx, args)?;
        let outcome = match args {
            Some(args) => self.ask(kind, args).ok_or(Error::Unknown)?,
            None => UseOutcome::Error(UseError {
                code: "too_large".to_owned(),
                message: format!("the arguments are longer than {MAX_USE_BYTES} bytes"),
            }),
        };
        let (promise, resolve, reject) = ctx.promise()?;
        match outcome {
            UseOutcome::Value(value) => {
                resolve.call::<_, ()>((ctx.json_parse(value.get())?,))?;
            }
            UseOutcome::Error(error) => {
                let exception = Exception::from_message(ctx.clone(), &error.message)?;
                exception.as_object().set("code", error.code)?;
                reject.call::<_, ()>((exception.into_js(ctx)?,))?;
            }
        }
        Ok(promise)
    }

    fn ask(&self, kind: UseKind, args: Box<RawValue>) -> Option<UseOutcome> {
        let number = self.count.get() + 1;
        self.count.set(number);
        let answer = self.host.answer(ModuleUse { id: self.id, number, kind, args })?;
        self.clock.extend(Duration::from_millis(answer.more_ms));
        (answer.number == number).then_some(answer.outcome)
    }
}

/// Returns the arguments as a JSON array; nothing if they are too long.
fn args_json<'js>(ctx: &Ctx<'js>, args: &[Value<'js>]) -> Result<Option<Box<RawValue>>, Error> {
    let mut json = String::from("[");
    for arg in args {
        let text = match ctx.json_stringify(arg.clone())? {
            Some(text) => text.to_string()?,
            None => "null".to_owned(),
        };
        if json.len() + text.len() > MAX_USE_BYTES {
            return Ok(None);
        }
        if json.len() > 1 {
            json.push(',');
        }
        json.push_str(&text);
    }
    json.push(']');
    RawValue::from_string(json).map(Some).map_err(|_| Error::Unknown)
}
