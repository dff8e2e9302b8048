//! Reads shell commands with a real parser. The strict reading proves what a command does, and fails on everything
//! that it does not understand. The loose reading finds what it can, and proves nothing.

mod braces;
mod budget;
mod fork_bomb;
mod input;
mod loose;
mod strict;
mod variables;
mod walk;
mod words;

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use toolcrib_core::command_reading::{Danger, ReadShell, Reading, Unproven, UnprovenKind};
use tree_sitter::{ParseOptions, ParseState, Parser, Point, Tree};

use budget::{Budget, MOST_STEPS};

/// The most bytes of a command that is read.
const MOST_TEXT_BYTES: usize = 64 << 10;

/// What the operations of the parser between two calls of its progress callback cost: a hundred, at two steps each.
const STEPS_PER_CALLBACK: usize = 200;

/// How many bytes the lexer gets at once, and what reading them costs. For a single operation, the grammar's scanner
/// may read to the end of the text: counting operations alone left 64 KB of `$(` take minutes.
const CHUNK_BYTES: usize = 256;
const STEPS_PER_CHUNK: usize = 16;

/// A reader of bash commands.
pub struct BashReader(Mutex<Option<Parser>>);

impl Default for BashReader {
    fn default() -> Self {
        let mut parser = Parser::new();
        let is_set = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
        Self(Mutex::new(is_set.then_some(parser)))
    }
}

impl ReadShell for BashReader {
    fn read(&self, command: &str) -> Reading {
        if command.len() > MOST_TEXT_BYTES {
            return Reading {
                dangers: vec![Danger::TooLong],
                ..unread(Unproven::new(
                    UnprovenKind::Size,
                    format!("it has {} bytes, but the limit is {MOST_TEXT_BYTES}", command.len()),
                ))
            };
        }
        self.read_within(command, &Budget::new(MOST_STEPS))
    }
}

impl BashReader {
    /// Reads a command, with no more work than the budget has. A command that needs more is dangerous for that
    /// alone, and nothing of it is proven.
    fn read_within(&self, command: &str, budget: &Budget) -> Reading {
        let tree = self.parse(command, budget);
        let mut finder = loose::CommandFinder::new(budget, |text| self.parse(text, budget));
        if let Some(tree) = &tree {
            finder.search(command, tree);
        }
        let loose::Findings { commands, writes, removes, reads, assigned, mut dangers } =
            finder.found;
        if tree.is_none() || budget.is_spent() {
            dangers.push(Danger::TooLong);
        }
        dangers.sort_unstable();
        dangers.dedup();
        let proven = match &tree {
            Some(_) if !dangers.is_empty() => Err(dangers[0].into()),
            Some(tree) => strict::prove(command, tree),
            None => Err(strict::unparsed()),
        };
        Reading { proven, found: commands, writes, removes, reads, assigned, dangers }
    }

    /// Parses a text, unless that costs more than the budget has.
    fn parse(&self, text: &str, budget: &Budget) -> Option<Tree> {
        let mut parser = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parser = parser.as_mut()?;
        let mut count = |_: &ParseState| {
            if budget.spend(STEPS_PER_CALLBACK) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
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

fn unread(why: Unproven) -> Reading {
    Reading { proven: Err(why), ..Reading::unread("") }
}

#[cfg(test)]
mod tests;
