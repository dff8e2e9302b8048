//! Reads shell commands on a real parse. The strict reading allows nothing that it does not understand;
//! the loose one finds what it can, and proves nothing.

mod loose;
mod programs;
mod strict;
mod words;

use std::sync::{Mutex, PoisonError};

use toolcrib_core::reading::{Danger, ReadShell, Reading};
use tree_sitter::{Parser, Tree};

/// Longer commands are not read.
const MOST_TEXT: usize = 64 << 10;

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
        finder.look_at(command, 0);
        let loose::Found { commands, writes, mut dangers } = finder.found;
        dangers.sort_unstable();
        dangers.dedup();
        let proven = match self.parse(command) {
            Some(_) if !dangers.is_empty() => {
                Err(format!("it has what no good command needs ({})", dangers[0].as_str()))
            }
            Some(tree) => strict::prove(command, &tree),
            None => Err("it cannot be parsed".to_owned()),
        };
        Reading { proven, found: commands, writes, dangers }
    }
}

impl Bash {
    fn parse(&self, text: &str) -> Option<Tree> {
        let mut parser = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parser.as_mut()?.parse(text, None)
    }
}

fn nothing(why: String) -> Reading {
    Reading { proven: Err(why), found: Vec::new(), writes: Vec::new(), dangers: Vec::new() }
}

#[cfg(test)]
mod tests;
