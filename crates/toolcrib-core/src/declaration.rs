//! A tool as data: what it is called, what it may do, how much it may take, and examples that are
//! its documentation and its tests.

use crate::policy::Tier;

/// Everything about a tool that is not code.
#[derive(Debug)]
pub struct Declaration {
    /// The name on the wire, as the contract spells it.
    pub name: &'static str,
    /// One sentence on what it does, ending in `Returns: {…}`.
    pub summary: &'static str,
    /// How much harm it could do.
    pub tier: Tier,
    /// What it does to the world.
    pub effect: Effect,
    /// How much it may take.
    pub limits: Limits,
    /// Calls with their replies. All of them are run as tests.
    pub examples: &'static [Example],
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Computes in no time; touches nothing.
    None,
    /// Computes, and may take its time; touches nothing.
    Compute,
    /// Reads.
    Read,
    /// Changes files.
    Write,
}

impl Effect {
    /// The spelling on wires and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None | Self::Compute => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// How much one call of a tool may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Milliseconds from its start to its end, the time a person takes to answer not counted.
    pub deadline_ms: u64,
    /// Bytes of its reply as JSON.
    pub output_bytes: usize,
}

impl Limits {
    /// Half a minute and a quarter of a megabyte.
    pub const DEFAULT: Self = Self { deadline_ms: 30_000, output_bytes: 256 << 10 };
}

/// One call and what came of it.
#[derive(Debug)]
pub struct Example {
    /// What it shows, in a sentence.
    pub about: &'static str,
    /// The files that are there before, by path. A path that ends in `/` is a directory.
    pub files: &'static [(&'static str, &'static str)],
    /// Calls made before it in the same session, each with its arguments. In what comes after them,
    /// `$task_id` stands for the task that the first one started.
    pub before: &'static [(&'static str, &'static str)],
    /// The arguments, as JSON.
    pub args: &'static str,
    /// The catalogue's reply, as JSON. Times are 0, and `"*"` stands for any value.
    pub reply: &'static str,
    /// Files that are there after, by path.
    pub leaves: &'static [(&'static str, &'static str)],
}
