//! How a program's call failed, as the error of the call.

use std::time::Duration;

use serde_json::Value;
use toolcrib_core::command::{End, Limit};
use toolcrib_core::worker::WorkerEnd;
use toolcrib_core::{ErrorKind, ToolError, escape};

use crate::live_program::ProgramFault;

/// The longest text of a program that is told, in characters.
const MAX_TOLD_CHARS: usize = 2000;

/// What the words about a failure need to know of the call.
pub(crate) struct ProgramCallTerms<'a> {
    /// The tool's name.
    pub(crate) name: &'a str,
    /// The time that the call had.
    pub(crate) time: Duration,
    /// The most bytes of its result.
    pub(crate) result_bytes: usize,
}

impl ProgramCallTerms<'_> {
    /// Returns the error of a call whose program gave no answer. `printed` is what it printed to its standard error.
    pub(crate) fn error_of(&self, fault: &ProgramFault, printed: &str) -> ToolError {
        let name = self.name;
        let error = match fault {
            ProgramFault::Cancelled => {
                return ToolError::new(ErrorKind::Cancelled, "the call was cancelled");
            }
            ProgramFault::Silent => {
                let limit = u64::try_from(self.time.as_millis()).unwrap_or(u64::MAX);
                ToolError::new(ErrorKind::Timeout, format!("{name} ran longer than {limit} ms"))
                    .with("limit_ms", limit)
                    .hint("ask for less, or look at what the program waits for")
            }
            ProgramFault::TooLong => self.too_long(),
            ProgramFault::Misbehaved(what) => {
                let message = format!("the program of {name} misbehaved: {}", told(what));
                ToolError::new(ErrorKind::Failed, message)
                    .with("reason", "program_misbehaved")
                    .hint("the program was ended; another process serves the next call")
            }
            ProgramFault::Ended(end) => self.error_of_end(*end),
        };
        let printed = printed.trim();
        if printed.is_empty() { error } else { error.with("stderr", told(printed)) }
    }

    /// Returns the error of a result that is too long.
    pub(crate) fn too_long(&self) -> ToolError {
        let message =
            format!("the answer of {} is longer than {} bytes", self.name, self.result_bytes);
        ToolError::new(ErrorKind::OutputTooLarge, message)
            .with("limit_bytes", self.result_bytes as u64)
            .hint("ask for less, or let the program answer with less")
    }

    /// Returns the error that a program answered with.
    pub(crate) fn error_of_answer(&self, error: &Value) -> ToolError {
        let text = |name: &str| error[name].as_str().filter(|it| !it.is_empty()).map(told);
        let code = text("code").unwrap_or_else(|| "EXECUTION_ERROR".to_owned());
        let message = text("message").unwrap_or_else(|| "the program gave no message".to_owned());
        let kind = match code.as_str() {
            "VALIDATION_ERROR" => ErrorKind::BadArgs,
            _ => ErrorKind::Failed,
        };
        let told = ToolError::new(kind, format!("{}: {message}", self.name)).with("code", code);
        match &error["details"] {
            Value::Null => told,
            details => told.with("details", details.clone()),
        }
    }

    fn error_of_end(&self, end: Option<WorkerEnd>) -> ToolError {
        let name = self.name;
        if let Some(limit) = end.and_then(|end| end.limit) {
            let message = format!("the program of {name} reached its limit of {}", limit.as_str());
            let reason = if limit == Limit::Memory { "memory" } else { "program_limit" };
            return ToolError::new(ErrorKind::Failed, message)
                .with("reason", reason)
                .hint("ask for less, or let its manifest ask for more");
        }
        let how = match end.map(|end| end.end) {
            Some(End::Exited(code)) => format!("exited with code {code}"),
            Some(End::Signalled(signal)) => format!("was ended by signal {signal}"),
            Some(End::TimedOut | End::Limited | End::Killed) => "was killed".to_owned(),
            None => "went away".to_owned(),
        };
        let message = format!("the program of {name} {how}, and gave no answer");
        ToolError::new(ErrorKind::Failed, message)
            .with("reason", "program_ended")
            .hint("another process serves the next call; if it happens again, disable the plugin")
    }
}

fn told(text: &str) -> String {
    let text: String = text.chars().take(MAX_TOLD_CHARS).collect();
    escape::lines(&text).into_owned()
}
