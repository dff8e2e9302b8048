//! Reads shell commands on a real parse. The strict reading allows nothing that it does not understand;
//! the loose one finds what it can, and proves nothing.

mod loose;
mod nodes;
mod programs;
mod strict;
mod values;
mod words;
mod wrappers;
mod writers;

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolcrib_core::reading::{Danger, ReadShell, Reading};
use tree_sitter::{ParseOptions, ParseState, Parser, Point, Tree};

/// Longer commands are not read.
const MOST_TEXT: usize = 64 << 10;

/// Reading takes far less; what takes more is not read.
const LONGEST: Duration = Duration::from_millis(250);

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
        let mut finder = loose::Finder::new(|text| self.parse(text));
        if finder.look_at(command, 0).is_none() {
            finder.found.dangers.push(Danger::TooLong);
        }
        let loose::Found { commands, writes, removes, reads, mut dangers } = finder.found;
        dangers.sort_unstable();
        dangers.dedup();
        let proven = match self.parse(command) {
            Some(_) if !dangers.is_empty() => {
                Err(format!("it has what no good command needs ({})", dangers[0].as_str()))
            }
            Some(tree) => strict::prove(command, &tree),
            None => Err("it cannot be parsed".to_owned()),
        };
        Reading { proven, found: commands, writes, removes, reads, dangers }
    }
}

impl Bash {
    /// Parses a text, unless that takes so long that it is made for it.
    fn parse(&self, text: &str) -> Option<Tree> {
        let mut parser = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let parser = parser.as_mut()?;
        let start = Instant::now();
        let mut patience = |_: &ParseState| {
            if start.elapsed() < LONGEST {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        };
        let options = ParseOptions::new().progress_callback(&mut patience);
        let mut read = |at: usize, _: Point| text.as_bytes().get(at..).unwrap_or_default();
        let tree = parser.parse_with_options(&mut read, None, Some(options));
        // What was begun and not ended must not be gone on with.
        parser.reset();
        tree
    }
}

fn nothing(why: String) -> Reading {
    Reading { proven: Err(why), ..Reading::unread("") }
}

#[cfg(test)]
mod tests;
