//! How a module's run failed, as the error of its call or of its proposal.

use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::command::{End, Limit};
use toolcrib_core::worker::WorkerEnd;
use toolcrib_core::{ErrorKind, ToolError};

use crate::live_worker::WorkerFault;
use crate::plugin_error::{PluginError, PluginErrorKind};
use crate::worker_line::{Console, EndKind, EngineLimit, EngineLimits, Thrown};

/// What the words about a failure need to know of the run.
pub(crate) struct RunFacts<'a> {
    /// The name of the module's file.
    pub(crate) file: &'a str,
    /// The time that the run had.
    pub(crate) time: Duration,
    /// The most bytes of its result.
    pub(crate) result_bytes: usize,
    /// The limits of the engine.
    pub(crate) limits: EngineLimits,
}

impl RunFacts<'_> {
    /// Returns the error of a run that ended in any way but well.
    pub(crate) fn error_of_end(&self, how: &EndKind, console: &Console) -> ToolError {
        let error = match how {
            EndKind::Done(_) => ToolError::new(ErrorKind::Bug, "the run ended well"),
            EndKind::Threw(thrown) => self.error_of_thrown(thrown),
            EndKind::BadExport(message) => {
                let error = ToolError::new(ErrorKind::Failed, format!("{}: {message}", self.file));
                error.with("reason", "bad_export").hint("correct the module's exports")
            }
            EndKind::Limit(limit) => self.error_of_limit(*limit),
        };
        if console.messages.is_empty() {
            return error;
        }
        let lines: Vec<Value> = console
            .messages
            .iter()
            .map(|(level, text)| json!({"level": level.as_str(), "text": text}))
            .collect();
        let error = error.with("console", lines);
        if console.is_cut { error.with("console_is_cut", true) } else { error }
    }

    fn error_of_thrown(&self, thrown: &Thrown) -> ToolError {
        let what = match thrown.name.as_str() {
            "" => format!("the module threw `{}`", thrown.message),
            name => format!("{name}: {}", thrown.message),
        };
        let Some((line, column)) = thrown.place else {
            let error = ToolError::new(ErrorKind::Failed, format!("{}: {what}", self.file));
            return with_stack(error, thrown)
                .hint("correct the module, or call it with other arguments");
        };
        let message = format!("{}:{line}:{column}: {what}", self.file);
        let error = ToolError::new(ErrorKind::Failed, message).with("line", line);
        with_stack(error.with("column", column), thrown)
            .hint("correct the module at this line, or call it with other arguments")
    }

    fn error_of_limit(&self, limit: EngineLimit) -> ToolError {
        let file = self.file;
        let (reason, message, hint) = match limit {
            EngineLimit::Time => return self.timeout(),
            EngineLimit::Memory => (
                "memory",
                format!("{file} used more than {} bytes of memory", self.limits.memory),
                "let the module work on smaller parts, or raise `plugins.memory_bytes`",
            ),
            EngineLimit::MemoryOrNull => (
                "memory",
                format!(
                    "{file} threw `null`, which is also how it ends when its {} bytes of memory are used up",
                    self.limits.memory
                ),
                "let the module work on smaller parts and throw errors, or raise `plugins.memory_bytes`",
            ),
            EngineLimit::Stack => (
                "stack",
                format!("{file} used more than {} bytes of stack", self.limits.stack),
                "look for a function that calls itself without an end",
            ),
            EngineLimit::Result => {
                let message =
                    format!("the result of {file} is longer than {} bytes", self.result_bytes);
                return ToolError::new(ErrorKind::OutputTooLarge, message)
                    .with("limit_bytes", self.result_bytes as u64)
                    .hint("ask for less, or let the module return less");
            }
            EngineLimit::Depth => (
                "result_depth",
                format!(
                    "the result of {file} is nested deeper than {} levels",
                    toolcrib_core::json::MAX_DEPTH
                ),
                "let the module return a flatter result",
            ),
            EngineLimit::NeverSettles => (
                "never_settles",
                format!("{file} awaits a promise that nothing can settle any more"),
                "there are no timers in a module; await only what `ctx` returns or what the module settles itself",
            ),
        };
        ToolError::new(ErrorKind::Failed, message).with("reason", reason).hint(hint)
    }

    fn timeout(&self) -> ToolError {
        let limit = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
        let message = format!("{} ran longer than {limit} ms", self.file);
        ToolError::new(ErrorKind::Timeout, message)
            .with("limit_ms", limit)
            .hint("ask for less, or look for a loop without an end in the module")
    }

    /// Returns the error of a run whose worker gave no end.
    pub(crate) fn error_of_fault(&self, fault: &WorkerFault) -> ToolError {
        let file = self.file;
        match fault {
            WorkerFault::Silent => self.timeout(),
            WorkerFault::Cancelled => {
                ToolError::new(ErrorKind::Cancelled, "the call was cancelled")
            }
            WorkerFault::Misbehaved(what) => {
                let message = format!("the worker that ran {file} misbehaved: {what}");
                ToolError::new(ErrorKind::Failed, message)
                    .with("reason", "worker_misbehaved")
                    .hint("the worker was replaced; if it happens again, disable the plugin")
            }
            WorkerFault::Ended(end) => self.error_of_worker_end(*end),
        }
    }

    fn error_of_worker_end(&self, end: Option<WorkerEnd>) -> ToolError {
        let file = self.file;
        if let Some(limit) = end.and_then(|end| end.limit) {
            let message =
                format!("the worker that ran {file} reached its limit of {}", limit.as_str());
            let reason = if limit == Limit::Memory { "memory" } else { "worker_limit" };
            return ToolError::new(ErrorKind::Failed, message)
                .with("reason", reason)
                .hint("let the module work on smaller parts");
        }
        let how = match end.map(|end| end.end) {
            Some(End::Exited(code)) => format!("exited with code {code}"),
            Some(End::Signalled(signal)) => format!("was ended by signal {signal}"),
            Some(End::TimedOut | End::Limited | End::Killed) => "was killed".to_owned(),
            None => "went away".to_owned(),
        };
        ToolError::new(ErrorKind::Failed, format!("the worker that ran {file} {how}"))
            .with("reason", "worker_ended")
            .hint("another worker serves the next call; if it happens again, disable the plugin")
    }
}

/// Returns why a module cannot be described.
pub(crate) fn plugin_error(error: ToolError) -> PluginError {
    let number = |name: &str| {
        error.context.get(name).and_then(Value::as_u64).and_then(|it| u32::try_from(it).ok())
    };
    let place = number("line").zip(number("column"));
    let kind = match error.kind {
        ErrorKind::OutputTooLarge => PluginErrorKind::TooLarge,
        ErrorKind::Cancelled | ErrorKind::Unavailable => PluginErrorKind::Busy,
        _ => PluginErrorKind::BadModule,
    };
    let told = PluginError::new(kind, error.message).at(place);
    told.hint("correct the module, and propose it again")
}

fn with_stack(error: ToolError, thrown: &Thrown) -> ToolError {
    let error = error.with("reason", "threw").with("error", thrown.name.as_str());
    if thrown.stack.is_empty() { error } else { error.with("stack", thrown.stack.as_str()) }
}

/// Returns the error of a call for which there is no worker.
pub(crate) fn no_worker(kind: ErrorKind, why: &str) -> ToolError {
    ToolError::new(kind, format!("no module worker is free, {why}"))
        .with("reason", "no_worker")
        .hint("try again, or raise `plugins.workers`")
}
