//! One rule: which calls it applies to, and what it does with them.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Door, Role};
use crate::command_reading::{Danger, Reading, Step};
use crate::program::{self, Fact, base_name};
use crate::runs_later::{LaterReader, RunsLater};
use crate::tool_name::ToolName;

use super::pattern::{PathGlob, Pattern};
use super::subject::Subject;

/// What a rule does with the calls that it applies to. The order is severity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RuleEffect {
    /// The record names the rule, and nothing else happens.
    Audit,
    /// The calls run without a question.
    Allow,
    /// The calls run if a person says yes.
    Ask,
    /// The calls do not run.
    Deny,
}

impl RuleEffect {
    /// Every effect.
    pub const ALL: [Self; 4] = [Self::Audit, Self::Allow, Self::Ask, Self::Deny];

    /// Returns the spelling in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Reads the spelling in files.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|effect| effect.as_str() == text)
    }
}

/// Who wrote a rule, and so what it can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The rule comes with Toolcrib. It can allow what would be asked about, not what would be refused.
    Shipped,
    /// The rule is in the machine's file or the user's. It can allow anything.
    Operator,
    /// The rule is in the project's file. It can only tighten.
    Project,
    /// The rule is a person's "always". It can allow what would be asked about.
    Grant,
}

/// Where a rule is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as people would find it.
    pub file: String,
    /// The line on which the rule begins.
    pub line: usize,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// The name of the rule.
    pub id: String,
    /// Where the rule is written.
    pub source: Source,
    /// Who wrote the rule.
    pub layer: Layer,
    /// Catalogues, tools or `catalogue/tool`; empty for all.
    pub tools: Vec<String>,
    /// Whose calls it applies to.
    pub callers: Callers,
    /// Which calls of those tools it applies to.
    pub when: When,
    /// What it does with those calls.
    pub effect: RuleEffect,
    /// Why, in words for the person or agent that the rule stops.
    pub because: String,
    /// When the rule ends.
    pub expires: Option<Timestamp>,
    /// Whether an agent first has to confirm that it means the call.
    pub confirm: bool,
    /// The lines of the file that the rule is written in; empty if it is written in none.
    pub text: String,
}

/// Whose calls a rule applies to. All conditions that are given must hold; without one, it is everybody's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Callers {
    /// The names of principals.
    pub principals: Vec<String>,
    /// The roles of principals.
    pub roles: Vec<Role>,
    /// The doors.
    pub doors: Vec<Door>,
}

impl Callers {
    /// Whether it is everybody.
    pub fn is_everybody(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a caller is among them.
    pub fn include(&self, caller: &Caller) -> bool {
        self.include_principal(caller) && self.has_door(caller.door)
    }

    /// Whether a caller is among them, or makes its call for one at another door that is.
    pub fn include_origin(&self, caller: &Caller) -> bool {
        self.include_principal(caller)
            && (self.has_door(caller.door) || caller.via.is_some_and(|door| self.has_door(door)))
    }

    fn include_principal(&self, caller: &Caller) -> bool {
        let principal = &caller.principal;
        (self.principals.is_empty() || self.principals.contains(&principal.name))
            && (self.roles.is_empty() || self.roles.contains(&principal.role))
    }

    fn has_door(&self, door: Door) -> bool {
        self.doors.is_empty() || self.doors.contains(&door)
    }
}

/// The conditions of a rule. All conditions that are given must hold.
#[derive(Clone, Debug, Default)]
pub struct When {
    /// The first words of a command, each with the words it may be.
    pub argv: Option<Vec<Vec<String>>>,
    /// Whether those are all words of the command.
    pub exact: bool,
    /// All words of a command as one text.
    pub words: Option<Pattern>,
    /// The dangers of a command.
    pub dangers: Vec<Danger>,
    /// Paths that are read or written.
    pub paths: Vec<PathGlob>,
    /// Paths that are written.
    pub writes: Vec<PathGlob>,
    /// Hosts that are reached.
    pub hosts: Vec<String>,
    /// The arguments as canonical text.
    pub args: Option<Pattern>,
    /// The arguments as canonical text, to the letter.
    pub call: Option<String>,
    /// Calls that do nothing but change the text of files below this folder. Only grants have it.
    pub edits_below: Option<String>,
    /// File tools that write what programs of this kind run on their own.
    pub runs_later: Option<LaterReader>,
}

impl When {
    /// Whether a condition is about what a command runs.
    pub fn is_about_commands(&self) -> bool {
        self.argv.is_some() || self.words.is_some() || !self.dangers.is_empty()
    }

