//! A tool's declaration: its name, its effect, its limits, and examples that serve as documentation
//! and as tests.

use crate::limits::Limits;
use crate::policy::Tier;

/// A tool as data: everything about it that is not code.
#[derive(Debug)]
pub struct Declaration {
    /// The tool's name on the wire, as the contract spells it.
    pub name: &'static str,
    /// What the tool does, in a sentence or two that end in `Returns: {…}`.
    pub summary: &'static str,
    /// How much harm the tool could do.
    pub tier: Tier,
    /// What the tool does to the world.
    pub effect: Effect,
    /// How much time and output one call may take.
    pub limits: Limits,
    /// Calls with their replies. Tests run all of them.
    pub examples: &'static [Example<'static>],
}

impl Declaration {
    /// Returns what compiled and loaded tools declare alike.
    pub fn declared(&self) -> Declared<'_> {
        let Self { name, summary, tier, effect, limits, examples: _ } = *self;
        Declared { name, summary, tier, effect, limits }
    }
}

/// What every tool declares, compiled or loaded.
#[derive(Clone, Copy, Debug)]
pub struct Declared<'a> {
    /// The tool's name on the wire.
    pub name: &'a str,
    /// What the tool does.
    pub summary: &'a str,
    /// How much harm the tool could do.
    pub tier: Tier,
    /// What the tool does to the world.
    pub effect: Effect,
    /// How much time and output one call may take.
    pub limits: Limits,
}

impl Declared<'_> {
    /// Returns the tool's name as people are shown it: `read_file` is `Read file`.
    pub fn title(&self) -> String {
        let words = self.name.replace('_', " ");
        let mut chars = words.chars();
        chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
    }
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Computes at once, without files or commands. It runs on the caller's thread.
    None,
    /// Computes, perhaps for long, without files or commands. It runs on a thread of its own.
    Compute,
    /// Reads files.
    Read,
    /// Changes files or runs commands.
    Write,
}

impl Effect {
    /// Returns the effect as it is spelt on wires and in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None | Self::Compute => "none",
            Self::Read => "read",
            Self::Write => "write",
        }
    }
}

/// A call and its reply.
#[derive(Clone, Copy, Debug)]
pub struct Example<'a> {
    /// What the example shows, in a sentence.
    pub about: &'a str,
    /// The files that exist before the call, by path. A path that ends in `/` is a directory.
    pub files: &'a [(&'a str, &'a str)],
    /// Calls made earlier in the same session, each with its arguments. In later arguments,
    /// `$task_id` stands for the task that the first call started.
    pub before: &'a [(&'a str, &'a str)],
    /// The arguments, as JSON.
    pub args: &'a str,
    /// The reply in the catalogue's format, as JSON. Times are 0, and `"*"` stands for any value.
    pub reply: &'a str,
    /// Files that exist after the call, by path.
    pub leaves: &'a [(&'a str, &'a str)],
}
