//! What a shell command would run, as far as reading it can tell.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::program::{self, Fact, FileEffects};

/// A command, read twice: strictly, for what can be proven, and loosely, for what can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Everything that the command would do, if that can be proven; otherwise why not.
    pub proven: Result<Proven, Unproven>,
    /// The words of everything that looks like a command, at any depth, without their quotes.
    pub found: Vec<Vec<String>>,
    /// The files that the command would write, as they are spelt.
    pub writes: Vec<String>,
    /// The files that the command would remove or open to other users, as they are spelt.
    pub removes: Vec<String>,
    /// The files that redirections would read, as they are spelt.
    pub reads: Vec<String>,
    /// The variables that the command sets, each with its value as far as that is known.
    pub assigned: Vec<(String, String)>,
    /// The signs of an attack.
    pub dangers: Vec<Danger>,
}

/// What the strict reading proves.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Proven {
    /// Every program that the command runs, with exactly these words.
    pub steps: Vec<Step>,
    /// Every file that its redirections write.
    pub writes: Vec<String>,
    /// Whether words stand for files that are known only when the command runs. Only programs that only read have such
    /// words.
    pub has_wildcards: bool,
}

/// Why it is not certain what a command would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unproven {
    /// What stands in the way of a proof.
    pub kind: UnprovenKind,
    /// What stands in the way, in words for people.
    pub message: String,
}

/// What stands in the way of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnprovenKind {
    /// The command is in a language, or in a dialect of one, that Toolcrib does not read.
    Language,
    /// The command has more text than Toolcrib reads.
    Size,
    /// The command has a sign of an attack.
    Danger(Danger),
    /// The parser does not understand the text, or not all of it.
    Unparsed,
    /// The command has a construct of the language that the strict reading does not accept.
    Construct,
    /// A word is not literal: what it stands for is known only when the command runs.
    Word,
    /// It is not certain which file a redirection opens, or what opening it does.
    Redirect,
    /// A part of the command could lead around a rule about paths or hosts.
    Evasion,
}

impl Unproven {
    /// Returns a reason of this kind.
    pub fn new(kind: UnprovenKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }
}

impl From<Danger> for Unproven {
    fn from(danger: Danger) -> Self {
        Self::new(UnprovenKind::Danger(danger), danger.sentence())
    }
}

impl fmt::Display for Unproven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Unproven {}

/// One program that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Why its first words do not say what it does: further words make it run or write something.
    pub caveat: Option<String>,
    /// Whether files of another directory decide what it does, whatever its words are.
    pub is_elsewhere: bool,
    /// Whether its input comes from another program or a file.
    pub is_fed: bool,
    /// What it does to files beyond the words that name them.
    pub effects: FileEffects,
    /// Why it may do more than its words say although no word is the reason: settings that it reads name programs.
    /// The rules that come with Toolcrib do not allow such a step.
    pub doubt: Option<String>,
}

/// A sign of an attack: something that no good command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Danger {
    /// A function that starts itself twice.
    ForkBomb,
    /// Commands nested deeper than Toolcrib reads.
    TooDeep,
    /// More commands than Toolcrib reads.
    TooMany,
    /// More text, or more work, than Toolcrib spends on one command.
    TooLong,
    /// The output of a program is run by a shell.
    PipeToShell,
    /// The name of a program has letters that look like other letters.
    MixedScript,
}

impl Danger {
    /// Every danger.
    pub const ALL: [Self; 6] = [
        Self::ForkBomb,
        Self::TooDeep,
        Self::TooMany,
        Self::TooLong,
        Self::PipeToShell,
        Self::MixedScript,
    ];

    /// Returns the spelling in rules.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ForkBomb => "fork_bomb",
            Self::TooDeep => "too_deep",
            Self::TooMany => "too_many",
            Self::TooLong => "too_long",
            Self::PipeToShell => "pipe_to_shell",
            Self::MixedScript => "mixed_script",
        }
    }

    /// Reads the spelling in rules.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|danger| danger.as_str() == text)
    }

    /// Returns a sentence that says what was found, for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::ForkBomb => "a function keeps starting two copies of itself (a fork bomb)",
            Self::TooDeep => "commands are nested deeper than Toolcrib reads",
            Self::TooMany => "it has more commands than Toolcrib reads",
            Self::TooLong => "it is longer than Toolcrib reads",
            Self::PipeToShell => {
                "it pipes another program's output straight into a shell, and Toolcrib cannot see what would run"
            }
            Self::MixedScript => {
                "a program's name has characters outside ASCII, so it can look like the name of another program"
            }
        }
    }
}

impl Reading {
    /// Returns the reading of a command in a language that Toolcrib does not read: nothing is known of it.
    pub fn unread(language: &str) -> Self {
        Self {
            proven: Err(Unproven::new(
                UnprovenKind::Language,
                format!("Toolcrib does not read {language}"),
            )),
            found: Vec::new(),
            writes: Vec::new(),
            removes: Vec::new(),
            reads: Vec::new(),
            assigned: Vec::new(),
            dangers: Vec::new(),
        }
    }