    /// Whether a condition is about paths.
    pub fn is_about_paths(&self) -> bool {
        !self.paths.is_empty() || !self.writes.is_empty()
    }

    /// Whether all conditions are about the words of commands.
    pub(super) fn is_about_words_alone(&self) -> bool {
        let is_about_words = self.argv.is_some() || self.words.is_some();
        let is_about_rest = self.is_about_paths() || !self.hosts.is_empty();
        is_about_words
            && self.dangers.is_empty()
            && !is_about_rest
            && self.args.is_none()
            && self.call.is_none()
            && self.edits_below.is_none()
            && self.runs_later.is_none()
    }
}

impl When {
    /// Whether a command has the words of `argv`, in one of its spellings.
    fn has_argv(&self, words: &[String]) -> bool {
        let Some((first, rest)) = self.argv.as_deref().and_then(<[_]>::split_first) else {
            return true;
        };
        let is_first = |name: &str| first.iter().any(|either| either == name);
        spellings(words).any(|(name, words)| {
            let has_no_more = !self.exact || words.len() == rest.len();
            is_first(name) && begins_with(words, rest) && has_no_more
        })
    }
}

impl Rule {
    /// Whether the rule is about this tool.
    pub fn is_about(&self, tool: &ToolName) -> bool {
        if self.tools.is_empty() {
            return true;
        }
        let groups = tool.groups();
        self.tools.iter().any(|group| groups.contains(&group.as_str()))
    }

    /// Whether the rule applies to any part of a call. For rules that tighten, one part is enough.
    pub fn applies_to(&self, subject: &Subject<'_>) -> bool {
        let when = &self.when;
        let command = match subject.reading {
            Some(reading) => self.finds(reading),
            None => !when.is_about_commands(),
        };
        let paths = || {
            let any = |globs: &[PathGlob], paths: &[String]| {
                paths.iter().any(|path| {
                    // A workspace inside a system folder counts as a workspace.
                    let is_own = self.layer == Layer::Shipped && subject.is_below_root(path);
                    let spellings = subject.spellings(path).skip(usize::from(is_own));
                    spellings.into_iter().any(|it| matches_any(globs, it))
                })
            };
            let gone = subject.reading.map_or(&[][..], |reading| &reading.removes);
            let takes_along = gone.iter().flat_map(|path| subject.spellings(path)).any(|path| {
                let globs = when.paths.iter().chain(&when.writes);
                self.layer != Layer::Shipped && globs.into_iter().any(|glob| glob.is_below(path))
            });
            takes_along
                || any(&when.paths, subject.reads)
                || any(&when.paths, subject.writes)
                || any(&when.writes, subject.writes)
        };
        command
            && (!when.is_about_paths() || paths())
            && (when.hosts.is_empty() || subject.hosts.iter().any(|host| self.has_host(host)))
            && self.has_args(subject)
            && when.runs_later.is_none_or(|reader| written_to_run(subject, reader).is_some())
    }

    /// Returns why the rule asks about a call.
    pub(super) fn reason(&self, subject: &Subject<'_>) -> String {
        let found = self.when.runs_later.and_then(|reader| written_to_run(subject, reader));
        found.map_or_else(|| self.because.clone(), |(path, row)| row.reason(path))
    }

    fn has_args(&self, subject: &Subject<'_>) -> bool {
        self.when.args.as_ref().is_none_or(|args| args.is_match(subject.canonical))
            && self.when.call.as_ref().is_none_or(|call| is_same_call(call, subject.canonical))
    }

    /// Whether the conditions hold for a command, or for one within it.
    pub(super) fn finds(&self, reading: &Reading) -> bool {
        let when = &self.when;
        let found = || reading.found.iter();
        (when.argv.is_none() || found().any(|words| when.has_argv(words)))
            && when.words.as_ref().is_none_or(|it| found().any(|words| is_spelt_as(words, it)))
            && (when.dangers.is_empty()
                || when.dangers.iter().any(|it| reading.dangers.contains(it)))
    }

