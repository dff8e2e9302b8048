//! One rule: which calls it is about, and what it says of them.

use jiff::Timestamp;

use crate::reading::{Danger, Reading, Step};

use super::Subject;
use super::pattern::{PathGlob, Pattern};

/// What a rule says of the calls it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Says {
    /// Nothing: the record shows that it was about the call.
    Audit,
    /// They run without a question.
    Allow,
    /// They run if a person says yes.
    Ask,
    /// They do not run.
    Deny,
}

impl Says {
    /// Every one.
    pub const ALL: [Self; 4] = [Self::Audit, Self::Allow, Self::Ask, Self::Deny];

    /// The spelling in files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Reads the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|says| says.as_str() == text)
    }
}

/// Whose rule it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layer {
    /// It comes with the program. It can open what would be asked about, not what is refused.
    Shipped,
    /// The operator's own: the machine's file or the user's. It can open anything.
    Operator,
    /// The project's. It can only tighten.
    Project,
    /// What is left of a person's "always". It answers what would be asked.
    Grant,
}

/// Where a rule is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// The file, as people would find it.
    pub file: String,
    /// The line its rule begins on.
    pub line: usize,
}

/// One rule.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What it is called.
    pub id: String,
    /// Where it is written.
    pub source: Source,
    /// Whose it is.
    pub layer: Layer,
    /// Catalogues, tools or `catalogue/tool`; empty for all.
    pub tools: Vec<String>,
    /// What it looks at.
    pub when: When,
    /// What it says.
    pub says: Says,
    /// Why, in words for whoever runs into it.
    pub because: String,
    /// When it ends to hold.
    pub expires: Option<Timestamp>,
    /// Whether an agent that runs into it is first to confirm that it means it.
    pub confirm: bool,
}

/// What a rule looks at. Everything that is given must hold.
#[derive(Clone, Debug, Default)]
pub struct When {
    /// The first words of a command, each with the words it may be.
    pub argv: Option<Vec<Vec<String>>>,
    /// All words of a command as one text.
    pub words: Option<Pattern>,
    /// What no good command needs.
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
}

impl When {
    /// Whether it looks at what a command runs.
    pub fn is_about_commands(&self) -> bool {
        self.argv.is_some() || self.words.is_some() || !self.dangers.is_empty()
    }

    /// Whether it looks at paths.
    pub fn is_about_paths(&self) -> bool {
        !self.paths.is_empty() || !self.writes.is_empty()
    }

    /// Whether it looks at the words of commands and at nothing else.
    pub(super) fn is_about_words_alone(&self) -> bool {
        let is_about_words = self.argv.is_some() || self.words.is_some();
        let is_about_rest = self.is_about_paths() || !self.hosts.is_empty();
        is_about_words
            && self.dangers.is_empty()
            && !is_about_rest
            && self.args.is_none()
            && self.call.is_none()
    }
}

impl Rule {
    /// Whether it is about this tool.
    pub fn is_about(&self, tool: &str) -> bool {
        let (catalogue, name) = tool.split_once('/').unwrap_or(("", tool));
        let is_it = |it: &String| it == tool || it == catalogue || it == name;
        self.tools.is_empty() || self.tools.iter().any(is_it)
    }

