//! The shape of a row: everything that is known of one program, or of a family of programs that behave alike.

use super::arguments::{Arguments, ValueFlags, is_bundled, is_long};
use super::input::RunsInput;
use super::script_flags::ScriptFlags;

/// What is known of a program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The names of the program, or of all programs of the family.
    pub names: &'static [&'static str],
    /// Which other programs it runs, whatever its words are.
    pub runs: Runs,
    /// Where its words hold commands of their own.
    pub commands: &'static [CommandWords],
    /// When it runs commands that it reads from its input. Shells and interpreters always can.
    pub runs_input: RunsInput,
    /// Which of its words make it do more than its first words say.
    pub caveat: Caveat,
    /// Which of its words name files that it writes.
    pub writes: FileWords,
    /// Which of its words name files that it removes, or opens to other users.
    pub removes: FileWords,
    /// What it does to files beyond the words that name them.
    pub effects: FileEffectRules,
    /// Which of its words could name files at all.
    pub paths: PathWords,
    /// Which of its words could name hosts that it reaches.
    pub hosts: HostWords,
    /// What else is so, whatever its words are.
    pub facts: &'static [Fact],
    /// Commands that show all that. A test tries them.
    pub examples: &'static [Example],
}

impl Program {
    /// Returns a row of which nothing is known but its names.
    pub(super) const fn named(names: &'static [&'static str]) -> Self {
        Self {
            names,
            runs: Runs::Nothing,
            commands: &[],
            runs_input: RunsInput::Never,
            caveat: Caveat::None,
            writes: FileWords::None,
            removes: FileWords::None,
            effects: FileEffectRules::UNKNOWN,
            paths: PathWords::All,
            hosts: HostWords::None,
            facts: &[],
            examples: &[],
        }
    }

    /// Whether something is so of the program.
    pub fn is(&self, fact: Fact) -> bool {
        self.facts.contains(&fact)
    }

    /// Returns the files of its directory that say what it does; nothing if its words name all such files.
    pub(super) fn driven_by(&self) -> Option<&'static [&'static str]> {
        self.facts.iter().find_map(|fact| match fact {
            Fact::DrivenBy(files) => Some(*files),
            _ => None,
        })
    }

    /// Whether it is known which of its flags make it run or write something else.
    pub(super) fn knows_flags(&self) -> bool {
        let has_list = self.is(Fact::ReadOnly)
            || self.is(Fact::SameAnywhere)
            || !matches!(self.caveat, Caveat::None)
            || !matches!(self.effects.knows_writes, Condition::Never);
        has_list && !self.is(Fact::HasMoreFlags)
    }

    /// Returns how many words of its own stand before the program that it runs; nothing if it is no wrapper.
    pub fn own_words(&self) -> Option<usize> {
        self.commands.iter().find_map(|it| match it {
            CommandWords::Rest { own } => Some(*own),
            _ => None,
        })
    }

    /// Returns the flags whose value is the directory of the program that it runs.
    pub(super) fn directory_flags(&self) -> Option<&'static [&'static str]> {
        self.commands.iter().find_map(|it| match it {
            CommandWords::DirectoryFlag(flags) => Some(*flags),
            _ => None,
        })
    }

    /// Whether this subcommand runs the program that further words name.
    pub fn runs_after(&self, subcommand: &str) -> bool {
        self.commands.iter().any(|it| match it {
            CommandWords::After(subcommands) => subcommands.contains(&subcommand),
            _ => false,
        })
    }
}

/// Which other programs a program runs, whatever its words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// None that is known.
    Nothing,
    /// Whatever its words, its input or its files tell it to.
    Anything,
    /// Commands in the language of a shell.
    Shell,
    /// A script in a language of its own.
    Interpreter,
}

/// Where the words of a program hold another command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandWords {
    /// In all words behind the wrapper's flags and its `own` words: `timeout 5 CMD`.
    Rest {
        /// How many words of its own stand before the command.
        own: usize,
    },
    /// In the words behind one of these subcommands: `poetry run CMD`.
    After(&'static [&'static str]),
    /// In the text behind `-c`.
    CommandFlag,
    /// In the text behind `-C`.
    CallbackFlag,
    /// In the text behind `-S`.
    SplitFlag,
    /// In all words as one text, and in all but the first.
    Joined,
    /// In all words as one text, and in each of them.
    Each,
    /// In a directory that the value of one of these flags names: `env -C DIR CMD`.
    DirectoryFlag(&'static [&'static str]),
    /// In the words between `-exec`, or a flag like it, and `;` or `+`.
    Exec,
}

/// Which words make a program do more than its first words say.
#[derive(Clone, Copy, Debug)]
pub enum Caveat {
    /// None that is known.
    None,
    /// These flags do. Long ones can be shortened, short ones bundled.
    Flags {
        /// The long flags, with their dashes.
        long: &'static [&'static str],
        /// The letters of the short flags.
        short: &'static str,
        /// What they do, to follow "with `FLAG`, ".
        about: &'static str,
    },
    /// All flags but these do.
    OtherFlags {
        /// The long flags that only say how, with their dashes.
        long: &'static [&'static str],
        /// The letters of the short flags that only say how.
        short: &'static str,
        /// What the others may do, to follow "with `FLAG`, ".
        about: &'static str,
    },
    /// It takes a look at all words.
    Check(fn(&[String]) -> Option<String>),
}