    /// Whether the rule applies to one step of a command.
    pub(super) fn applies_to_step(&self, step: &Step) -> bool {
        let when = &self.when;
        when.is_about_commands()
            && when.dangers.is_empty()
            && when.has_argv(&step.words)
            && when.words.as_ref().is_none_or(|words| is_spelt_as(&step.words, words))
    }

    /// Whether the rule allows a call as a whole: every path, every host, the arguments. A pattern on the text of a
    /// command, or the files that it names, do not say what the command does.
    pub fn allows(&self, subject: &Subject<'_>) -> bool {
        let when = &self.when;
        let has_command = subject.reading.is_some();
        let is_about_part = when.is_about_paths() || when.args.is_some() || !when.hosts.is_empty();
        if when.is_about_commands() || has_command && is_about_part {
            return false;
        }
        let has_paths = !subject.reads.is_empty() || !subject.writes.is_empty();
        let allows_paths = || {
            subject.reads.iter().all(|path| self.allows_reading(subject, path))
                && subject.writes.iter().all(|path| self.allows_writing(subject, path))
        };
        let has_hosts = !subject.hosts.is_empty();
        when.edits_below.as_ref().is_none_or(|folder| subject.edits_only_below(folder))
            && (!when.is_about_paths() || has_paths && allows_paths())
            && (when.hosts.is_empty()
                || has_hosts && subject.hosts.iter().all(|it| self.has_host(it)))
            && self.has_args(subject)
    }

    /// Whether the rule allows a redirection of a command to write a file.
    pub(super) fn allows_redirect(&self, subject: &Subject<'_>, path: &str) -> bool {
        let is_about_paths_alone = !self.when.is_about_commands() && self.when.hosts.is_empty();
        is_about_paths_alone && self.has_args(subject) && self.allows_writing(subject, path)
    }

    /// Whether the rule allows a call to read a path.
    fn allows_reading(&self, subject: &Subject<'_>, path: &str) -> bool {
        subject.spellings(path).any(|it| matches_any(&self.when.paths, it))
    }

    /// Whether the rule allows a call to write a path.
    fn allows_writing(&self, subject: &Subject<'_>, path: &str) -> bool {
        let when = &self.when;
        subject
            .spellings(path)
            .any(|it| matches_any(&when.paths, it) || matches_any(&when.writes, it))
    }

    /// Whether the rule allows one proven step of a command, with the hosts and arguments of the call.
    pub(super) fn allows_step_of(&self, subject: &Subject<'_>, step: &Step) -> bool {
        let has_hosts = !subject.hosts.is_empty();
        let are_hosts = || has_hosts && subject.hosts.iter().all(|host| self.has_host(host));
        self.allows_step(step)
            && (self.when.hosts.is_empty() || are_hosts())
            && self.has_args(subject)
    }

    /// Whether the words of the rule allow one step of a command. Only a rule with all of its words allows a step
    /// with a caveat. A rule that comes with Toolcrib does not allow a step that is in doubt. A grant does not allow
    /// new flags of a program whose flags are not known.
    pub fn allows_step(&self, step: &Step) -> bool {
        let Some(argv) = &self.when.argv else { return false };
        let is_spelt = |words: &[String]| {
            let is_whole = argv.len() == words.len();
            begins_with(words, argv)
                && (is_whole || !self.when.exact && step.caveat.is_none())
                && (self.layer != Layer::Grant || program::new_flag(words, argv.len()).is_none())
        };
        (is_spelt(&step.words)
            || program::plain_spelling(&step.words).is_some_and(|words| is_spelt(&words)))
            && step.is_said_elsewhere().is_none()
            && (self.layer != Layer::Shipped || step.doubt.is_none())
    }

    /// Whether the rule names every word of a step.
    pub(super) fn has_all_words(&self, step: &Step) -> bool {
        self.when.argv.as_ref().is_some_and(|argv| argv.len() == step.words.len())
    }

    pub(super) fn has_host(&self, host: &str) -> bool {
        self.when.hosts.iter().any(|it| match it.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
            None => it == host,
        })
    }
}