    /// Whether any part of a call is what it looks at: for rules that tighten, one part is enough.
    pub fn touches(&self, subject: &Subject<'_>) -> bool {
        let when = &self.when;
        let command = match subject.reading {
            Some(reading) => self.finds(reading),
            None => !when.is_about_commands(),
        };
        let paths = || {
            let any = |globs: &[PathGlob], paths: &[String]| {
                paths.iter().any(|path| {
                    // A workspace in a folder of the system is a workspace first.
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
    }

    fn has_args(&self, subject: &Subject<'_>) -> bool {
        self.when.args.as_ref().is_none_or(|args| args.is_match(subject.canonical))
            && self.when.call.as_ref().is_none_or(|call| is_same_call(call, subject.canonical))
    }

    /// Whether a command, or one within it, is what it looks at.
    pub(super) fn finds(&self, reading: &Reading) -> bool {
        let when = &self.when;
        let found = || reading.found.iter();
        when.argv.as_ref().is_none_or(|argv| found().any(|words| is_spelt(words, argv)))
            && when.words.as_ref().is_none_or(|it| found().any(|words| is_spelt_as(words, it)))
            && (when.dangers.is_empty()
                || when.dangers.iter().any(|it| reading.dangers.contains(it)))
    }

    /// Whether one step of a command is what it looks at.
    pub(super) fn touches_step(&self, step: &Step) -> bool {
        let when = &self.when;
        when.is_about_commands()
            && when.dangers.is_empty()
            && when.argv.as_ref().is_none_or(|argv| is_spelt(&step.words, argv))
            && when.words.as_ref().is_none_or(|words| is_spelt_as(&step.words, words))
    }

    /// Whether it opens a call as a whole: every path, every host, the arguments. What a command does is
    /// not known by a pattern on its text, nor by the files it is sent to.
    pub fn opens(&self, subject: &Subject<'_>) -> bool {
        let when = &self.when;
        let has_command = subject.reading.is_some();
        let is_about_part = when.is_about_paths() || when.args.is_some() || !when.hosts.is_empty();
        if when.is_about_commands() || has_command && is_about_part {
            return false;
        }
        let all = |paths: &[String], is_written: bool| {
            paths.iter().all(|path| self.opens_path(subject, path, is_written))
        };
        let has_paths = !subject.reads.is_empty() || !subject.writes.is_empty();
        let has_hosts = !subject.hosts.is_empty();
        (!when.is_about_paths()
            || has_paths && all(subject.reads, false) && all(subject.writes, true))
            && (when.hosts.is_empty()
                || has_hosts && subject.hosts.iter().all(|it| self.has_host(it)))
            && self.has_args(subject)
    }

    /// Whether it opens a file that a command is sent to.
    pub(super) fn opens_redirect(&self, subject: &Subject<'_>, path: &str) -> bool {
        let is_all_it_looks_at = !self.when.is_about_commands() && self.when.hosts.is_empty();
        is_all_it_looks_at && self.has_args(subject) && self.opens_path(subject, path, true)
    }

    /// Whether it opens one path of a call.
    fn opens_path(&self, subject: &Subject<'_>, path: &str, is_written: bool) -> bool {
        let when = &self.when;
        subject
            .spellings(path)
            .any(|it| matches_any(&when.paths, it) || is_written && matches_any(&when.writes, it))
    }

    /// Whether it opens one step of a command whose words are proven, as far as the rest of the call goes.
    pub(super) fn opens_step_of(&self, subject: &Subject<'_>, step: &Step) -> bool {
        let has_hosts = !subject.hosts.is_empty();
        let are_hosts = || has_hosts && subject.hosts.iter().all(|host| self.has_host(host));
        self.opens_step(step)
            && (self.when.hosts.is_empty() || are_hosts())
            && self.has_args(subject)
    }

    /// Whether its words open one step of a command. One with a caveat is opened only by a rule that has all of
    /// its words.
    pub fn opens_step(&self, step: &Step) -> bool {
        let Some(argv) = &self.when.argv else { return false };
        let is_whole = argv.len() == step.words.len();
        begins_with(&step.words, argv)
            && step.is_said_elsewhere().is_none()
            && (step.caveat.is_none() || is_whole)
    }

    /// Whether it names every word of a step.
    pub(super) fn has_all_words(&self, step: &Step) -> bool {
        self.when.argv.as_ref().is_some_and(|argv| argv.len() == step.words.len())
    }

    fn has_host(&self, host: &str) -> bool {
        self.when.hosts.iter().any(|it| match it.strip_prefix("*.") {
            Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
            None => it == host,
        })
    }
}

/// Whether two calls have the same arguments, in whatever order they are written.
fn is_same_call(one: &str, other: &str) -> bool {
    let parsed = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
    one == other || parsed(one).is_some_and(|one| parsed(other).is_some_and(|other| one == other))
}

fn begins_with(words: &[String], argv: &[Vec<String>]) -> bool {
    words.len() >= argv.len() && words.iter().zip(argv).all(|(word, either)| either.contains(word))
}

/// Whether a command begins with these words, in one of its spellings.
fn is_spelt(words: &[String], argv: &[Vec<String>]) -> bool {
    let Some((first, rest)) = argv.split_first() else { return true };
    let is_first = |name: &str| first.iter().any(|either| either == name);
    spellings(words).any(|(name, words)| is_first(name) && begins_with(words, rest))
}

/// Whether a pattern is about a command, in one of its spellings.
fn is_spelt_as(words: &[String], pattern: &Pattern) -> bool {
    let Some(first) = words.first() else { return false };
    // Of others, what is done is in their flags: `kill -0` ends nothing.
    let is_commanded = WITH_COMMANDS.contains(&name_of(first));
    let as_they_are = 1 + usize::from(first.contains('/'));
    let texts = spellings(words).take(if is_commanded { MOST_TEXTS } else { as_they_are });
    texts.into_iter().any(|(name, words)| {
        let words: Vec<String> =
            std::iter::once(name.to_owned()).chain(words.iter().cloned()).collect();
        is_text(pattern, &words)
    })
}

/// Whether a pattern is about words as one text: as they are spelt, or without the detours of their paths.
fn is_text(pattern: &Pattern, words: &[String]) -> bool {
    // Only what has blanks is quoted, and has no quotes of its own: patterns need not know of more.
    let shown = |word: &str| {
        if word.is_empty() || word.contains(char::is_whitespace) {
            format!("'{}'", word.replace('\'', ""))
        } else {
            word.to_owned()
        }
    };
    let straight = |word: &String| {
        let has_detours = word.starts_with('/') && word.contains("/.");
        if has_detours { shown(&without_detours(word)) } else { shown(word) }
    };
    let text = |words: Vec<String>| words.join(" ");
    let spelt = text(words.iter().map(|word| shown(word)).collect());
    let plain = text(words.iter().map(straight).collect());
    pattern.is_match(&spelt) || plain != spelt && pattern.is_match(&plain)
}

/// A path without `.`, `..` and doubled slashes, as far as its spelling goes.
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

/// A command as it is spelt, with its program's name in the place of its path, and without the flags that stand
/// before what it is to do, and their values: `git --no-pager push` pushes.
fn spellings(words: &[String]) -> impl Iterator<Item = (&str, &[String])> {
    let named = words.split_first().filter(|it| it.0.contains('/'));
    let named = named.map(|(first, rest)| (name_of(first), rest));
    let whole = words.split_first().map(|(first, rest)| (first.as_str(), rest));
    // `+nightly` is said before a command, too.
    let is_flag = |at: usize| words.get(at).is_some_and(|word| word.starts_with(['-', '+']));
    // Behind a flag is its value, or what is to be done.
    let ahead = (1..words.len()).take_while(move |at| is_flag(*at) || *at > 1 && is_flag(at - 1));
    let short = ahead.filter_map(move |at| {
        let rest = words.get(at + 1..).filter(|rest| !rest.is_empty())?;
        (!is_flag(at + 1)).then(|| (name_of(&words[0]), rest))
    });
    whole.into_iter().chain(named).chain(short)
}

/// Programs that are told what to do by a word behind their flags.
const WITH_COMMANDS: &[&str] = &[
    "apt",
    "apt-get",
    "aws",
    "az",
    "brew",
    "cargo",
    "dnf",
    "docker",
    "gcloud",
    "gem",
    "gh",
    "git",
    "go",
    "helm",
    "kubectl",
    "nft",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "systemctl",
    "terraform",
    "twine",
    "uv",
    "yarn",
    "yum",
];

/// Of more spellings than this, the rest are not looked at as text: what they would add is flags' values.
const MOST_TEXTS: usize = 64;

/// A program's name without its folder.
pub(super) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn matches_any(globs: &[PathGlob], path: &str) -> bool {
    globs.iter().any(|glob| glob.is_match(path))
}
