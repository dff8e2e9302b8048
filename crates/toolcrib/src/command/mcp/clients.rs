//! The MCP clients as data: one row each, with the file that lists its servers and the form of an entry. A new client needs
//! a row here and a name in `cli/mcp.rs`.

use std::path::{Path, PathBuf};

use crate::cli::{ClientName, ClientScope};
use crate::error::{CliError, CliErrorKind};

/// An MCP client, and where and how it lists its servers.
pub(super) struct McpClient {
    pub(super) name: ClientName,
    /// The name on the command line.
    pub(super) word: &'static str,
    /// The name that people know.
    pub(super) title: &'static str,
    user: UserFolder,
    /// The user's file in that folder. Of several, the first that exists counts, or else the first.
    user_files: &'static [&'static str],
    /// The project's file, likewise. Empty if the client has none.
    project_files: &'static [&'static str],
    pub(super) format: FileFormat,
    /// The key of the object that has a member for each server.
    pub(super) servers_key: &'static str,
    pub(super) form: EntryForm,
    /// What the client puts in place of the project's folder. Clients without it start servers in that folder.
    pub(super) folder_variable: Option<&'static str>,
    /// What a person does in the client afterwards.
    pub(super) afterwards: &'static str,
}

/// The folder of the user's file.
enum UserFolder {
    /// The home directory.
    Home,
    /// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
    Config,
    /// The folder that a variable names, or this one in the home directory.
    Variable(&'static str, &'static str),
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileFormat {
    /// JSON; comments and trailing commas are kept.
    Json,
    Toml,
    Yaml,
}

/// How an entry is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryForm {
    /// `command`, `args`.
    Plain,
    /// `command`, `args`, `env`.
    WithEnvironment,
    /// `type: stdio`, `command`, `args`.
    Typed,
    /// `type: stdio`, `command`, `args`, `env`.
    TypedWithEnvironment,
    /// `type: local`, `command` with the arguments, `enabled`.
    OneList,
    /// `type: stdio`, `cmd`, `args`, `envs` and what else Goose writes.
    Goose,
}

pub(super) const CLIENTS: [McpClient; 8] = [
    McpClient {
        name: ClientName::ClaudeCode,
        word: "claude-code",
        title: "Claude Code",
        user: UserFolder::Variable("CLAUDE_CONFIG_DIR", ""),
        user_files: &[".claude.json"],
        project_files: &[".mcp.json"],
        format: FileFormat::Json,
        servers_key: "mcpServers",
        form: EntryForm::TypedWithEnvironment,
        folder_variable: None,
        afterwards: "Start a new session; `/mcp` lists the server. A server of the project must be approved there once.",
    },
    McpClient {
        name: ClientName::Codex,
        word: "codex",
        title: "Codex",
        user: UserFolder::Variable("CODEX_HOME", ".codex"),
        user_files: &["config.toml"],
        project_files: &[".codex/config.toml"],
        format: FileFormat::Toml,
        servers_key: "mcp_servers",
        form: EntryForm::Plain,
        folder_variable: None,
        afterwards: "Start a new session; `codex mcp list` lists the server. The file of a project counts once the project is trusted.",
    },
    McpClient {
        name: ClientName::VsCode,
        word: "vscode",
        title: "Visual Studio Code",
        user: UserFolder::Config,
        user_files: &["Code/User/mcp.json"],
        project_files: &[".vscode/mcp.json"],
        format: FileFormat::Json,
        servers_key: "servers",
        form: EntryForm::Typed,
        folder_variable: Some("${workspaceFolder}"),
        afterwards: "Run `MCP: List Servers` from the command palette, start the server, and trust it.",
    },
    McpClient {
        name: ClientName::Cursor,
        word: "cursor",
        title: "Cursor",
        user: UserFolder::Home,
        user_files: &[".cursor/mcp.json"],
        project_files: &[".cursor/mcp.json"],
        format: FileFormat::Json,
        servers_key: "mcpServers",
        form: EntryForm::Typed,
        folder_variable: Some("${workspaceFolder}"),
        afterwards: "Restart Cursor, and switch the server on in its settings for MCP.",
    },
    McpClient {
        name: ClientName::Gemini,
        word: "gemini-cli",
        title: "Gemini CLI",
        user: UserFolder::Variable("GEMINI_CLI_HOME", ""),
        user_files: &[".gemini/settings.json"],
        project_files: &[".gemini/settings.json"],
        format: FileFormat::Json,
        servers_key: "mcpServers",
        form: EntryForm::Plain,
        folder_variable: None,
        afterwards: "Start a new session; `/mcp` lists the server. Servers are off in folders that you have not trusted.",
    },
    McpClient {
        name: ClientName::OpenCode,
        word: "opencode",
        title: "opencode",
        user: UserFolder::Config,
        user_files: &["opencode/opencode.json", "opencode/opencode.jsonc"],
        project_files: &["opencode.json", "opencode.jsonc"],
        format: FileFormat::Json,
        servers_key: "mcp",
        form: EntryForm::OneList,
        folder_variable: None,
        afterwards: "Start a new session; `opencode mcp list` lists the server.",
    },
    McpClient {
        name: ClientName::Goose,
        word: "goose",
        title: "Goose",
        user: UserFolder::Config,
        user_files: &["goose/config.yaml"],
        project_files: &[],
        format: FileFormat::Yaml,
        servers_key: "extensions",
        form: EntryForm::Goose,
        folder_variable: None,
        afterwards: "Start a new session; `goose info -v` lists the extension.",
    },
    McpClient {
        name: ClientName::Zed,
        word: "zed",
        title: "Zed",
        user: UserFolder::Config,
        user_files: &["zed/settings.json"],
        project_files: &[".zed/settings.json"],
        format: FileFormat::Json,
        servers_key: "context_servers",
        form: EntryForm::WithEnvironment,
        folder_variable: None,
        afterwards: "Zed reads the file at once; the settings of the agent panel list the server.",
    },
];