impl Caveat {
    /// Returns why these words, which follow the program's name, make it do more than its first words say.
    pub(super) fn of(&self, rest: &[String]) -> Option<String> {
        match self {
            Self::None => None,
            Self::Check(check) => check(rest),
            Self::Flags { long, short, about } => {
                let does = |word: &&String| {
                    long.iter().any(|long| is_long(word, long)) || is_bundled(word, short)
                };
                rest.iter().find(does).map(|word| with(word, about))
            }
            Self::OtherFlags { long, short, about } => {
                let is_known = |word: &str| {
                    let name = word.split('=').next().unwrap_or(word);
                    let letters = word.strip_prefix('-').unwrap_or_default();
                    long.contains(&name)
                        || !word.starts_with("--") && letters.chars().all(|c| short.contains(c))
                };
                let odd =
                    |word: &&String| word.starts_with('-') && word.len() > 1 && !is_known(word);
                rest.iter().find(odd).map(|word| with(word, about))
            }
        }
    }
}

/// Which words of a program name files.
#[derive(Clone, Copy, Debug)]
pub enum FileWords {
    /// None that is known.
    None,
    /// Some of its operands, and the values of some flags.
    Operands {
        /// Which of its operands.
        which: Operands,
        /// Its flags that take a value.
        flags: ValueFlags,
        /// Those of them whose value is a file, or a folder that the operands go into.
        into: &'static [&'static str],
    },
    /// Those that a function finds among the words behind the name.
    Find(fn(&[String]) -> Vec<String>),
}

/// Which operands of a program are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// None: only flags name files.
    None,
    /// Every one.
    All,
    /// Every one but the first, which says how; that one too with `--reference`.
    AllButFirst,
    /// The last one, or the names of the others in it.
    Last,
    /// The last one; every one if one of these flags is given.
    LastUnless(&'static [&'static str]),
    /// The last one; of a single one, its name in the current folder.
    LastOrOwnName,
}

impl FileWords {
    /// Returns the files that are meant, as they are spelt. `rest` is what follows the program's name.
    pub(super) fn of(&self, rest: &[String]) -> Vec<String> {
        match self {
            Self::None => Vec::new(),
            Self::Find(find) => find(rest),
            Self::Operands { which, flags, into } => {
                files_of(&Arguments::parse(rest, *flags), *which, into)
            }
        }
    }
}

fn files_of(parsed: &Arguments, which: Operands, into: &[&str]) -> Vec<String> {
    let is_into = |it: &&(String, String)| into.contains(&it.0.as_str());
    let mut folders: Vec<String> =
        parsed.values.iter().filter(is_into).map(|it| it.1.clone()).collect();
    let operands = &parsed.operands;
    let mut all = Vec::new();
    match which {
        Operands::None => return folders,
        Operands::All => all.extend(operands.iter().cloned()),
        Operands::AllButFirst if parsed.has(&["--reference"]) => {
            all.extend(operands.iter().cloned());
        }
        Operands::AllButFirst => all.extend(operands.iter().skip(1).cloned()),
        Operands::LastUnless(flags) if parsed.has(flags) => all.extend(operands.iter().cloned()),
        Operands::Last | Operands::LastUnless(_) | Operands::LastOrOwnName
            if folders.is_empty() =>
        {
            match &operands[..] {
                // A link gets the name of what it leads to.
                [one] if which == Operands::LastOrOwnName => return vec![last_part(one)],
                [.., last] if is_stream(last) => {}
                [sources @ .., last] => {
                    // Into a folder, a file takes the name that it had.
                    all.extend(sources.iter().map(|it| inside(last, it)));
                    all.push(last.clone());
                }
                [] => {}
            }
        }
        Operands::Last | Operands::LastUnless(_) | Operands::LastOrOwnName => {}
    }
    // Of several folders, the last one counts.
    if let Some(folder) = folders.pop() {
        all.extend(operands.iter().map(|it| inside(&folder, it)));
        all.push(folder);
    }
    all
}

fn last_part(path: &str) -> String {
    path.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned()
}

fn inside(folder: &str, path: &str) -> String {
    format!("{}/{}", folder.trim_end_matches('/'), last_part(path))
}

/// Whether a path is one of the streams that are open already.
pub fn is_stream(path: &str) -> bool {
    let number = path.strip_prefix("/proc/self/fd/").or_else(|| path.strip_prefix("/dev/fd/"));
    matches!(path, "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/tty" | "/dev/null")
        || number.is_some_and(|it| !it.is_empty() && it.bytes().all(|byte| byte.is_ascii_digit()))
}

