//! The list of clients: the file of each, and whether Toolcrib is in it.

use toolcrib_core::escape;

use super::client_file::ClientFile;
use super::clients::{CLIENTS, ClientFolders, McpClient};
use super::entry_edit;
use crate::cli::ClientScope;
use crate::terminal::print_lines;

/// Prints every client that has a file in this scope.
pub(super) fn list(folders: &ClientFolders, scope: ClientScope, name: &str) {
    let line = |client: &McpClient| {
        let path = client.file(scope, folders).ok()?;
        let state = match ClientFile::read(&path) {
            Err(_) => "cannot be read",
            Ok(file) => match entry_edit::find(client, file.text(), name) {
                Ok(Some(_)) => "installed",
                Ok(None) => "not installed",
                Err(_) => "cannot be parsed",
            },
        };
        let path = path.display().to_string();
        Some(format!("{:<12} {state:<16} {}", client.word, escape::line(&path)))
    };
    let mut lines: Vec<String> = CLIENTS.iter().filter_map(line).collect();
    lines.push(match scope {
        ClientScope::User => "`toolcrib mcp install CLIENT` adds Toolcrib to your file.".to_owned(),
        ClientScope::Project => {
            "`toolcrib mcp install CLIENT --scope project` adds Toolcrib to the project's file."
                .to_owned()
        }
    });
    print_lines(&lines);
}

/// Returns the scope as people type it.
pub(super) fn scope_word(scope: ClientScope) -> &'static str {
    match scope {
        ClientScope::User => "user",
        ClientScope::Project => "project",
    }
}
