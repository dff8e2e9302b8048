//! Words with variables and wildcards in them, as far as it is known what they become.

use std::collections::BTreeMap;

use toolcrib_core::command_reading::{Unproven, UnprovenKind};
use tree_sitter::Node;

use crate::words::{children, is_plain_char, literal};

/// A word of a command, as it is known before the command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) wildcards: Wildcards,
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

/// The variables whose values are known.
#[derive(Default)]
pub(super) struct Variables(BTreeMap<String, Word>);

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
        self.0.insert(name.to_owned(), value);
        Ok(())
    }

    /// Forgets a variable, because its value is not certain any more.
    pub(super) fn forget(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// Returns a word, with the values of its variables.
    pub(super) fn word(&self, node: Node<'_>, text: &str) -> Result<Word, Unproven> {
        let own = &text[node.byte_range()];
        match node.kind() {
            "word" if is_pattern(own) => {
                let wildcards =
                    if own.starts_with(['*', '?']) { Wildcards::AnyPath } else { Wildcards::Paths };
                Ok(Word { text: own.to_owned(), wildcards })
            }
            "string" if own.contains('$') => {
                let inner = own.strip_prefix('"').and_then(|own| own.strip_suffix('"'));
                let inner = inner.filter(|inner| !inner.contains(['`', '\\', '"']));
                inner.map_or_else(|| Err(has_expansion(own)), |inner| self.fill(inner))
            }
            "simple_expansion" | "expansion" => {
                let value = self.fill(own)?;
                let is_whole = !value.text.is_empty() && value.text.chars().all(is_plain_char);
                match value.wildcards {
                    Wildcards::None if is_whole => Ok(value),
                    Wildcards::None => Err(has_expansion(own)),
                    _ => Ok(Word { wildcards: Wildcards::AnyWords, ..value }),
                }
            }
            "concatenation" => {
                let parts: Vec<Word> =
                    children(node).map(|child| self.word(child, text)).collect::<Result<_, _>>()?;
                Ok(join(parts))
            }
            _ => literal(node, text).map(Word::of),
        }
    }

    /// Puts the values of variables into the inside of a quoted text.
    fn fill(&self, text: &str) -> Result<Word, Unproven> {
        let mut parts = text.split('$');
        let mut words = vec![Word::of(parts.next().unwrap_or_default().to_owned())];
        for part in parts {
            // The exit code of the command before it.
            if let Some(rest) = part.strip_prefix('?') {
                words.push(Word { text: "$?".to_owned(), wildcards: Wildcards::Paths });
                words.push(Word::of(rest.to_owned()));
                continue;
            }
            let (name, rest) = if let Some(braced) = part.strip_prefix('{') {
                braced.split_once('}').ok_or_else(|| has_expansion(text))?
            } else {
                let end = part.bytes().position(|byte| !is_name_byte(byte));
                part.split_at(end.unwrap_or(part.len()))
            };
            words.push(self.0.get(name).cloned().ok_or_else(|| has_expansion(text))?);
            words.push(Word::of(rest.to_owned()));
        }
        Ok(join(words))
    }
}

impl Word {
    /// Returns a word without wildcards.
    pub(super) fn of(text: String) -> Self {
        Self { text, wildcards: Wildcards::None }
    }
}

fn join(parts: Vec<Word>) -> Word {
    let mut all = Word::of(String::new());
    for part in parts {
        let wildcards = match part.wildcards {
            // Behind a text, it is a part of a path.
            Wildcards::AnyPath if !all.text.is_empty() => Wildcards::Paths,
            wildcards => wildcards,
        };
        all.wildcards = all.wildcards.max(wildcards);
        all.text.push_str(&part.text);
    }
    all
}

/// Whether a word has wildcards, and nothing else that bash expands.
fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?'])
        && !word.starts_with(['-', '='])
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