    /// Records that the command starts in another directory than the workspace. Files that it finds there decide
    /// what some programs do.
    pub fn elsewhere(&mut self) {
        for step in self.proven.iter_mut().flat_map(|proven| &mut proven.steps) {
            step.elsewhere();
        }
    }

    /// Whether the command is proven to change nothing.
    pub fn is_read_only(&self) -> bool {
        let Ok(proven) = &self.proven else { return false };
        proven.steps.iter().all(Step::is_read_only)
            && proven.writes.is_empty()
            && self.writes.is_empty()
            && self.removes.is_empty()
    }

    /// Returns the reading as people are shown it.
    pub fn summary(&self) -> ReadingSummary {
        /// Further commands are only counted.
        const MOST_SHOWN_COMMANDS: usize = 20;
        let why = match &self.proven {
            Ok(proven) => {
                // The body of a loop can do the same several times.
                let mut seen = HashSet::new();
                let steps = proven.steps.iter().map(Step::shown);
                let runs = steps.filter(|shown| seen.insert(shown.clone())).collect();
                let writes = proven.writes.iter().map(|path| shown(path)).collect();
                return ReadingSummary { runs, more: 0, writes, uncertain: None };
            }
            Err(why) => why,
        };
        let found = self.found.iter().take(MOST_SHOWN_COMMANDS).map(|words| shown(&join(words)));
        // The first danger is the reason already.
        let others = self.dangers.iter().filter(|it| why.kind != UnprovenKind::Danger(**it));
        let others = others.map(|danger| danger.sentence().to_owned());
        ReadingSummary {
            runs: found.collect(),
            more: self.found.len().saturating_sub(MOST_SHOWN_COMMANDS),
            writes: Vec::new(),
            uncertain: Some(format!("{why}{}", listed("; ", others))),
        }
    }
}

/// What a command would do, as people are shown it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingSummary {
    /// The programs that it runs, each with its words and what to know about it, in backticks.
    pub runs: Vec<String>,
    /// How many more programs it probably runs.
    pub more: usize,
    /// The files that its redirections write, in backticks.
    pub writes: Vec<String>,
    /// Why the above is not certain, if so.
    pub uncertain: Option<String>,
}

impl fmt::Display for ReadingSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.runs.join(", ");
        let Some(why) = &self.uncertain else {
            return write!(f, "runs {runs}{}", listed(", writes ", self.writes.iter().cloned()));
        };
        if runs.is_empty() {
            f.write_str("runs something unknown")?;
        } else {
            write!(f, "probably runs {runs}")?;
        }
        if self.more > 0 {
            write!(f, " and {} more", self.more)?;
        }
        write!(f, " (not certain: {why})")
    }
}

impl Step {
    /// Records that the step runs in another directory than the workspace.
    pub fn elsewhere(&mut self) {
        let program = self.words.first().and_then(|name| program::find(name));
        let is_same = program.is_some_and(|it| it.is(Fact::ReadOnly) || it.is(Fact::SameAnywhere));
        self.is_elsewhere |= !is_same || self.caveat.is_some();
    }

    /// Whether the step only reads.
    fn is_read_only(&self) -> bool {
        let name = self.words.first().map_or("", String::as_str);
        program::is(name, Fact::ReadOnly) && self.caveat.is_none()
    }

    /// Returns why not even all words of the step say what it does: its input, or files of another directory, do.
    pub fn is_said_elsewhere(&self) -> Option<&'static str> {
        if self.is_elsewhere {
            return Some("files of another directory decide what it does");
        }
        (self.is_fed && self.caveat.is_some()).then_some("its input decides what it does")
    }

    fn shown(&self) -> String {
        let words = shown(&join(&self.words));
        let why = self.caveat.as_deref().or(self.is_said_elsewhere()).or(self.doubt.as_deref());
        match why {
            Some(why) => format!("{words} ({})", crate::escape::line(why)),
            None => words,
        }
    }
}

fn shown(text: &str) -> String {
    format!("`{}`", crate::escape::line(text))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// Returns the items behind a text, or nothing if there are none.
fn listed(before: &str, items: impl Iterator<Item = String>) -> String {
    let items = list(items);
    if items.is_empty() { items } else { format!("{before}{items}") }
}

/// Joins words into one text, each quoted where a shell would need it.
pub fn join(words: &[String]) -> String {
    let is_plain = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"_@%+=:,./-".contains(&byte))
    };
    let quoted = |word: &String| {
        if is_plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// A reader of shell commands.
pub trait ReadShell: Send + Sync {
    /// Returns what `command` would do.
    fn read(&self, command: &str) -> Reading;
}
