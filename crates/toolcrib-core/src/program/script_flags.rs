//! How an interpreter takes its code: as a file, as a module, or in its words.

use super::arguments::ValueFlags;

/// How an interpreter takes its code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptFlags {
    /// Its flags that take a value.
    pub values: ValueFlags,
    /// The letters of its short flags whose value, if they have one, is the rest of the word.
    pub attached: &'static str,
    /// Those of them whose value is a file of code, short ones as a letter.
    pub files: &'static [&'static str],
    /// Those of them whose value is the code itself, so that no operand is a script, short ones as a letter.
    pub inline: &'static [&'static str],
    /// The flag whose value is the name of a module, as a letter.
    pub module: &'static str,
    /// What it adds to a name that is no file: `node run` runs `run.js`.
    pub endings: &'static [&'static str],
    /// Whether the first operand is a script, unless a flag gives the code.
    pub operands: ScriptOperands,
}

/// What the operands of an interpreter are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptOperands {
    /// The first is a script, and the others are its arguments.
    FirstIsScript,
    /// Any word, or a part of one, could name a script.
    AnyIsScript,
    /// Each is a folder whose files are all run.
    Folders,
    /// All are data.
    Data,
}

impl ScriptFlags {
    /// Its flags are not known.
    pub(super) const UNKNOWN: Self = Self {
        values: ValueFlags::NONE,
        attached: "",
        files: &[],
        inline: &[],
        module: "",
        endings: &[],
        operands: ScriptOperands::FirstIsScript,
    };
    /// It runs files of code, and it is not known which of its words name them.
    pub(super) const ANY: Self = Self { operands: ScriptOperands::AnyIsScript, ..Self::UNKNOWN };
}
