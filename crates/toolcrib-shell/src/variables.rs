//! The values of variables that a command sets, as far as they are spelt out.

use std::collections::{HashMap, HashSet};

use crate::budget::Budget;

/// The most values of one variable that are remembered.
const MOST_VALUES: usize = 32;

/// Variables and their values.
#[derive(Default)]
pub(crate) struct Variables {
    values: HashMap<String, Vec<String>>,
    /// The variables that are set to the output of a program.
    printed: HashSet<String>,
    /// The variables that are read from standard input.
    read: HashSet<String>,
}

/// What an assignment does with the value that a variable had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AssignmentKind {
    /// It replaces the value.
    Set,
    /// It puts more behind it.
    Append,
}

impl Variables {
    /// Remembers an assignment of a value, or of a value behind the one before; returns the value, if it is spelt
    /// out.
    pub(crate) fn assign(
        &mut self,
        name: &str,
        value: &str,
        kind: AssignmentKind,
        budget: &Budget,
    ) -> Option<String> {
        if value.contains("$(") || value.contains('`') {
            self.printed.insert(name.to_owned());
        }
        let value = self.expand(value, budget).join(" ");
        if value.contains(['$', '`', '(']) {
            return None;
        }
        let before = self.values.get(name).and_then(|all| all.last());
        let value = match (kind, before) {
            (AssignmentKind::Append, Some(before)) => format!("{before}{value}"),
            (AssignmentKind::Append, None) | (AssignmentKind::Set, _) => value,
        };
        if !budget.spend_bytes(value.len()) {
            return None;
        }
        self.values.insert(name.to_owned(), vec![value.clone()]);
        Some(value)
    }

    /// Remembers that a variable is read from standard input.
    pub(crate) fn read_in(&mut self, name: &str) {
        self.printed.insert(name.to_owned());
        self.read.insert(name.to_owned());
    }

    /// Whether a word is nothing but a variable that is read from standard input.
    pub(crate) fn is_read_in(&self, word: &str) -> bool {
        let Some(rest) = word.strip_prefix('$') else { return false };
        self.read.contains(name_at(rest))
    }

    /// Remembers the values that a loop gives a variable, one after the other.
    pub(crate) fn assign_each(&mut self, name: &str, values: &[String]) {
        self.values.insert(name.to_owned(), values.iter().take(MOST_VALUES).cloned().collect());
    }

    /// Whether a word that is evaluated comes from the output of a program, or from standard input.
    pub(crate) fn is_printed(&self, word: &str) -> bool {
        let is_variable = |name: &String| {
            word.contains(&format!("${name}")) || word.contains(&format!("${{{name}"))
        };
        word.contains("$(")
            || word.contains('`')
            || word.starts_with("<(")
            || word == "/dev/stdin"
            || self.printed.iter().any(is_variable)
    }

    /// Returns a word with the known values in the place of its variables, and defaults in the place of unknown ones.
    /// One word can become several.
    pub(crate) fn expand(&self, given: &str, budget: &Budget) -> Vec<String> {
        if !given.contains('$') {
            return vec![given.to_owned()];
        }
        let mut word = given.to_owned();
        let names: HashSet<&str> = given.split('$').skip(1).map(name_at).collect();
        let known = names.into_iter().filter_map(|name| self.values.get_key_value(name));
        for (name, values) in known.collect::<Vec<_>>() {
            if word == format!("${name}") || word == format!("${{{name}}}") {
                // Without quotes, a shell splits the value into words.
                let words = values.iter().flat_map(|value| value.split_whitespace());
                return words.map(str::to_owned).collect();
            }
            // Each value in the place of each mention.
            let mentions =
                word.matches('$').count() * values.iter().map(String::len).sum::<usize>();
            if !budget.spend_bytes(word.len() * values.len() + mentions) {
                break;
            }
            let plain = format!("${name}");
            let goes_on =
                |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            let with = |value: &String| {
                let mut word = word.replace(&format!("${{{name}}}"), value);
                if let Some(at) = word.find(&plain)
                    && !goes_on(&word[at + plain.len()..])
                {
                    word.replace_range(at..at + plain.len(), value);
                }
                word
            };
            match &values[..] {
                [value] => word = with(value),
                [_, _, ..] if word.contains(&plain) || word.contains(&format!("${{{name}")) => {
                    return values.iter().map(with).collect();
                }
                _ => {}
            }
        }
        if let Some(value) = self.trimmed(&word) {
            return vec![value];
        }
        let default = word.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
        let default = default.and_then(|it| it.split_once([':', '-', '=']));
        vec![match default {
            Some((_, value)) => value.trim_start_matches([':', '-', '=', '+']).to_owned(),
            None => word,
        }]
    }

    /// Returns the value of a word such as `${NAME%suffix}`: as it is, because what is cut off is not certain.
    fn trimmed(&self, word: &str) -> Option<String> {
        let inner = word.strip_prefix("${")?.strip_suffix('}')?;
        let name = name_at(inner);
        let is_changed = inner[name.len()..].starts_with(['%', '#', ':', '/', '^', ',', '@']);
        let [value] = &self.values.get(name).filter(|_| is_changed)?[..] else { return None };
        Some(value.clone())
    }
}

/// Returns the name of the variable at the beginning of a text that follows a `$`.
fn name_at(text: &str) -> &str {
    let text = text.strip_prefix('{').unwrap_or(text);
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Returns the names of the variables that a command reads its input into.
pub(crate) fn names_read(words: &[String]) -> Vec<&str> {
    let is_prefix = |it: &&String| matches!(it.as_str(), "builtin" | "command");
    let mut words = words.iter().skip_while(is_prefix);
    let default = match words.next().map(String::as_str) {
        Some("read") => "REPLY",
        Some("mapfile" | "readarray") => "MAPFILE",
        _ => return Vec::new(),
    };
    // The value of a flag counts as a name, which does no harm.
    let names: Vec<&str> = words.map(String::as_str).filter(|it| !it.starts_with('-')).collect();
    if names.is_empty() { vec![default] } else { names }
}
