//! Programs that run what they read from their input, although they are no shells and no interpreters.

use super::arguments::{Arguments, ValueFlags, is_bundled, is_long};

/// When a program runs commands that it reads from its input.
#[derive(Clone, Copy, Debug)]
pub enum RunsInput {
    /// Never, as far as is known.
    Never,
    /// Unless its operands name a command: `ssh host` does, `ssh host ls` does not.
    UnlessOperands {
        /// How many operands it can have before those that name a command.
        own: usize,
        /// Its flags that take a value.
        flags: ValueFlags,
        /// Flags with which it runs nothing, or something else, short ones as a letter.
        but: &'static [&'static str],
    },
    /// If one of these flags is given, and no operand.
    WithFlag {
        /// The flags, short ones as a letter.
        any: &'static [&'static str],
        /// Its flags that take a value.
        flags: ValueFlags,
    },
    /// If the value of one of these flags is the input: `make -f -`.
    FromFlag {
        /// The long flags, with their dashes.
        long: &'static [&'static str],
        /// The letter of the short flag.
        short: char,
    },
}

impl RunsInput {
    /// Whether it is so with these words, which follow the program's name.
    pub(super) fn holds(&self, rest: &[String]) -> bool {
        let operands = |flags: ValueFlags| {
            let parsed = Arguments::parse(rest, flags);
            // `su - user`
            let count = parsed.operands.iter().filter(|it| *it != "-").count();
            (parsed, count)
        };
        match self {
            Self::Never => false,
            Self::UnlessOperands { own, flags, but } => {
                let (parsed, count) = operands(*flags);
                count <= *own && !parsed.has(but)
            }
            Self::WithFlag { any, flags } => {
                let (parsed, count) = operands(*flags);
                count == 0 && parsed.has(any)
            }
            Self::FromFlag { long, short } => {
                let letter = short.to_string();
                rest.iter().enumerate().any(|(at, word)| {
                    // The parser drops a `-` before `<<`, so that the value is missing.
                    let next = rest.get(at + 1).map_or("-", String::as_str);
                    if long.iter().any(|long| is_long(word, long)) {
                        return is_input(word.split_once('=').map_or(next, |it| it.1));
                    }
                    let value = word.split_once(*short).map_or("", |it| it.1);
                    is_bundled(word, &letter)
                        && is_input(if value.is_empty() { next } else { value })
                })
            }
        }
    }
}

/// Whether a word stands for the input of the program.
pub fn is_input(word: &str) -> bool {
    matches!(word, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}
