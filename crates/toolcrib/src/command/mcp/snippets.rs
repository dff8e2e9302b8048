//! What `mcp install --print` prints for each client, for the page that shows how to connect one.

use std::path::Path;

use toolcrib_core::escape;
use toolcrib_serve::ClientSnippet;

use super::clients::{CLIENTS, McpClient};
use super::entry_edit;
use super::install::folders;
use super::listing::scope_word;
use super::server_entry::{ServerStart, StartOptions};
use crate::cli::ClientScope;

/// The name of the entry, as on the command line.
const ENTRY_NAME: &str = "toolcrib";

/// Returns how each client is connected to this workspace. A client whose file cannot be told is left out.
pub(in crate::command) fn snippets(workspace: &Path) -> Vec<ClientSnippet> {
    let scopes = [ClientScope::Project, ClientScope::User];
    let all = CLIENTS.iter().flat_map(|client| scopes.map(|scope| (client, scope)));
    all.filter_map(|(client, scope)| snippet(workspace, client, scope)).collect()
}

fn snippet(
    workspace: &Path,
    client: &'static McpClient,
    scope: ClientScope,
) -> Option<ClientSnippet> {
    let options = StartOptions { toolset: None, workspace: Some(workspace.to_owned()) };
    let folders = folders(options.workspace.as_deref()).ok()?;
    let file = client.file(scope, &folders).ok()?;
    let start = ServerStart::of(&options, client, scope).ok()?;
    let entry = start.entry(client.form, ENTRY_NAME);
    let text = entry_edit::put(client, "", ENTRY_NAME, &entry).ok()?;
    let scope = scope_word(scope);
    let folder = shell_word(&workspace.display().to_string());
    Some(ClientSnippet {
        client: client.word.to_owned(),
        title: client.title.to_owned(),
        scope,
        command: format!("toolcrib mcp install {} --scope {scope} -C {folder}", client.word),
        file: file.display().to_string(),
        text,
        afterwards: client.afterwards.to_owned(),
        warning: warning(start.warning),
    })
}

/// Returns what a person should know besides. A client that has another state folder than the server has another record,
/// and its questions do not come to the page.
fn warning(of_start: Option<String>) -> Option<String> {
    let Some(state) = std::env::var_os("TOOLCRIB_STATE").filter(|state| !state.is_empty()) else {
        return of_start;
    };
    let of_state = format!(
        "This server runs with `TOOLCRIB_STATE={}`; give the client the same variable, or its questions do not come here",
        escape::line(&state.to_string_lossy())
    );
    Some(match of_start {
        Some(of_start) => format!("{of_start}. {of_state}"),
        None => of_state,
    })
}

/// Returns a word as a shell reads it.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+,@%=:".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_a_snippet_and_odd_folders_are_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let odd = folder.path().join("it's here");
        std::fs::create_dir(&odd).unwrap();
        let all = snippets(&odd);
        for client in &CLIENTS {
            let own: Vec<_> = all.iter().filter(|it| it.client == client.word).collect();
            assert!(!own.is_empty(), "{}", client.word);
            assert!(own.iter().all(|it| it.text.contains(ENTRY_NAME)), "{}", client.word);
            assert!(own.iter().all(|it| it.command.ends_with(r"/it'\''s here'")), "{own:?}");
        }
    }
}