/// When a program has an effect on files beyond the words that name them.
#[derive(Clone, Copy, Debug)]
pub struct FileEffectRules {
    /// When the words that it writes, if any, are known.
    pub knows_writes: Condition,
    /// When it can make a path lead somewhere else.
    pub retargets_paths: Condition,
    /// When it writes files that its words do not name.
    pub writes_unnamed: Condition,
}

impl FileEffectRules {
    /// Nothing is known.
    pub(super) const UNKNOWN: Self = Self {
        knows_writes: Condition::Never,
        retargets_paths: Condition::Never,
        writes_unnamed: Condition::Never,
    };
    /// Its words name every file that it writes.
    pub(super) const NAMED: Self = Self { knows_writes: Condition::Always, ..Self::UNKNOWN };
    /// Its words name every file that it writes, and it can make a path lead somewhere else.
    pub(super) const RETARGETS: Self = Self { retargets_paths: Condition::Always, ..Self::NAMED };
    /// It writes files that its words do not name.
    pub(super) const UNNAMED: Self = Self { writes_unnamed: Condition::Always, ..Self::UNKNOWN };
}

/// When something is so of a command.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// Never.
    Never,
    /// Whatever the words are.
    Always,
    /// If one of these flags is given.
    WithFlag {
        /// The program's flags that take a value.
        values: ValueFlags,
        /// The flags.
        any: &'static [&'static str],
    },
    /// If the first word behind the name is in one of these lists.
    Subcommand(&'static [&'static [&'static str]]),
    /// If there is a word behind the name, and the first is none of these.
    OtherSubcommand(&'static [&'static str]),
}

impl Condition {
    /// Whether it is so of these words, which follow the program's name.
    pub(super) fn holds(&self, rest: &[String]) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::WithFlag { values, any } => Arguments::parse(rest, *values).has(any),
            Self::Subcommand(lists) => rest
                .first()
                .is_some_and(|word| lists.iter().any(|list| list.contains(&word.as_str()))),
            Self::OtherSubcommand(these) => {
                rest.first().is_some_and(|word| !these.contains(&word.as_str()))
            }
        }
    }
}

/// Which words of a program could name files.
#[derive(Clone, Copy, Debug)]
pub enum PathWords {
    /// Every one, its own name among them.
    All,
    /// None: it prints or counts them. What it prints into another program can be names for that one.
    Text,
    /// Those that a function chooses among the words behind the name.
    Choose(fn(&[String]) -> Vec<&String>),
}

/// Which words of a program could name hosts.
#[derive(Clone, Copy, Debug)]
pub enum HostWords {
    /// None: it reaches none.
    None,
    /// Every word behind its name.
    All,
    /// Every word behind its name but the values of these flags.
    AllButValuesOf(&'static [&'static str]),
    /// Every word behind its name, if one of these is among them.
    WithSubcommand(&'static [&'static str]),
}

/// What is so of a program, whatever its words are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// It reads what its words name and changes nothing, unless a caveat says otherwise.
    ReadOnly,
    /// It does the same in every directory: no file of its directory tells it what to do.
    SameAnywhere,
    /// Its name alone says what it does.
    NameSaysEnough,
    /// A word behind its flags says what it does.
    TakesSubcommand,
    /// It has more flags that run or write something than its caveat lists.
    HasMoreFlags,
    /// It acts on whole folders, so that a `cd` before it decides how much harm it does.
    ActsOnFolders,
    /// It runs commands in a container, which has files of its own.
    Contains,
    /// It hands its input to a program that its words name.
    PassesInputOn,
    /// It reads commands from its input if its words name none.
    LogsIn,
    /// Files that its words do not name say what it does: these files of its directory, and others that no list has.
    DrivenBy(&'static [&'static str]),
    /// It runs files of code that its words name.
    RunsScript(ScriptFlags),
}

/// A command, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The words of the command, with blanks between them.
    pub command: &'static str,
    /// What is known.
    pub shows: Shows,
}

/// What an example shows.
#[derive(Clone, Copy, Debug)]
pub enum Shows {
    /// Its first words say what it does.
    Plain,
    /// Its first words do not say what it does.
    Caveat,
    /// It runs commands that it reads from its input.
    RunsInput,
    /// It runs no commands from its input.
    KeepsInput,
    /// It runs its command in these directories.
    Directories(&'static [&'static str]),
    /// It writes these files.
    Writes(&'static [&'static str]),
    /// It removes these files, or opens them to other users.
    Removes(&'static [&'static str]),
    /// These words of it could name files.
    Paths(&'static [&'static str]),
    /// It reaches these hosts.
    Hosts(&'static [&'static str]),
    /// These files of its directory say what it does, and others that no list has.
    DrivenBy(&'static [&'static str]),
    /// Its words name all the files that say what it does, as far as is known.
    NotDriven,
    /// These of its words could name files of code that it runs.
    Scripts(&'static [&'static str]),
}

/// Returns an example.
pub(super) const fn example(command: &'static str, shows: Shows) -> Example {
    Example { command, shows }
}

/// Words a caveat: what a word of a command makes the program do.
pub(super) fn with(word: &str, about: &str) -> String {
    format!("with `{word}`, {about}")
}
