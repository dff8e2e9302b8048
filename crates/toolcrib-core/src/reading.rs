//! What a shell command would run, as far as reading it can tell.

/// A command, read twice: strictly, for what can be proven, and loosely, for what can be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// All that it would do, if that can be proven; else the first thing that stands in the way.
    pub proven: Result<Proven, String>,
    /// Everything that looks like a command, at any depth: its words, quotes taken away.
    pub found: Vec<Vec<String>>,
    /// Files that it would write, as they are spelt.
    pub writes: Vec<String>,
    /// Files that would be removed, or be open to others than before, as they are spelt.
    pub removes: Vec<String>,
    /// Files that redirections would read, as they are spelt.
    pub reads: Vec<String>,
    /// What no good command needs, by name.
    pub dangers: Vec<Danger>,
}

/// What a strict reading proves.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Proven {
    /// Every program it runs, with exactly these words.
    pub steps: Vec<Step>,
    /// Every file that its redirections write.
    pub writes: Vec<String>,
}

/// One program that is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The program and its arguments.
    pub words: Vec<String>,
    /// Why its first words do not say what it does: some of the others make it run or write something.
    pub caveat: Option<String>,
    /// Whether files of another directory say what it does, whatever its words are.
    pub is_elsewhere: bool,
    /// Whether it is fed by another program or a file.
    pub is_fed: bool,
    /// What it does to files beyond its words.
    pub names: Names,
}

/// What a program does to files beyond those that its words name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// It can make a name lead somewhere else, so that what a path is after it is not known.
    pub leads_elsewhere: bool,
    /// It writes files that its words do not name.
    pub writes_unnamed: bool,
    /// Which of its words it writes, if any, is known.
    pub is_known: bool,
}

/// What no good command needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Danger {
    /// A function that starts itself twice.
    ForkBomb,
    /// Commands in commands, deeper than is looked.
    TooDeep,
    /// More commands than are looked at.
    TooMany,
    /// Longer than is looked at.
    TooLong,
    /// What it prints is run by a shell.
    PipeToShell,
    /// A program's name with letters that look like others.
    MixedScript,
}

impl Danger {
    /// Every one.
    pub const ALL: [Self; 6] = [
        Self::ForkBomb,
        Self::TooDeep,
        Self::TooMany,
        Self::TooLong,
        Self::PipeToShell,
        Self::MixedScript,
    ];

    /// The spelling in rules.
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

    /// Reads the spelling.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|danger| danger.as_str() == text)
    }
}

impl Reading {
    /// A command in a language that is not read: nothing is known of it.
    pub fn unread(language: &str) -> Self {
        Self {
            proven: Err(format!("{language} is not read")),
            found: Vec::new(),
            writes: Vec::new(),
            removes: Vec::new(),
            reads: Vec::new(),
            dangers: Vec::new(),
        }
    }

    /// Takes note that it starts in another directory than the workspace's own: what some programs do is
    /// said by the files they find there.
    pub fn elsewhere(&mut self) {
        for step in self.proven.iter_mut().flat_map(|proven| &mut proven.steps) {
            step.elsewhere();
        }
    }

    /// The reading in a sentence for people.
    pub fn sentence(&self) -> String {
        /// More than this are only counted.
        const SHOWN: usize = 20;
        let why = match &self.proven {
            Ok(proven) => {
                let steps = proven.steps.iter().map(Step::shown);
                let writes = proven.writes.iter().map(|path| shown(path));
                return format!("runs {}{}", list(steps), listed(", writes ", writes));
            }
            Err(why) => why,
        };
        let found = self.found.iter().take(SHOWN).map(|words| shown(&join(words)));
        let more = match self.found.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let dangers = self.dangers.iter().map(|danger| danger.as_str().to_owned());
        format!(
            "cannot be proven: {why}{}{more}{}",
            listed("; found ", found),
            listed("; danger: ", dangers)
        )
    }
}

/// Programs that look at what they are given and do nothing else, unless other words of theirs say so.
pub const ONLY_LOOK: &[&str] = &[
    "basename",
    "cat",
    "cksum",
    "cmp",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expr",
    "false",
    "fgrep",
    "file",
    "find",
    "fold",
    "grep",
    "head",
    "hexdump",
    "id",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "paste",
    "printf",
    "ps",
    "pwd",
    "readlink",
    "realpath",
    "rev",
    "rg",
    "seq",
    "sha1sum",
    "sha256sum",
    "sha512sum",
    "sort",
    "stat",
    "strings",
    "tac",
    "tail",
    "test",
    "tr",
    "tree",
    "true",
    "uname",
    "uniq",
    "wc",
    "which",
    "whoami",
];

/// Further programs that do the same wherever they are started: no file of their directory says what they do. Of all
/// others one might.
const SAME_ANYWHERE: &[&str] = &[
    "[", "awk", "cd", "chmod", "chown", "cp", "gawk", "gunzip", "gzip", "install", "ln", "mawk",
    "mkdir", "mktemp", "mv", "popd", "pushd", "rm", "rmdir", "sed", "sleep", "split", "tee",
    "touch", "truncate", "tsort", "xxd", "yes", "zcat",
];

impl Step {
    /// Takes note that it runs in another directory than the workspace's own.
    pub fn elsewhere(&mut self) {
        let name = self.words.first().map_or("", String::as_str);
        let is_same = ONLY_LOOK.contains(&name) || SAME_ANYWHERE.contains(&name);
        self.is_elsewhere |= !is_same || self.caveat.is_some();
    }

    /// Whether its words, even all of them, do not say what it does: what it is fed, or files of another
    /// directory, do.
    pub fn is_said_elsewhere(&self) -> Option<&'static str> {
        if self.is_elsewhere {
            return Some("files of another directory say what it does");
        }
        (self.is_fed && self.caveat.is_some()).then_some("what it is fed says what it does")
    }

    fn shown(&self) -> String {
        let words = shown(&join(&self.words));
        match &self.caveat {
            Some(caveat) => format!("{words} ({caveat})"),
            None => match self.is_said_elsewhere() {
                Some(why) => format!("{words} ({why})"),
                None => words,
            },
        }
    }
}

fn shown(text: &str) -> String {
    format!("`{}`", crate::escape::line(text))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}

/// The items behind a word, or nothing if there are none.
fn listed(before: &str, items: impl Iterator<Item = String>) -> String {
    let items = list(items);
    if items.is_empty() { items } else { format!("{before}{items}") }
}

/// Words as one text, each quoted where a shell would need it.
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

/// Reads shell commands.
pub trait ReadShell: Send + Sync {
    /// Returns what `command` would do.
    fn read(&self, command: &str) -> Reading;
}
