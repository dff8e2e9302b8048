//! Reads shell commands on a real parse. The strict reading allows nothing that it does not understand;
//! the loose one finds what it can, and proves nothing.

mod budget;
mod loose;
mod nodes;
mod programs;
mod strict;
mod values;
mod walk;
mod words;
mod wrappers;
mod writers;

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use toolcrib_core::reading::{Danger, ReadShell, Reading};
use tree_sitter::{ParseOptions, ParseState, Parser, Point, Tree};

use budget::{Budget, MOST_STEPS};

/// Longer commands are not read.
const MOST_TEXT: usize = 64 << 10;

/// What the operations of the parser between two calls of its progress callback cost: a hundred, at two steps each.
const STEPS_PER_CALLBACK: usize = 200;

/// How many bytes the lexer gets at once, and what reading them costs. For a single operation, the grammar's scanner
/// may read to the end of the text: counting operations alone left 64 KB of `$(` take minutes.
const CHUNK_BYTES: usize = 256;
const STEPS_PER_CHUNK: usize = 16;

/// Reads commands as bash does.
pub struct Bash(Mutex<Option<Parser>>);

impl Default for Bash {
    fn default() -> Self {
        let mut parser = Parser::new();
        let is_set = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
        Self(Mutex::new(is_set.then_some(parser)))
    }
}

impl ReadShell for Bash {
    fn read(&self, command: &str) -> Reading {
        if command.len() > MOST_TEXT {
            return Reading {
                dangers: vec![Danger::TooLong],
                ..nothing(format!("it has {} bytes", command.len()))
            };
        }
        self.read_within(command, &Budget::new(MOST_STEPS))
    }
}

impl Bash {
    /// Reads a command, with no more work than the budget has. A command that needs more is dangerous for that
    /// alone, and nothing of it is proven.
    fn read_within(&self, command: &str, budget: &Budget) -> Reading {
        let tree = self.parse(command, budget);
        let mut finder = loose::Finder::new(budget, |text| self.parse(text, budget));
        if let Some(tree) = &tree {
            finder.look_through(command, tree);
        }
        let loose::Found { commands, writes, removes, reads, mut dangers } = finder.found;
        if tree.is_none() || budget.is_spent() {
            dangers.push(Danger::TooLong);
        }
        dangers.sort_unstable();
        dangers.dedup();
        let proven = match &tree {
            Some(_) if !dangers.is_empty() => {
                Err(format!("it has what no good command needs ({})", dangers[0].as_str()))
            }
            Some(tree) => strict::prove(command, tree),
            None => Err("it cannot be parsed".to_owned()),
        };
        Reading { proven, found: commands, writes, removes, reads, dangers }
    }

    /// Parses a text, unless that costs more than the budget has.
    fn parse(&self, text: &str, budget: &Budget) -> Option<Tree> {
        let mut parser = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parser = parser.as_mut()?;
        let mut count = |_: &ParseState| match budget.spend(STEPS_PER_CALLBACK) {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        };
        let options = ParseOptions::new().progress_callback(&mut count);
        let mut read = |at: usize, _: Point| {
            let rest = text.as_bytes().get(at..).unwrap_or_default();
            // Without steps the text ends here, which ends the scanner too.
            let most = if budget.spend(STEPS_PER_CHUNK) { CHUNK_BYTES } else { 0 };
            &rest[..rest.len().min(most)]
        };
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        // A parse that was broken off must not be continued with the next text.
        parser.reset();
        tree
    }
}

fn nothing(why: String) -> Reading {
    Reading { proven: Err(why), ..Reading::unread("") }
}

#[cfg(test)]
mod tests;
