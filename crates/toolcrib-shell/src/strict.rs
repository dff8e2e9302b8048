//! The strict reading: every node is of a known kind, every word is literal, every byte is accounted for. It accepts
//! only a small part of the language, in which there is nothing to be wrong about.

mod blanks;
mod condition;
mod expansion;
mod for_loop;
mod heredoc;
mod redirect;
mod wild;

use toolcrib_core::command_reading::{Proven, Step, Unproven, UnprovenKind};
use toolcrib_core::escape::is_deceptive;
use toolcrib_core::program;
use tree_sitter::{Node, Tree};

use crate::words::{children, construct, literal};
use blanks::account_for_bytes;
use expansion::{Variables, Wildcards, Word};
use wild::can_be_wild;

/// The folders whose programs are known by their names.
const TRUSTED_FOLDERS: [&str; 6] =
    ["/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/usr/local/sbin/"];

/// Returns everything that a command does, or why that is not certain.
pub(crate) fn prove(text: &str, tree: &Tree) -> Result<Proven, Unproven> {
    // Only characters within quotes are left after this: `literal` accepts no others.
    if let Some(odd) = text.chars().find(|c| !matches!(*c, '\n' | '\t') && is_deceptive(*c)) {
        let message = format!("it has the character `{}`", odd.escape_unicode());
        return Err(Unproven::new(UnprovenKind::Word, message));
    }
    let root = tree.root_node();
    if root.has_error() {
        return Err(unparsed());
    }
    account_for_bytes(root, text)?;
    let mut reader = StrictReader {
        text,
        proven: Proven::default(),
        variables: Variables::default(),
        has_moved: false,
        is_fed: false,
        depth: 0,
        read: 0,
        bytes: 0,
    };
    reader.statement(root)?;
    if reader.proven.steps.is_empty() {
        return Err(Unproven::new(UnprovenKind::Construct, "it runs nothing"));
    }
    Ok(reader.proven)
}

/// Returns the reason of a command that the parser does not understand.
pub(crate) fn unparsed() -> Unproven {
    Unproven::new(UnprovenKind::Unparsed, "Toolcrib cannot parse it")
}

/// Which way a redirection goes.
#[derive(PartialEq, Eq)]
enum RedirectDirection {
    In,
    Out,
}

struct StrictReader<'a> {
    text: &'a str,
    proven: Proven,
    variables: Variables,
    /// Whether the command has changed its directory, after which paths mean something else.
    has_moved: bool,
    /// Whether the input of the current statement comes from another one.
    is_fed: bool,
    /// How deep the current statement is nested in others.
    depth: usize,
    /// How many statements were read. The body of a loop is read once for each value.
    read: usize,
    /// How many bytes all words have together.
    bytes: usize,
}

/// How deep statements may be nested in others.
const DEEPEST_STATEMENT: usize = 200;

/// The most statements that are read.
const MOST_STATEMENTS: usize = 2000;

/// The most bytes that all words may have together, and how many each counts for beside its text.
const MOST_BYTES: usize = 1 << 20;
const BYTES_PER_WORD: usize = 16;

/// The depth of statements that run whatever the others do.
const TOP_DEPTH: usize = 2;

/// The tokens around and between the statements that are nested in another one.
const KEYWORDS: [&str; 13] =
    ["if", "then", "elif", "else", "fi", "do", "done", "{", "}", "(", ")", "!", ";"];

/// The words that begin or end statements in bash.
const RESERVED: [&str; 22] = [
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "time", "coproc", "in", "{", "}", "!", "[[", "]]",
];

/// The words of `set` that make a script stop at errors or print what it does, and nothing else.
const STRICT_MODES: [&str; 12] =
    ["-e", "-u", "-x", "-eu", "-ex", "-ux", "-eux", "-o", "-euo", "-euxo", "pipefail", "errexit"];

