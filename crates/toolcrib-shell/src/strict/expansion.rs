//! Words with variables and wildcards in them, as far as it is known what they become.

use std::collections::BTreeMap;

use toolcrib_core::command_reading::{Unproven, UnprovenKind};
use tree_sitter::Node;

use crate::words::{
    QuotedPart, children, expanded_parts, is_plain_char, joined_braces, literal, quoted_parts,
};

/// A word of a command, as it is known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) wildcards: Wildcards,
    /// Whether it stays one word, whatever it becomes.
    pub(super) is_one: bool,
}

/// What the wildcards of a word can become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wildcards {
    /// It has none.
    None,
    /// Paths that begin as the word does.
    Paths,
    /// One path, with a name that can look like a flag.
    AnyPath,
    /// Any words: without quotes, the name of a file can become several.
    AnyWords,
}

/// The most bytes of a word in which variables were replaced. A few lines of variables that hold each other many times
/// would become gigabytes.
const MOST_WORD_BYTES: usize = 64 << 10;

/// The most bytes of all values that were set.
const MOST_VALUE_BYTES: usize = 1 << 20;

/// The variables whose values are known.
#[derive(Default)]
pub(super) struct Variables {
    values: BTreeMap<String, Word>,
    /// The bytes of all values that were set.
    bytes: usize,
}

impl Variables {
    /// Sets a variable. Fails if a program may know a variable of this name, or bash itself.
    pub(super) fn set(&mut self, name: &str, value: Word) -> Result<(), Unproven> {
        let is_name =
            name.starts_with(|c: char| c.is_ascii_lowercase()) && name.bytes().all(is_name_byte);
        let is_known = ["histchars", "auto_resume"].contains(&name)
            || name.contains("_proxy")
            || name.contains("_config");
        if !is_name || is_known {
            return Err(unclear(format!("the variable `{name}` can change what programs do")));
        }
        self.bytes += value.text.len();
        if self.bytes > MOST_VALUE_BYTES {
            let message = "its variables are longer than Toolcrib reads";
            return Err(Unproven::new(UnprovenKind::Size, message));
        }
        self.values.insert(name.to_owned(), value);
        Ok(())
    }

    /// Forgets a variable, because its value is not certain any more.
    pub(super) fn forget(&mut self, name: &str) {
        self.values.remove(name);
    }

    /// Returns a word, with the values of its variables.
    pub(super) fn word(&self, node: Node<'_>, text: &str) -> Result<Word, Unproven> {
        let own = &text[node.byte_range()];
        match node.kind() {
            "word" if is_pattern(own) => {
                let is_any = own.starts_with(['*', '?', '-']);
                let wildcards = if is_any { Wildcards::AnyPath } else { Wildcards::Paths };
                Ok(Word { text: own.to_owned(), wildcards, is_one: false })
            }
            "string" if own.contains('$') => {
                let parts = quoted_parts(own).ok_or_else(|| has_expansion(own))?;
                Ok(Word { is_one: true, ..self.fill(parts, own)? })
            }
            // A number, and so one word without quotes, too.
            "simple_expansion" if own == "$?" => Ok(Word::exit_code()),
            "simple_expansion" | "expansion" => {
                let parts = expanded_parts(own).ok_or_else(|| has_expansion(own))?;
                let value = self.fill(parts, own)?;
                let is_whole = !value.text.is_empty() && value.text.chars().all(is_plain_char);
                match value.wildcards {
                    Wildcards::None if is_whole => Ok(value),
                    Wildcards::None => Err(has_expansion(own)),
                    _ => Ok(Word { wildcards: Wildcards::AnyWords, is_one: false, ..value }),
                }
            }
            "concatenation" => {
                if let Some(text) = joined_braces(own) {
                    return Ok(Word::of(text));
                }
                join(children(node).map(|child| self.word(child, text)))
            }
            _ => literal(node, text).map(Word::of),
        }
    }

    /// Puts the values of variables into a text.
    fn fill(&self, parts: Vec<QuotedPart<'_>>, text: &str) -> Result<Word, Unproven> {
        let words = parts.into_iter().map(|part| match part {
            QuotedPart::Text(text) => Ok(Word::of(text)),
            QuotedPart::Variable("?") => Ok(Word::exit_code()),
            QuotedPart::Variable(name) => {
                self.values.get(name).cloned().ok_or_else(|| has_expansion(text))
            }
        });
        join(words)
    }
}

impl Word {
    /// Returns a word without wildcards.
    pub(super) fn of(text: String) -> Self {
        Self { text, wildcards: Wildcards::None, is_one: true }
    }

    /// Returns the exit code of the command before.
    fn exit_code() -> Self {
        Self { wildcards: Wildcards::Paths, ..Self::of("$?".to_owned()) }
    }
}

fn join(parts: impl Iterator<Item = Result<Word, Unproven>>) -> Result<Word, Unproven> {
    let mut all = Word::of(String::new());
    for part in parts {
        let part = part?;
        if all.text.len() + part.text.len() > MOST_WORD_BYTES {
            let message = "a word with variables is longer than Toolcrib reads";
            return Err(Unproven::new(UnprovenKind::Size, message));
        }
        let wildcards = match part.wildcards {
            // Behind a text, it is a part of a path.
            Wildcards::AnyPath if !all.text.is_empty() => Wildcards::Paths,
            wildcards => wildcards,
        };
        all.wildcards = all.wildcards.max(wildcards);
        all.is_one &= part.is_one;
        all.text.push_str(&part.text);
    }
    Ok(all)
}

/// Whether a word has wildcards, and nothing else that bash expands.
fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?'])
        && !word.starts_with('=')
        && word.chars().all(|c| is_plain_char(c) || matches!(c, '*' | '?'))
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn has_expansion(text: &str) -> Unproven {
    unclear(format!("`{text}` has an expansion"))
}

fn unclear(message: String) -> Unproven {
    Unproven::new(UnprovenKind::Word, message)
}
