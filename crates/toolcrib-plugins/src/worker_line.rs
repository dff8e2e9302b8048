//! The lines between Toolcrib and a module worker: one JSON object each. The host counts the ids.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::host_uses::{UseError, UseKind};

/// The version of these lines. A worker of another version is an older or newer program.
pub(crate) const PROTOCOL: u32 = 1;

/// What Toolcrib tells a worker.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToWorker {
    /// The module that the worker serves from now on. Faults in it are told when it first runs.
    Load(ModuleLoad),
    /// Run the module's top level, and tell its exports.
    Describe { id: u64, time_ms: u64 },
    /// Run the module in a fresh engine, and call `execute`.
    Call(ModuleCall),
    /// The answer to a use of `ctx`.
    Answer(UseAnswer),
}

/// A module and its limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ModuleLoad {
    /// The name of its file, as errors tell it.
    pub(crate) file: String,
    /// Its source.
    pub(crate) source: String,
    /// Its limits.
    pub(crate) limits: EngineLimits,
}

/// The limits of one run of a module.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct EngineLimits {
    /// The most bytes of memory.
    pub(crate) memory: usize,
    /// The most bytes of stack.
    pub(crate) stack: usize,
    /// The most bytes that it prints to its console. What follows is cut.
    pub(crate) console: usize,
}

/// A call of the module's `execute`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ModuleCall {
    pub(crate) id: u64,
    /// The arguments.
    pub(crate) args: Box<RawValue>,
    /// The most time that it takes.
    pub(crate) time_ms: u64,
    /// The most bytes of its result as JSON.
    pub(crate) result: usize,
    /// The functions that `ctx` has.
    pub(crate) uses: Vec<UseKind>,
}

/// The answer to one use.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct UseAnswer {
    /// The number of the use.
    pub(crate) number: u64,
    /// The time that people took for it, which does not count as the module's.
    pub(crate) more_ms: u64,
    /// The value, or why there is none.
    pub(crate) outcome: UseOutcome,
}

/// What a use gave.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UseOutcome {
    Value(Box<RawValue>),
    Error(UseError),
}

/// What a worker tells Toolcrib.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromWorker {
    /// The worker is up.
    Ready { protocol: u32 },
    /// The module's exports, as an object.
    Described { id: u64, exports: Box<RawValue> },
    /// The module uses a function of `ctx`. The worker waits for the answer.
    Use(ModuleUse),
    /// The call ended. There is one end for each call.
    End(ModuleEnd),
}

/// A use of a function of `ctx`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ModuleUse {
    /// The id of the call.
    pub(crate) id: u64,
    /// The number of the use in this call, from 1.
    pub(crate) number: u64,
    /// The function.
    pub(crate) kind: UseKind,
    /// Its arguments, as an array.
    pub(crate) args: Box<RawValue>,
}

/// How a call ended, and what the module printed.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ModuleEnd {
    /// The id of the call.
    pub(crate) id: u64,
    /// How it ended.
    pub(crate) how: EndKind,
    /// What the module printed.
    #[serde(default)]
    pub(crate) console: Console,
    /// The processor time of the worker since the end of the call before, in microseconds.
    #[serde(default)]
    pub(crate) cpu_us: u64,
}

/// How a call ended.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EndKind {
    /// Well, with this result.
    Done(Box<RawValue>),
    /// The module threw something, or could not be parsed.
    Threw(Thrown),
    /// An export is missing or has a wrong type.
    BadExport(String),
    /// The call reached a limit.
    Limit(EngineLimit),
}

/// What a module printed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Console {
    /// The level and the text of each message.
    pub(crate) messages: Vec<(ConsoleLevel, String)>,
    /// Whether more was printed than is kept.
    pub(crate) is_cut: bool,
}

/// The function of `console` that a module printed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ConsoleLevel {
    Debug,
    Log,
    Info,
    Warn,
    Error,
}

impl ConsoleLevel {
    /// Every level.
    pub(crate) const ALL: [Self; 5] = [Self::Debug, Self::Log, Self::Info, Self::Warn, Self::Error];

    /// Returns the name of the function.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Log => "log",
            Self::Info => "info",
            Self::Warn => "warn",
            Self::Error => "error",
        }
    }
}

/// What a module threw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Thrown {
    /// The name of the error, such as `TypeError`.
    pub(crate) name: String,
    /// Its message.
    pub(crate) message: String,
    /// The line and the column in the module, from 1.
    pub(crate) place: Option<(u32, u32)>,
    /// The stack, as the engine or the module wrote it.
    pub(crate) stack: String,
}

/// A limit of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EngineLimit {
    /// The time.
    Time,
    /// The memory.
    Memory,
    /// The memory, unless the module threw `null`: the engine does so too if it has no memory left for an error.
    MemoryOrNull,
    /// The stack.
    Stack,
    /// The size of the result.
    Result,
    /// The nesting of the result.
    Depth,
    /// A promise was awaited that nothing can settle any more.
    NeverSettles,
}
