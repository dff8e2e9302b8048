//! A question to the person at the terminal.

use std::io::{BufRead, Write};

use crate::error::CliError;

/// Asks the person at the terminal, and returns whether the answer is yes.
pub(super) fn is_wanted(question: &str) -> Result<bool, CliError> {
    let mut err = std::io::stderr();
    let asked = err.write_all(question.as_bytes()).and_then(|()| err.flush());
    let mut answer = String::new();
    asked.and_then(|()| std::io::stdin().lock().read_line(&mut answer)).map_err(|err| {
        CliError::usage(format!("the answer cannot be read from the terminal: {err}"))
    })?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