/// Returns the first path of a file tool's call that programs of a kind run on their own, and its row. What a command
/// writes there, the sandbox prevents or tells.
fn written_to_run<'s>(
    subject: &Subject<'s>,
    reader: LaterReader,
) -> Option<(&'s str, &'static RunsLater)> {
    let is_command = subject.reading.is_some();
    let mut writes = subject.writes.iter().filter(|_| !is_command);
    writes.find_map(|path| {
        let below = if subject.is_below_root(path) { &path[subject.root.len()..] } else { path };
        let below = below.trim_start_matches('/');
        let row = RunsLater::of(below).filter(|row| row.reader == reader)?;
        Some((below, row))
    })
}

/// Whether two calls have the same arguments, in any order.
fn is_same_call(one: &str, other: &str) -> bool {
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || parsed(one).is_some_and(|one| parsed(other).is_some_and(|other| one == other))
}

fn begins_with(words: &[String], argv: &[Vec<String>]) -> bool {
    words.len() >= argv.len() && words.iter().zip(argv).all(|(word, either)| either.contains(word))
}

/// Whether a pattern is about a command, in one of its spellings.
fn is_spelt_as(words: &[String], pattern: &Pattern) -> bool {
    let Some(first) = words.first() else { return false };
    // For programs without subcommands the flags decide what is done: `kill -0` ends nothing.
    let takes_subcommand = program::is(base_name(first), Fact::TakesSubcommand);
    let as_they_are = 1 + usize::from(first.contains('/'));
    let texts = spellings(words).take(if takes_subcommand { MOST_SPELLINGS } else { as_they_are });
    texts.into_iter().any(|(name, words)| {
        let words: Vec<String> =
            std::iter::once(name.to_owned()).chain(words.iter().cloned()).collect();
        is_text(pattern, &words)
    })
}

/// Whether a pattern matches words as one text: as they are spelt, or with `.` and `..` taken out of their paths.
fn is_text(pattern: &Pattern, words: &[String]) -> bool {
    // Only words with blanks are quoted, and quotes within them are left out, so that patterns stay simple.
    let shown = |word: &str| {
        // Bytes are compared much faster than characters, and words can be long.
        let can_be_blank = word.bytes().any(|byte| byte <= b' ' || !byte.is_ascii());
        if word.is_empty() || can_be_blank && word.contains(char::is_whitespace) {
            format!("'{}'", word.replace('\'', ""))
        } else {
            word.to_owned()
        }
    };
    let has_detours = |word: &String| word.starts_with('/') && word.contains("/.");
    let straight = |word: &String| {
        if has_detours(word) { shown(&without_detours(word)) } else { shown(word) }
    };
    let text = |words: Vec<String>| words.join(" ");
    let spelt = text(words.iter().map(|word| shown(word)).collect());
    let plain = || text(words.iter().map(straight).collect());
    pattern.is_match(&spelt) || words.iter().any(has_detours) && pattern.is_match(&plain())
}

/// Returns a path without `.`, `..` and doubled slashes. Links are not followed.
pub fn without_detours(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    let start = if path.starts_with('/') { "/" } else { "" };
    format!("{start}{}", parts.join("/"))
}

/// Returns the spellings of a command: as it is written, with the program's name instead of its path, and without the
/// flags, and their values, that stand before the subcommand: `git --no-pager push` pushes.
fn spellings(words: &[String]) -> impl Iterator<Item = (&str, &[String])> {
    let named = words.split_first().filter(|it| it.0.contains('/'));
    let named = named.map(|(first, rest)| (base_name(first), rest));
    let whole = words.split_first().map(|(first, rest)| (first.as_str(), rest));
    // `+nightly` stands before a subcommand, too.
    let is_flag = |at: usize| words.get(at).is_some_and(|word| word.starts_with(['-', '+']));
    // The word behind a flag is its value or the subcommand.
    let ahead = (1..words.len()).take_while(move |at| is_flag(*at) || *at > 1 && is_flag(at - 1));
    let short = ahead.filter_map(move |at| {
        let rest = words.get(at + 1..).filter(|rest| !rest.is_empty())?;
        (!is_flag(at + 1)).then(|| (base_name(&words[0]), rest))
    });
    whole.into_iter().chain(named).chain(short)
}

/// Further spellings of one command are not compared with patterns: they would only add the values of flags.
const MOST_SPELLINGS: usize = 64;

fn matches_any(globs: &[PathGlob], path: &str) -> bool {
    globs.iter().any(|glob| glob.is_match(path))
}
