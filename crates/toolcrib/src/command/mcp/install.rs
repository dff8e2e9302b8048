//! `toolcrib mcp install` and `uninstall`: shows what would change in a client's file, asks, and writes it.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use toolcrib_core::escape;

use super::client_file::ClientFile;
use super::clients::{ClientFolders, McpClient};
use super::edit_error::EditError;
use super::listing::list;
use super::server_entry::{ServerEntry, ServerStart};
use super::{entry_edit, listing};
use crate::cli::{ClientScope, Global, McpClientArgs, McpCommand};
use crate::command::difference;
use crate::error::{CliError, CliErrorKind};
use crate::exit::Exit;
use crate::terminal::{Terminal, print, print_lines};

/// What is done with a change.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    /// The entry is printed, and no file is changed.
    Print,
    /// The change is shown, and made if a person says so.
    Ask,
    /// The change is shown and made.
    Write,
}

pub(super) fn run(
    global: &Global,
    terminal: Terminal,
    command: &McpCommand,
) -> Result<Exit, CliError> {
    refuse_other_options(global)?;
    let ended = match command {
        McpCommand::Install { client, print, write } => {
            let way = match (print, write) {
                (true, _) => Way::Print,
                (false, true) => Way::Write,
                (false, false) => Way::Ask,
            };
            Installation::of(global, client).and_then(|it| {
                it.map_or_else(|| list_all(global, client), |it| it.install(terminal, way))
            })
        }
        McpCommand::Uninstall { client, write } => {
            let way = if *write { Way::Write } else { Way::Ask };
            Installation::of(global, client).and_then(|it| {
                it.map_or_else(|| list_all(global, client), |it| it.uninstall(terminal, way))
            })
        }
    };
    match ended {
        // The command line was right, and the file could not be read, changed or written.
        Err(err) if err.kind == CliErrorKind::System => {
            terminal.fail(&err.message, err.hint.as_deref());
            Ok(Exit::Failed)
        }
        ended => ended,
    }
}

/// Refuses options that an entry does not keep, so that nobody believes that it does.
fn refuse_other_options(global: &Global) -> Result<(), CliError> {
    if global.yes {
        let message = "--yes is not for the file of a client";
        return Err(CliError::usage(message).hint("--write writes the file without asking"));
    }
    let given = [("--mode", global.mode.is_some()), ("-c", !global.set.is_empty())];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((flag, _)) => Err(CliError::usage(format!("{flag} is not kept in a client's file"))
            .hint("`toolcrib config set` sets it for every call")),
    }
}

/// Returns the folders that files of clients are in.
pub(super) fn folders(workspace: Option<&Path>) -> Result<ClientFolders, CliError> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let given = workspace.unwrap_or(Path::new("."));
    let project = std::path::absolute(given)?;
    Ok(ClientFolders { home, project })
}

fn list_all(global: &Global, args: &McpClientArgs) -> Result<Exit, CliError> {
    list(&folders(global.workspace.as_deref())?, args.scope, &args.name);
    Ok(Exit::Done)
}

/// An entry of a client's file that is to be there or not.
struct Installation<'a> {
    global: &'a Global,
    client: &'static McpClient,
    scope: ClientScope,
    name: &'a str,
    folders: ClientFolders,
    path: PathBuf,
}

impl<'a> Installation<'a> {
    /// Returns what the command line names; nothing if it names no client.
    fn of(global: &'a Global, args: &'a McpClientArgs) -> Result<Option<Self>, CliError> {
        let Some(client) = args.client.and_then(McpClient::named) else { return Ok(None) };
        let folders = folders(global.workspace.as_deref())?;
        if args.scope == ClientScope::Project && !folders.project.is_dir() {
            let shown = folders.project.display();
            return Err(CliError::usage(format!("`{shown}` is not a directory"))
                .hint("-C names the folder of the project"));
        }
        let path = client.file(args.scope, &folders)?;
        Ok(Some(Self { global, client, scope: args.scope, name: &args.name, folders, path }))
    }

