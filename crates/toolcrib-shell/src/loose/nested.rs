//! Commands within the words of a command: behind wrappers, in the texts of shells, in what `find` runs.

use toolcrib_core::command_reading::Danger;
use toolcrib_core::program::{
    self, CommandWords, Fact, Program, Runs, base_name, removed_by, written_by,
};
use tree_sitter::Tree;

use super::{CommandFinder, DEEPEST_NESTING, MOST_COMMANDS, changes_directory};

/// The most words of all commands together.
const MOST_WORDS: usize = 20_000;

/// The most bytes of all those words. Every rule with a pattern is compared with them, so that this bounds the work of
/// policy, too. Only commands within commands can have more bytes than the text itself.
const MOST_WORD_BYTES: usize = 1 << 20;

/// The most words of a wrapper that are tried as the beginning of a command.
const MOST_WRAPPER_WORDS: usize = 64;

impl<P: Fn(&str) -> Option<Tree>> CommandFinder<'_, P> {
    /// Adds a command that was found, and all commands within its words.
    pub(super) fn add_command(&mut self, words: Vec<String>, depth: usize) {
        let Some(name) = words.first().map(|name| base_name(name).to_owned()) else { return };
        // The same words again hold nothing new, unless they lead somewhere else from there.
        let is_new = |finder: &mut Self| finder.seen.insert(format!("\0{}", words.join("\0")));
        if self.is_too_much() || !changes_directory(&name) && !is_new(self) {
            return;
        }
        self.budget.spend(words.len());
        let bytes = words.iter().map(String::len).sum();
        self.budget.spend_bytes(bytes);
        self.word_count += words.len();
        self.word_bytes += bytes;
        if self.word_count > MOST_WORDS || self.word_bytes > MOST_WORD_BYTES {
            self.found.dangers.push(Danger::TooMany);
            return;
        }
        self.found.commands.push(words.clone());
        if depth > 0 {
            self.add_writes(written_by(&words), "");
            self.add_removes(removed_by(&words), "");
        }
        let Some(program) = program::find(&name) else { return };
        let rest = &words[1..];
        if depth < DEEPEST_NESTING {
            for inner in program.commands {
                self.add_inner(program, *inner, &name, rest, depth);
            }
        } else if !rest.is_empty() && goes_on(program, &name) {
            self.found.dangers.push(Danger::TooDeep);
        }
    }

    /// Counts a command; returns whether there were so many, or so much work, that no more is read.
    fn is_too_much(&mut self) -> bool {
        self.command_count += 1;
        if self.command_count > MOST_COMMANDS {
            self.found.dangers.push(Danger::TooMany);
            return true;
        }
        self.budget.is_spent()
    }

    fn add_inner(
        &mut self,
        program: &Program,
        inner: CommandWords,
        name: &str,
        rest: &[String],
        depth: usize,
    ) {
        match inner {
            CommandWords::Rest { .. } if program::only_looks_up(name, rest) => {}
            CommandWords::Rest { own } => self.add_wrapped(name, own, rest, depth),
            // What runs in a container has other files.
            CommandWords::After(_) if program.is(Fact::Contains) => {}
            CommandWords::After(subcommands) => {
                let is_subcommand = |word: &String| subcommands.contains(&word.as_str());
                let at = rest.iter().take(MOST_WRAPPER_WORDS).position(is_subcommand);
                if let Some(at) = at {
                    self.add_wrapped(name, 0, &rest[at + 1..], depth);
                }
            }
            CommandWords::CommandFlag => {
                let at = rest.iter().position(|word| is_command_flag(word));
                let after = at.map_or(&[][..], |at| &rest[at + 1..]);
                // A flag may have a value of its own before the command.
                for inner in after.iter().filter(|word| !word.starts_with('-')).take(3) {
                    self.search_text(inner, depth + 1);
                }
            }
            CommandWords::CallbackFlag => {
                if let Some(at) = rest.iter().position(|word| word.starts_with("-C")) {
                    let own = rest[at].strip_prefix("-C").filter(|own| !own.is_empty());
                    let inner = own.or(rest.get(at + 1).map(String::as_str)).unwrap_or_default();
                    self.search_text(inner, depth + 1);
                }
            }
            // `add_wrapped` reads the one, flag by flag, and `add_moved` the other.
            CommandWords::SplitFlag | CommandWords::DirectoryFlag(_) => {}
            CommandWords::Joined => {
                self.search_text(&rest.join(" "), depth + 1);
                self.search_text(&rest.get(1..).unwrap_or_default().join(" "), depth + 1);
            }
            CommandWords::Each => {
                self.search_text(&rest.join(" "), depth + 1);
                for word in rest {
                    self.search_text(word, depth + 1);
                }
            }
            CommandWords::Exec => self.add_executed(rest, depth),
        }
    }

    /// Adds what `find` or `fd` runs for what it finds.
    fn add_executed(&mut self, rest: &[String], depth: usize) {
        for (at, word) in rest.iter().enumerate() {
            if self.is_too_much() {
                return;
            }
            let runs = word.starts_with("-exec")
                || word.starts_with("-ok")
                || word == "-x"
                || word == "-X";
            if runs {
                let inner = rest[at + 1..].iter().take_while(|word| *word != ";" && *word != "+");
                self.add_command(inner.cloned().collect(), depth + 1);
            }
        }
    }

    /// Adds what a wrapper runs: the command that begins at each word which could be a program.
    fn add_wrapped(&mut self, name: &str, own: usize, rest: &[String], depth: usize) {
        let mut own = own;
        for (at, word) in rest.iter().enumerate() {
            if at >= MOST_WRAPPER_WORDS {
                self.found.dangers.push(Danger::TooMany);
                return;
            }
            if name == "env"
                && let Some(inner) = split_string(word, rest.get(at + 1))
            {
                self.search_text(&inner, depth + 1);
            }
            if word.starts_with('-') || name == "env" && word.contains('=') {
                continue;
            }
            self.add_command(rest[at..].to_vec(), depth + 1);
            let is_value =
                word.bytes().all(|byte| byte.is_ascii_digit() || b".smhd".contains(&byte));
            let follows_flag = at > 0 && rest[at - 1].starts_with('-');
            // The value of a flag, and the words of the wrapper's own, come before the program.
            if own > 0 && !follows_flag {
                own -= 1;
            } else if !is_value && !follows_flag {
                return;
            }
        }
    }
}

/// Whether the words of a program always hold further commands.
fn goes_on(program: &Program, name: &str) -> bool {
    program.own_words().is_some() || program.runs == Runs::Shell || name == "eval"
}

/// Whether a flag says that a command follows: `-c`, or `c` among others as in `-lc`.
fn is_command_flag(word: &str) -> bool {
    let rest = word.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    rest.is_some_and(|rest| rest.contains('c')) || word == "--command"
}

/// Returns the text that `env` splits into a command: `-S`, alone or among other flags, with its text or before it.
fn split_string(word: &str, next: Option<&String>) -> Option<String> {
    if let Some(long) = word.strip_prefix("--s") {
        return long.split_once('=').map(|it| it.1.to_owned()).or_else(|| next.cloned());
    }
    let flags = word.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
    let (_, text) = flags.split_once('S')?;
    let text = if text.is_empty() { next?.clone() } else { text.to_owned() };
    // `env` spells a blank like this.
    Some(text.replace("\\_", " "))
}
