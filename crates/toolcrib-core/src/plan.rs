//! The plan of a call: what it would do, before it does it.

use serde::{Deserialize, Serialize};

use crate::command::{CommandRequest, Shell};

/// What a call would do, for policy and for the person who is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The files it would change.
    pub edits: Vec<ProposedEdit>,
    /// The files and directories it would read, as the caller wrote them.
    pub reads: Vec<String>,
    /// The command it would run.
    pub command: Option<ProposedCommand>,
    /// The hosts that it would reach itself.
    pub hosts: Vec<String>,
}

/// A command that a call would run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedCommand {
    /// The shell that reads the text.
    pub shell: Shell,
    /// The text.
    pub text: String,
    /// The directory it starts in, as the caller wrote it.
    pub directory: Option<String>,
}

/// A file that a call would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedEdit {
    /// The path, as the caller wrote it.
    pub path: String,
    /// The text before; empty if the file is new or not text.
    pub before: Option<String>,
    /// The text after; empty if the file would be gone or is not text.
    pub after: Option<String>,
}

impl Plan {
    /// Returns a plan that changes one file.
    pub fn edit(path: &str, before: Option<String>, after: Option<String>) -> Self {
        let edits = vec![ProposedEdit { path: path.to_owned(), before, after }];
        Self { edits, ..Self::default() }
    }

    /// Returns a plan that reads a file or a directory.
    pub fn read(path: &str) -> Self {
        Self { reads: vec![path.to_owned()], ..Self::default() }
    }

    /// Returns a plan that searches below a directory for a file name pattern.
    pub fn search(directory: Option<&str>, pattern: Option<&str>) -> Self {
        let directory = directory.unwrap_or(".");
        // A pattern without wildcards is a plain name, which rules about paths look at.
        let named = pattern.map(|pattern| match directory {
            "." | "" | "./" => pattern.to_owned(),
            above => format!("{}/{pattern}", above.trim_end_matches('/')),
        });
        let reads = std::iter::once(directory.to_owned()).chain(named);
        Self { reads: reads.collect(), ..Self::default() }
    }

    /// Returns how many bytes the edits would write.
    pub fn size(&self) -> u64 {
        let sizes = self.edits.iter().filter_map(|edit| edit.after.as_ref());
        sizes.map(|after| after.len() as u64).sum()
    }

    /// Returns a plan that runs a command.
    pub fn command(request: &CommandRequest) -> Self {
        let CommandRequest { shell, text, directory, .. } = request.clone();
        Self { command: Some(ProposedCommand { shell, text, directory }), ..Self::default() }
    }
}