/// Variables before a command, with the values with which they only say how it prints.
const PLAIN_SETTINGS: [(&str, &str); 10] = [
    ("CLICOLOR", "0"),
    ("GIT_PAGER", "cat"),
    ("LANG", "C"),
    ("LANG", "C.UTF-8"),
    ("LC_ALL", "C"),
    ("LC_ALL", "C.UTF-8"),
    ("LC_ALL", "POSIX"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

impl StrictReader<'_> {
    fn statement(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        self.depth += 1;
        self.read += 1;
        if self.read > MOST_STATEMENTS {
            let message = "it has more statements than Toolcrib reads";
            return Err(Unproven::new(UnprovenKind::Size, message));
        }
        if self.depth > DEEPEST_STATEMENT {
            let message = "its statements are nested deeper than Toolcrib reads";
            return Err(Unproven::new(UnprovenKind::Size, message));
        }
        let read = self.statement_here(node);
        self.depth -= 1;
        read
    }

    fn statement_here(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        match node.kind() {
            "program" | "list" | "pipeline" => {
                let was_fed = self.is_fed;
                for child in children(node) {
                    if child.is_named() {
                        self.statement(child)?;
                        continue;
                    }
                    match child.kind() {
                        "|" => self.is_fed = true,
                        "&&" | "||" | ";" | "\n" => {}
                        other => {
                            let message = format!("it has the operator `{other}`");
                            return Err(Unproven::new(UnprovenKind::Construct, message));
                        }
                    }
                }
                self.is_fed = was_fed;
                Ok(())
            }
            "comment" => Ok(()),
            "if_statement" | "elif_clause" | "else_clause" | "do_group" | "compound_statement"
            | "subshell" | "negated_command" => {
                for child in children(node) {
                    if child.is_named() {
                        self.statement(child)?;
                    } else if !KEYWORDS.contains(&child.kind()) || !self.is_word(child) {
                        return Err(self.odd(child, "operator"));
                    }
                }
                Ok(())
            }
            "for_statement" => self.loop_over(node),
            "variable_assignment" => self.assignment(node),
            "test_command" => self.test(node),
            "command" => self.command(node),
            "redirected_statement" => {
                let first = self.proven.steps.len();
                for child in children(node) {
                    let direction = match child.kind() {
                        "file_redirect" => self.redirect(child)?,
                        "heredoc_redirect" => {
                            heredoc::check(child, self.text)?;
                            RedirectDirection::In
                        }
                        _ => {
                            self.statement(child)?;
                            continue;
                        }
                    };
                    if direction == RedirectDirection::In {
                        self.proven.steps[first..].iter_mut().for_each(|step| step.is_fed = true);
                    }
                }
                Ok(())
            }
            kind => Err(self.odd(node, kind)),
        }
    }

    fn assignment(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        let parts: Vec<Node<'_>> = children(node).collect();
        // Nobody can tell whether one within another statement is made.
        match parts[..] {
            [name, equals, value]
                if self.depth == TOP_DEPTH
                    && name.kind() == "variable_name"
                    && equals.kind() == "=" =>
            {
                let value = self.variables.word(value, self.text)?;
                if value.wildcards != Wildcards::None {
                    return Err(self.odd(node, node.kind()));
                }
                self.variables.set(&self.text[name.byte_range()], value)
            }
            _ => Err(self.odd(node, node.kind())),
        }
    }

    fn command(&mut self, node: Node<'_>) -> Result<(), Unproven> {
        let (mut words, mut is_fed) = (Vec::new(), false);
        for child in children(node) {
            match child.kind() {
                "command_name" => {
                    let name = child.child(0).ok_or_else(nameless)?;
                    // The parser takes some for the names of programs, where bash does not.
                    if RESERVED.contains(&&self.text[name.byte_range()]) {
                        return Err(self.odd(name, "reserved word"));
                    }
                    words.push(Word::of(literal(name, self.text)?));
                }
                "word" | "number" | "raw_string" | "string" | "concatenation"
                | "simple_expansion" | "expansion" => {
                    let word = self.variables.word(child, self.text)?;
                    // The parser takes the number of a redirected stream for a word.
                    let is_number = word.text.bytes().all(|byte| byte.is_ascii_digit());
                    if is_number && self.text[child.end_byte()..].starts_with(['<', '>']) {
                        return Err(self.odd(child, "number before a redirect"));
                    }
                    words.push(word);
                }
                "variable_assignment" if self.is_plain_setting(child) => {}
                "file_redirect" => is_fed |= self.redirect(child)? == RedirectDirection::In,
                kind => return Err(self.odd(child, kind)),
            }
        }
        let first = self.proven.steps.len();
        self.run(words)?;
        self.proven.steps[first..].iter_mut().for_each(|step| step.is_fed |= is_fed);
        Ok(())
    }

    /// Whether an assignment before a command only says how the command prints.
    fn is_plain_setting(&self, node: Node<'_>) -> bool {
        let parts: Vec<Node<'_>> = children(node).collect();
        let [name, equals, value] = parts[..] else { return false };
        let is_adjacent =
            name.end_byte() == equals.start_byte() && equals.end_byte() == value.start_byte();
        let name = &self.text[name.byte_range()];
        literal(value, self.text).is_ok_and(|value| {
            is_adjacent && equals.kind() == "=" && PLAIN_SETTINGS.contains(&(name, value.as_str()))
        })
    }

    /// Adds a program that is run.
    fn run(&mut self, words: Vec<Word>) -> Result<(), Unproven> {
        self.bytes += words.iter().map(|word| word.text.len() + BYTES_PER_WORD).sum::<usize>();
        if self.bytes > MOST_BYTES {
            let message = "its loops have more words than Toolcrib reads";
            return Err(Unproven::new(UnprovenKind::Size, message));
        }
        let wild = words.iter().cloned().enumerate();
        let wild: Vec<(usize, Word)> =
            wild.filter(|(_, word)| word.wildcards != Wildcards::None).collect();
        let mut words: Vec<String> = words.into_iter().map(|word| word.text).collect();
        let name = words.first_mut().ok_or_else(nameless)?;
        if let Some(bare) = TRUSTED_FOLDERS.iter().find_map(|folder| name.strip_prefix(folder)) {
            *name = bare.to_owned();
        }
        let name = name.clone();
        if name == "set"
            && words.len() > 1
            && words[1..].iter().all(|word| STRICT_MODES.contains(&word.as_str()))
        {
            return Ok(());
        }
        let mut step = Step {
            caveat: program::caveat(&words),
            is_elsewhere: false,
            is_fed: self.is_fed,
            effects: program::file_effects(&words),
            doubt: None,
            words,
        };
        if let Some((_, word)) = wild.iter().find(|(at, word)| !can_be_wild(&step, *at, word)) {
            let message = format!("the value of `{}` is known only at run time", word.text);
            return Err(Unproven::new(UnprovenKind::Word, message));
        }
        if self.has_moved {
            step.elsewhere();
        }
        self.proven.has_wildcards |= !wild.is_empty();
        self.has_moved |= matches!(name.as_str(), "cd" | "pushd" | "popd");
        self.proven.steps.push(step);
        Ok(())
    }

    /// Whether a token is a word of its own for bash: to the parser, `{/bin/ls` begins a group.
    fn is_word(&self, token: Node<'_>) -> bool {
        let (before, behind) = (&self.text[..token.start_byte()], &self.text[token.end_byte()..]);
        let is_operator = matches!(token.kind(), ";" | "(" | ")");
        let begins = before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '(', ')']);
        let opens = matches!(token.kind(), "{" | "!" | "[" | "[[" | "for" | "in" | "variable_name");
        let ends = behind.starts_with([' ', '\t', '\n'])
            || !opens && (behind.is_empty() || behind.starts_with([';', ')', '|', '<', '>']));
        is_operator || begins && ends
    }

    /// Names a part of the command that the strict reading does not accept.
    fn odd(&self, node: Node<'_>, kind: &str) -> Unproven {
        let own: String = self.text[node.byte_range()].chars().take(60).collect();
        construct(kind, &own)
    }
}

fn nameless() -> Unproven {
    Unproven::new(UnprovenKind::Construct, "a command without a name")
}
