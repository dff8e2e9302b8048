//! A command that has ended, for the tests of what is told about it.

use std::time::Duration;

use toolcrib_core::command::{ChangedFiles, End, Finished, NetworkAccount, Printed, Usage};

/// Returns a command that ended so and printed these texts.
pub(super) fn finished(end: End, stdout: &str, stderr: &str) -> Finished {
    let printed = |text: &str| Printed { text: text.to_owned(), ..Printed::default() };
    Finished {
        end,
        stdout: printed(stdout),
        stderr: printed(stderr),
        strike: None,
        notes: Vec::new(),
        usage: Usage::default(),
        elapsed: Duration::ZERO,
        touched: ChangedFiles::default(),
        network: NetworkAccount::default(),
    }
}
