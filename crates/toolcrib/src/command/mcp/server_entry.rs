//! The entry that a client starts Toolcrib by: the program, its arguments, and the form of each client.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toolcrib_core::Toolset;
use toolcrib_host::find_program;
use toolcrib_tools::catalogues;

use super::clients::{EntryForm, McpClient};
use crate::cli::{ClientScope, Global};
use crate::error::{CliError, CliErrorKind};

/// The program as people type it.
const PROGRAM: &str = "toolcrib";

/// How a client starts Toolcrib.
pub(super) struct ServerStart {
    command: String,
    arguments: Vec<String>,
    /// What a person should know about it.
    pub(super) warning: Option<String>,
}

/// An entry in a client's own form.
pub(super) struct ServerEntry {
    /// The fields that say what is started. An entry that has them is up to date.
    pub(super) required: Map<String, Value>,
    /// The fields that a new entry has besides. In an old entry, they are the user's own.
    initial: Map<String, Value>,
}

impl ServerEntry {
    /// Returns all fields of a new entry.
    pub(super) fn whole(&self) -> Map<String, Value> {
        self.required.clone().into_iter().chain(self.initial.clone()).collect()
    }
}

/// The options of the command line that an entry keeps.
pub(super) struct StartOptions {
    pub(super) toolset: Option<String>,
    pub(super) workspace: Option<PathBuf>,
}

impl From<&Global> for StartOptions {
    fn from(global: &Global) -> Self {
        Self { toolset: global.toolset.clone(), workspace: global.workspace.clone() }
    }
}

impl ServerStart {
    /// Returns how a client is to start Toolcrib with these options of the command line.
    pub(super) fn of(
        options: &StartOptions,
        client: &McpClient,
        scope: ClientScope,
    ) -> Result<Self, CliError> {
        let on_path = program_on_path();
        let (command, warning) = match scope {
            ClientScope::User => (own_command(on_path.as_deref())?, home_warning(options, client)),
            ClientScope::Project => (PROGRAM.to_owned(), path_warning(on_path.as_deref())),
        };
        let mut arguments = vec!["mcp".to_owned()];
        if let Some(toolset) = &options.toolset {
            let names: Vec<String> = toolset.split(',').map(|it| it.trim().to_owned()).collect();
            Toolset::choose(catalogues(), &names)?;
            arguments.extend(["--toolset".to_owned(), names.join(",")]);
        }
        let folder = match scope {
            ClientScope::User => options.workspace.as_deref().map(existing_folder).transpose()?,
            ClientScope::Project => client.folder_variable.map(str::to_owned),
        };
        arguments.extend(folder.into_iter().flat_map(|folder| ["-C".to_owned(), folder]));
        Ok(Self { command, arguments, warning })
    }

    /// Returns the entry in the form of a client.
    pub(super) fn entry(&self, form: EntryForm, name: &str) -> ServerEntry {
        let Self { command, arguments, .. } = self;
        let typed = json!({"type": "stdio", "command": command, "args": arguments});
        let plain = json!({"command": command, "args": arguments});
        let environment = json!({"env": {}});
        let (required, initial) = match form {
            EntryForm::Plain => (plain, json!({})),
            EntryForm::WithEnvironment => (plain, environment),
            EntryForm::Typed => (typed, json!({})),
            EntryForm::TypedWithEnvironment => (typed, environment),
            EntryForm::OneList => {
                let all: Vec<&String> = [command].into_iter().chain(arguments).collect();
                (json!({"type": "local", "command": all}), json!({"enabled": true}))
            }
            EntryForm::Goose => (
                json!({"type": "stdio", "cmd": command, "args": arguments}),
                json!({
                    "name": name,
                    "description": "Tools that Toolcrib checks, confines and records",
                    "enabled": true,
                    "envs": {},
                    "timeout": 300,
                }),
            ),
        };
        let fields = |value: Value| match value {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        ServerEntry { required: fields(required), initial: fields(initial) }
    }
}

/// Returns the command for this machine: the short name if it starts this program, or else the path of this program.
fn own_command(on_path: Option<&Path>) -> Result<String, CliError> {
    let failed = |what: String| CliError::new(CliErrorKind::System, what);
    let own = std::env::current_exe().and_then(|path| path.canonicalize()).map_err(|err| {
        failed(format!("Toolcrib cannot tell the path of its own program: {err}"))
    })?;
    if on_path.and_then(|path| path.canonicalize().ok()).as_ref() == Some(&own) {
        return Ok(PROGRAM.to_owned());
    }
    utf8(&own)
}

/// Returns the program that the shell would start.
fn program_on_path() -> Option<PathBuf> {
    find_program(PROGRAM, &std::env::var_os("PATH")?)
}

fn path_warning(on_path: Option<&Path>) -> Option<String> {
    on_path.is_none().then(|| {
        format!(
            "`{PROGRAM}` is not on PATH here; whoever uses the project's file needs it there, because a file that is \
             shared cannot hold a path of this machine"
        )
    })
}

/// Warns where a client starts the servers of a user in the home directory, which would be the workspace.
fn home_warning(options: &StartOptions, client: &McpClient) -> Option<String> {
    let is_in_home = client.folder_variable.is_some() && options.workspace.is_none();
    is_in_home.then(|| {
        format!(
            "{} can start the server in your home directory, which is then the workspace; `--scope project` or `-C DIR` \
             confines calls to a project",
            client.title
        )
    })
}

/// Returns the absolute path of a folder, which must exist.
fn existing_folder(folder: &Path) -> Result<String, CliError> {
    let shown = folder.display();
    let path = folder
        .canonicalize()
        .map_err(|err| CliError::usage(format!("`{shown}` cannot be the workspace: {err}")))?;
    if !path.is_dir() {
        return Err(CliError::usage(format!("`{shown}` cannot be the workspace: not a directory")));
    }
    utf8(&path)
}

fn utf8(path: &Path) -> Result<String, CliError> {
    let message = || format!("`{}` cannot stand in a client's file: not UTF-8", path.display());
    path.to_str().map(str::to_owned).ok_or_else(|| CliError::usage(message()))
}