/// The user's folders and the project's.
pub(super) struct ClientFolders {
    pub(super) home: Option<PathBuf>,
    pub(super) project: PathBuf,
}

impl ClientFolders {
    /// Whether a client with this file seems to be on this machine: its folder is there, or the file if that has no
    /// folder of its own.
    pub(super) fn has_client(&self, file: &Path) -> bool {
        match file.parent() {
            Some(folder) if Some(folder) != self.home.as_deref() => folder.is_dir(),
            _ => file.exists(),
        }
    }
}

impl McpClient {
    /// Returns the client with this name.
    pub(super) fn named(name: ClientName) -> Option<&'static Self> {
        CLIENTS.iter().find(|client| client.name == name)
    }

    /// Returns the file that lists the servers.
    pub(super) fn file(
        &self,
        scope: ClientScope,
        folders: &ClientFolders,
    ) -> Result<PathBuf, CliError> {
        let (folder, names) = match scope {
            ClientScope::User => (self.user_folder(folders)?, self.user_files),
            ClientScope::Project => (folders.project.clone(), self.project_files),
        };
        let all = || names.iter().map(|name| folder.join(name));
        let found = all().find(|path| path.symlink_metadata().is_ok());
        found.or_else(|| all().next()).ok_or_else(|| {
            let message = format!("{} keeps no list of servers in projects", self.title);
            let hint = format!("`toolcrib mcp install {}` adds Toolcrib to yours", self.word);
            CliError::usage(message).hint(hint)
        })
    }

    fn user_folder(&self, folders: &ClientFolders) -> Result<PathBuf, CliError> {
        let named = |variable: &str| {
            std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let home = || {
            folders.home.clone().ok_or_else(|| {
                let message = format!("Toolcrib cannot tell where the file of {} is", self.title);
                CliError::new(CliErrorKind::System, message).hint("set HOME")
            })
        };
        let given = match self.user {
            UserFolder::Home => None,
            UserFolder::Config => named("XDG_CONFIG_HOME"),
            UserFolder::Variable(variable, _) => named(variable),
        };
        let below = match self.user {
            UserFolder::Home => "",
            UserFolder::Config => ".config",
            UserFolder::Variable(_, below) => below,
        };
        match given {
            Some(folder) => Ok(folder),
            // Joining nothing would leave a slash at the end.
            None if below.is_empty() => home(),
            None => Ok(home()?.join(below)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    #[test]
    fn every_client_has_a_row_with_the_word_that_people_type() {
        for name in ClientName::value_variants() {
            let client = McpClient::named(*name).unwrap();
            assert_eq!(client.word, name.to_possible_value().unwrap().get_name());
            assert!(!client.user_files.is_empty(), "{}", client.title);
        }
        assert_eq!(CLIENTS.len(), ClientName::value_variants().len(), "no row is there twice");
    }
}