    fn install(&self, terminal: Terminal, way: Way) -> Result<Exit, CliError> {
        let start = ServerStart::of(&self.global.into(), self.client, self.scope)?;
        let entry = start.entry(self.client.form, self.name);
        if let Some(warning) = &start.warning {
            terminal.warn(warning);
        }
        if way == Way::Print {
            return self.print(terminal, &entry);
        }
        let (client, path) = (self.client, self.path.display());
        if self.scope == ClientScope::User && !self.folders.has_client(&self.path) {
            terminal
                .note(&format!("{} was not found here: there is no `{path}` yet", client.title));
        }
        let file = ClientFile::read(&self.path)?;
        let edited = entry_edit::put(client, file.text(), self.name, &entry);
        let edited = edited.map_err(|err| self.not_edited(&err))?;
        // The file was parsed a moment ago.
        let is_new = matches!(entry_edit::find(client, file.text(), self.name), Ok(None));
        if edited == file.text() {
            print_lines(&[shown(&format!("`{}` is already in {path}", self.name))]);
            return Ok(Exit::Done);
        }
        if !self.write(terminal, way, &file, &edited)? {
            return Ok(Exit::Done);
        }
        let verb = if is_new { "Added" } else { "Changed" };
        let preposition = if is_new { "to" } else { "in" };
        print_lines(&[shown(&format!("{verb} `{}` {preposition} {path}", self.name))]);
        terminal.note(client.afterwards);
        terminal.note(&format!("`{}` takes it back.", self.uninstall_command()));
        Ok(Exit::Done)
    }

    fn uninstall(&self, terminal: Terminal, way: Way) -> Result<Exit, CliError> {
        let path = self.path.display();
        let file = ClientFile::read(&self.path)?;
        let edited = entry_edit::take(self.client, file.text(), self.name);
        let Some(edited) = edited.map_err(|err| self.not_edited(&err))? else {
            print_lines(&[shown(&format!("`{}` is not in {path}", self.name))]);
            return Ok(Exit::Done);
        };
        if self.write(terminal, way, &file, &edited)? {
            print_lines(&[shown(&format!("Removed `{}` from {path}", self.name))]);
        }
        Ok(Exit::Done)
    }

    /// Prints the entry for a person to add by hand.
    fn print(&self, terminal: Terminal, entry: &ServerEntry) -> Result<Exit, CliError> {
        let whole = entry_edit::put(self.client, "", self.name, entry);
        print(&whole.map_err(|err| self.not_edited(&err))?);
        terminal.note(&format!("This belongs into {}.", self.path.display()));
        Ok(Exit::Done)
    }

    /// Shows a change, and makes it if it should be made. Returns whether it was made.
    fn write(
        &self,
        terminal: Terminal,
        way: Way,
        file: &ClientFile,
        edited: &str,
    ) -> Result<bool, CliError> {
        let difference = difference::texts(terminal, file.text(), edited);
        let path = shown(&file.path().display().to_string());
        print(&format!("{path}{}", difference.replacen("  ", " ", 1)));
        let is_wanted = match way {
            Way::Write => true,
            Way::Print => false,
            Way::Ask if io::stdin().is_terminal() && io::stderr().is_terminal() => is_confirmed()?,
            Way::Ask => {
                terminal.note("Nothing was written. With `--write`, Toolcrib writes it.");
                return Ok(false);
            }
        };
        if is_wanted {
            file.replace(edited, self.scope)?;
        } else {
            terminal.note("Nothing was written.");
        }
        Ok(is_wanted)
    }

    /// Returns the command that takes the entry away.
    fn uninstall_command(&self) -> String {
        let scope = listing::scope_word(self.scope);
        let mut words = format!("toolcrib mcp uninstall {} --scope {scope}", self.client.word);
        if self.name != "toolcrib" {
            words = format!("{words} --name {}", self.name);
        }
        match &self.global.workspace {
            Some(folder) if self.scope == ClientScope::Project => {
                format!("{words} -C {}", folder.display())
            }
            _ => words,
        }
    }

    fn not_edited(&self, err: &EditError) -> CliError {
        let message = format!("`{}` was left alone: {err}", self.path.display());
        CliError::new(CliErrorKind::System, message).hint(err.hint())
    }
}

fn shown(text: &str) -> String {
    escape::line(text).into_owned()
}

/// Asks whether to write. Anything but yes means no.
fn is_confirmed() -> io::Result<bool> {
    let mut err = io::stderr().lock();
    err.write_all(b"Write this? [y/N] ")?;
    err.flush()?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}
